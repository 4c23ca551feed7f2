"""What the initial snapshot tells of itself, in the order recorded from the reference.

IN_PROGRESS comes with a table's first part. Parts are told of when the snapshot was asked to read tables in parts, by
``snapshot.max.threads`` or ``snapshot.max.threads.multiplier``, even where a table is small enough to be one part.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from connector.chunks import Part
from connector.config import ConnectorConfig
from connector.ports import TableProgress
from connector.runner.notifier import Notifier


class SnapshotNotices:
    """The notifications of one run of the initial snapshot; ``tables`` are known once it has begun."""

    def __init__(self, notifier: Notifier, config: ConnectorConfig) -> None:
        self._notifier = notifier
        self._in_parts = not config.legacy_snapshot_max_threads and (
            config.snapshot_max_threads > 1 or config.snapshot_max_threads_multiplier > 1
        )
        self._tables: Sequence[TableProgress] = ()
        self._names: list[str] = []
        self._all_names: list[str] = []

    def begins(self) -> None:
        """The snapshot begins."""
        self._notifier.send(self._notifier.initial.started())

    def reads(self, tables: Sequence[TableProgress], signal_table: str | None = None) -> None:
        """These are its tables. The signal table is not read; as recorded it is listed once a table ends, but not before."""
        self._tables = tables
        self._names = [table.table for table in tables]
        self._all_names = list(self._names)
        if signal_table is not None:
            bisect.insort(self._all_names, signal_table)

    def part_begins(self, table: int, number: int = 0, of: int = 1) -> None:
        """Part ``number`` of the table numbered ``table`` is about to be read."""
        made, shown = self._notifier.initial, self._tables[table]
        if number == 0:
            self._notifier.send(made.in_progress(self._names, shown.table))
        if self._in_parts:
            self._notifier.send(made.chunk_in_progress(shown.table, number, of, shown.rows))

    def handed_out(self, part: Part) -> None:
        """A part goes to a reader process."""
        self.part_begins(part.table, part.number, part.of)

    def part_ends(self, table: int, number: int = 0, of: int = 1) -> None:
        """A part was read."""
        if self._in_parts:
            self._notifier.send(self._notifier.initial.chunk_completed(self._all_names, self._names[table], number, of))

    def brought_in(self, part: Part) -> None:
        """Kafka has what a reader process read."""
        self.part_ends(part.table, part.number, part.of)

    def table_ends(self, table: int) -> None:
        """A table was read."""
        shown = self._tables[table]
        self._notifier.send(self._notifier.initial.table_completed(self._all_names, shown.table, shown.rows))

    def table_fails(self, table: int) -> None:
        """A table cannot be read; the snapshot ends."""
        self._notifier.send(self._notifier.initial.table_failed(self._names[table]))

    def ends(self) -> None:
        """The snapshot is complete, and stored as such."""
        self._notifier.send(self._notifier.initial.completed())
