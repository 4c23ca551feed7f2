"""Streaming up to a snapshot that is taken again: the changes since the stored offset are sent before the snapshot's rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from connector.io.postgres.connection import Connection
from connector.io.postgres.replication_connection import Replication
from connector.snapshot.catch_up import Boundary


class BoundedReplication(Replication):
    """A stream that ends before the first transaction that the snapshot at ``until`` does not contain."""

    def __init__(self, connection: Connection, until: int) -> None:
        super().__init__(connection)
        self._boundary = Boundary(until)
        self._ended = asyncio.Event()

    async def frames(self, most: int, most_bytes: int, until: float = 0.0) -> list[bytes]:
        """As :meth:`Replication.frames`. When all frames before the boundary have been returned and handled, it never returns."""
        while not self._boundary.reached:
            frames = self._boundary.before(await super().frames(most, most_bytes, until))
            if frames:
                return frames
        self._ended.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError  # the future can only be cancelled

    @contextlib.asynccontextmanager
    async def until_ended(self, stop: asyncio.Event) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set when the boundary is reached or ``stop`` is set."""
        either = asyncio.Event()
        waits = [asyncio.create_task(event.wait(), name="catch up") for event in (stop, self._ended)]
        for wait in waits:
            wait.add_done_callback(lambda _: either.set())
        try:
            yield either
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
