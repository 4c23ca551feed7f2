"""One connection to the worker's REST interface, kept open over many calls, and the time of each.

It supports only the part of HTTP that the worker uses, so that its own share of each time is small.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from workers.lab.bench.failure import BenchError

HOST: Final = "bench"
SECONDS: Final = 90.0
"""Kafka Connect's own limit for a request."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request's bytes, and the expected status."""

    title: str
    head: bytes
    body: bytes = b""
    expected: int = 200


def call(method: str, path: str, body: bytes = b"", expected: int = 200, headers: Mapping[str, str] | None = None) -> Call:
    """Encode a request once, before the measurement. ``headers`` are added to those for JSON or replace them."""
    sent: Mapping[str, str] = {"Accept": "application/json"}
    if body or method in ("POST", "PUT"):
        sent = {**sent, "Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": HOST, **sent}.items())
    return Call(f"{method} {path}", f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode(), body, expected)


class Caller:
    """An async context manager. Raises BenchError for an answer with another status, and without an answer."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "localhost", place.port or 80

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=2**24)
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None) -> None:
        self._writer.close()

    async def timed(self, request: Call) -> float:
        """Milliseconds from the first byte sent until the last one read."""
        begun = time.perf_counter_ns()
        await self.send(request)
        return (time.perf_counter_ns() - begun) / 1e6

    async def send(self, request: Call) -> bytes:
        """The answer's body."""
        try:
            async with asyncio.timeout(SECONDS):
                self._writer.write(request.head + request.body)
                head = await self._reader.readuntil(b"\r\n\r\n")
                length = _length(head)
                body = await self._reader.readexactly(length) if length else b""
        except (OSError, EOFError, TimeoutError) as problem:
            raise BenchError(f"{request.title} got no answer: {type(problem).__name__}") from None
        status = int(head[9:12])
        if status != request.expected:
            raise BenchError(f"{request.title} was answered with {status}: {body.decode(errors='replace')}")
        return body


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0
