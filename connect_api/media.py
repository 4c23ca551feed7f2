"""Media types: the dialect speaks JSON only and, as the reference does, says so with 415 and 406 before it looks further."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

SENT: Final = frozenset({"application/json", "application/*", "*/*"})
WANTED: Final = SENT | {"*/json", "*"}


class JsonRoute(APIRoute):
    """A route that refuses other media types. The reference's order is path, method, Content-Type, Accept."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler behind :func:`negotiate`."""
        handle = super().get_route_handler()

        async def negotiated(request: Request) -> Response:
            negotiate(request)
            return await handle(request)

        return negotiated


class UntypedRoute(APIRoute):
    """A route that takes any Content-Type and answers JSON: the reference reads the bytes of such a body itself."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler behind the half of :func:`negotiate` that looks at ``Accept``."""
        handle = super().get_route_handler()

        async def negotiated(request: Request) -> Response:
            negotiate_answer(request)
            return await handle(request)

        return negotiated


def negotiate(request: Request) -> None:
    """415 for a Content-Type that is not JSON, even without a body; 406 when ``Accept`` leaves no room for JSON."""
    sent = request.headers.get("content-type")
    if sent and media_type(sent) not in SENT:
        raise HTTPException(415)
    negotiate_answer(request)


def negotiate_answer(request: Request) -> None:
    """406 when ``Accept`` leaves no room for JSON."""
    wanted = ",".join(request.headers.getlist("accept"))
    if wanted and not any(media_type(part) in WANTED for part in wanted.split(",")):
        raise HTTPException(406)


def media_type(value: str) -> str:
    """Cut the parameters off a media type and write it in lower case."""
    return value.partition(";")[0].strip().lower()
