"""Gives captured tables the replica identities that the configuration asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import psycopg

from connector.config_families import ReplicaIdentity
from connector.io.pg_connection import Connection, source_error
from connector.ports import Backtracking, no_backtracking
from connector.replica_identity import TableIdentity, plan_identities

_log = logging.getLogger(__name__)

_IDENTITIES: Final = """
select n.nspname, c.relname, c.relreplident,
       (select ic.relname from pg_catalog.pg_index i join pg_catalog.pg_class ic on ic.oid = i.indexrelid
        where i.indrelid = c.oid and i.indisreplident)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
"""


async def set_replica_identities(
    connection: Connection,
    rules: Sequence[ReplicaIdentity],
    captures: Callable[[str, str], bool],
    database: str = "",
    backtrack: Backtracking = no_backtracking,
) -> None:
    """Change the tables for which ``captures(schema, table)`` holds and a rule asks for another identity than they have.

    As in the reference a table that several rules name is left alone, and so is one that the connector's role may not change; the
    log tells of both. Raises CdcError for anything else that the server refuses, such as an index that cannot be used.
    """
    if not rules:
        return
    try:
        cursor = await connection.execute(_IDENTITIES)
        rows = await cursor.fetchall()
    except psycopg.Error as error:
        raise source_error(error, "looking at the tables' replica identities") from error
    captured = [
        TableIdentity(schema, table, _letter(identity), index) for schema, table, identity, index in rows if captures(schema, table)
    ]
    plan = plan_identities(rules, captured, database, backtrack)
    for table in plan.conflicts:
        _log.error("replica identity left alone: several entries of replica.identity.autoset.values match table=%s", table)
    for change in plan.changes:
        if change.statement is None:
            _log.info("replica identity is already set table=%s identity=%s", change.table, change.identity)
            continue
        try:
            await connection.execute(change.statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            _log.warning(
                "replica identity not changed: the role does not own the table table=%s; let its owner run: %s;",
                change.table,
                change.statement,
            )
        except psycopg.Error as error:
            raise source_error(error, f"setting the replica identity of table {change.table} ({change.statement})") from error
        else:
            _log.info("replica identity set table=%s identity=%s", change.table, change.identity)


def _letter(value: object) -> str:
    # The "char" type comes as bytes in some versions of the driver.
    return value.decode() if isinstance(value, bytes) else str(value)
