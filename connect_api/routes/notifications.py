"""Notifications of a connector: an extension of Connect's REST that replaces Debezium's JMX attribute and its JMX notifications."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from connect_api import models
from connect_api.documentation import JSON, extra, fails
from connect_api.herder import Elsewhere, Herder, HerderError, Note
from connect_api.media import media_type, negotiate
from connect_api.request_error import RequestError
from connect_api.schemas import TEXT, array
from connect_api.streams import Streams

EVENTS: Final = "text/event-stream"
_STILL_S: Final = 15.0
"""After so long without a notification a comment is sent, so that proxies and clients keep the connection."""
_MOST_DIGITS: Final = 18
"""The most digits of a notification's number."""
_EXAMPLE: Final = {
    "number": 1795242511498,
    "id": "0f2b1c9a-3df5-4c3e-9a62-1f0d3f7f2f11",
    "aggregateType": "Initial Snapshot",
    "type": "COMPLETED",
    "additionalData": {"connector_name": "shop"},
    "timestamp": 1795242511502,
}


class _Events(StreamingResponse):
    """A stream of events, counted from its first byte until it ends or the client leaves."""

    def __init__(self, streams: Streams, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type=EVENTS, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        with self._streams.one():
            await super().__call__(scope, receive, send)


class _EventRoute(APIRoute):
    """A route that may answer with a stream of events instead of JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def negotiated(request: Request) -> Response:
            if not wants_events(request):
                negotiate(request)
            return await handle(request)

        return negotiated


def wants_events(request: Request) -> bool:
    """Whether ``Accept`` allows a stream of events and does not name JSON."""
    accepted = [media_type(part) for part in ",".join(request.headers.getlist("accept")).split(",")]
    return "application/json" not in accepted and any(kind in ("", EVENTS, "text/*", "*/*", "*") for kind in accepted)


def add_routes(app: FastAPI, herder: Herder, streams: Streams) -> None:
    """Add the routes of notifications. ``streams`` limits those that have no end."""
    path = "/connectors/{connector:segment}/notifications"
    last = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "description": "Number of the last notification that the client has received",
        "schema": {"type": "integer", "minimum": 0},
    }

    async def read(request: Request, connector: str) -> Response:
        """Show the last 1,000 notifications, then each new one as it arrives."""
        after = _number(request)
        follows = wants_events(request)
        if follows:
            streams.check()
        kept = herder.notifications(connector, after)
        if not follows:
            return models.reply([models.note(note) for note in kept])
        return _Events(streams, _events(herder, connector, after, follow=request.scope.get("head") is not True))

    app.router.add_api_route(
        path,
        read,
        methods=["GET"],
        tags=["extensions"],
        responses={
            200: {
                "description": "Kept notifications, then each new one as it arrives; with Accept: application/json a list of those kept",
                "content": {EVENTS: {"schema": TEXT}, JSON: {"schema": array(models.NOTE), "example": [_EXAMPLE]}},
            },
            **fails(400, 404, 503),
        },
        openapi_extra=extra(last),
        route_class_override=_EventRoute,
    )

    @app.delete(path, status_code=204, tags=["extensions"], responses=fails(404))
    async def reset(connector: str) -> Response:
        """Remove the kept notifications."""
        herder.clear_notifications(connector)
        return models.empty(204)


async def _events(herder: Herder, connector: str, after: int, *, follow: bool) -> AsyncIterator[bytes]:
    # The first bytes are sent at once: they show the client that it is connected.
    yield b": notifications\n\n"
    notes: Sequence[Note] | None = ()
    while follow and notes is not None:
        try:
            notes = await herder.next_notifications(connector, after, _STILL_S)
        except (HerderError, Elsewhere):
            # The connector was deleted or moves to another worker. When the client connects again, its call is forwarded there.
            return
        if notes is not None and not notes:
            yield b": still here\n\n"
        for note in notes or ():
            yield b"id: %d\nevent: %b\ndata: %b\n\n" % (note.number, note.event.encode(), orjson.dumps(dict(note.content)))
            after = note.number


def _number(request: Request) -> int:
    given = request.headers.get("last-event-id", "").strip()
    if given and not (given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS):
        raise RequestError("The header Last-Event-ID is not a whole number. Send the id of a received event, or leave the header out.")
    return int(given or 0)
