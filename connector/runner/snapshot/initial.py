"""The initial snapshot: one transaction, every table by COPY, every row an ``r`` event.

This process reads one table after the other. With ``snapshot.max.threads`` several processes, which share the transaction's snapshot, read
the tables in parts.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial as bound
from typing import Final

from connector.catalog.table import CatalogTable
from connector.delivery.offsets import partition, snapshot_offset
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts
from connector.log import EventLog
from connector.runner.context import TaskContext
from connector.runner.snapshot.bulk_rows import count_failed, one_a_table, snapshot_job
from connector.runner.snapshot.messages import EdgeRow
from connector.runner.snapshot.notices import SnapshotNotices
from connector.runner.snapshot.readers import SnapshotWorkers
from connector.runner.snapshot.reading import ChosenTables, RowPlace, SnapshotEdges, SnapshotReading, table_ends
from connector.snapshot.bulk import BulkReader
from connector.snapshot.parts import Deal, Part, TableSize, table_parts, wanted_parts
from connector.snapshot.source import RowSink, SnapshotSource
from connector.start.snapshotter import CustomSnapshot

LOG: Final = EventLog(__name__)


@dataclass(frozen=True, slots=True)
class SnapshotPoint:
    """The position of the snapshot, and the position at which streaming begins after it."""

    lsn: int
    stream_from: int


class SnapshotRun:
    """One run of the initial snapshot.

    ``custom`` are the user's classes. If an earlier run was aborted, ``stream_from`` is the slot's position, and streaming begins there and
    not at the snapshot. If ``bulk`` is given, it reads the rows. ``edges`` are by default connections to PostgreSQL and processes.
    """

    def __init__(
        self,
        context: TaskContext,
        capture: Capture,
        sink: RowSink,
        *,
        headers: bytes,
        stream_from: int | None,
        notices: SnapshotNotices,
        custom: CustomSnapshot | None = None,
        bulk: BulkReader | None = None,
        edges: SnapshotEdges | None = None,
    ) -> None:
        self._bulk = bulk
        self._context = context
        self._config = capture.selection.config
        self._capture = capture
        self._sink = sink
        self._headers = headers
        self._stream_from = stream_from
        self._notices = notices
        self._edges = edges or SnapshotEdges.of(self._config)
        self._reading = SnapshotReading(context, capture, sink, headers, notices, custom or CustomSnapshot(), self._edges, bulk)

    async def run(self, exported: str | None, consistent_point: int | None) -> SnapshotPoint:
        """Take the snapshot in the exported snapshot with its exact position, or in a new snapshot.

        When this returns, Kafka has every row, and the stored offset says that the snapshot is complete. When it raises CdcError and a row
        may have been sent, the stored offset says that the snapshot began.
        """
        config, progress = self._config, self._context.progress
        progress.phase = "snapshot"
        progress.snapshot_started_at = time.monotonic()
        self._sink.bind(to_marks=False)
        self._notices.begins()
        async with self._reading.transaction("Understudy Snapshot", exported) as source:
            ts_us = time.time_ns() // 1000
            txid = await source.txid()
            lsn = consistent_point if consistent_point is not None else await source.lsn()
            stream_from = lsn if self._stream_from is None else self._stream_from
            stored = partition(config.topic_prefix)
            # The offset is stored before the first row, because a restart must know that this snapshot began.
            begun = snapshot_offset(stream_from, txid, ts_us, completed=False, emulation=config.emulation)
            await self._context.offsets.store(stored, begun)
            chosen = await self._reading.choose(source, await self._tables(source), signal_table=self._signal_table())
            LOG.info("snapshot begins", tables=len(chosen.tables), lsn=lsn)
            rows = await self._read(source, chosen, RowPlace(lsn, SourceFacts(ts_us, txid, None)))
            await self._sink.drained()
            done = snapshot_offset(stream_from, txid, ts_us, completed=True, emulation=config.emulation)
            await self._context.offsets.store(stored, done)
            await source.execute("COMMIT")
        progress.snapshot_seconds = time.monotonic() - progress.snapshot_started_at
        self._notices.ends()
        LOG.info("snapshot ends", rows=rows, seconds=round(progress.snapshot_seconds, 1))
        return SnapshotPoint(lsn, stream_from)

    async def _tables(self, source: SnapshotSource) -> list[CatalogTable]:
        selection = self._capture.selection
        listed = [table for table in await source.tables() if selection.snapshots(table)]
        tables = await source.describe(await asyncio.to_thread(selection.in_snapshot_order, listed))
        order = self._config.snapshot_tables_order_by_row_count
        if order != "disabled":
            tables.sort(key=lambda table: table.estimate, reverse=order == "descending")
        return tables

    def _signal_table(self) -> str | None:
        selection = self._capture.selection
        return None if selection.signal_table is None or selection.snapshots_some_only else ".".join(selection.signal_table)

    async def _read(self, source: SnapshotSource, chosen: ChosenTables, place: RowPlace) -> int:
        if self._config.snapshot_max_threads > 1 and self._bulk is None:
            sizes = await source.sizes(chosen.tables)
            parts = self._parts(chosen, sizes)
            if sum(map(len, parts)) > 1:
                return await self._read_in_parallel(source, chosen, place, parts, sizes)
        return await self._reading.read(source, chosen, place)

    def _parts(self, chosen: ChosenTables, sizes: list[TableSize]) -> list[list[Part]]:
        """Return the parts of each table for the reader processes."""
        config, selection = self._config, self._capture.selection
        parts: list[list[Part]] = []
        for number, (table, size) in enumerate(zip(chosen.tables, sizes, strict=True)):
            whole = one_a_table(config) or table.name in chosen.statements or selection.override(table) is not None
            threads, multipliers = config.snapshot_max_threads, config.snapshot_thread_multipliers
            wanted = wanted_parts(table.name, threads, config.snapshot_max_threads_multiplier, multipliers)
            parts.append(table_parts(number, size, 1 if whole else wanted))
        return parts

    async def _read_in_parallel(
        self, source: SnapshotSource, chosen: ChosenTables, place: RowPlace, parts: list[list[Part]], sizes: list[TableSize]
    ) -> int:
        config, context, progress = self._config, self._context, self._context.progress
        exported = await source.export()
        job = snapshot_job(context, self._capture, exported, place.lsn, place.facts, self._headers, chosen.statements)
        begun: dict[int, float] = {}

        def read(table: int, rows: int) -> None:
            shown = progress.tables[table]
            now = time.monotonic()
            shown.rows += rows
            shown.seconds = now - begun.setdefault(table, now)
            progress.events += rows
            self._reading.report(shown)

        def complete(table: int) -> None:
            progress.delivered += progress.tables[table].rows
            table_ends(progress.tables[table], context)
            self._notices.table_ends(table)

        count = min(config.snapshot_max_threads, sum(map(len, parts)))
        LOG.info("snapshot reads in parallel", processes=count, parts=sum(map(len, parts)))
        by_weight = config.snapshot_tables_order_by_row_count == "disabled"
        deal: Deal[EdgeRow] = Deal(parts, [size.weight for size in sizes] if by_weight else None, opening=not one_a_table(config))
        workers = SnapshotWorkers(
            job,
            count,
            self._sink,
            context.topic_used,
            bound(count_failed, context),
            read,
            complete,
            self._notices,
            self._edges.start_reader,
        )
        await workers.run(chosen.tables, deal)
        return sum(shown.rows for shown in progress.tables)
