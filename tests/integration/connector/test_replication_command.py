"""A refused replication command leaves its connection ready for the next one: a busy slot is asked for again on the same connection."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from psycopg import AsyncConnection

from connector.errors import CdcError, ErrorKind
from connector.io.postgres.replication_connection import Replication
from tests.fix_pg import PgServer


@pytest.mark.pg_once
async def test_every_attempt_at_a_busy_slot_says_that_it_is_busy(pg: PgServer) -> None:
    database = pg.database("command")
    slot = f"command_{uuid.uuid4().hex[:8]}"
    options = {"proto_version": "1", "publication_names": slot}
    database.execute(f"CREATE PUBLICATION {slot} FOR ALL TABLES", f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    holder = Replication(await AsyncConnection.connect(database.dsn, autocommit=True, replication="database"))
    waiter = Replication(await AsyncConnection.connect(database.dsn, autocommit=True, replication="database"))
    try:
        await holder.start(slot, 0, options)
        for _ in range(3):
            with pytest.raises(CdcError) as refused:
                await waiter.start(slot, 0, options)
            assert refused.value.kind is ErrorKind.SLOT_BUSY
    finally:
        await holder.close()
        await waiter.close()
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE slot_name = %s", [slot])
            connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])
