"""The state of a task's snapshots, as Debezium's snapshot metrics have it: one state for initial, blocking and incremental snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

State = Literal["", "running", "paused", "completed", "aborted"]
"""The state of the snapshot that began, paused or ended last; empty before the first one."""


class SnapshotMeter:
    """The initial, blocking and incremental snapshots of one run of the task."""

    def __init__(self) -> None:
        self.state: State = ""
        self.skipped = False
        """Whether no initial snapshot was due, until another snapshot begins."""
        self.tables: set[str] = set()
        """The tables of all snapshots of the run (schema.table), and the signal table, which an initial snapshot does not read."""
        self.remaining: set[str] = set()
        """Those of them that were not read completely."""
        self.last_event_ms: int | None = None
        """When rows were last read, in ms since 1970."""
        self.incremental_rows: dict[str, int] = {}
        """Rows that incremental snapshots sent, by table, since the table was last asked for."""
        self.earlier_rows: dict[str, int] = {}
        """Rows by table of initial and blocking snapshots that ended before the last one of them."""
        self.earlier_events = 0
        """All rows of these snapshots."""
        self._read_again: frozenset[str] = frozenset()
        """The tables that a blocking snapshot has read since an incremental one."""
        self._former_rows = 0

    def begins(self) -> None:
        """Take note that a snapshot begins, or continues after a pause."""
        self.state, self.skipped = "running", False

    def pauses(self) -> None:
        """Take note that an incremental snapshot reads no further chunk."""
        self.state, self.skipped = "paused", False

    def ends(self, *, completed: bool) -> None:
        """Take note that a snapshot ended well, or that it was broken off."""
        self.state, self.skipped = "completed" if completed else "aborted", False

    def adds(self, tables: Iterable[str]) -> None:
        """Add the tables of a snapshot that has begun."""
        self.tables.update(tables)
        self.remaining.update(tables)

    def reads(self, tables: Iterable[str], signal_table: str | None, former: Mapping[str, int]) -> None:
        """Add the tables of an initial or blocking snapshot. ``former`` are the rows of the one before it in this run."""
        read = frozenset(tables)
        self.adds({*read, signal_table} if signal_table else read)
        self.earlier_rows |= former
        self.earlier_events += sum(former.values())
        self._read_again |= read

    def table_read(self, table: str) -> None:
        """Take note that a table was read completely."""
        self.remaining.discard(table)

    def incremental_begins(self, tables: Iterable[str]) -> None:
        """Count the rows of ``tables`` from 0, because an incremental snapshot of them begins."""
        self.begins()
        self.adds(tables)
        self._read_again -= {*tables}
        for table in tables:
            self._former_rows += self.incremental_rows.pop(table, 0)

    def incremental_sent(self, table: str, rows: int, now_ms: int) -> None:
        """Count the rows of a chunk."""
        self.incremental_rows[table] = self.incremental_rows.get(table, 0) + rows
        self.last_event_ms = now_ms

    @property
    def latest_incremental_rows(self) -> dict[str, int]:
        """The rows of incremental snapshots of tables that no blocking snapshot has read since."""
        return {table: rows for table, rows in self.incremental_rows.items() if table not in self._read_again}

    @property
    def incremental_events(self) -> int:
        """All rows that incremental snapshots of this run sent."""
        return self._former_rows + sum(self.incremental_rows.values())
