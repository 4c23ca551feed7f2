"""Determines whether the source's WAL continues at lower LSNs than those that a mirror has applied.

This happens if the source was restored, or moved to another server without its WAL. Tables and histories take later changes for earlier
ones then.
"""

from __future__ import annotations

from typing import Final

import psycopg

from workers.spark.jobs.checkpoint import State
from workers.spark.source.lsn import lsn_text

_POSITION: Final = "select case when not pg_is_in_recovery() then pg_current_wal_lsn() - '0/0'::pg_lsn end"
_SECONDS: Final = 10


def position_of(dsn: str) -> int | None:
    """The end of the WAL of the source at ``dsn``; None if the source does not answer, or is a standby, which may be behind."""
    try:
        with psycopg.connect(dsn, connect_timeout=_SECONDS) as connection:
            row = connection.execute(_POSITION).fetchone()
    except psycopg.Error:
        # The stream does not need the source.
        return None
    return None if row is None or row[0] is None else int(row[0])


def applied_position(state: State) -> int:
    """An LSN of the applied changes, not necessarily the highest one; 0 if none is known. Pure."""
    known = [layout.newest[1] for topic in state.topics.values() for layout in topic.layouts]
    emptied = [truncate.lsn for topic in state.topics.values() for truncate in topic.truncates]
    return max([0, state.applied, *known, *emptied])


def fallen_back(state: State, position: int | None) -> str | None:
    """A sentence about a source whose WAL ends at ``position``, before changes that are applied; None if that is not so. Pure."""
    applied = applied_position(state)
    if position is None or position >= applied:
        return None
    return (
        f"The WAL of the source at dsn ends at {lsn_text(position)}, but the tables have changes up to {lsn_text(applied)}: the source was "
        'restored, or is another server. See `understudy docs spark`, "A source whose LSNs continue lower", before the connector continues.'
    )
