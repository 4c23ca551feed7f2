"""Reads chunks of tables for incremental snapshots, each in a transaction of its own with what is needed to place it in the stream."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import psycopg

from connector.chunk_query import ChunkOrder, KeyTexts, chunk_statement, condition_statement, lock_statement, maximum_statement
from connector.incremental_chunk import Visibility
from connector.io.pg_catalog import describe_tables, list_tables
from connector.io.pg_connection import Connection, source_error
from connector.io.pg_copy import copy_rows
from connector.io.pg_statement import reading, run_alone
from connector.lsn import parse_lsn
from connector.table import CatalogTable

# Each statement sees what has been committed before it: the table is locked first, as an ALTER TABLE that rewrites it makes it
# seem empty to older snapshots; and the transactions that are open are listed before the rows are read, never after.
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY; "

# Columns and keys as one text: whatever changes in it makes the table another one for us.
_FACTS: Final = """
select pg_catalog.pg_current_snapshot()::text,
       (select string_agg(pg_catalog.concat_ws(':', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull), ',' order by a.attnum)
        from pg_catalog.pg_attribute a where a.attrelid = %(table)s and a.attnum > 0 and not a.attisdropped)
       || (select coalesce(string_agg(pg_catalog.concat_ws(':', i.indisprimary, i.indkey), ',' order by i.indexrelid), '')
           from pg_catalog.pg_index i where i.indrelid = %(table)s and i.indisunique and i.indisvalid)
"""

_POSITION: Final = """
select case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn()
            else pg_catalog.pg_current_wal_insert_lsn() end::text
"""


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Rows of a chunk as COPY gave them, and which transactions it could see."""

    lines: list[bytes]
    visible: Visibility


class TableChangedError(Exception):
    """The table has other columns than when it was looked at."""


async def find_table(connection: Connection, name: str) -> CatalogTable | None:
    """The table ``schema.table``, with columns and keys; None when there is none. Dots in names are no hindrance."""
    found = [table for table in await list_tables(connection) if table.name == name]
    return (await describe_tables(connection, found))[0] if found else None


async def shape(connection: Connection, table: CatalogTable) -> str | None:
    """A text that changes when the table's columns do; None when the table is gone."""
    try:
        cursor = await connection.execute(_FACTS, {"table": table.oid})
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, f"reading the columns of {table.name}") from error
    return None if row is None else row[1]


async def maximum(connection: Connection, table: CatalogTable, order: ChunkOrder, condition: str | None) -> KeyTexts | None:
    """The last row's place; None when no row fulfils ``condition``. Raises CdcError with what the server said."""
    # Not by COPY: it would read as of when it began, and not as of when it got the table's lock.
    try:
        async with reading(connection):
            await _check(connection, table, condition)
            result = await run_alone(connection, maximum_statement(table, order, condition))
    except psycopg.Error as error:
        raise source_error(error, f"reading the last key of {table.name}") from error
    if result.ntuples == 0:
        return None
    return texts([result.get_value(0, column) for column in range(result.nfields)])


async def _check(connection: Connection, table: CatalogTable, condition: str | None) -> None:
    if condition:
        await run_alone(connection, condition_statement(table, condition))


def texts(cells: Collection[bytes | None]) -> KeyTexts:
    """Cells as texts."""
    return tuple(None if cell is None else cell.decode() for cell in cells)


async def read_chunk(
    connection: Connection,
    table: CatalogTable,
    known_shape: str | None,
    columns: Collection[str],
    order: ChunkOrder,
    *,
    after: KeyTexts | None,
    upto: KeyTexts,
    condition: str | None,
    rows: int,
) -> ReadChunk:
    """See :func:`connector.chunk_query.chunk_statement`.

    Raises TableChangedError when the table's columns are not those of ``known_shape``, CdcError with what the server said.
    """
    doing = f"reading a chunk of {table.name}"
    try:
        try:
            try:
                await connection.execute((_BEGIN + lock_statement(table, columns)).encode())
            except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
                raise TableChangedError(table.name) from error
            cursor = await connection.execute(_FACTS, {"table": table.oid})
            row = await cursor.fetchone()
            if row is None or row[1] != known_shape:
                raise TableChangedError(table.name)
            await _check(connection, table, condition)
            statement = chunk_statement(table, columns, order, after=after, upto=upto, condition=condition, rows=rows)
            lines: list[bytes] = []
            async for burst in copy_rows(connection, statement, doing, most=_BURST):
                lines += burst
        finally:
            if not connection.closed:
                await connection.execute(b"ROLLBACK")
    except psycopg.Error as error:
        raise source_error(error, doing) from error
    return ReadChunk(lines, Visibility.parse(row[0]))


_BURST: Final = 512


async def written_position(connection: Connection) -> int:
    """A WAL position behind every change that is visible now."""
    try:
        cursor = await connection.execute(_POSITION.encode())
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "reading the WAL position") from error
    lsn = parse_lsn(row[0]) if row is not None and row[0] is not None else 0
    # At the start of a page the position stands behind the page's header, where nothing may follow for a long time.
    return lsn - lsn % _PAGE if lsn % _PAGE <= _HEADER else lsn


_PAGE: Final = 8192
_HEADER: Final = 40
