"""How a burst of COPY rows ends: with what has arrived, or after a wait for more."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from connector.io.postgres.connection import Connection
from connector.io.postgres.copy import CopyReader


class Libpq:
    """Has one of ``portions`` more with each look at the socket."""

    def __init__(self, ends: socket.socket, *portions: list[bytes]) -> None:
        self.socket = ends.fileno()
        self._coming = list(portions)
        self._there: list[bytes] = []
        self.looks = 0

    def get_copy_data(self, _: int) -> tuple[int, bytes]:
        if not self._there:
            return 0, b""
        row = self._there.pop(0)
        return len(row), row

    def consume_input(self) -> None:
        self.looks += 1
        if self._coming:
            self._there += self._coming.pop(0)


@contextmanager
def reader(*portions: list[bytes]) -> Iterator[tuple[CopyReader, Libpq]]:
    """A reader whose socket is always readable."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b".")
        libpq = Libpq(ours, *portions)
        yield CopyReader(cast("Connection", cast("Any", SimpleNamespace(pgconn=libpq))), "reading"), libpq


async def test_a_burst_is_what_has_arrived() -> None:
    with reader([b"a", b"b"], [], [b"c"]) as (rows, _):
        assert await rows.burst(10, 1000) == [b"a", b"b"]
        assert await rows.burst(10, 1000) == [b"c"]


async def test_a_burst_waits_for_more_until_its_moment() -> None:
    with reader([b"a"], [], [b"b"], [], [b"c"]) as (rows, libpq):
        until = time.monotonic() + 0.05
        assert await rows.burst(10, 1000, until) == [b"a", b"b", b"c"]
        assert time.monotonic() >= until
        looks = libpq.looks
        # The moment is past: the next one does not wait.
        libpq._coming = [[b"d"], [], [b"e"]]
        assert await rows.burst(10, 1000, until) == [b"d"]
        assert libpq.looks == looks + 2


async def test_a_full_burst_does_not_wait() -> None:
    with reader([b"a"], [], [b"b"], [], [b"c"]) as (rows, _):
        assert await rows.burst(2, 1000, time.monotonic() + 3600) == [b"a", b"b"]
        assert await rows.burst(10, 1, time.monotonic() + 3600) == [b"c"]
