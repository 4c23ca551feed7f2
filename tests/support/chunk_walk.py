"""Reads a table of a real server chunk by chunk, as the runner does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.incremental.chunk_query import ChunkOrder, KeyTexts
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.incremental import chunks as pg_chunks
from connector.snapshot.plan import split_copy_line
from tests.fix_pg import Database
from tests.support.stream_rig import configured


def config_of(database: Database) -> ConnectorConfig:
    """The configuration of a connector to ``database``."""
    return configured(
        database_hostname=database.host, database_port=str(database.port), database_user=database.user, database_dbname=database.name
    )


@asynccontextmanager
async def connected(database: Database) -> AsyncIterator[Connection]:
    """A connection of the connector's."""
    connection = await connect(config_of(database), "test")
    try:
        yield connection
    finally:
        await connection.close()


async def table_of(connection: Connection, name: str = "public.many") -> CatalogTable:
    """The table ``schema.table``, which exists."""
    table = await pg_chunks.find_table(connection, name)
    assert table is not None
    return table


async def walk(connection: Connection, table: CatalogTable, order: ChunkOrder, size: int, condition: str | None = None) -> list[list[str]]:
    """The first column's values, chunk by chunk."""
    known = await pg_chunks.shape(connection, table)
    upto = await pg_chunks.maximum(connection, table, order, condition)
    names = [column.name for column in table.columns]
    after: KeyTexts | None = None
    chunks: list[list[str]] = []
    while upto is not None:
        read = await pg_chunks.read_chunk(connection, table, known, names, order, after=after, upto=upto, condition=condition, rows=size)
        if not read.lines:
            break
        rows = [split_copy_line(line) for line in read.lines]
        ordering = (*order.columns, *order.tiebreak) if read.divided else order.columns
        after = pg_chunks.texts([rows[-1][names.index(column.name)] for column in ordering])
        chunks.append([(row[0] or b"").decode() for row in rows])
        assert len(chunks) < 500, "the walk does not end"
    return chunks
