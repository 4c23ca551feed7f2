"""The pages about one connector, and the actions on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.responses import Response

from connect_api.herder import HerderError
from connect_api.paths import encode
from connector.errors import CdcError
from connector.preflight.slot_health import SlotHealth
from workers.console import answers
from workers.console.group_flows import SECONDS, Found, GroupFlows
from workers.console.ladder import Rung, ladder
from workers.console.overview import has_flow, row
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker

LookAtSlot = Callable[[Mapping[str, str]], Awaitable[SlotHealth]]

_ACTIONS: Final[Mapping[str, tuple[str, str, str]]] = {
    "pause": ("PUT", "/pause", "The pause was requested."),
    "resume": ("PUT", "/resume", "The resumption was requested."),
    "stop": ("PUT", "/stop", "The stop was requested."),
    "restart": ("POST", "/restart?includeTasks=true&onlyFailed=false", "The restart was requested."),
    "reset-offsets": ("DELETE", "/offsets", "The offsets were removed."),
    "delete": ("DELETE", "", ""),
}
"""Action → the call of REST, and the sentence that the page shows after it."""
_SNAPSHOT: Final = "snapshot"
_SNAPSHOT_SENT: Final = "The snapshot of these tables was requested. Its progress appears here."


class ConnectorPages:
    """``look`` looks at a connector's database."""

    def __init__(self, worker: WatchedWorker, flows: GroupFlows, look: LookAtSlot) -> None:
        self._worker = worker
        self._flows = flows
        self._look = look

    async def show(self, visit: Visit) -> Response:
        """One connector. ``?done=`` names the action that led here."""
        done = visit.request.query_params.get("done", "")
        note = _SNAPSHOT_SENT if done == _SNAPSHOT else _ACTIONS[done][2] if done in _ACTIONS else ""
        return visit.page("connector.html", title=visit.connector, note=note, **await self._live(visit))

    async def live(self, visit: Visit) -> Response:
        """The part of the page that is loaded again every few seconds."""
        return visit.page("connector_live.html", **await self._live(visit))

    async def ladder(self, visit: Visit) -> Response:
        """The slot's health, looked at now."""
        self._worker.connector_info(visit.connector)
        try:
            rungs = ladder(await self._look(await self._worker.resolved_config(visit.connector)))
        except CdcError as problem:
            rungs = [Rung("configuration", "bad", problem.message, problem.remedy)]
        return visit.page("ladder.html", rungs=rungs)

    async def offsets(self, visit: Visit) -> Response:
        """The stored offsets."""
        found = await visit.rest.of_connector("GET", visit.connector, "/offsets")
        state = self._worker.connector_status(visit.connector).connector.state
        return visit.page(
            "offsets.html", title=f"Offsets of {visit.connector}", name=visit.connector, offsets=found["offsets"], state=state
        )

    async def act(self, visit: Visit) -> Response:
        """Do one of the actions, then show the connector."""
        action = visit.request.path_params["action"]
        if action == _SNAPSHOT:
            await self._snapshot(visit)
        elif action in _ACTIONS:
            method, path, _ = _ACTIONS[action]
            await visit.rest.of_connector(method, visit.connector, path)
        else:
            raise HerderError(404, f"The console has no action {action}.")
        if action == "delete":
            return answers.redirect("/ui")
        return answers.redirect(f"/ui/connectors/{encode(visit.connector)}?done={action}")

    async def _snapshot(self, visit: Visit) -> None:
        tables = [line.strip() for line in visit.form.get("tables", "").splitlines() if line.strip()]
        if not tables:
            raise HerderError(400, "Name at least one table, as schema.table, one a line.")
        kind = "BLOCKING" if visit.form.get("kind") == "BLOCKING" else "INCREMENTAL"
        signal = {"type": "execute-snapshot", "data": {"type": kind, "data-collections": tables}}
        await visit.rest.of_connector("POST", visit.connector, "/signals", signal)

    async def _live(self, visit: Visit) -> dict[str, Any]:
        name = visit.connector
        self._worker.connector_info(name)
        topics = self._topics(visit)
        try:
            status = self._worker.connector_status(name)
        except HerderError:
            return {"name": name, "row": None, "status": None, "progress": None, "topics": topics}
        found, progress = Found(), None
        if has_flow(status):
            found, progress = await asyncio.gather(self._flows.of([name], visit.request.headers), self._progress(visit))
        return {"name": name, "row": row(name, status, found), "status": status, "progress": progress, "topics": topics}

    async def _progress(self, visit: Visit) -> Any:
        """The task's progress. REST forwards the call to the task's worker; the page does not wait for one that does not answer."""
        try:
            async with asyncio.timeout(SECONDS):
                return await visit.rest.of_connector("GET", visit.connector, "/progress")
        except (HerderError, TimeoutError):
            return None

    def _topics(self, visit: Visit) -> list[str]:
        try:
            return sorted(self._worker.active_topics(visit.connector))
        except HerderError:
            # Topic tracking is disabled.
            return []
