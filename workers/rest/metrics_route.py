"""The route ``/metrics``: on the REST interface with its login, and on the port of ``metrics.agent`` alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connect_api.login import Login

PATH: Final = "/metrics"

Exposition = Callable[[str, Collection[str]], Awaitable[tuple[bytes, str]]]
"""``exposition(accept, names)``: the body and the content type of the answer. ``names`` are the wanted series; all if there are none."""


def add_metrics(app: FastAPI, exposition: Exposition, *, login: Login | None) -> None:
    """Add the route. With ``login`` a scrape needs it (``basic_auth`` in Prometheus)."""

    async def metrics(request: Request) -> Response:
        if login is not None and not login.accepts(request.headers.get("authorization")):
            return Response("Metrics need the login of the REST interface.\n", status_code=401, media_type="text/plain")
        return await _answer(exposition, request)

    app.add_route(PATH, metrics, methods=["GET"], include_in_schema=False)


def metrics_app(exposition: Exposition) -> Any:
    """Return an application that serves the metrics at ``/metrics`` and ``/``, and that the worker is alive at ``/-/healthy``."""

    async def metrics(request: Request) -> Response:
        return await _answer(exposition, request)

    async def healthy(_request: Request) -> Response:
        return Response("Exporter is healthy.\n", media_type="text/plain")

    return Starlette(routes=[Route(PATH, metrics), Route("/", metrics), Route("/-/healthy", healthy)])


async def _answer(exposition: Exposition, request: Request) -> Response:
    body, content_type = await exposition(request.headers.get("accept", ""), request.query_params.getlist("name[]"))
    return Response(body, media_type=None, headers={"Content-Type": content_type})
