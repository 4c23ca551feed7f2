"""Looks at the publication and brings it about."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

import psycopg

from connector.errors import CdcError, ErrorKind
from connector.io.pg_connection import Connection, source_error
from connector.publication import PublicationState, TableName, plan_publication, publication_on_standby, publish_list
from connector.table import quote_identifier

_log = logging.getLogger(__name__)


async def publication_state(connection: Connection, name: str) -> PublicationState | None:
    """None when there is no publication of that name."""
    try:
        cursor = await connection.execute("select puballtables from pg_publication where pubname = %s", (name,))
        row = await cursor.fetchone()
        if row is None:
            return None
        cursor = await connection.execute(
            "select n.nspname, c.relname from pg_publication_rel r join pg_publication p on p.oid = r.prpubid"
            " join pg_class c on c.oid = r.prrelid join pg_namespace n on n.oid = c.relnamespace where p.pubname = %s",
            (name,),
        )
        return PublicationState(row[0], frozenset((schema, table) for schema, table in await cursor.fetchall()))
    except psycopg.Error as error:
        raise source_error(error, f"looking at publication {name}") from error


async def ensure_publication(
    connection: Connection,
    name: str,
    mode: str,
    captured: Sequence[TableName],
    *,
    via_root: bool,
    skipped: Collection[str] | None,
    timeout_s: int,
) -> None:
    """Create or change the publication as ``mode`` asks. CdcError(SOURCE_PERMISSION) prints the statement for a DBA."""
    state = await publication_state(connection, name)
    publish = publish_list(skipped)
    statement = plan_publication(name, mode, state, captured, via_root=via_root, publish=publish)
    if statement is None:
        return
    _log.info("publication changes publication=%s statement=%s", name, statement)
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL statement_timeout = {timeout_s * 1000}".encode())
            await connection.execute(statement.encode())
            if state is not None and publish is not None:
                await connection.execute(f"ALTER PUBLICATION {quote_identifier(name)} SET (publish = '{publish}')".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise CdcError(
            ErrorKind.SOURCE_PERMISSION,
            f"The connector's role may not bring about publication {name}",
            f"Let a privileged role run: {statement}; or set publication.autocreate.mode to filtered (needs the tables' owner) or disabled",
            error.diag.message_primary or "",
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise publication_on_standby(name, statement) from error
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        # Another connector made it in this moment; the second error is of one that had looked before the other committed.
        await ensure_publication(connection, name, mode, captured, via_root=via_root, skipped=skipped, timeout_s=timeout_s)
    except psycopg.Error as error:
        raise source_error(error, f"bringing about publication {name}") from error
