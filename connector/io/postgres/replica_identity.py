"""Sets the replica identities of captured tables that the configuration requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import psycopg

from connector.catalog.replica_identity import IdentityRule, TableIdentity, plan_identities
from connector.io.postgres.char_type import letter
from connector.io.postgres.connection import Connection, source_error
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_IDENTITIES: Final = """
select n.nspname, c.relname, c.relreplident,
       (select ic.relname from pg_catalog.pg_index i join pg_catalog.pg_class ic on ic.oid = i.indexrelid
        where i.indrelid = c.oid and i.indisreplident)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
"""


async def set_replica_identities(
    connection: Connection,
    rules: Sequence[IdentityRule],
    captures: Callable[[str, str], bool],
) -> None:
    """Change each table for which ``captures(schema, table)`` is true and whose identity differs from that of its rule.

    As in Debezium, a table is not changed if several rules match it, or if the server refuses the change, for example because the role
    does not own the table, the index cannot be used, or the server is a standby; the log reports each. Raises CdcError if the tables
    cannot be read or the connection is lost.
    """
    if not rules:
        return
    try:
        cursor = await connection.execute(_IDENTITIES)
        rows = await cursor.fetchall()
    except psycopg.Error as error:
        raise source_error(error, "looking at the tables' replica identities") from error
    captured = [TableIdentity(schema, table, letter(identity), index) for schema, table, identity, index in rows if captures(schema, table)]
    plan = plan_identities(rules, captured)
    for table in plan.conflicts:
        LOG.error("replica identity not changed", table=table, reason="several entries of replica.identity.autoset.values match it")
    for change in plan.changes:
        if change.statement is None:
            LOG.info("replica identity is already set", table=change.table, identity=change.identity)
            continue
        try:
            await connection.execute(change.statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            LOG.warning(
                "replica identity not changed",
                table=change.table,
                reason="the role does not own the table",
                remedy=f"let its owner run {change.statement};",
            )
        except psycopg.Error as error:
            why = source_error(error, f"setting the replica identity of table {change.table} ({change.statement})")
            if connection.closed:
                raise why from error
            LOG.error("replica identity not changed", table=change.table, identity=change.identity, reason=why)  # noqa: TRY400 (says all)
        else:
            LOG.info("replica identity set", table=change.table, identity=change.identity)
