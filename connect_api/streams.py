"""Counts the answers that have no end, so that they never use all connections of the worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from connect_api.request_error import RequestError


class Streams:
    """At most ``most`` streams of events at the same time, those that other workers send through this one included."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0

    def check(self) -> None:
        """Raise :class:`RequestError` (503) if no further stream may begin."""
        if self._open >= self._most:
            raise RequestError(
                f"This worker sends {self._open} streams of notifications already, which is its limit. Read the list instead "
                "(Accept: application/json), or call again when another client has ended.",
                status=503,
            )

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a stream until the block ends."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
