"""Media types: only JSON. As in Kafka Connect other types are refused with 415 or 406 before anything else is checked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

SENT: Final = frozenset({"application/json", "application/*", "*/*"})
WANTED: Final = SENT | {"*/json", "*"}


class JsonRoute(APIRoute):
    """A route that refuses other media types. Kafka Connect checks path, method, Content-Type and Accept in this order."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler, called after :func:`negotiate`."""
        handle = super().get_route_handler()

        async def negotiated(request: Request) -> Response:
            negotiate(request)
            return await handle(request)

        return negotiated


class UntypedRoute(APIRoute):
    """A route that accepts any Content-Type and answers JSON: Kafka Connect does not parse the bodies of these calls as JSON first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler, called after :func:`negotiate_answer`."""
        handle = super().get_route_handler()

        async def negotiated(request: Request) -> Response:
            negotiate_answer(request)
            return await handle(request)

        return negotiated


def negotiate(request: Request) -> None:
    """Raise 415 for a Content-Type that is not JSON, even without a body, and 406 when ``Accept`` does not allow JSON."""
    sent = request.headers.get("content-type")
    if sent and media_type(sent) not in SENT:
        raise HTTPException(415)
    negotiate_answer(request)


def negotiate_answer(request: Request) -> None:
    """Raise 406 when ``Accept`` does not allow JSON."""
    wanted = ",".join(request.headers.getlist("accept"))
    if wanted and not any(media_type(part) in WANTED for part in wanted.split(",")):
        raise HTTPException(406)


def media_type(value: str) -> str:
    """A media type without its parameters, in lower case."""
    return value.partition(";")[0].strip().lower()
