"""The pages about the worker and its group: overview, workers, plugins."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.responses import JSONResponse, Response

from workers.console import guard
from workers.console.group_flows import GroupFlows
from workers.console.overview import rows
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker


class WorkerPages:
    """Answers from memory, but for the figures of connectors that other workers run."""

    def __init__(self, worker: WatchedWorker, flows: GroupFlows) -> None:
        self._worker = worker
        self._flows = flows

    async def overview(self, visit: Visit) -> Response:
        """All connectors."""
        return visit.page("overview.html", title="Connectors", **await self._rows(visit), health=self._worker.health())

    async def table(self, visit: Visit) -> Response:
        """The part of the overview that is loaded again every few seconds."""
        return visit.page("overview_table.html", **await self._rows(visit))

    async def flows(self, visit: Visit) -> Response:
        """The flows of the connectors that run here, for the console of another worker; with ``?connector=`` of that one."""
        name = visit.request.query_params.get("connector", "")
        here = self._flows.here([name] if name else self._worker.connectors())
        return JSONResponse({name: flow.as_json() for name, flow in here.items()}, headers=guard.HEADERS)

    async def workers(self, visit: Visit) -> Response:
        """The workers of the group with their connectors."""
        return visit.page("workers.html", title="Workers", members=self._worker.members(), info=self._worker.server_info())

    async def plugins(self, visit: Visit) -> Response:
        """The plugins of this worker."""
        return visit.page("plugins.html", title="Plugins", plugins=self._worker.plugins(connectors_only=False))

    async def _rows(self, visit: Visit) -> dict[str, Any]:
        found, silent = await rows(self._worker, self._flows, visit.request.headers)
        return {"rows": found, "silent": silent, "counts": Counter(row.worst for row in found)}
