"""A clock that stands still until a test moves it (:class:`connector.ports.Clock`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FakeClock:
    """Begins at a moment of 2023. Sleepers and time limits wait for :meth:`advance`."""

    def __init__(self) -> None:
        self._ns = 1_700_000_000_000_000_000
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []
        self._limits: dict[asyncio.Timeout, int] = {}

    def monotonic(self) -> float:
        """Seconds."""
        return self._ns / 1e9

    def now_ns(self) -> int:
        """Nanoseconds since 1970."""
        return self._ns

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the clock as far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._ns + int(seconds * 1e9), woken))
        await woken

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError in the body once the test has moved the clock as far."""
        async with asyncio.timeout(None) as limit:
            self._limits[limit] = self._ns + int(seconds * 1e9)
            try:
                yield
            finally:
                del self._limits[limit]

    def advance(self, seconds: float) -> None:
        """Move the clock; those whose time has come go on."""
        self._ns += int(seconds * 1e9)
        waiting, self._sleepers = self._sleepers, []
        for until, woken in waiting:
            if until > self._ns:
                self._sleepers.append((until, woken))
            elif not woken.done():
                woken.set_result(None)
        for limit, until in self._limits.items():
            if until <= self._ns and not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
