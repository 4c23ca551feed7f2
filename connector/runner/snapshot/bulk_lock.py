"""Keeps a second ``bulk-snapshot`` of a connector away while one runs."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.io.postgres import guard
from connector.io.postgres.connection import connect
from connector.io.postgres.snapshot_source import execute, lift_timeouts


@asynccontextmanager
async def sole_snapshot(config: ConnectorConfig) -> AsyncIterator[None]:
    """Hold an advisory lock of the connector's topics and slot. Raises CdcError(SLOT_BUSY) if another process has it."""
    name = f"understudy bulk-snapshot {config.topic_prefix} {config.slot_name}"
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
    connection = await connect(config, "Understudy Snapshot")
    try:
        await lift_timeouts(connection)
        # The lock of a transaction holds with a transaction pooler too. The transaction has no snapshot, so it does not stop VACUUM.
        await execute(connection, "BEGIN")
        if not await guard.take(connection, key):
            raise CdcError(
                ErrorKind.SLOT_BUSY,
                f"Another command takes the snapshot of {config.topic_prefix} with the slot {config.slot_name}",
                "Wait until it ends; its rows could arrive after newer changes",
            )
        try:
            yield
        finally:
            # PostgreSQL ends the transaction of a closed connection a moment later. Until then it would refuse another command.
            with suppress(CdcError):
                await execute(connection, "ROLLBACK")
    finally:
        await connection.close()
