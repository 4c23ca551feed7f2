"""The waits for a slot that another walsender still uses."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.io.postgres import server as pg_server
from connector.io.postgres.connection import Connection
from connector.io.postgres.replication_connection import Replication
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_QUICK: Final = 20
"""The number of first attempts to use a busy slot, whose last walsender may be about to end."""
_QUICK_S: Final = 0.25
"""Pause after each of them."""
_LOOK_S: Final = 0.5
"""Pause between checks of a slot that stays busy, within slot.retry.delay.ms."""


async def start_when_free(
    query: Connection, replication: Replication, config: ConnectorConfig, start: int, options: dict[str, str]
) -> None:
    """Start replication, and retry while the slot is busy.

    The first retries have short pauses, because the last walsender usually ends soon. Each later retry waits until the slot is free, at
    most ``slot.retry.delay.ms``. A walsender with a broken network connection keeps the slot for wal_sender_timeout, a minute by default.
    """
    for attempt in range(_QUICK + config.slot_max_retries + 1):
        try:
            await replication.start(config.slot_name, start, options)
        except CdcError as error:
            if error.kind is not ErrorKind.SLOT_BUSY or attempt == _QUICK + config.slot_max_retries:
                raise
            if attempt == _QUICK:
                LOG.warning("slot busy", slot=config.slot_name, reason=error.message)
            if attempt < _QUICK:
                await asyncio.sleep(_QUICK_S)
            else:
                await _until_free(query, config.slot_name, config.slot_retry_delay_ms / 1000)
        else:
            return


async def _until_free(query: Connection, slot: str, seconds: float) -> None:
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
