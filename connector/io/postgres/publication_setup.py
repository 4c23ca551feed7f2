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
from connector.start.publication_sql import PublicationState, plan_publication, publication_on_standby, publish_list

LOG: Final = EventLog(__name__)


async def publication_state(connection: Connection, name: str) -> PublicationState | None:
    """Return the publication's state; None if it does not exist."""
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
    """Create or change the publication according to ``mode``. The remedy of CdcError(SOURCE_PERMISSION) has the statement for a DBA."""
    state = await publication_state(connection, name)
    publish = publish_list(skipped)
    statement = plan_publication(name, mode, state, captured, via_root=via_root, publish=publish)
    if statement is None:
        return
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
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise publication_on_standby(name, statement) from error
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        # Another connector created the publication at the same time. The second error occurs if both statements ran concurrently.
        await ensure_publication(connection, name, mode, captured, via_root=via_root, skipped=skipped, timeout_s=timeout_s)
    except psycopg.Error as error:
        raise source_error(error, f"creating or changing publication {name}") from error
