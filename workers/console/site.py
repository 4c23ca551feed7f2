"""The routes of the console, and what every one of them checks: the login, the origin of actions, and read-only mode."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from connect_api import bodies
from connect_api.herder import HerderError
from connect_api.login import Login
from connect_api.request_error import RequestError
from connector.log import EventLog
from workers.console import answers, guard
from workers.console.connector_pages import ConnectorPages, LookAtSlot
from workers.console.editor import Editor
from workers.console.events import EventPages, ReadLatest
from workers.console.group_flows import PATH as FLOWS_PATH
from workers.console.group_flows import Ask, GroupFlows
from workers.console.rest_calls import RestCalls
from workers.console.sampling import Sampler
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker
from workers.console.worker_pages import WorkerPages

LOG: Final = EventLog(__name__)

_CONNECTOR: Final = "/ui/connectors/{connector:segment}"

Show = Callable[[Visit], Awaitable[Response]]


def add_console(
    app: FastAPI,
    worker: WatchedWorker,
    *,
    login: Login | None,
    read_only: bool,
    look: LookAtSlot,
    read: ReadLatest | None,
    ask: Ask,
    hidden: re.Pattern[str],
) -> Sampler:
    """Add the console to the REST interface ``app`` and begin to sample. Needs a running event loop.

    With ``login`` every page needs it. With ``read_only`` every action is refused. ``look`` looks at a connector's database.
    ``read`` reads the latest records of a topic; None: no rows are shown. ``hidden`` finds the names of columns whose values are not shown.
    ``ask`` asks other workers of the group.
    """
    sampler = Sampler(worker, time.monotonic)
    site = _Site(app, worker, login=login, read_only=read_only)
    flows = GroupFlows(worker, sampler, ask)
    overview, connector, editor = WorkerPages(worker, flows), ConnectorPages(worker, flows, look), Editor(worker)
    site.add("GET", "/ui", overview.overview)
    site.add("GET", "/ui/overview", overview.table)
    site.add("GET", FLOWS_PATH, overview.flows)
    site.add("GET", "/ui/workers", overview.workers)
    site.add("GET", "/ui/plugins", overview.plugins)
    site.add("GET", "/ui/new", editor.new)
    # A new configuration is checked and reviewed without an effect, as REST's validate.
    site.add("POST", "/ui/new", editor.review, acts=False)
    site.add("POST", "/ui/validate", editor.validate, acts=False)
    site.add("POST", "/ui/create", editor.create)
    site.add("GET", _CONNECTOR, connector.show)
    site.add("GET", f"{_CONNECTOR}/live", connector.live)
    site.add("GET", f"{_CONNECTOR}/ladder", connector.ladder)
    site.add("GET", f"{_CONNECTOR}/offsets", connector.offsets)
    events = EventPages(worker, read, hidden)
    site.add("GET", f"{_CONNECTOR}/events", events.show)
    site.add("GET", f"{_CONNECTOR}/events/latest", events.latest)
    site.add("GET", f"{_CONNECTOR}/config", editor.edit)
    site.add("POST", f"{_CONNECTOR}/config", editor.review, acts=False)
    site.add("POST", f"{_CONNECTOR}/save", editor.save)
    site.add("POST", f"{_CONNECTOR}/actions/{{action:segment}}", connector.act)
    site.add_files()
    sampler.start()
    return sampler


class _Site:
    def __init__(self, app: FastAPI, worker: WatchedWorker, *, login: Login | None, read_only: bool) -> None:
        self._app = app
        self._worker = worker
        self._login = login
        self._read_only = read_only

    def add(self, method: str, path: str, show: Show, *, acts: bool = True) -> None:
        """Add a page. ``acts``: a POST changes something, and read-only mode refuses it."""

        async def answer(request: Request) -> Response:
            if self._login is not None and not self._login.accepts(request.headers.get("authorization")):
                return answers.challenge()
            visit = Visit(request, RestCalls.of(self._app, request.headers), read_only=self._read_only)
            try:
                if method == "POST":
                    visit.form = await _form(request)
                    self._check(visit, acts=acts)
                return await show(visit)
            except (HerderError, RequestError) as refused:
                return visit.page("refused.html", refused.status, title="Refused", status=refused.status, message=refused.message)

        self._app.add_route(path, answer, methods=[method], include_in_schema=False)

    def add_files(self) -> None:
        """Add the files of the pages, and the answer for unknown paths."""

        async def file(visit: Visit) -> Response:
            return answers.file(visit.request.path_params["file"])

        async def unknown(visit: Visit) -> Response:
            raise HerderError(404, f"The console has no page {visit.request.url.path}.")

        self.add("GET", "/ui/static/{file:segment}", file)
        self.add("GET", "/ui/{path:path}", unknown)

    def _check(self, visit: Visit, *, acts: bool) -> None:
        request = visit.request
        refused = guard.refusal(request, visit.form.get(guard.FIELD, ""))
        if refused is not None:
            LOG.warning("console action refused", path=request.url.path, origin=request.headers.get("origin", ""))
            raise HerderError(403, refused)
        if acts and self._read_only:
            raise HerderError(403, "This console is read-only (console.read.only=true). Act through REST, or on another worker.")


async def _form(request: Request) -> Mapping[str, str]:
    """The fields of a form. Raises RequestError(400) for a body that is none."""
    body = await bodies.read_any(request)
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=2000, errors="strict"))
    except ValueError:
        raise RequestError("The request holds no form (application/x-www-form-urlencoded).") from None
