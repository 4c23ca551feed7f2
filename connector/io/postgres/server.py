"""Reads facts about the server and the slot, and runs statements that change neither the user's data nor the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from connector.io.postgres.connection import Connection, source_error
from connector.preflight.server import undecoded_wal, unread_version
from connector.start.decision import SlotState
from connector.wire.lsn import format_lsn, parse_lsn

_XID8_SINCE: Final = 130_000
"""PostgreSQL 13 added pg_current_snapshot. The function of PostgreSQL 12 returns the same text with 64-bit xids (release notes of 13)."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts about the server. ``version`` is server_version_num (150004); ``standby`` says whether the server is in recovery."""

    version: int
    wal_level: str
    standby: bool


async def server_facts(connection: Connection, *, streams: bool) -> ServerFacts:
    """Read the facts at the task's start.

    Raises CdcError(SOURCE_SETTING) if the server is too old or, with ``streams``, if it cannot decode its WAL.
    """
    try:
        cursor = await connection.execute(
            "select current_setting('server_version_num')::int, current_setting('wal_level'), pg_is_in_recovery()"
        )
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "asking for the server's settings") from error
    assert row is not None  # noqa: S101 (a select without from has one row)
    facts = ServerFacts(*row)
    problem = unread_version(facts.version)
    if problem is None and streams:
        problem = undecoded_wal(facts.version, facts.wal_level, in_recovery=facts.standby)
    if problem is not None:
        raise problem
    return facts


async def slot_state(connection: Connection, slot: str) -> SlotState | None:
    """Return the slot as pg_replication_slots shows it; None if it does not exist."""
    return (await slot_states(connection, [slot])).get(slot)


async def slot_states(connection: Connection, slots: Sequence[str]) -> dict[str, SlotState]:
    """Return the slots that exist, by their names."""
    try:
        cursor = await connection.execute(
            "select s.slot_name::text, s.plugin, s.slot_type, s.database, s.active, s.active_pid, s.restart_lsn::text,"
            " s.confirmed_flush_lsn::text, to_jsonb(s) ->> 'wal_status', (to_jsonb(s) ->> 'safe_wal_size')::bigint, current_database(),"
            " (select format('%%s, %%s, since %%s', a.application_name, coalesce(host(a.client_addr), 'local'),"
            "    a.backend_start::timestamptz(0))"
            "    from pg_stat_activity a where a.pid = s.active_pid)"
            " from pg_replication_slots s where s.slot_name::text = any(%s::text[])",
            (list(slots),),
        )
        rows = await cursor.fetchall()
    except psycopg.Error as error:
        raise source_error(error, f"looking at replication slot {', '.join(slots)}") from error
    return {row[0]: _slot(*row) for row in rows}


def _slot(
    name: str,
    plugin: str,
    kind: str,
    database: str | None,
    active: bool,
    pid: int | None,
    restart: str | None,
    confirmed: str | None,
    wal_status: str | None,
    safe_wal_size: int | None,
    current: str,
    holder: str | None,
) -> SlotState:
    return SlotState(
        name=name,
        plugin=plugin,
        logical=kind == "logical",
        same_database=database == current,
        database=database or "",
        active=active,
        holder=f"pid {pid} ({holder})" if pid else "",
        restart=parse_lsn(restart) if restart else 0,
        confirmed=parse_lsn(confirmed) if confirmed else (parse_lsn(restart) if restart else 0),
        wal_status=wal_status or "reserved",
        safe_wal_size=safe_wal_size,
    )


async def slot_xmin(connection: Connection, slot: str) -> int | None:
    """Return the slot's catalog_xmin; None if the slot does not exist or has none."""
    try:
        cursor = await connection.execute("select catalog_xmin::text::bigint from pg_replication_slots where slot_name = %s", (slot,))
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, f"looking at replication slot {slot}") from error
    return int(row[0]) if row and row[0] is not None else None


async def current_lsn(connection: Connection) -> int:
    """Return the current WAL write position; on a standby, the replay position."""
    try:
        cursor = await connection.execute(
            "select (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text"
        )
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "asking for the WAL position") from error
    return parse_lsn(row[0]) if row and row[0] else 0


async def in_recovery(connection: Connection) -> bool:
    """Return whether the server is a standby."""
    try:
        cursor = await connection.execute("select pg_catalog.pg_is_in_recovery()")
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "asking whether the server is a standby") from error
    return row is not None and bool(row[0])


async def current_txid(connection: Connection) -> int | None:
    """Return the current transaction's id with 32 bits, as in change messages; None on a standby, which assigns none."""
    try:
        cursor = await connection.execute("select case when pg_is_in_recovery() then null else txid_current() end")
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "asking for the transaction's id") from error
    return int(row[0]) & 0xFFFFFFFF if row and row[0] is not None else None


def current_snapshot(connection: Connection) -> str:
    """Return the call whose text :meth:`connector.catalog.visibility.Visibility.parse` reads."""
    return f"pg_catalog.{'pg_current_snapshot' if connection.info.server_version >= _XID8_SINCE else 'txid_current_snapshot'}()"


async def export_snapshot(connection: Connection) -> str:
    """Export the snapshot and return its name. Other transactions can use it until this transaction ends."""
    try:
        cursor = await connection.execute("select pg_catalog.pg_export_snapshot()")
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, "exporting the snapshot") from error
    assert row is not None  # noqa: S101 (a select without from has one row)
    return str(row[0])


async def advance_slot(connection: Connection, slot: str, lsn: int) -> None:
    """Advance the slot to ``lsn`` with ``pg_replication_slot_advance``."""
    try:
        await connection.execute("select pg_replication_slot_advance(%s, %s::pg_lsn)", (slot, format_lsn(lsn)))
    except psycopg.Error as error:
        raise source_error(error, f"advancing replication slot {slot}") from error


async def drop_slot(connection: Connection, slot: str) -> None:
    """Drop the slot with ``pg_drop_replication_slot``."""
    try:
        await connection.execute("select pg_drop_replication_slot(%s)", (slot,))
    except psycopg.Error as error:
        raise source_error(error, f"dropping replication slot {slot}") from error
