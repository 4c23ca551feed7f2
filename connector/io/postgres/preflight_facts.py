"""Reads the facts for :mod:`connector.preflight`, with a few statements that do not depend on the number of tables."""

from __future__ import annotations

import re
from typing import Final

import psycopg

from connector.config.connector_config import ConnectorConfig
from connector.io.postgres.connection import Connection
from connector.io.postgres.publication_setup import publication_state
from connector.io.postgres.server import slot_state
from connector.preflight.facts import Facts, Publication, Refusal, Role, Server, SignalTable, Table
from connector.preflight.server import CLOUD_ROLES, OLDEST

_SERVER: Final = """
select current_setting('server_version_num')::int, current_setting('wal_level'), pg_is_in_recovery(),
       current_setting('max_replication_slots')::int, (select count(*)::int from pg_catalog.pg_replication_slots),
       pg_backend_pid(), current_database()::text, r.rolname::text, r.rolsuper, r.rolreplication,
       has_database_privilege(current_database(), 'CREATE'), current_setting('lc_messages') ~* '^(c|posix|en)?([._].*)?$',
       array(select c.rolname::text from pg_catalog.pg_roles c where c.rolname = any(%(clouds)s)),
       array(select c.rolname::text from pg_catalog.pg_roles c where c.rolname = any(%(clouds)s) and pg_has_role(c.oid, 'MEMBER'))
from pg_catalog.pg_roles r where r.rolname = current_user
"""

_PUBLICATION: Final = """
select p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, pg_has_role(p.pubowner, 'USAGE'),
       array(select r.prrelid::bigint from pg_catalog.pg_publication_rel r where r.prpubid = p.oid)
from pg_catalog.pg_publication p where p.pubname = %s
"""

_TABLES: Final = """
select c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relreplident::text,
       case c.relreplident
           when 'd' then exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary and i.indisvalid)
           when 'i' then exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisreplident and i.indisvalid)
           else true end,
       c.relpersistence = 'p', has_any_column_privilege(c.oid, 'SELECT'), has_schema_privilege(n.oid, 'USAGE'),
       pg_has_role(c.relowner, 'USAGE'), c.relrowsecurity and row_security_active(c.oid),
       case when c.relispartition then array(select relid::oid::bigint from pg_catalog.pg_partition_ancestors(c.oid))
            else '{}'::bigint[] end
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname !~ '^pg_(toast|temp)' and n.nspname not in ('pg_catalog', 'information_schema')
order by n.nspname collate "C", c.relname collate "C"
"""

_SIGNALS: Final = """
select has_table_privilege(c.oid, 'INSERT'), has_table_privilege(c.oid, 'DELETE'),
       array(select a.attname::text from pg_catalog.pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p')
"""

_PLANNED: Final = re.compile(r"\s*(select|insert|update|delete|merge|with|values)\b", re.IGNORECASE)
_OF_NAMES: Final = "42"
"""The class of SQLSTATEs about syntax, names and privileges. Messages of other classes may quote values."""


async def read_facts(connection: Connection, config: ConnectorConfig, signal_table: tuple[str, str] | None, *, streams: bool) -> Facts:
    """Read the facts through ``connection``. Without ``streams``, slot, publication, signal table and heartbeat are not read.

    Raises psycopg.Error, and CdcError for the slot and the publication.
    """
    server, role = await _server(connection)
    if server.version < OLDEST:
        return Facts(server, role)
    facts = Facts(server, role, tables=await _tables(connection))
    if not streams:
        return facts
    return Facts(
        server,
        role,
        tables=facts.tables,
        slot=await slot_state(connection, config.slot_name),
        publication=await _publication(connection, config.publication_name),
        signals=None if signal_table is None else await _signals(connection, signal_table),
        heartbeat=await _heartbeat(connection, config.heartbeat_action_query) if config.heartbeat_action_query else None,
    )


async def _server(connection: Connection) -> tuple[Server, Role]:
    row = await (await connection.execute(_SERVER, {"clouds": list(CLOUD_ROLES)})).fetchone()
    assert row is not None  # noqa: S101 (the current user is a role)
    version, wal_level, standby, most, slots, pid, database, name, superuser, replication, creates, english, clouds, memberships = row
    # A pooler reports its own backend PID, which differs from the PID of the server process that answers.
    pooled = pid != connection.info.backend_pid
    return (
        Server(version, wal_level, standby, most, slots, pooled, frozenset(clouds), english),
        Role(name, superuser, replication, creates, database, frozenset(memberships)),
    )


async def _publication(connection: Connection, name: str) -> Publication | None:
    row = await (await connection.execute(_PUBLICATION, (name,))).fetchone()
    state = None if row is None else await publication_state(connection, name)
    if row is None or state is None:
        return None
    insert, update, delete, truncate, owned, tables = row
    published = {"insert": insert, "update": update, "delete": delete, "truncate": truncate}
    return Publication(state, frozenset(word for word, is_so in published.items() if is_so), owned, frozenset(tables))


async def _tables(connection: Connection) -> list[Table]:
    rows = await (await connection.execute(_TABLES)).fetchall()
    return [Table(*row) for row in rows]


async def _signals(connection: Connection, table: tuple[str, str]) -> SignalTable | None:
    row = await (await connection.execute(_SIGNALS, table)).fetchone()
    return None if row is None else SignalTable(*row)


async def _heartbeat(connection: Connection, statement: str) -> Refusal | None:
    """Plan the statement without running it, because planning checks names, types and privileges."""
    text = statement.strip().rstrip(";").rstrip()
    if not _PLANNED.match(text):
        return None
    try:
        async with connection.transaction(force_rollback=True):
            await connection.execute(b"SET TRANSACTION READ ONLY")
            await connection.execute(b"SET LOCAL lock_timeout = '1s'")
            # With binary=True the driver uses the extended protocol, in which a message has only one statement. No second statement can
            # therefore run after the EXPLAIN.
            await connection.execute(f"EXPLAIN {text}".encode(), binary=True)
    except psycopg.Error as error:
        state = error.sqlstate or ""
        several = ";" in text and isinstance(error, psycopg.errors.SyntaxError)
        if connection.closed:
            raise
        return None if several or not state.startswith(_OF_NAMES) else Refusal(error.diag.message_primary or state, state)
    return None
