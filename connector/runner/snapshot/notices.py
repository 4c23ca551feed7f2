"""The notifications of a snapshot, in the order recorded from Debezium.

IN_PROGRESS is sent at a table's first part. If ``snapshot.max.threads`` or ``snapshot.max.threads.multiplier`` is above 1, the
snapshot sends notifications for parts, even for a table that has only one part.
"""

from __future__ import annotations

from collections.abc import Sequence

from connector.config.connector_config import ConnectorConfig
from connector.delivery.progress import TableProgress
from connector.java.hash_map import LEAST, grown, java_order, of_copy
from connector.runner.notifications.notifier import Notifier
from connector.snapshot.parts import Part


def tells_of_parts(config: ConnectorConfig) -> bool:
    """Return whether snapshots send notifications for parts."""
    return not config.legacy_snapshot_max_threads and (config.snapshot_max_threads > 1 or config.snapshot_max_threads_multiplier > 1)


class SnapshotNotices:
    """Sends the notifications of one snapshot, and with ``in_parts`` those of each part. The tables become known with :meth:`reads`."""

    def __init__(self, notifier: Notifier, *, in_parts: bool) -> None:
        self._notifier = notifier
        self._in_parts = in_parts
        self._tables: Sequence[TableProgress] = ()
        self._names: list[str] = []
        self._all_names: Sequence[str] = ()
        self._mapped_names: Sequence[str] = ()

    def begins(self) -> None:
        """The snapshot begins."""
        self._notifier.send(self._notifier.initial.started())

    def reads(self, tables: Sequence[TableProgress], all_names: Sequence[str] | None = None) -> None:
        """Set the snapshot's tables. ``all_names`` are those with the signal table, if there is one, which is not read.

        As recorded, notifications of tables list it only after a table has ended. When a table begins, they list the tables as a Java map
        does. The one about all tables lists it too, in the order of names.
        """
        self._tables = tables
        self._names = [table.table for table in tables]
        self._all_names = self._names if all_names is None else all_names
        # Debezium has a HashSet that is a copy of another set; with parts a ConcurrentHashMap, which grows one entry earlier.
        count = len(tables)
        self._mapped_names = java_order(self._names, grown(LEAST, count + 1) if self._in_parts else max(LEAST, of_copy(count)))
        self._notifier.send(self._notifier.initial.resolved(sorted(self._all_names, key=lambda name: name.encode("utf-16-be"))))

    def part_begins(self, table: int, number: int = 0, of: int = 1) -> None:
        """The reading of part ``number`` of the table numbered ``table`` begins."""
        made, shown = self._notifier.initial, self._tables[table]
        if number == 0:
            self._notifier.send(made.in_progress(self._mapped_names, shown.table))
        if self._in_parts:
            self._notifier.send(made.chunk_in_progress(shown.table, number, of, shown.rows))

    def handed_out(self, part: Part) -> None:
        """A part is assigned to a reader process."""
        self.part_begins(part.table, part.number, part.of)

    def part_ends(self, table: int, number: int = 0, of: int = 1) -> None:
        """A part was read."""
        if self._in_parts:
            self._notifier.send(self._notifier.initial.chunk_completed(self._all_names, self._names[table], number, of))

    def brought_in(self, part: Part) -> None:
        """Kafka has the rows of a part that a reader process read."""
        self.part_ends(part.table, part.number, part.of)

    def table_ends(self, table: int) -> None:
        """A table was read."""
        shown = self._tables[table]
        self._notifier.send(self._notifier.initial.table_completed(self._all_names, shown.table, shown.rows))

    def table_fails(self, table: int) -> None:
        """A table cannot be read; the snapshot ends."""
        self._notifier.send(self._notifier.initial.table_failed(self._names[table]))

    def ends(self) -> None:
        """The snapshot is complete, and the stored offset says so."""
        self._notifier.send(self._notifier.initial.completed())
