"""Sends a call on to the worker that alone can answer it, and its answer back (Connect's ``forward``).

A verb that is another worker's raises :class:`connect_api.herder.Elsewhere` before it has done anything, so that the call may be made
again as often as need be: at the worker it names, or here once the group has decided. A client sees a slow answer where Kafka Connect
answers 409 or 500 during a rebalance, and 409 only when the group does not find a worker in time.

``forward`` is Connect's parameter: a client's call goes to the leader with ``forward=true``, from there with ``forward=false`` to the
owner, and no further.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_api import bodies
from connect_api.errors import error
from connect_api.herder import Elsewhere, Herder, HerderError

if TYPE_CHECKING:
    import httpx

LOGGER: Final = logging.getLogger(__name__)

_LIMIT_SECONDS: Final = 90.0
"""How long Connect lets a call wait."""
_LOOK_SECONDS: Final = 0.5
"""How soon a worker that does not answer is tried again, unless the group tells of another before."""
_CONNECT_SECONDS: Final = 5.0
_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding", "expect"})
_NOT_SENT_ON: Final = _OF_THE_CONNECTION | {"host"}
"""Each worker may answer for its own hosts alone (:mod:`connect_api.hosts`)."""
_CONFLICT: Final = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class Forwarding:
    """ASGI middleware around the router. ``tls`` is what https workers of the group are trusted by; None: the machine's own trust."""

    def __init__(self, app: ASGIApp, herder: Herder, tls: ssl.SSLContext | None = None) -> None:
        self._app = app
        self._herder = herder
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
                    LOGGER.info(
                        "a call waits for the group to find its worker", extra={"fields": {"path": scope["path"], "url": place.url or ""}}
                    )
            else:
                return
            if asyncio.get_running_loop().time() > deadline:
                await error(409, _CONFLICT)(scope, receive, send)
                return
            await self._herder.next_assignment(_LOOK_SECONDS)
            body.rewind()

    async def _elsewhere(self, url: str | None, scope: Scope, body: _Body, send: Send) -> bool:
        """Whether the call is answered; if not, nothing has happened to it."""
        if url is None:
            return False
        forward = _next_forward(scope["query_string"])
        if forward is None:
            await error(409, _CONFLICT)(scope, body.receive, send)
            return True
        import httpx  # noqa: PLC0415 (80 ms that a worker on its own never needs)

        if self._client is None:
            timeout = httpx.Timeout(_LIMIT_SECONDS, connect=_CONNECT_SECONDS)
            self._client = httpx.AsyncClient(timeout=timeout, trust_env=False, verify=self._tls if self._tls is not None else True)
        request = self._client.build_request(
            scope["method"],
            url.rstrip("/") + scope.get("raw_path", scope["path"].encode()).decode("ascii") + "?" + forward,
            content=await body.read(scope),
            headers=[(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in _NOT_SENT_ON],
        )
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return False
        except httpx.HTTPError as problem:
            text = f"The worker {url} did not answer the call that is its own ({type(problem).__name__}). Look at its log, and call again."
            await error(500, text)(scope, body.receive, send)
            return True
        try:
            await self._relay(scope, answer, send)
        finally:
            await answer.aclose()
        return True

    async def _relay(self, scope: Scope, answer: httpx.Response, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD") and answer.is_success:
            try:
                # Whoever asks this worker next is told of what was changed there.
                await self._herder.caught_up()
            except HerderError as problem:
                LOGGER.warning("cannot read what another worker has stored", extra={"fields": {"error": problem.message}})
        headers = [(name, value) for name, value in answer.headers.raw if name.lower().decode("latin-1") not in _OF_THE_CONNECTION]
        if "content-length" in answer.headers:
            headers.append((b"content-length", answer.headers["content-length"].encode()))
        if "location" in answer.headers:
            # The other worker wrote the host that it was called by; the client called this one.
            place = f"{Request(scope).base_url}{urlsplit(answer.headers['location']).path.lstrip('/')}"
            headers = [*(header for header in headers if header[0].lower() != b"location"), (b"location", place.encode("latin-1"))]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        async for chunk in answer.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class _Body:
    """A request's body that can be read more than once: what the app has taken is kept until the call is over.

    A body that is too long is not kept to its end; nobody takes such a one.
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
        """Begin again."""
        self._next = 0
        self.rewound = True

    async def read(self, scope: Scope) -> bytes:
        """All of it. Raises ClientDisconnect, and RequestError as :func:`connect_api.bodies.read_any` does."""
        self._next = 0
        return await bodies.read_any(Request(scope, self.receive))


def _next_forward(query: bytes) -> str | None:
    """The query of the call's next step; None when it may take no further."""
    text = query.decode("latin-1")
    given = parse_qs(text, keep_blank_values=True).get("forward", [""])[-1].lower()
    if given == "false":
        return None
    parts = [part for part in text.split("&") if part and part.partition("=")[0] != "forward"]
    return "&".join([*parts, f"forward={'false' if given == 'true' else 'true'}"])
