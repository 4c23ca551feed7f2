"""A snapshot's transaction in PostgreSQL (:class:`connector.snapshot.source.SnapshotSource`)."""

# ruff: noqa: D102 (the port documents the methods)

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

import psycopg

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.io.postgres import catalog, guard, server
from connector.io.postgres.connection import Connection, connect, source_error
from connector.io.postgres.copy import copy_rows
from connector.io.postgres.sizes import table_sizes
from connector.io.postgres.statement import run_alone
from connector.snapshot.parts import TableSize
from connector.snapshot.plan import override_columns_statement
from connector.snapshot.select_casts import ResultColumn


class PostgresSnapshot:
    """A :class:`connector.snapshot.source.SnapshotSource` that uses ``connection`` and closes it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, config: ConnectorConfig, purpose: str) -> PostgresSnapshot:
        """Connect. Raises CdcError as :func:`connector.io.postgres.connection.connect`."""
        return cls(await connect(config, purpose))

    async def lift_timeouts(self) -> None:
        await lift_timeouts(self.connection)

    async def execute(self, statement: str) -> None:
        await execute(self.connection, statement)

    async def tables(self) -> list[CatalogTable]:
        return await catalog.list_tables(self.connection)

    async def describe(self, tables: Collection[CatalogTable]) -> list[CatalogTable]:
        return await catalog.describe_tables(self.connection, tables)

    async def sizes(self, tables: Sequence[CatalogTable]) -> list[TableSize]:
        return await table_sizes(self.connection, [table.oid for table in tables])

    async def in_recovery(self) -> bool:
        return await server.in_recovery(self.connection)

    async def txid(self) -> int | None:
        return await server.current_txid(self.connection)

    async def lsn(self) -> int:
        return await server.current_lsn(self.connection)

    async def export(self) -> str:
        return await server.export_snapshot(self.connection)

    async def columns(self, select: str, origin: str) -> tuple[ResultColumn, ...]:
        try:
            result = await run_alone(self.connection, override_columns_statement(select))
        except psycopg.Error as error:
            raise source_error(error, f"reading the columns of the statement of {origin}") from error
        return tuple(
            ResultColumn((result.fname(place) or b"").decode(), result.ftype(place), result.fmod(place)) for place in range(result.nfields)
        )

    def rows(self, query: str, doing: str, *, most: int) -> AsyncIterator[list[bytes]]:
        return copy_rows(self.connection, query, doing, most=most)

    async def share_guard(self, guard_key: int) -> bool:
        """Share the advisory lock until the transaction ends. Return False if the snapshot has ended. Raises CdcError."""
        return await guard.share(self.connection, guard_key)

    async def end_readers(self, guard_key: int, seconds: float) -> None:
        await guard.close(self.connection, guard_key, seconds)

    async def close(self) -> None:
        await self.connection.close()


async def execute(connection: Connection, statement: str) -> None:
    """Run a statement that prepares the snapshot. Raises CdcError with the server's message."""
    try:
        await connection.execute(statement.encode())
    except psycopg.Error as error:
        raise source_error(error, f"preparing the snapshot ({statement.split(chr(39), maxsplit=1)[0].strip()})") from error


async def lift_timeouts(connection: Connection) -> None:
    """Switch off the session's timeouts, so that a slow or waiting snapshot does not end. Locks have a separate timeout."""
    # pg_settings lists the existing settings; PostgreSQL has transaction_timeout only since 17.
    await execute(
        connection,
        "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN"
        " ('statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')",
    )
