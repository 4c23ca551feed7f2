"""Reads one row again from its table, with its values in the text form of the stream.

The server streams a transaction as soon as its commit is in the WAL, and shows it to other sessions a moment later; with a synchronous
standby, only once the standby has confirmed it (PostgreSQL manual, "Synchronous Replication"). A row that is read before that is the row
before the transaction. So each read also tells which transactions it sees, and is repeated until it sees the event's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import psycopg

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.catalog.visibility import Visibility
from connector.errors import Directive, ErrorKind
from connector.events.reselect import Reread
from connector.events.stream_source import NotReadError
from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.server import current_snapshot
from connector.io.postgres.statement import doubled
from connector.log import EventLog
from connector.types.codec import Column, Types
from connector.types.numeric import fixed_scale
from connector.types.registry import base_type

LOG: Final = EventLog(__name__)
_DATA: Final = "22"
"""The class of SQLSTATE whose messages may quote a value."""
_PAUSE_S: Final = 0.001
"""Between two reads; doubled each time, up to :data:`_LONGEST_PAUSE_S`."""
_LONGEST_PAUSE_S: Final = 0.5
_FIRST: Final = 2
"""The place of the first wanted column in the result, after the snapshot and the mark of a row that was found."""


async def read_again(connection: Connection, reread: Reread, types: Types, xid: int) -> list[bytes | None]:
    """Return the current texts of the row's wanted columns, in their order, once transaction ``xid`` can be seen.

    If several rows match, use the first. ``xid`` has 32 bits.

    Raises NotReadError if there is no such row or the server refuses, and CdcError for an error that a new connection may remedy.
    """
    if not reread.key:
        raise NotReadError("it has no key to be found by")
    pause = _PAUSE_S
    while True:
        seen, row = await _read(connection, reread, types)
        if not seen.hides_any((xid,)):
            break
        if pause > _LONGEST_PAUSE_S:
            LOG.warning("a committed transaction cannot be seen yet; a synchronous standby may not have confirmed it", xid=xid)
        await asyncio.sleep(min(pause, _LONGEST_PAUSE_S))
        pause *= 2
    if row is None:
        raise NotReadError("it is gone")
    return row


async def _read(connection: Connection, reread: Reread, types: Types) -> tuple[Visibility, list[bytes | None] | None]:
    """Return which transactions the read saw, and the row's texts; None for a row that is gone."""
    try:
        statement, values = _statement(reread, current_snapshot(connection))
        cursor = await connection.execute(statement, values)
        result = cursor.pgresult
    except psycopg.Error as error:
        failure = source_error(error, f"reading a row of table {reread.table.name} again")
        if failure.directive is Directive.RETRY and failure.kind is not ErrorKind.SOURCE_INTERNAL:
            raise failure from error
        state = error.sqlstate or ""
        raise NotReadError(f"SQLSTATE {state}" if state.startswith(_DATA) else failure.message) from error
    snapshot = None if result is None else result.get_value(0, 0)
    if result is None or snapshot is None:
        raise NotReadError("the server gave no snapshot")
    seen = Visibility.parse(snapshot.decode())
    if result.get_value(0, 1) is None:
        return seen, None
    for place, at in enumerate(reread.columns, _FIRST):
        column = reread.table.columns[at]
        if not _reads_alike(column, result.ftype(place), result.fmod(place), types):
            raise NotReadError(f"column {column.name} has another type by now")
    return seen, [result.get_value(0, place) for place in range(_FIRST, _FIRST + len(reread.columns))]


def _statement(reread: Reread, snapshot: str) -> tuple[bytes, Sequence[str]]:
    """Return the statement and its values. The values are texts without a type, so the server parses each as its column's type."""
    wanted = ", ".join(_named(reread.table.columns[at].name) for at in reread.columns)
    where = " and ".join(f"{_named(name)} = %s" for name, _ in reread.key)
    table = doubled(quote_table(reread.table.schema, reread.table.table))
    # Only the quoted names come from data.
    row = f"select true, {wanted} from {table} where {where} limit 1"
    statement = f"select {snapshot}::text, found.* from (values (1)) one left join lateral ({row}) found on true"
    return statement.encode(), [cell.decode() for _, cell in reread.key]


def _named(column: str) -> str:
    return doubled(quote_identifier(column))


def _reads_alike(column: Column, type_oid: int, modifier: int, types: Types) -> bool:
    """Return whether the codec of ``column`` reads the texts of a type, which the server reports as the base type of its domains.

    A codec trusts the number of fraction digits. Other modifiers change no text.
    """
    base, declared = base_type(column, types)
    if base is None:
        return type_oid == column.type_oid
    scale = fixed_scale(base, declared, types)
    return type_oid == base.oid and (scale is None or scale == fixed_scale(base, modifier, types))
