"""The routes below ``/jolokia``, with the login of the REST interface.

They can execute operations, and a browser sends a login by itself, also with the requests of other sites' pages. A request that a page of
another site caused is therefore refused, and so is JSONP (``callback``), which such a page could read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from connect_api.login import Login

PATH: Final = "/jolokia"
_LARGEST: Final = 1_048_576
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "DELETE"]
_HEADERS: Final = {"Cache-Control": "no-cache", "Pragma": "no-cache", "X-Content-Type-Options": "nosniff"}


class Agent(Protocol):
    """Answers requests; each answer is the HTTP status, the body and its content type."""

    def get(self, path: str, options: Mapping[str, str]) -> tuple[int, bytes, str]:
        """Answer a request that is all in its path."""

    def post(self, body: bytes, options: Mapping[str, str]) -> tuple[int, bytes, str]:
        """Answer the requests of a body."""

    def other_method(self, method: str) -> tuple[int, bytes, str]:
        """Answer another method."""


def add_jolokia(app: FastAPI, agent: Agent, *, login: Login | None) -> None:
    """Add the routes."""

    async def jolokia(request: Request) -> Response:
        if login is not None and not login.accepts(request.headers.get("authorization")):
            return Response("Jolokia needs the login of the REST interface.\n", status_code=401, media_type="text/plain")
        if _of_another_site(request):
            return Response("The request comes from a page of another site.\n", status_code=403, media_type="text/plain")
        options = dict(request.query_params)
        if options.pop("callback", None) is not None:
            return Response("JSONP is not supported.\n", status_code=403, media_type="text/plain")
        if request.method == "POST":
            body = await _body(request)
            if body is None:
                return Response(f"The body is larger than {_LARGEST} bytes.\n", status_code=413, media_type="text/plain")
            status, content, kind = agent.post(body, options)
        elif request.method in ("GET", "HEAD"):
            status, content, kind = agent.get(request.path_params.get("rest", ""), options)
        else:
            status, content, kind = agent.other_method(request.method)
        return Response(content, status_code=status, headers={**_HEADERS, "Content-Type": kind})

    app.add_route(PATH, jolokia, methods=_METHODS, include_in_schema=False)
    app.add_route(f"{PATH}/{{rest:path}}", jolokia, methods=_METHODS, include_in_schema=False)


def _of_another_site(request: Request) -> bool:
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()


async def _body(request: Request) -> bytes | None:
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > _LARGEST:
            return None
    return bytes(found)
