"""The middleware before the routes: one spelling of paths, HEAD, OPTIONS, and an answer when a handler fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from fastapi import Response
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_api.errors import error
from connect_api.hosts import AllowedHosts, single_host
from connect_api.login import Login, refusal
from connect_api.methods import allowed
from connect_api.paths import canonical
from connect_api.request_error import RequestError
from connector.log import EventLog

LOG: Final = EventLog(__name__)

HEADERS_LIMIT: Final = 64 * 1024
"""The largest size of a request's headers in bytes, names and values together. Connect's server accepts 8 KiB."""


class Front:
    """ASGI middleware around the router. ``routes`` is the app's own list and may still grow.

    With ``hosts`` requests for other hosts are refused, whatever their path.
    HEAD runs the GET route, and the body is dropped. OPTIONS is answered here for every known path, after the ``login``. An exception
    without a handler is logged and answered with 500. The answer does not hold its text, which may quote what a client sent.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute], login: Login | None = None, hosts: AllowedHosts | None = None) -> None:
        self.app = app
        self.routes = routes
        self.login = login
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method = scope["method"]
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            if method == "HEAD" and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            _check_headers(scope.get("headers", ()))
            self._check_host(scope)
            path = canonical(scope.get("raw_path") or quote(scope["path"]).encode())
            routed = {**scope, "path": path, "method": "GET" if method == "HEAD" else method, "head": method == "HEAD"}
            if method == "OPTIONS" and (methods := allowed(self.routes, routed)):
                reply = Response(", ".join(methods), headers={"Allow": ",".join(methods), "Content-Type": "text/plain"})
                if self.login and not self.login.accepts(Headers(scope=scope).get("authorization")):
                    reply = refusal("text/plain")
                await reply(scope, receive, watched)
            else:
                await self.app(routed, receive, watched)
        except RequestError as mistake:
            await error(mistake.status, mistake.message)(scope, receive, watched)
        except ClientDisconnect:
            LOG.debug("client left before its request was read", method=method, path=scope["path"])
        except Exception as failure:
            LOG.error("request failed", method=method, path=scope["path"], cause=failure)  # noqa: TRY400 (with the traceback)
            if started:
                raise
            text = f"The worker could not answer because of an internal error ({type(failure).__name__}). Its log says more."
            await error(500, text)(scope, receive, watched)

    def _check_host(self, scope: Scope) -> None:
        # A request of HTTP/1.0 may lack the header.
        if scope.get("http_version") == "1.1" or self.hosts is not None:
            name = single_host(scope.get("headers", ()))
            if self.hosts is not None:
                self.hosts.check(name)


def _check_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    if sum(len(name) + len(value) for name, value in headers) > HEADERS_LIMIT:
        raise RequestError(f"The headers are longer than {HEADERS_LIMIT} bytes. Send fewer or shorter headers.", status=431)
