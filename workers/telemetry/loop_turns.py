"""Turns of the event loop, for long work that must not keep events waiting."""

from __future__ import annotations

import asyncio
import time
from typing import Final

SECONDS: Final = 0.005
"""How long work lasts before other asyncio tasks run, the time of one burst of events."""


class Turn:
    """The present turn of one piece of work."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = time.perf_counter()

    async def pass_on(self) -> None:
        """Let other tasks run if the turn is over."""
        if time.perf_counter() - self._since > SECONDS:
            await asyncio.sleep(0)
            self._since = time.perf_counter()
