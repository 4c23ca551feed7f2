"""Streaming up to a snapshot that is taken again: the changes since the stored offset, before the snapshot's rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from connector.catch_up import Boundary
from connector.io.pg_connection import Connection
from connector.io.pg_replication import Replication


class BoundedReplication(Replication):
    """A stream that is silent from the first transaction on that the snapshot at ``until`` does not hold."""

    def __init__(self, connection: Connection, until: int) -> None:
        super().__init__(connection)
        self._boundary = Boundary(until)
        self._ended = asyncio.Event()

    async def frames(self, most: int, most_bytes: int) -> list[bytes]:
        """As :meth:`Replication.frames`; waits for ever once all that is before the boundary was given and worked on."""
        while not self._boundary.reached:
            frames = self._boundary.before(await super().frames(most, most_bytes))
            if frames:
                return frames
        self._ended.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError  # the future has no other end than a cancellation

    @contextlib.asynccontextmanager
    async def until_ended(self, stop: asyncio.Event) -> AsyncIterator[asyncio.Event]:
        """An event that is set when the boundary is reached or ``stop`` is set."""
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
