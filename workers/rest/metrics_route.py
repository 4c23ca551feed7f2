"""The route ``/metrics`` of the REST interface: the worker's MBeans for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from connect_api.login import Login

PATH: Final = "/metrics"

Exposition = Callable[[str], tuple[bytes, str]]
"""``exposition(accept)``: the body and the content type of the answer."""


def add_metrics(app: FastAPI, exposition: Exposition, *, login: Login | None) -> None:
    """Add the route. With ``login`` a scrape needs it (``basic_auth`` in Prometheus)."""

    async def metrics(request: Request) -> Response:
        if login is not None and not login.accepts(request.headers.get("authorization")):
            return Response("Metrics need the login of the REST interface.\n", status_code=401, media_type="text/plain")
        body, content_type = exposition(request.headers.get("accept", ""))
        return Response(body, media_type=None, headers={"Content-Type": content_type})

    app.add_route(PATH, metrics, methods=["GET"], include_in_schema=False)
