"""The initial snapshot: one transaction, every table by COPY, every row an ``r`` event.

One table after the other in this process, or by parts in several (``snapshot.max.threads``) that share the transaction's snapshot.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connector.bulk import BulkReader
from connector.capture import Capture
from connector.chunks import Deal, Part, TableSize, table_parts, wanted_parts
from connector.config import ConnectorConfig
from connector.envelope import SourceFacts
from connector.errors import CdcError
from connector.io import pg_catalog, pg_server, pg_sizes
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect
from connector.offsets import partition, snapshot_offset
from connector.ports import TableProgress, TaskContext
from connector.runner.bulk_rows import bulk_plan, one_a_table, read_in_bulk, snapshot_job
from connector.runner.custom_snapshot import given_statements, locks
from connector.runner.snapshot_notices import SnapshotNotices
from connector.runner.snapshot_pipe import EdgeRow
from connector.runner.snapshot_rows import RowWriter, TableReader, TableWork, execute, lift_timeouts, override_of
from connector.runner.snapshot_workers import SnapshotWorkers
from connector.snapshot import begin_statements, marker
from connector.snapshotter import CustomSnapshot
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_REPORT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SnapshotPoint:
    """Where the snapshot was taken, and where streaming goes on after it."""

    lsn: int
    stream_from: int


@dataclass(slots=True)
class _Held:
    """The row that came last: what marks it is known only when the next one comes, or none."""

    table: TableWork
    line: bytes
    first: bool
    first_of_table: bool
    last_of_table: bool = False


class RowSender:
    """Sends rows with their markers; keeps the last row back until it is known whether it is the last."""

    def __init__(self, writer: RowWriter) -> None:
        self._writer = writer
        self._held: _Held | None = None
        self._ended = False
        """A table has been read, with or without rows."""
        self.sent = 0
        """Rows given, the one kept back included."""

    def rows(self, table: TableWork, lines: list[bytes], *, first_of_table: bool) -> None:
        """Send all of ``lines`` but the last, which takes the place of the one kept back before."""
        now_ns = time.time_ns()
        self._release(now_ns, last=False)
        # As recorded: a first table without rows leaves the snapshot without the marker first.
        first = self.sent == 0 and not self._ended
        self.sent += len(lines)
        held = lines.pop()
        alone = not lines
        if first_of_table and lines:
            self._writer.send(table, lines[:1], marker(first=first, last=False, first_of_table=True, last_of_table=False), now_ns)
            del lines[0]
        self._writer.send(table, lines, "true", now_ns)
        self._held = _Held(table, held, first and alone, first_of_table and alone)

    def table_ends(self) -> None:
        """The row kept back, if it is of the table that was read, is its last."""
        self._ended = True
        if self._held is not None:
            self._held.last_of_table = True

    def finish(self) -> None:
        """The snapshot is over: the row kept back is the last of all."""
        self._release(time.time_ns(), last=True)

    def _release(self, now_ns: int, *, last: bool) -> None:
        held, self._held = self._held, None
        if held is not None:
            word = marker(first=held.first, last=last, first_of_table=held.first_of_table, last_of_table=held.last_of_table)
            self._writer.send(held.table, [held.line], word, now_ns)


class SnapshotRun:
    """One run of the initial snapshot.

    ``custom`` are the user's classes. ``stream_from`` is given when an earlier run broke off: streaming then begins where the slot
    stands, not at the snapshot. ``bulk`` reads the rows, when it is given.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: KafkaSink,
        *,
        headers: bytes,
        stream_from: int | None,
        notices: SnapshotNotices,
        custom: CustomSnapshot | None = None,
        bulk: BulkReader | None = None,
    ) -> None:
        self._bulk = bulk
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._headers = headers
        self._stream_from = stream_from
        self._notices = notices
        self._custom = custom or CustomSnapshot()
        self._reported = 0.0

    async def run(self, exported: str | None, consistent_point: int | None) -> SnapshotPoint:
        """Take the snapshot: from an exported one and its exact position, or in a transaction of its own."""
        config, progress = self._config, self._context.progress
        failure_mode = config.event_converting_failure_handling_mode
        progress.phase = "snapshot"
        progress.snapshot_started_at = self._reported = time.monotonic()
        self._sink.bind(to_marks=False)
        self._notices.begins()
        connection = await connect(config, "Understudy Snapshot")
        try:
            await lift_timeouts(connection)
            for statement in begin_statements(config.snapshot_isolation_mode, exported):
                await execute(connection, statement)
            ts_us = time.time_ns() // 1000
            txid = await pg_server.current_txid(connection)
            lsn = consistent_point if consistent_point is not None else await pg_server.current_lsn(connection)
            stream_from = lsn if self._stream_from is None else self._stream_from
            source = partition(config.topic_prefix)
            former = config.version < (3, 0, 0)
            # Before the first row: a restart must know that this snapshot began.
            await self._context.offsets.store(source, snapshot_offset(stream_from, txid, ts_us, completed=False, former=former))
            tables = await self._tables(connection)
            for statement in locks(self._custom, config, tables):
                await execute(connection, statement)
            tables, statements = given_statements(self._custom, config, self._capture, tables)
            progress.tables[:] = [TableProgress(table.name, estimate=table.estimate) for table in tables]
            self._notices.reads(progress.tables, self._signal_table())
            _log.info("snapshot begins tables=%d lsn=%d", len(tables), lsn)
            facts = SourceFacts(ts_us, txid, None)
            parts, sizes = await self._parts(connection, tables, statements)
            if self._bulk is not None:
                exported = await pg_server.export_snapshot(connection)
                job = snapshot_job(self._context, self._capture, exported, lsn, facts, self._headers, statements, guarded=True)
                rows = await read_in_bulk(self._bulk, bulk_plan(config, job, tables), self._context, self._notices, connection)
            elif sum(map(len, parts)) > 1:
                rows = await self._read_in_parallel(connection, tables, statements, parts, sizes, lsn, facts)
            else:
                rows = await self._read_all(connection, tables, statements, RowWriter(lsn, facts, self._headers, failure_mode))
            await self._sink.drained()
            await self._context.offsets.store(source, snapshot_offset(stream_from, txid, ts_us, completed=True, former=former))
            await execute(connection, "COMMIT")
        finally:
            await connection.close()
        progress.snapshot_seconds = time.monotonic() - progress.snapshot_started_at
        self._notices.ends()
        _log.info("snapshot ends rows=%d seconds=%.1f", rows, progress.snapshot_seconds)
        return SnapshotPoint(lsn, stream_from)

    async def _tables(self, connection: Connection) -> list[CatalogTable]:
        listed = [table for table in await pg_catalog.list_tables(connection) if self._capture.snapshots(table)]
        tables = await pg_catalog.describe_tables(connection, listed)
        order = self._config.snapshot_tables_order_by_row_count
        if order != "disabled":
            tables.sort(key=lambda table: table.estimate, reverse=order == "descending")
        return tables

    def _signal_table(self) -> str | None:
        signal_table = self._capture.signal_table
        return None if signal_table is None or self._config.snapshot_include_collection_list else ".".join(signal_table)

    async def _parts(
        self, connection: Connection, tables: list[CatalogTable], statements: Mapping[str, str]
    ) -> tuple[list[list[Part]], list[TableSize]]:
        """What reader processes are to read, by table; nothing when this process reads alone."""
        config = self._config
        threads = config.snapshot_max_threads
        if threads == 1 or self._bulk is not None:
            return [], []
        sizes = await pg_sizes.table_sizes(connection, [table.oid for table in tables])
        parts: list[list[Part]] = []
        for number, (table, size) in enumerate(zip(tables, sizes, strict=True)):
            whole = one_a_table(self._config) or table.name in statements or override_of(config, table) is not None
            wanted = wanted_parts(table.name, threads, config.snapshot_max_threads_multiplier, config.snapshot_thread_multipliers)
            parts.append(table_parts(number, size, 1 if whole else wanted))
        return parts, sizes

    async def _read_in_parallel(
        self,
        connection: Connection,
        tables: list[CatalogTable],
        statements: Mapping[str, str],
        parts: list[list[Part]],
        sizes: list[TableSize],
        lsn: int,
        facts: SourceFacts,
    ) -> int:
        config, context, progress = self._config, self._context, self._context.progress
        exported = await pg_server.export_snapshot(connection)
        job = snapshot_job(context, self._capture, exported, lsn, facts, self._headers, statements)
        begun: dict[int, float] = {}

        def read(table: int, rows: int) -> None:
            shown = progress.tables[table]
            now = time.monotonic()
            shown.rows += rows
            shown.seconds = now - begun.setdefault(table, now)
            progress.events += rows
            self._report(shown)

        def complete(table: int) -> None:
            self._ends(progress.tables[table])
            self._notices.table_ends(table)

        count = min(config.snapshot_max_threads, sum(map(len, parts)))
        _log.info("snapshot reads in parallel processes=%d parts=%d", count, sum(map(len, parts)))
        by_weight = config.snapshot_tables_order_by_row_count == "disabled"
        deal: Deal[EdgeRow] = Deal(parts, [size.weight for size in sizes] if by_weight else None, opening=not one_a_table(config))
        await SnapshotWorkers(job, count, self._sink, context.topic_used, read, complete, self._notices).run(tables, deal)
        return sum(shown.rows for shown in progress.tables)

    async def _read_all(self, connection: Connection, tables: list[CatalogTable], statements: Mapping[str, str], writer: RowWriter) -> int:
        reader = TableReader(self._config, self._capture, self._sink, connection, statements)
        sender = RowSender(writer)
        for number, (table, shown) in enumerate(zip(tables, self._context.progress.tables, strict=True)):
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
        begun = time.monotonic()
        async for lines in reader.bursts(table):
            count = len(lines)
            sender.rows(work, lines, first_of_table=shown.rows == 0)
            shown.rows += count
            shown.seconds = time.monotonic() - begun
            self._context.progress.events += count
            self._report(shown)
        sender.table_ends()
        self._ends(shown)

    def _ends(self, shown: TableProgress) -> None:
        shown.done = True
        _log.info("table read table=%s rows=%d seconds=%.1f", shown.table, shown.rows, shown.seconds)

    def _report(self, shown: TableProgress) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_S:
            self._reported = now
            rate = shown.rows / shown.seconds if shown.seconds else 0.0
            left = (shown.estimate - shown.rows) / rate if rate and shown.estimate > shown.rows else 0.0
            _log.info(
                "snapshot reads table=%s rows=%d of about=%d rows_per_second=%d seconds_left=%d",
                shown.table,
                shown.rows,
                shown.estimate,
                rate,
                left,
            )
