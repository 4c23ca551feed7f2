"""Reads chunks of tables for incremental snapshots. Each transaction also reads which other transactions it can see."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import psycopg

from connector.catalog.table import CatalogTable
from connector.catalog.visibility import Visibility
from connector.incremental.chunk_query import ChunkOrder, KeyTexts, condition_statement, lock_statement, maximum_statement
from connector.incremental.chunk_reader import ChunkRows, TableChangedError
from connector.io.postgres.catalog import describe_tables, list_tables
from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.incremental.chunk_lines import ChunkLines
from connector.io.postgres.server import current_snapshot
from connector.io.postgres.statement import reading, run_alone
from connector.wire.lsn import parse_lsn

# Each statement sees what was committed before it. The table is locked first, because an ALTER TABLE that rewrites it makes it look empty
# to older snapshots. The open transactions are listed before the rows are read.
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY; "

# Columns and keys as one text. If the text has changed, the table's description must be read again.
_FACTS: Final = """
select {snapshot}::text,
       (select string_agg(pg_catalog.concat_ws(':', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull), ',' order by a.attnum)
        from pg_catalog.pg_attribute a where a.attrelid = %(table)s and a.attnum > 0 and not a.attisdropped)
       || coalesce((select string_agg(pg_catalog.concat_ws(':', i.indisprimary, i.indkey, i.indpred is null), ',' order by i.indexrelid)
           from pg_catalog.pg_index i where i.indrelid = %(table)s and i.indisunique and i.indisvalid), '')
       || (select c.relkind = 'r' and c.relhassubclass from pg_catalog.pg_class c where c.oid = %(table)s)
"""

_POSITION: Final = """
select case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn()
            else pg_catalog.pg_current_wal_insert_lsn() end::text
"""


async def find_table(connection: Connection, name: str) -> CatalogTable | None:
    """Return the table ``schema.table`` with columns and keys; None if it does not exist. Names may contain dots."""
    found = [table for table in await list_tables(connection) if table.name == name]
    return (await describe_tables(connection, found))[0] if found else None


async def shape(connection: Connection, table: CatalogTable) -> str | None:
    """Return a text that changes when the table's columns or keys change; None if the table was dropped."""
    try:
        cursor = await connection.execute(_facts(connection), {"table": table.oid})
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, f"reading the columns of {table.name}") from error
    return None if row is None else row[1]


def _facts(connection: Connection) -> bytes:
    return _FACTS.format(snapshot=current_snapshot(connection)).encode()


async def maximum(connection: Connection, table: CatalogTable, order: ChunkOrder, condition: str | None) -> KeyTexts | None:
    """Return the key of the last row; None if no row fulfils ``condition``. Raises CdcError with the server's message."""
    # COPY is not used, because it takes its snapshot when it begins and not when it has the table's lock.
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
    """Return the texts of cells."""
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
) -> ChunkRows:
    """Read a chunk (:class:`connector.io.postgres.incremental.chunk_lines.ChunkLines`).

    Raises TableChangedError if the table's columns differ from those of ``known_shape``, and CdcError with the server's message.
    """
    doing = f"reading a chunk of {table.name}"
    try:
        try:
            try:
                await connection.execute((_BEGIN + lock_statement(table, columns)).encode())
            except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
                raise TableChangedError(table.name) from error
            cursor = await connection.execute(_facts(connection), {"table": table.oid})
            row = await cursor.fetchone()
            if row is None or row[1] != known_shape:
                raise TableChangedError(table.name)
            await _check(connection, table, condition)
            lines, divided = await ChunkLines(connection, table, columns, order, condition).read(after, upto, rows)
        finally:
            if not connection.closed:
                await connection.execute(b"ROLLBACK")
    except psycopg.Error as error:
        raise source_error(error, doing) from error
    return ChunkRows(lines, Visibility.parse(row[0]), divided)


async def written_position(connection: Connection) -> int:
    """Return a WAL position after every change that is visible now."""
    try:
        cursor = await connection.execute(_POSITION.encode())
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "reading the WAL position") from error
    lsn = parse_lsn(row[0]) if row is not None and row[0] is not None else 0
    # At the start of a page, the position is after the page's header, which the stream may not reach for a long time.
    return lsn - lsn % _PAGE if lsn % _PAGE <= _HEADER else lsn


_PAGE: Final = 8192
_HEADER: Final = 40
