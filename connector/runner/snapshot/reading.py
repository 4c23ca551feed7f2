"""The common steps of initial and blocking snapshots: the transaction, and the reading of the tables.

This process reads the tables one after the other, or a :class:`connector.snapshot.bulk.BulkReader` reads them. The callers decide which
tables are read, which position the rows have in the stream, which offset is stored, and who is notified of the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.delivery.progress import TableProgress
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts
from connector.io.postgres.snapshot_source import PostgresSnapshot
from connector.log import EventLog
from connector.runner.child.process import StartChild
from connector.runner.context import TaskContext
from connector.runner.snapshot.bulk_rows import bulk_plan, read_in_bulk, snapshot_job
from connector.runner.snapshot.custom import given_statements, locks
from connector.runner.snapshot.notices import SnapshotNotices
from connector.runner.snapshot.readers import start_reader
from connector.runner.snapshot.rows import FailureModes, RowWriter, TableReader, TableWork
from connector.snapshot.bulk import BulkReader
from connector.snapshot.plan import READ_ONLY, begin_statements, marker
from connector.snapshot.source import OpenSource, RowSink, SnapshotSource
from connector.start.snapshotter import CustomSnapshot

LOG: Final = EventLog(__name__)

_REPORT_S: Final = 10.0
"""Interval at which the log reports the progress of a table."""


@dataclass(frozen=True, slots=True)
class SnapshotEdges:
    """How a snapshot opens its connection to the database and starts its reader processes."""

    open_source: OpenSource
    start_reader: StartChild = start_reader

    @classmethod
    def of(cls, config: ConnectorConfig) -> SnapshotEdges:
        """Return edges with connections to the server of ``config``."""

        async def open_source(purpose: str) -> SnapshotSource:
            return await PostgresSnapshot.open(config, purpose)

        return cls(open_source)


@dataclass(frozen=True, slots=True)
class ChosenTables:
    """The tables of one snapshot in their order. ``statements`` are those of a signal or of a user's class, by schema.table."""

    tables: tuple[CatalogTable, ...]
    statements: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The place of the rows in the stream: ``lsn`` for ``source.lsn`` and ``source.sequence``, and the other facts of the source block."""

    lsn: int
    facts: SourceFacts


@dataclass(slots=True)
class _LastRow:
    """The last row so far. Its marker depends on whether another row follows."""

    table: TableWork
    line: bytes
    first: bool
    first_of_table: bool
    last_of_table: bool = False
    ended: bool = False
    """Whether its table has been read."""


class RowSender:
    """Sends rows with their markers. It holds the last row until it is known whether another row follows."""

    def __init__(self, writer: RowWriter) -> None:
        self._writer = writer
        self._held: _LastRow | None = None
        self._ended = False
        """Whether a table has been read, with or without rows."""
        self._lost_last = False
        """Whether the table's last row so far was left out."""
        self.sent = 0
        """The number of rows so far, with the held row and those that were left out."""

    def rows(self, table: TableWork, lines: list[bytes], *, first_of_table: bool) -> None:
        """Send the row that is held, then all of ``lines`` except the last, which is held now.

        As recorded, a marker is lost with a row of which no event can be made, but the snapshot's last event is marked as the last one.
        """
        if not lines:
            return
        self.sent += len(lines)
        lost_first, self._lost_last = self._writer.trim(table, lines)
        if not lines:
            return
        first_of_table = first_of_table and not lost_first
        now_ns = time.time_ns()
        self._release(now_ns, last=False)
        # As recorded, no row has the marker ``first`` if the first table has no rows.
        first = first_of_table and not self._ended
        held = lines.pop()
        alone = not lines
        if first_of_table and lines:
            self._writer.send(table, lines[:1], marker(first=first, last=False, first_of_table=True, last_of_table=False), now_ns)
            del lines[0]
        self._writer.send(table, lines, "true", now_ns)
        self._held = _LastRow(table, held, first and alone, first_of_table and alone)

    def table_ends(self) -> None:
        """Take note that a table was read. If a row is held, it is the table's last."""
        self._ended = True
        if self._held is not None and not self._held.ended:
            self._held.ended = True
            self._held.last_of_table = not self._lost_last
        self._lost_last = False

    def finish(self) -> None:
        """Send the held row as the last row of the snapshot."""
        self._release(time.time_ns(), last=True)

    def _release(self, now_ns: int, *, last: bool) -> None:
        held, self._held = self._held, None
        if held is not None:
            word = marker(first=held.first, last=last, first_of_table=held.first_of_table, last_of_table=held.last_of_table)
            self._writer.send(held.table, [held.line], word, now_ns)


