"""Forwards a call to the one worker that can answer it, and returns that worker's answer (Connect's ``forward``).

A verb that belongs to another worker raises :class:`connect_api.herder.Elsewhere` before it has any effect. The call can therefore be
repeated: at the worker that the exception names, or here after the group has decided. During a rebalance a client gets a slow answer where
Kafka Connect answers 409 or 500. It gets 409 only when the group does not assign a worker in time.

``forward`` is Connect's parameter: a client's call goes to the leader with ``forward=true``, from the leader to the owner with
``forward=false``, and no further.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_api import bodies
from connect_api.errors import error
from connect_api.herder import Elsewhere, Herder, HerderError
from connect_api.streams import Streams
from connector.log import EventLog

if TYPE_CHECKING:
    import httpx

LOG: Final = EventLog(__name__)

_LIMIT_SECONDS: Final = 90.0
"""How long a call may wait, as in Kafka Connect."""
_LOOK_SECONDS: Final = 0.5
"""The pause before a worker that does not answer is tried again. A new assignment ends the pause."""
_CONNECT_SECONDS: Final = 5.0
_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding", "expect"})
_NOT_SENT_ON: Final = _OF_THE_CONNECTION | {"host", "origin", "sec-fetch-site"}
"""Headers of the client's request that are not forwarded. ``Host``: each worker may answer only for its own (:mod:`connect_api.hosts`).

``Origin`` and ``Sec-Fetch-Site`` relate to that host, and this worker has checked them (:mod:`connect_api.other_sites`).
"""
_CONFLICT: Final = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class Forwarding:
    """ASGI middleware around the router. ``tls`` verifies https workers of the group; None: the system's certificates do.

    ``streams`` counts the streams of events that are passed on.
    """

    def __init__(self, app: ASGIApp, herder: Herder, streams: Streams, tls: ssl.SSLContext | None = None) -> None:
        self._app = app
        self._herder = herder
        self._streams = streams
        self._tls = tls
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, here or by another worker."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive)
        deadline = asyncio.get_running_loop().time() + _LIMIT_SECONDS
        while True:
            try:
                await self._app(dict(scope), body.receive, send)
            except Elsewhere as place:
                if await self._elsewhere(place.url, scope, body, send):
                    return
                if not body.rewound:
                    LOG.info("call waits until the group has assigned a worker", path=scope["path"], url=place.url or "")
            else:
                return
            if asyncio.get_running_loop().time() > deadline:
                await error(409, _CONFLICT)(scope, receive, send)
                return
            await self._herder.next_assignment(_LOOK_SECONDS)
            body.rewind()

    async def _elsewhere(self, url: str | None, scope: Scope, body: _Body, send: Send) -> bool:
        """Forward the call to ``url``. True: it is answered. False: no worker has received it."""
        if url is None:
            return False
        forward = _next_forward(scope["query_string"])
        if forward is None:
            await error(409, _CONFLICT)(scope, body.receive, send)
            return True
        import httpx  # noqa: PLC0415 (the import takes 80 ms; a worker without a group never needs it)

        if self._client is None:
            timeout = httpx.Timeout(_LIMIT_SECONDS, connect=_CONNECT_SECONDS)
            verify = self._tls if self._tls is not None else True
            # By default streams could use all of a client's 100 connections. The worker's own limit of connections is the limit here.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            self._client = httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False, verify=verify)
        request = self._client.build_request(
            # The router knows no HEAD. The other worker must: it ends a stream after the headers then.
            "HEAD" if scope.get("head") else scope["method"],
            url.rstrip("/") + scope.get("raw_path", scope["path"].encode()).decode("ascii") + "?" + forward,
            content=await body.read(scope),
            headers=[(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in _NOT_SENT_ON],
        )
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return False
        except httpx.HTTPError as problem:
            text = f"The worker {url} did not answer the forwarded call ({type(problem).__name__}). Look at its log, and call again."
            await error(500, text)(scope, body.receive, send)
            return True
        try:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                with self._streams.one():
                    await _until_gone(self._relay(scope, answer, send), body)
            else:
                await self._relay(scope, answer, send)
        finally:
            await answer.aclose()
        return True

    async def _relay(self, scope: Scope, answer: httpx.Response, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD") and answer.is_success:
            try:
                # A later read at this worker must show the change that the other worker stored.
                await self._herder.caught_up()
            except HerderError as problem:
                LOG.warning("change stored by another worker not read", error=problem.message)
        headers = [(name, value) for name, value in answer.headers.raw if name.lower().decode("latin-1") not in _OF_THE_CONNECTION]
        if "content-length" in answer.headers:
            headers.append((b"content-length", answer.headers["content-length"].encode()))
        if "location" in answer.headers:
            # The other worker put its own host into Location; the client knows this worker's host.
            place = f"{Request(scope).base_url}{urlsplit(answer.headers['location']).path.lstrip('/')}"
            headers = [*(header for header in headers if header[0].lower() != b"location"), (b"location", place.encode("latin-1"))]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        async for chunk in answer.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class _Body:
    """A request's body that can be read more than once: what the app has received is kept until the call ends.

    Of a body longer than the limit only the beginning is kept, because every reader refuses it.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._taken: list[Message] = []
        self._size = 0
        self._next = 0
        self.rewound = False

    async def receive(self) -> Message:
        """The next message, from the beginning after :meth:`rewind`."""
        if self._next == len(self._taken):
            message = await self._receive()
            if message["type"] != "http.request" or self._size > bodies.LIMIT:
                return message
            self._size += len(message.get("body", b""))
            self._taken.append(message)
        self._next += 1
        return self._taken[self._next - 1]

    def rewind(self) -> None:
        """Return to the beginning."""
        self._next = 0
        self.rewound = True

    async def read(self, scope: Scope) -> bytes:
        """The whole body. Raises ClientDisconnect, and RequestError as :func:`connect_api.bodies.read_any`."""
        self._next = 0
        return await bodies.read_any(Request(scope, self.receive))


async def _until_gone(relay: Coroutine[Any, Any, None], body: _Body) -> None:
    """Send a stream until it ends or the client leaves. The server drops what is sent after that, without an error."""

    async def gone() -> None:
        while (await body.receive())["type"] != "http.disconnect":
            pass

    sending, leaving = asyncio.create_task(relay), asyncio.create_task(gone())
    try:
        await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        left = not sending.done()
        sending.cancel()
        leaving.cancel()
        await asyncio.wait([sending, leaving])
    if not left:
        sending.result()


def _next_forward(query: bytes) -> str | None:
    """The query string of the forwarded call; None when the call must not be forwarded again."""
    text = query.decode("latin-1")
    given = parse_qs(text, keep_blank_values=True).get("forward", [""])[-1].lower()
    if given == "false":
        return None
    parts = [part for part in text.split("&") if part and part.partition("=")[0] != "forward"]
    return "&".join([*parts, f"forward={'false' if given == 'true' else 'true'}"])
