"""An advisory lock by which one knows that nobody reads a snapshot any more, wherever the readers run.

A reader shares it in its transaction, and ends its producer before its connection: as long as it may send, it has the lock.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import psycopg

from connector.io.pg_connection import Connection, source_error

_log = logging.getLogger(__name__)

_ASK_S: Final = 0.1
# The key's halves are two oids in pg_locks (PostgreSQL manual, 53.13 pg_locks).
_HOLDERS: Final = """
select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_locks
where locktype = 'advisory' and granted and pid <> pg_catalog.pg_backend_pid() and objsubid = 1
  and database = (select oid from pg_catalog.pg_database where datname = current_database())
  and (classid::bigint << 32 | objid::bigint) = %s
"""


async def share(connection: Connection, key: int) -> bool:
    """Take the lock until the transaction ends; False when the snapshot is over. Raises CdcError."""
    return await _ask(connection, "select pg_catalog.pg_try_advisory_xact_lock_shared(%s)", key)


async def close(connection: Connection, key: int, seconds: float) -> None:
    """Return when no reader has the lock, and let none have it until this transaction ends.

    Readers that are there after ``seconds`` lose their connections, which ends them as soon as they can be reached. Raises CdcError.
    """
    ends = time.monotonic() + seconds
    while not await _ask(connection, "select pg_catalog.pg_try_advisory_xact_lock(%s)", key):
        if time.monotonic() >= ends:
            _log.warning("readers of the snapshot that do not end lose their connections")
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