class SnapshotReading:
    """Reads the tables of one snapshot, and reports progress, notifications and log lines. If ``bulk`` is given, it reads the rows.

    Use it once: call :meth:`transaction`, inside of it :meth:`choose`, and then :meth:`read`.
    """

    def __init__(
        self,
        context: TaskContext,
        capture: Capture,
        sink: RowSink,
        headers: bytes,
        notices: SnapshotNotices,
        custom: CustomSnapshot,
        edges: SnapshotEdges,
        bulk: BulkReader | None = None,
    ) -> None:
        self._context = context
        self._config = capture.selection.config
        self._capture = capture
        self._sink = sink
        self._headers = headers
        self._notices = notices
        self._custom = custom
        self._edges = edges
        self._bulk = bulk
        self._reported = time.monotonic()

    @asynccontextmanager
    async def transaction(self, purpose: str, exported: str | None = None) -> AsyncIterator[SnapshotSource]:
        """Open the snapshot's transaction, in the ``exported`` snapshot if there is one. The connection is closed with the block."""
        source = await self._edges.open_source(purpose)
        try:
            await source.lift_timeouts()
            isolation = self._config.snapshot_isolation_mode
            if exported is None and isolation == "serializable" and await source.in_recovery():
                # A standby has no serializable transactions (PostgreSQL manual, "Hot Standby").
                isolation = "repeatable_read"
            for statement in begin_statements(isolation, exported):
                await source.execute(statement)
            yield source
        finally:
            await source.close()

    async def choose(
        self, source: SnapshotSource, tables: list[CatalogTable], selects: Mapping[str, str] | None = None, signal_table: str | None = None
    ) -> ChosenTables:
        """Lock ``tables`` as configured, and remove those that a user's class skips. Give the others to progress and notifications.

        ``selects`` are a signal's statements by table (schema.table). The sender of the signal wrote them, so the transaction becomes
        read-only before they run.
        """
        for statement in locks(self._custom, self._config, tables):
            await source.execute(statement)
        if selects:
            await source.execute(READ_ONLY)
        left, statements = given_statements(self._custom, self._capture, tables, selects)
        chosen = ChosenTables(tuple(left), statements)
        shown = self._context.progress.tables
        former = {table.table: table.rows for table in shown}
        shown[:] = [TableProgress(table.name, estimate=table.estimate) for table in chosen.tables]
        names = [table.name for table in chosen.tables]
        listed = None
        if signal_table is not None:
            listed = await asyncio.to_thread(self._capture.selection.filters.in_list_order, [*names, signal_table])
        self._notices.reads(list(shown), listed)
        self._context.meters.snapshot.reads(names, signal_table, former)
        return chosen

    async def read(self, source: SnapshotSource, chosen: ChosenTables, place: RowPlace, *, read_only: bool = False) -> int:
        """Send all rows and return their number. Kafka may not have acknowledged the last of them. Raises CdcError.

        With ``read_only``, readers in other processes cannot write to the database either.
        """
        if self._bulk is None:
            return await self._read_all(source, chosen, place)
        exported = await source.export()
        job = snapshot_job(self._context, self._capture, exported, place.lsn, place.facts, self._headers, chosen.statements, guarded=True)
        plan = bulk_plan(self._capture.selection, replace(job, read_only=read_only), chosen.tables)
        return await read_in_bulk(self._bulk, plan, self._context, self._notices, source)

    async def _read_all(self, source: SnapshotSource, chosen: ChosenTables, place: RowPlace) -> int:
        writer = RowWriter(place.lsn, place.facts, self._headers, FailureModes.of(self._config))
        reader = TableReader(self._config, self._capture, self._sink, source, chosen.statements)
        sender = RowSender(writer)
        for number, (table, shown) in enumerate(zip(chosen.tables, self._context.progress.tables, strict=True)):
            self._notices.part_begins(number)
            try:
                await self._read_table(reader, sender, table, shown)
            except CdcError:
                self._notices.table_fails(number)
                raise
            self._notices.part_ends(number)
            self._notices.table_ends(number)
        sender.finish()
        return sender.sent

    async def _read_table(self, reader: TableReader, sender: RowSender, table: CatalogTable, shown: TableProgress) -> None:
        work = reader.open(table)
        begun = read_at = time.monotonic()
        async for lines in reader.bursts(table):
            count = len(lines)
            sender.rows(work, lines, first_of_table=shown.rows == 0)
            shown.rows += count
            shown.seconds = time.monotonic() - begun
            self._context.progress.events += count
            now = time.monotonic()
            self._context.meters.source.batch_read(count, (now - read_at) * 1000, count, now)
            read_at = now
            self.report(shown)
        sender.table_ends()
        table_ends(shown, self._context)

    def report(self, shown: TableProgress) -> None:
        """Note that rows of a table were read, and log its progress at intervals."""
        self._context.meters.snapshot.last_event_ms = time.time_ns() // 1_000_000
        now = time.monotonic()
        if now - self._reported >= _REPORT_S:
            self._reported = now
            rate = shown.rows / shown.seconds if shown.seconds else 0.0
            left = (shown.estimate - shown.rows) / rate if rate and shown.estimate > shown.rows else 0.0
            LOG.info(
                "snapshot reads",
                table=shown.table,
                rows=shown.rows,
                of_about=shown.estimate,
                rows_per_second=int(rate),
                seconds_left=int(left),
            )


def table_ends(shown: TableProgress, context: TaskContext) -> None:
    """Mark the table as read, log it, and trace it."""
    shown.done = True
    context.meters.snapshot.table_read(shown.table)
    context.tracing.passed("snapshot table", shown.seconds, table=shown.table, rows=shown.rows)
    LOG.info("table read", table=shown.table, rows=shown.rows, seconds=round(shown.seconds, 1))
