"""The system's clock (:class:`connector.ports.Clock`)."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Final

from connector.ports import Clock


class _SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def now_ns(self) -> int:
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


SYSTEM_CLOCK: Final[Clock] = _SystemClock()
