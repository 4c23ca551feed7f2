"""``source.xmin``: the oldest transaction whose catalog rows the slot keeps, looked at now and then (``xmin.fetch.interval.ms``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from connector.io.pg_connection import Connection
from connector.io.pg_server import slot_xmin

_LEAST_S: Final = 0.1
"""Looking more often than this would cost the server more than a fresher number is worth."""


async def watch_xmin(connection: Connection, slot: str, interval_ms: int, tell: Callable[[int | None], None]) -> None:
    """Tell the slot's catalog_xmin every ``interval_ms``, until cancelled. Raises CdcError when the server cannot be asked."""
    pause = max(interval_ms / 1000, _LEAST_S)
    while True:
        await asyncio.sleep(pause)
        tell(await slot_xmin(connection, slot))
