"""Holds REST calls back until the worker is ready, so that the interface can listen before the stores are read.

``GET /`` and ``/health`` pass at once (KIP-1017: a starting worker reports that it starts).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson

_OPEN: Final = frozenset({"", "/", "/health", "/health/", "/docs", "/openapi.json"})

_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[Any], Awaitable[None]]
_App = Callable[[Any, Any, Any], Awaitable[None]]
Wait = Callable[[float], Awaitable[bool]]
"""``wait(seconds)``: whether the worker became ready in time."""


class StartupGate:
    """ASGI middleware. ``wait`` is :meth:`workers.herder.herder.WorkerHerder.wait_ready`; ``limit`` is in seconds."""

    def __init__(self, app: _App, wait: Wait, limit: float = 90.0) -> None:
        self._app = app
        self._wait = wait
        self._limit = limit
        self._ready = False

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Answer one request; 500 when the worker does not become ready, as Connect does after 90 seconds."""
        if not self._ready and scope["type"] == "http" and scope["path"] not in _OPEN and not scope["path"].startswith("/docs/"):
            self._ready = await self._wait(self._limit)
            if not self._ready:
                await _refuse(send)
                return
        await self._app(scope, receive, send)


async def _refuse(send: _Send) -> None:
    body = orjson.dumps({"error_code": 500, "message": "Request timed out. The worker is still starting: GET /health says why."})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
