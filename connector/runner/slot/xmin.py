"""Reads ``source.xmin`` at intervals (``xmin.fetch.interval.ms``): the oldest transaction whose catalog rows the slot retains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.events.stream_source import StreamSource
from connector.ports import Clock

_LEAST_S: Final = 0.1
"""The shortest interval. A shorter one would load the server for little benefit."""


async def watch_xmin(source: StreamSource, slot: str, interval_ms: int, see: Callable[[int | None], None], clock: Clock) -> None:
    """Pass the slot's catalog_xmin to ``see`` every ``interval_ms`` until cancelled. Raises CdcError if it cannot be read."""
    pause = max(interval_ms / 1000, _LEAST_S)
    while True:
        await clock.sleep(pause)
        see(await source.slot_xmin(slot))
