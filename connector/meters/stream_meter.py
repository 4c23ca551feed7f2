"""What a run of the stream has seen: events by table and operation, transactions, and the lag.

Rows that are encoded together are counted together, and the lag once for each burst of messages that were read together. Debezium counts
at each event. Both count the same events: those that filters left, one for each record with a value, and beside them the filtered ones.
"""

from __future__ import annotations

from connector.meters.lag import LagMeter


class OperationCounts:
    """Events by operation."""

    __slots__ = ("creates", "deletes", "truncates", "updates")

    def __init__(self) -> None:
        self.creates = self.updates = self.deletes = self.truncates = 0

    @property
    def total(self) -> int:
        """All events."""
        return self.creates + self.updates + self.deletes + self.truncates


class StreamMeter:
    """The counters of one run of the stream. Only the stream writes them, and incremental snapshots the time of their rows."""

    def __init__(self) -> None:
        self.tables: dict[str, OperationCounts] = {}
        """The events of each captured table (schema.table)."""
        self.filtered = OperationCounts()
        """The changes of tables that are not captured, which the publication sends nevertheless."""
        self.erroneous = 0
        """Events that were left out because they could not be made (``event.processing.failure.handling.mode``)."""
        self.unchanged = 0
        """Updates that were left out because they changed no captured column (``skip.messages.without.change``)."""
        self.transactions = 0
        """Transactions with an event of a captured table."""
        self.commits_ms = 0
        """The sum of the times at which they were committed, in ms since 1970."""
        self.last_txid: int | None = None
        """The id of the last of these transactions, and the LSN of its last change."""
        self.last_lsn: int | None = None
        self.last_event_ms: int | None = None
        """When the last event was seen, also a filtered or erroneous one and the row of an incremental snapshot, in ms since 1970."""
        self._commit_ms: int | None = None
        """When the last transaction of the present burst was committed; None if the burst has none so far."""
        self.lag = LagMeter()
        """From the commit in the database until the last transaction of each burst was read."""

    def counts(self, table: str) -> OperationCounts:
        """Return the counts of a table (schema.table), which continue when its structure changes."""
        found = self.tables.get(table)
        if found is None:
            found = self.tables[table] = OperationCounts()
        return found

    def committed(self, txid: int, lsn: int, commit_ms: int) -> None:
        """Count a transaction with an event of a captured table; ``commit_ms`` is in ms since 1970."""
        self.transactions += 1
        self.commits_ms += commit_ms
        self.last_txid, self.last_lsn, self._commit_ms = txid, lsn, commit_ms

    def burst_ends(self, now_ms: int, *, events: bool) -> None:
        """Add the lag of the burst's last transaction, if it had one.

        ``now_ms`` is when the burst was read, and ``events`` says whether it had any.
        """
        if events:
            self.last_event_ms = now_ms
        if self._commit_ms is not None:
            self.lag.add(now_ms - self._commit_ms)
            self._commit_ms = None
