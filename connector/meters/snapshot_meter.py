"""The state of a task's snapshots, as Debezium's snapshot metrics have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Outcome = Literal["", "completed", "aborted", "skipped"]
"""How the last initial or blocking snapshot ended; empty before its end."""


class SnapshotMeter:
    """The initial, blocking and incremental snapshots of one run of the task."""

    def __init__(self) -> None:
        self.tables: Sequence[str] = ()
        """The tables of the snapshot (schema.table), and the signal table, which it does not read."""
        self.outcome: Outcome = ""
        self.last_event_ms: int | None = None
        """When rows were last read, in ms since 1970."""
        self.incremental_rows: dict[str, int] = {}
        """Rows that incremental snapshots sent, by table, since the table was last asked for."""
        self._former_rows = 0

    def incremental_begins(self, tables: Sequence[str]) -> None:
        """Count the rows of ``tables`` from 0, because an incremental snapshot of them begins."""
        for table in tables:
            self._former_rows += self.incremental_rows.pop(table, 0)

    def incremental_sent(self, table: str, rows: int, now_ms: int) -> None:
        """Count the rows of a chunk."""
        self.incremental_rows[table] = self.incremental_rows.get(table, 0) + rows
        self.last_event_ms = now_ms

    @property
    def incremental_events(self) -> int:
        """All rows that incremental snapshots of this run sent."""
        return self._former_rows + sum(self.incremental_rows.values())
