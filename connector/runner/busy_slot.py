"""The waits for a slot that another walsender still uses."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from connector.io.postgres import server as pg_server
from connector.io.postgres.connection import Connection
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_LOOK_S: Final = 0.5
"""Pause between checks of a slot that stays busy, within slot.retry.delay.ms."""


async def until_free(query: Connection, slot: str, seconds: float) -> None:
    """Wait until the slot is free, at most ``seconds``."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(_LOOK_S, left))
        state = await pg_server.slot_state(query, slot)
        if state is None or not state.active:
            return


async def drop_when_free(query: Connection, slot: str) -> None:
    """Drop the slot once its walsender has ended, which takes a moment after the connection was closed; log it if it stays in use."""
    for _ in range(20):
        state = await pg_server.slot_state(query, slot)
        if state is None:
            return
        if not state.active:
            await pg_server.drop_slot(query, slot)
            return
        await asyncio.sleep(0.05)
    LOG.warning("slot not dropped", slot=slot, reason="it is still in use")
