"""The server's function for the snapshot of a statement."""

from __future__ import annotations

from typing import Final

from connector.io.postgres.connection import Connection

_XID8_SINCE: Final = 130_000
"""PostgreSQL 13 added pg_current_snapshot. The function of PostgreSQL 12 returns the same text with 64-bit xids (release notes of 13)."""


def current_snapshot(connection: Connection) -> str:
    """Return the call whose text :meth:`connector.catalog.visibility.Visibility.parse` reads."""
    return f"pg_catalog.{'pg_current_snapshot' if connection.info.server_version >= _XID8_SINCE else 'txid_current_snapshot'}()"
