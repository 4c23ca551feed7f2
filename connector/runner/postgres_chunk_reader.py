"""Reads the chunks of incremental snapshots from the connector's database, on a separate connection."""

from __future__ import annotations

from typing import Final

from connector import failpoints
from connector.catalog.table import surrogate_key
from connector.config.connector_config import ConnectorConfig
from connector.events.capture import Capture
from connector.incremental.chunk_query import KeyTexts, chunk_order
from connector.incremental.chunk_reader import ChunkRows
from connector.incremental.state import Collection
from connector.incremental.target import Target, Unreadable
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.incremental import chunks as pg_chunks
from connector.io.postgres.incremental.watermarks import Watermarks
from connector.io.postgres.snapshot_source import execute, lift_timeouts
from connector.snapshot.plan import projected

_APPLICATION: Final = "Understudy Incremental"


class PostgresChunkReader:
    """A :class:`connector.incremental.chunk_reader.ChunkReader`. ``watermarks`` is None if none are written."""

    def __init__(self, config: ConnectorConfig, capture: Capture, watermarks: Watermarks | None) -> None:
        self._config = config
        self._capture = capture
        self._watermarks = watermarks
        self._connection: Connection | None = None

    async def connect(self) -> None:
        """Connect, unless an intact connection is open. Its statements have no server timeouts."""
        await self._connected()

    async def write_opening(self, chunk_id: str) -> None:
        """Insert the first watermark's row into the signal table."""
        connection = await self._connected()
        if self._watermarks is not None:
            await self._watermarks.open(connection, chunk_id)

    async def write_closing(self, chunk_id: str) -> None:
        """Insert the second watermark's row, or delete the first one's."""
        connection = await self._current()
        if self._watermarks is not None:
            await self._watermarks.close(connection, chunk_id)

    async def position(self) -> int:
        """Return the current WAL position."""
        return await pg_chunks.written_position(await self._current())

    async def look_at(self, collection: Collection) -> Target | Unreadable:
        """Read the table's description, and the types if the table has unknown ones."""
        connection, capture = await self._current(), self._capture
        table = await pg_chunks.find_table(connection, collection.name)
        if table is None:
            return Unreadable("UNKNOWN_SCHEMA", "there is no such table")
        if not capture.selection.captures(table.schema, table.table):
            return Unreadable("UNKNOWN_SCHEMA", "the connector's filters leave it out")
        if capture.unknown_types(table):
            capture.types = await pg_catalog.read_types(connection)
        names = (surrogate_key(table, collection.surrogate_key),) if collection.surrogate_key else capture.key_names(table)
        if not names:
            return Unreadable("NO_PRIMARY_KEY", "it has no key; name a column by surrogate-key")
        columns = capture.needed_columns(table) | {*names, *table.primary_key}
        return Target(
            collection,
            table,
            await pg_chunks.shape(connection, table),
            capture.encoder(projected(table, columns)),
            frozenset(columns),
            chunk_order(table, names, capture.types),
            capture.types,
            self._config.emulation,
            -1 if collection.condition else table.estimate,
        )

    async def last_row(self, target: Target) -> KeyTexts | None:
        """Read the key of the last row that fulfils the condition."""
        return await pg_chunks.maximum(await self._current(), target.table, target.order, target.collection.condition)

    async def rows(self, target: Target, after: KeyTexts | None, upto: KeyTexts, most: int) -> ChunkRows:
        """Read a chunk in a separate transaction."""
        rows = await pg_chunks.read_chunk(
            await self._current(),
            target.table,
            target.shape,
            target.columns,
            target.order,
            after=after,
            upto=upto,
            condition=target.collection.condition,
            rows=most,
        )
        failpoints.reached(failpoints.BETWEEN_WATERMARKS)
        return rows

    async def close(self) -> None:
        """Close the connection, if one is open."""
        if self._connection is not None:
            await self._connection.close()

    async def _current(self) -> Connection:
        """Return the connection on which the chunk began, even if it is lost, because its failure must end the task."""
        return self._connection if self._connection is not None else await self._connected()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await connect(self._config, _APPLICATION)
            await lift_timeouts(self._connection)
            if "database.query.timeout.ms" in self._config.raw:
                # The condition of a signal may take very long.
                await execute(self._connection, f"SET statement_timeout = {self._config.database_query_timeout_ms}")
        return self._connection
