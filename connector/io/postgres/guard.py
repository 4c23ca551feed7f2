"""An advisory lock that shows whether a snapshot still has readers, on whichever machine they run.

A reader shares the lock in its transaction, and stops its producer before it closes its connection. It therefore has the lock as long as
it may send.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import psycopg

from connector.io.postgres.connection import Connection, source_error
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_ASK_S: Final = 0.1
_ALONE: Final = "select pg_catalog.pg_try_advisory_xact_lock(%s)"
# pg_locks shows the key's halves as two oids (PostgreSQL manual, 53.13 pg_locks).
_HOLDERS: Final = """
select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_locks
where locktype = 'advisory' and granted and pid <> pg_catalog.pg_backend_pid() and objsubid = 1
  and database = (select oid from pg_catalog.pg_database where datname = current_database())
  and (classid::bigint << 32 | objid::bigint) = %s
"""


async def share(connection: Connection, key: int) -> bool:
    """Share the lock until the transaction ends. Return False if the snapshot has ended. Raises CdcError."""
    return await _ask(connection, "select pg_catalog.pg_try_advisory_xact_lock_shared(%s)", key)


async def take(connection: Connection, key: int) -> bool:
    """Take the lock alone until the transaction ends. Return False if another session has it. Raises CdcError."""
    return await _ask(connection, _ALONE, key)


async def close(connection: Connection, key: int, seconds: float) -> None:
    """Return when no reader has the lock. No reader can take it again until this transaction ends.

    After ``seconds`` the connections of remaining readers are terminated, and each reader ends when it detects this. Raises CdcError.
    """
    ends = time.monotonic() + seconds
    while not await take(connection, key):
        if time.monotonic() >= ends:
            LOG.warning("terminating the connections of snapshot readers that did not end")
            try:
                await connection.execute(_HOLDERS, (key,))
            except psycopg.Error as error:
                raise source_error(error, "ending the snapshot's readers") from error
            ends = time.monotonic() + seconds
        await asyncio.sleep(_ASK_S)


async def _ask(connection: Connection, query: str, key: int) -> bool:
    try:
        cursor = await connection.execute(query.encode(), (key,))
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "asking for the snapshot's advisory lock") from error
    return row is not None and bool(row[0])
