"""The wait for a condition in the event loop of the code under test, where nothing announces that it holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

SECONDS: Final = 180.0
SHORTEST: Final = 0.02
LONGEST: Final = 0.1
"""Seconds between two looks. A look takes a few milliseconds of the tests' process, and often as many of a worker."""


async def until(look: Callable[[], Awaitable[bool]], what: Callable[[], str], seconds: float = SECONDS) -> None:
    """Poll until the condition holds. Raises TimeoutError that names ``what``."""
    deadline = time.monotonic() + seconds
    pause = SHORTEST
    while not await look():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {seconds:g} s in vain for {what()}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST)
