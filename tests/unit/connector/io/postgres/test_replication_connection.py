"""The end of a replication connection."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from psycopg import pq

from connector.io.postgres.replication_connection import Replication


class Blocked:
    """A connection to a server that reads nothing: libpq can never write all of its output."""

    def __init__(self) -> None:
        self.closed = False
        self.flushing = asyncio.Event()
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        try:
            while True:
                self.ours.send(bytes(65_536))
        except BlockingIOError:
            pass
        self.pgconn = SimpleNamespace(status=pq.ConnStatus.OK, socket=self.ours.fileno(), put_copy_end=lambda: None, flush=self._flush)

    def _flush(self) -> int:
        self.flushing.set()
        return 1

    async def close(self) -> None:
        self.closed = True
        self.ours.close()
        self.theirs.close()


async def test_a_close_that_is_cancelled_disconnects_too() -> None:
    connection: Any = Blocked()
    replication = Replication(connection)
    replication._reader = SimpleNamespace(ended=False)  # type: ignore[assignment]
    closing = asyncio.create_task(replication.close())
    await connection.flushing.wait()
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert connection.closed
