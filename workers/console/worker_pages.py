"""The pages about the worker and its group: overview, workers, plugins."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from starlette.responses import Response

from workers.console.overview import rows
from workers.console.sampling import Sampler
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker


class WorkerPages:
    """Answers from memory."""

    def __init__(self, worker: WatchedWorker, sampler: Sampler) -> None:
        self._worker = worker
        self._sampler = sampler

    async def overview(self, visit: Visit) -> Response:
        """All connectors."""
        return visit.page("overview.html", title="Connectors", **self._rows(), health=self._worker.health())

    async def table(self, visit: Visit) -> Response:
        """The part of the overview that is loaded again every few seconds."""
        return visit.page("overview_table.html", **self._rows())

    async def workers(self, visit: Visit) -> Response:
        """The workers of the group with their connectors."""
        return visit.page("workers.html", title="Workers", members=self._worker.members(), info=self._worker.server_info())

    async def plugins(self, visit: Visit) -> Response:
        """The plugins of this worker."""
        return visit.page("plugins.html", title="Plugins", plugins=self._worker.plugins(connectors_only=False))

    def _rows(self) -> dict[str, Any]:
        found = rows(self._worker, self._sampler, time.time_ns() // 1_000_000)
        return {"rows": found, "counts": Counter(row.worst for row in found)}
