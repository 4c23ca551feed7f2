"""Blocking snapshots: the stream stands still while tables are read again, and goes on where it stood (signal ``execute-snapshot``).

Nothing is stored while one runs: after a crash the signal that asked for it comes again from the signal table, and the stream
goes on from before it in any case.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from connector.bulk import BulkReader
from connector.capture import Capture
from connector.chunks import Part
from connector.config import ConnectorConfig
from connector.envelope import SourceFacts
from connector.errors import CdcError
from connector.io import pg_catalog, pg_server
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect
from connector.ports import TableProgress, TaskContext
from connector.runner.bulk_rows import bulk_plan, read_in_bulk, snapshot_job
from connector.runner.custom_snapshot import given_statements, locks, tell_aborted
from connector.runner.notifier import Notifier
from connector.runner.snapshot import RowSender
from connector.runner.snapshot_rows import RowWriter, TableReader, execute, lift_timeouts
from connector.snapshot import READ_ONLY, begin_statements
from connector.snapshotter import CustomSnapshot
from connector.table import CatalogTable

_log = logging.getLogger(__name__)


class _Notices:
    """Tells of the tables of a snapshot that is read in bulk, as of those that are read here."""

    def __init__(self, notifier: Notifier, tables: Sequence[TableProgress]) -> None:
        self._notifier = notifier
        self._tables = tables
        self._names = [table.table for table in tables]

    def handed_out(self, part: Part) -> None:
        if part.number == 0:
            self._notifier.send(self._notifier.initial.in_progress(self._names, self._names[part.table]))

    def brought_in(self, part: Part) -> None:
        """Parts are told of in the initial snapshot only."""

    def table_ends(self, table: int) -> None:
        self._notifier.send(self._notifier.initial.table_completed(self._names, self._names[table], self._tables[table].rows))

    def table_fails(self, table: int) -> None:
        self._notifier.send(self._notifier.initial.table_failed(self._names[table]))


class BlockingSnapshot:
    """Takes blocking snapshots for one run of the stream. ``bulk`` reads the rows of those that are to be read in bulk."""

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: KafkaSink,
        notifier: Notifier,
        headers: bytes,
        custom: CustomSnapshot,
        bulk: BulkReader | None = None,
    ) -> None:
        self._bulk = bulk
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._notifier = notifier
        self._headers = headers
        self._custom = custom

    async def bulk_refusal(self) -> str | None:
        """Why no snapshot can be read in bulk, in one sentence; None when it can."""
        if self._bulk is None:
            return "this connector runs without a worker that could start Spark; use type blocking"
        return await self._bulk.refusal()

    async def take(self, names: Sequence[str], selects: Mapping[str, str], last: SourceFacts, lsn: int, *, in_bulk: bool = False) -> None:
        """Read the tables ``names`` (schema.table), each whole or as ``selects`` says; the caller holds the stream.

        A failure is told of and leaves the stream as it was; only a lost connection raises (CdcError), as it ends the stream too.
        Whoever sends a signal wrote ``selects``: they are read where nothing can be written. ``last`` and ``lsn`` are the last streamed
        event's: the rows' source blocks repeat them, as recorded.
        """
        progress, made = self._context.progress, self._notifier.initial
        former = progress.phase
        progress.phase = "snapshot"
        progress.snapshot_started_at = time.monotonic()
        # Its rows, and what waits before them, come again after a crash: they need not wait for a mark.
        self._sink.bind(to_marks=False)
        self._notifier.send(made.started())
        try:
            rows = await self._read(names, selects, last, lsn, self._bulk if in_bulk else None)
        except CdcError as error:
            if error.passes:
                raise
            _log.error("blocking snapshot was not completed: %s", error)
            tell_aborted(self._custom)
            self._notifier.send(made.aborted())
        else:
            _log.info("blocking snapshot ends rows=%d", rows)
            self._custom.completed()
            self._notifier.send(made.completed())
        finally:
            progress.snapshot_seconds = time.monotonic() - progress.snapshot_started_at
            progress.phase = former

    async def _read(self, names: Sequence[str], selects: Mapping[str, str], last: SourceFacts, lsn: int, bulk: BulkReader | None) -> int:
        config = self._config
        connection = await connect(config, "Understudy Blocking Snapshot")
        try:
            await lift_timeouts(connection)
            for statement in begin_statements(config.snapshot_isolation_mode, None):
                await execute(connection, statement)
            tables = await self._tables(connection, names)
            for statement in locks(self._custom, config, tables):
                await execute(connection, statement)
            if selects:
                await execute(connection, READ_ONLY)
            tables, statements = given_statements(self._custom, config, self._capture, tables, selects)
            txid = last.txid if last.txid is not None else await pg_server.current_txid(connection)
            facts = SourceFacts(time.time_ns() // 1000, txid, last.last_commit, last.xmin, last.origin)
            shown = [TableProgress(table.name, estimate=table.estimate) for table in tables]
            self._context.progress.tables[:] = shown
            _log.info("blocking snapshot begins tables=%s", ",".join(table.name for table in tables))
            if bulk is None:
                writer = RowWriter(lsn, facts, self._headers, config.event_converting_failure_handling_mode)
                rows = await self._read_all(connection, tables, statements, writer)
            else:
                exported = await pg_server.export_snapshot(connection)
                job = snapshot_job(self._context, self._capture, exported, lsn, facts, self._headers, statements, guarded=True)
                job = replace(job, read_only=bool(selects))
                rows = await read_in_bulk(bulk, bulk_plan(config, job, tables), self._context, _Notices(self._notifier, shown), connection)
            await self._sink.drained()
            await execute(connection, "COMMIT")
        finally:
            await connection.close()
        return rows

    async def _read_all(
        self, connection: Connection, tables: Sequence[CatalogTable], statements: Mapping[str, str], writer: RowWriter
    ) -> int:
        made, shown = self._notifier.initial, self._context.progress.tables
        reader = TableReader(self._config, self._capture, self._sink, connection, statements)
        sender = RowSender(writer)
        listed = [table.name for table in tables]
        for table, told in zip(tables, shown, strict=True):
            self._notifier.send(made.in_progress(listed, table.name))
            try:
                await self._read_table(reader, sender, table, told)
            except CdcError:
                self._notifier.send(made.table_failed(table.name))
                raise
            self._notifier.send(made.table_completed(listed, table.name, told.rows))
        sender.finish()
        return sender.sent

    async def _read_table(self, reader: TableReader, sender: RowSender, table: CatalogTable, told: TableProgress) -> None:
        work = reader.open(table)
        begun = time.monotonic()
        async for lines in reader.bursts(table):
            count = len(lines)
            sender.rows(work, lines, first_of_table=told.rows == 0)
            told.rows += count
            told.seconds = time.monotonic() - begun
            self._context.progress.events += count
        sender.table_ends()
        told.done = True

    async def _tables(self, connection: Connection, names: Sequence[str]) -> list[CatalogTable]:
        listed = {table.name: table for table in await pg_catalog.list_tables(connection)}
        chosen = []
        for name in names:
            table = listed.get(name)
            if table is None or not self._capture.captures(table.schema, table.table):
                why = "there is no such table" if table is None else "the connector's filters leave it out"
                _log.warning("blocking snapshot passes over table=%s: %s", name, why)
            else:
                chosen.append(table)
        return await pg_catalog.describe_tables(connection, chosen)
