"""Headers that the worker's settings add to every answer of the main listeners."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_api.cross_origin import CrossOrigin, Header


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header. ``add`` keeps headers of the same name. With ``date`` the header is a date ``value`` milliseconds after the answer."""

    name: str
    value: str
    add: bool = False
    date: bool = False

    def header(self, now: float) -> Header:
        """The header as it is sent at ``now``, in seconds since 1970."""
        value = formatdate(now + int(self.value) / 1000, usegmt=True) if self.date else self.value
        return self.name.lower().encode("latin-1"), value.encode("latin-1")


def merged(before: Sequence[Header], rules: Sequence[HeaderRule], own: Sequence[Header], now: float) -> list[Header]:
    """The answer's headers: a header that the route sets (``own``) wins over the rules, and a rule over ``before``."""
    headers = list(before)
    for rule in rules:
        header = rule.header(now)
        if not rule.add:
            headers = [other for other in headers if other[0] != header[0]]
        headers.append(header)
    names = {name.lower() for name, _ in own}
    return [header for header in headers if header[0] not in names] + list(own)


class ResponseHeaders:
    """ASGI middleware around all others, so that failures have the headers too."""

    def __init__(self, app: ASGIApp, cross_origin: CrossOrigin | None, rules: Sequence[HeaderRule]) -> None:
        self.app = app
        self.cross_origin = cross_origin
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        before = self.cross_origin.headers(scope["method"], scope["headers"]) if self.cross_origin else []

        async def decorated(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": merged(before, self.rules, message.get("headers", ()), time.time())}
            await send(message)

        await self.app(scope, receive, decorated)
