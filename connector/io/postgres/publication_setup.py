"""Reads the publication's state, and creates or changes the publication."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import psycopg

from connector.catalog.identifiers import quote_identifier
from connector.catalog.selection import TableName
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection, source_error
from connector.log import EventLog
from connector.start.publication_sql import PublicationState, lost_schemas, plan_publication, publish_list, why_unchanged

LOG: Final = EventLog(__name__)


# What the view pg_publication_tables shows, without its locks: it waits for sessions that have locked one of the tables. PostgreSQL 12 has
# no publish_via_partition_root.
_TABLES: Final = """
with publication as (
    select p.oid, coalesce((to_jsonb(p) ->> 'pubviaroot')::boolean, false) as via_root from pg_catalog.pg_publication p where p.pubname = %s
), listed as (
    select r.prrelid as oid from pg_catalog.pg_publication_rel r join publication p on p.oid = r.prpubid{of_schemas}
), published as (
    select c.oid from publication p, listed l join pg_catalog.pg_class c on c.oid = l.oid
    where case when p.via_root then
        not c.relispartition or not exists (
            select from pg_catalog.pg_partition_ancestors(c.oid) a where a.relid <> c.oid and a.relid in (select oid from listed))
        else c.relkind <> 'p' end
    union
    select t.relid::oid from publication p, listed l join pg_catalog.pg_class c on c.oid = l.oid, pg_catalog.pg_partition_tree(c.oid) t
    where c.relkind = 'p' and t.isleaf and not p.via_root
)
select n.nspname::text, c.relname::text, c.oid in (select oid from listed), c.oid in (select oid from published)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid in (select oid from listed union select oid from published)
"""
_OF_SCHEMAS: Final = """
    union
    select c.oid from publication p join pg_catalog.pg_publication_namespace s on s.pnpubid = p.oid
    join pg_catalog.pg_class c on c.relnamespace = s.pnnspid where c.relkind in ('r', 'p') and c.relpersistence = 'p'"""
_SCHEMAS: Final = """
select n.nspname::text from pg_catalog.pg_publication p join pg_catalog.pg_publication_namespace s on s.pnpubid = p.oid
join pg_catalog.pg_namespace n on n.oid = s.pnnspid where p.pubname = %s
"""
_SCHEMAS_SINCE: Final = 150_000


async def publication_state(connection: Connection, name: str) -> PublicationState | None:
    """Return the publication's state; None if it does not exist."""
    has_schemas = connection.info.server_version >= _SCHEMAS_SINCE
    try:
        cursor = await connection.execute("select puballtables from pg_catalog.pg_publication where pubname = %s", (name,))
        row = await cursor.fetchone()
        if row is None:
            return None
        if row[0]:
            return PublicationState(True, frozenset(), frozenset())
        cursor = await connection.execute(_TABLES.format(of_schemas=_OF_SCHEMAS if has_schemas else "").encode(), (name,))
        tables = await cursor.fetchall()
        schemas = await (await connection.execute(_SCHEMAS.encode(), (name,))).fetchall() if has_schemas else []
    except psycopg.Error as error:
        raise source_error(error, f"looking at publication {name}") from error
    return PublicationState(
        False,
        frozenset((schema, table) for schema, table, listed, _ in tables if listed),
        frozenset((schema, table) for schema, table, _, published in tables if published),
        frozenset(schema for (schema,) in schemas),
    )


async def ensure_publication(
    connection: Connection,
    name: str,
    mode: str,
    captured: Sequence[TableName],
    *,
    via_root: bool,
    skipped: Collection[str] | None,
    timeout_s: int,
    standby: bool,
) -> None:
    """Create or change the publication according to ``mode``. The remedy of CdcError(SOURCE_PERMISSION) has the statement for a DBA.

    A publication that exists stays as it is if no table is captured, or on a ``standby``; the log says what this means.
    """
    state = await publication_state(connection, name)
    publish = publish_list(skipped)
    statement = plan_publication(name, mode, state, captured, via_root=via_root, publish=publish, standby=standby)
    if state is not None and mode == "filtered" and (reason := why_unchanged(name, state, captured, standby=standby)) is not None:
        LOG.warning("publication not changed", publication=name, reason=reason)
    if statement is None:
        return
    if state is not None and state.schemas:
        LOG.warning("publication loses its schemas", publication=name, reason=lost_schemas(name, state.schemas))
    LOG.info("publication changes", publication=name, statement=statement)
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL statement_timeout = {timeout_s * 1000}".encode())
            await connection.execute(statement.encode())
            if state is not None and publish is not None:
                await connection.execute(f"ALTER PUBLICATION {quote_identifier(name)} SET (publish = '{publish}')".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise CdcError(
            ErrorKind.SOURCE_PERMISSION,
            f"The connector's role may not create or change publication {name}",
            f"Let a privileged role run: {statement}; or set publication.autocreate.mode to filtered (needs the tables' owner) or disabled",
            error.diag.message_primary or "",
        ) from error
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        # Another connector created the publication at the same time. The second error occurs if both statements ran concurrently.
        await ensure_publication(connection, name, mode, captured, via_root=via_root, skipped=skipped, timeout_s=timeout_s, standby=standby)
    except psycopg.Error as error:
        raise source_error(error, f"creating or changing publication {name}") from error
