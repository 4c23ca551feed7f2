"""Queries to the database that a running stream needs (:class:`connector.events.stream_source.StreamSource`)."""

from __future__ import annotations

from collections.abc import Sequence

from connector.catalog.table import CatalogTable
from connector.events.reselect import Reread
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres import server as pg_server
from connector.io.postgres.connection import Connection
from connector.io.postgres.reselect import read_again
from connector.types.codec import Types


class PostgresStreamSource:
    """Runs the queries on one connection, which must be in autocommit mode."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read_table(self, schema: str, table: str) -> CatalogTable | None:
        """Return the table with its columns and keys."""
        return await pg_catalog.read_table(self._connection, schema, table)

    async def read_types(self) -> Types:
        """Return all types by their oids."""
        return await pg_catalog.read_types(self._connection)

    async def slot_xmin(self, slot: str) -> int | None:
        """Return the slot's ``catalog_xmin``."""
        return await pg_server.slot_xmin(self._connection, slot)

    async def read_again(self, reread: Reread, types: Types, xid: int) -> Sequence[bytes | None]:
        """Return the wanted columns of a row, as a state has it that includes transaction ``xid``."""
        return await read_again(self._connection, reread, types, xid)
