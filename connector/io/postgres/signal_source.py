"""Queries to the database that a signal needs (:class:`connector.ports.SignalSource`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.errors import CdcError, ErrorKind
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.connection import Connection, source_error

# The view pg_publication_tables is not used, because it waits for sessions that have locked one of the tables.
_CHECK: Final = """
select has_table_privilege(c.oid, 'INSERT'), has_table_privilege(c.oid, 'DELETE'),
       exists (select from pg_catalog.pg_publication p where p.pubname = %(publication)s and (
           p.puballtables
           or exists (select from pg_catalog.pg_publication_rel r where r.prpubid = p.oid
                      and r.prrelid = any (array(select relid::oid from pg_catalog.pg_partition_ancestors(c.oid)) || c.oid)){schemas})),
       (select p.pubinsert from pg_catalog.pg_publication p where p.pubname = %(publication)s),
       (select p.pubdelete from pg_catalog.pg_publication p where p.pubname = %(publication)s)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and c.relname = %(table)s and c.relkind in ('r', 'p')
"""
_WITH_SCHEMAS: Final = 150000
_SCHEMAS: Final = "or exists (select from pg_catalog.pg_publication_namespace s where s.pnpubid = p.oid and s.pnnspid = c.relnamespace)"
"""PostgreSQL 15 added publications of whole schemas."""


class PostgresSignalSource:
    """Runs the queries on one connection, which must be in autocommit mode.

    ``publication`` is the publication that the stream reads, None if the output plugin sends every table.
    """

    def __init__(self, connection: Connection, publication: str | None) -> None:
        self._connection = connection
        self._publication = publication

    async def tables(self) -> Sequence[tuple[str, str]]:
        """Return schema and name of every table, sorted."""
        return [(table.schema, table.table) for table in await pg_catalog.list_tables(self._connection)]

    async def check_signal_table(self, schema: str, table: str, *, deletes: bool) -> None:
        """Raise CdcError, with SQL as the remedy, unless watermarks can be written and the stream will deliver them."""
        name, quoted, publication = f"{schema}.{table}", quote_table(schema, table), self._publication
        parameters = {"schema": schema, "table": table, "publication": publication}
        try:
            schemas = _SCHEMAS if self._connection.info.server_version >= _WITH_SCHEMAS else ""
            row = await (await self._connection.execute(_CHECK.format(schemas=schemas).encode(), parameters)).fetchone()
        except psycopg.Error as error:
            raise source_error(error, f"looking at the signal table {name}") from error
        if row is None:
            raise CdcError(
                ErrorKind.SOURCE_OBJECT_MISSING,
                f"The signal table {name} does not exist",
                f"CREATE TABLE {quoted} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)",
            )
        may_insert, may_delete, published, inserts_sent, deletes_sent = row
        if not may_insert or (deletes and not may_delete):
            verb = "INSERT" if not may_insert else "DELETE"
            raise CdcError(
                ErrorKind.SOURCE_PERMISSION,
                f"The connector's role may not {verb} in the signal table {name}",
                f"GRANT {verb} ON {quoted} TO the role of database.user",
            )
        if publication is not None and not published:
            raise CdcError(
                ErrorKind.SOURCE_SETTING,
                f"The signal table {name} is not in publication {publication}: watermarks would never come back",
                f"ALTER PUBLICATION {quote_identifier(publication)} ADD TABLE {quoted}",
            )
        unsent = " and ".join(word for word, sent in (("insert", inserts_sent), ("delete", deletes_sent or not deletes)) if not sent)
        if publication is not None and unsent:
            raise CdcError(
                ErrorKind.SOURCE_SETTING,
                f"Publication {publication} does not publish {unsent}: watermarks would never come back",
                f"Add {unsent} to its operations (ALTER PUBLICATION {quote_identifier(publication)} SET (publish = '...')),"
                " or set read.only=true",
            )
