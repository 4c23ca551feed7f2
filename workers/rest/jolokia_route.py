"""The routes below ``/jolokia``, with the login of the REST interface.

They can execute operations, and a browser sends a login by itself, also with the requests of other sites' pages. A request that a page of
another site caused is therefore refused, and so is JSONP (``callback``), which such a page could read.

Over plain http browsers send ``Sec-Fetch-Site`` to local addresses only, and ``Origin`` only with POST. What remains is ``Referer``, which
the other page may suppress. So an operation by GET is also refused if a browser sends it and nothing shows that its page is this host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from connect_api import bodies
from connect_api.login import Login
from connect_api.request_error import RequestError

PATH: Final = "/jolokia"
_LARGEST: Final = 1_048_576
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "DELETE"]
_HEADERS: Final = {"Cache-Control": "no-cache", "Pragma": "no-cache", "X-Content-Type-Options": "nosniff"}


class Agent(Protocol):
    """Answers requests; each answer is the HTTP status, the body and its content type."""

    async def get(self, path: str, options: Mapping[str, str]) -> tuple[int, bytes, str]:
        """Answer a request that is all in its path."""

    async def post(self, body: bytes, options: Mapping[str, str]) -> tuple[int, bytes, str]:
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
        path = _path(request)
        if request.method in ("GET", "HEAD") and _executes(path) and _of_unknown_page(request):
            return Response("A browser must send an operation by POST.\n", status_code=403, media_type="text/plain")
        options = dict(request.query_params)
        if options.pop("callback", None) is not None:
            return Response("JSONP is not supported.\n", status_code=403, media_type="text/plain")
        if request.method == "POST":
            try:
                body = await bodies.read_any(request)
            except RequestError as refused:
                return Response(f"{refused.message}\n", status_code=refused.status, media_type="text/plain")
            if len(body) > _LARGEST:
                return Response(f"The body is larger than {_LARGEST} bytes.\n", status_code=413, media_type="text/plain")
            status, content, kind = await agent.post(body, options)
        elif request.method in ("GET", "HEAD"):
            status, content, kind = await agent.get(path, options)
        else:
            status, content, kind = agent.other_method(request.method)
        return Response(content, status_code=status, headers={**_HEADERS, "Content-Type": kind})

    app.add_route(PATH, jolokia, methods=_METHODS, include_in_schema=False)
    app.add_route(f"{PATH}/{{rest:path}}", jolokia, methods=_METHODS, include_in_schema=False)


def _of_another_site(request: Request) -> bool:
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    pages = (request.headers.get("origin"), request.headers.get("referer"))
    return any(page is not None and not _is_here(page, request) for page in pages)


def _path(request: Request) -> str:
    """Return the request's path below ``/jolokia/``. Without one it may be in the parameter ``p``, for proxies that change paths."""
    path: str = request.path_params.get("rest", "")
    return path if path.strip("/") else request.query_params.get("p", "").removeprefix("/")


def _executes(path: str) -> bool:
    return path.lstrip("/").replace("!", "").lower().startswith("exec")


def _of_unknown_page(request: Request) -> bool:
    known = any(name in request.headers for name in ("sec-fetch-site", "origin", "referer"))
    return not known and request.headers.get("user-agent", "").startswith("Mozilla/")


def _is_here(url: str, request: Request) -> bool:
    try:
        return urlsplit(url).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False
