"""A server with one slot, made by hand, and its streams (:class:`connector.ports.ReplicationStream`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from .faults import Faults


@dataclass(slots=True)
class FakeServer:
    """Transactions in the order of their commits. Steps: ``frames``, ``confirm``, ``ask``."""

    faults: Faults = field(default_factory=Faults)
    burst: int = 3
    """Frames that one call brings."""
    slot: int = 0
    """The last LSN that was confirmed to the slot."""
    confirming: Callable[[int], None] = lambda _: None
    """Called with each LSN that is confirmed to the slot."""
    stuck: bool = False
    """Confirmations are not taken."""
    _log: list[tuple[int, list[bytes]]] = field(default_factory=list)

    def commit(self, end: int, frames: list[bytes]) -> None:
        """Write a transaction that ends at ``end``, or a message or keepalive there."""
        self._log.append((end, frames))

    def stream(self, start: int) -> FakeReplication:
        """START_REPLICATION at ``start``: every transaction that ends after it and after the confirmed position."""
        since = max(start, self.slot)
        return FakeReplication(self, [frame for end, frames in self._log if end > since for frame in frames])


class FakeReplication:
    """One stream. When all is sent it waits for ever."""

    def __init__(self, server: FakeServer, frames: list[bytes]) -> None:
        self._server = server
        self._left = frames

    async def frames(self, most: int, most_bytes: int, until: float = 0.0) -> list[bytes]:
        """The next burst."""
        await asyncio.sleep(0)
        self._server.faults.at("frames")
        if not self._left:
            await asyncio.get_running_loop().create_future()
        taken, self._left = self._left[: self._server.burst], self._left[self._server.burst :]
        return taken

    async def confirm(self, written: int, flushed: int, now_ns: int) -> None:
        """A status update. ``written`` must not be below ``flushed``."""
        await asyncio.sleep(0)
        if self._server.stuck:
            await asyncio.get_running_loop().create_future()
        self._server.faults.at("confirm")
        assert written >= flushed
        self._server.confirming(flushed)
        self._server.slot = max(self._server.slot, flushed)

    async def ask(self, written: int, flushed: int, now_ns: int) -> None:
        """A status update that wants an answer."""
        self._server.faults.at("ask")
        await self.confirm(written, flushed, now_ns)
