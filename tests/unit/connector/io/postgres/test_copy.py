"""How a burst of COPY rows ends: with what has arrived, or after a wait for more."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from connector.io.postgres import copy
from connector.io.postgres.connection import Connection
from connector.io.postgres.copy import CopyReader

NOW = 1000.0


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the reader, during which alone time passes."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(copy, "time", SimpleNamespace(monotonic=lambda: NOW + sum(waits)))
    monkeypatch.setattr(copy, "asyncio", SimpleNamespace(sleep=sleep))
    return waits


class Libpq:
    """Has one of ``portions`` more with each look at the socket."""

    def __init__(self, ends: socket.socket, *portions: list[bytes]) -> None:
        self.socket = ends.fileno()
        self._coming = list(portions)
        self._there: list[bytes] = []

    def get_copy_data(self, _: int) -> tuple[int, bytes]:
        if not self._there:
            return 0, b""
        row = self._there.pop(0)
        return len(row), row

    def consume_input(self) -> None:
        if self._coming:
            self._there += self._coming.pop(0)


@contextmanager
def reader(*portions: list[bytes]) -> Iterator[CopyReader]:
    """A reader whose socket is always readable."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b".")
        yield CopyReader(cast("Connection", cast("Any", SimpleNamespace(pgconn=Libpq(ours, *portions)))), "reading")


async def test_a_burst_is_what_has_arrived(slept: list[float]) -> None:
    with reader([b"a", b"b"], [], [b"c"]) as rows:
        assert await rows.burst(10, 1000) == [b"a", b"b"]
        # Its moment is past.
        assert await rows.burst(10, 1000, NOW) == [b"c"]
    assert slept == []


async def test_a_burst_waits_for_more_until_its_moment(slept: list[float]) -> None:
    with reader([b"a"], [], [b"b"], [], [b"c"], [], [], [], [b"d"]) as rows:
        assert await rows.burst(10, 1000, NOW + 0.012) == [b"a", b"b", b"c"]
    assert slept == pytest.approx([0.005, 0.005, 0.002])


async def test_a_full_burst_does_not_wait(slept: list[float]) -> None:
    with reader([b"a"], [b"b"], [b"c"], [b"d"]) as rows:
        assert await rows.burst(2, 1000, NOW + 3600) == [b"a", b"b"]
        assert await rows.burst(10, 1, NOW + 3600) == [b"c"]
    assert slept == []
