"""Reads parts of a snapshot and sends their rows, except the rows whose markers only the process that assigns the parts knows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.delivery.sink import Sink
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.io.postgres.snapshot_source import PostgresSnapshot
from connector.io.regex_process import BacktrackingProcess
from connector.log import EventLog
from connector.record.batch import Record
from connector.runner.sinks.exactly_once import converted, leaves_out
from connector.runner.snapshot.messages import Acknowledged, Advanced, EdgeRow, Opened, Order, PartRead, PartReport, TopicUsed
from connector.runner.snapshot.rows import FailureModes, RowWriter, TableReader, TableWork
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.job import Job
from connector.snapshot.parts import Handout
from connector.snapshot.plan import begin_statements, lock_statements

LOG: Final = EventLog(__name__)

_REPORT_S: Final = 0.2
"""Interval of progress reports, and the longest time between two waits for Kafka's acknowledgements."""
_FIRST: Final = ("first", "first_in_data_collection", "true")
_LAST: Final = ("last", "last_in_data_collection")
_ANY: Final = (*_FIRST, *_LAST)


class _Collector:
    """Collects records instead of sending them."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self.records.append((key, prefix, payload, headers, timestamp))

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for number, payload in enumerate(payloads):
            self.append(keys[number] if keys is not None else None, prefix, payload, headers, timestamp)


class PartReader:
    """Reads one part after the other and reports the results. :func:`open_part_reader` creates it."""

    def __init__(
        self,
        job: Job,
        config: ConnectorConfig,
        reader: TableReader,
        sink: Sink,
        source: PostgresSnapshot,
        report: Callable[[PartReport], None],
    ) -> None:
        self._config = config
        self._reader = reader
        self.sink = sink
        self.source = source
        self._report = report
        self._writer = RowWriter(job.lsn, job.facts, job.headers, FailureModes.of(config))
        self._work: tuple[CatalogTable, TableWork] | None = None
        self._asked = time.monotonic()
        self.go = asyncio.Event()

    async def read(self, order: Order) -> None:
        """Send the rows of a part except the last, which is submitted. Raises CdcError.

        If the extent has ``without`` (:class:`connector.snapshot.plan.Extent`), that row is the part's first, and it was sent before.
        """
        handout, table = order.handout, order.table
        await self._lock(table)
        work = self._open(table)
        held: bytes | None = None
        alone = handout.part.of == 1 and not handout.ask and handout.part.extent.without is None
        begun = not alone and not handout.ask
        sent, reported = 0, time.monotonic()
        async for lines in self._reader.bursts(table, handout.part.extent):
            read = len(lines)
            self._writer.trim(work, lines)
            # Rows that are left out count as rows that were read.
            sent += read - len(lines)
            if not lines:
                continue
            if held is not None:
                lines.insert(0, held)
            held = lines.pop()
            if not lines:
                continue
            if not begun:
                begun = True
                sent += await self._begin(work, lines, handout)
            now = time.time_ns()
            self._writer.send(work, lines, "true", now)
            sent += len(lines)
            if time.monotonic() - reported >= _REPORT_S:
                self._report(Advanced(sent))
                sent, reported = 0, time.monotonic()
        last = None if held is None else self._edge(work, held, _LAST if alone else _ANY)
        self._report(PartRead(sent, last))
        # Many small tables are acknowledged together, because a wait for each would take longer than its reading.
        if time.monotonic() - self._asked >= _REPORT_S:
            await self.flush()

    async def edge(self, order: Order) -> EdgeRow | None:
        """Return the last row of a part, which should have only one row, as its records. Nothing is sent. Raises CdcError.

        Returns None if the part has no row, or if no event can be made of it and it is left out.
        """
        await self._lock(order.table)
        work = self._open(order.table)
        row: bytes | None = None
        async for lines in self._reader.bursts(order.table, order.handout.part.extent):
            self._writer.trim(work, lines)
            row = lines[-1] if lines else row
        return None if row is None else self._edge(work, row, _ANY)

    async def flush(self) -> None:
        """Wait until Kafka has everything, and report it."""
        await self.sink.drained()
        self._asked = time.monotonic()
        self._report(Acknowledged())

    async def _begin(self, work: TableWork, lines: list[bytes], handout: Handout) -> int:
        """Remove the first row from ``lines`` and return how many rows this reader sent.

        With ``ask`` the worker sends the row; otherwise this reader does, because it reads the whole table.
        """
        first = lines.pop(0)
        if handout.ask:
            self._report(Opened(self._edge(work, first, _FIRST)))
            await self.go.wait()
            self.go.clear()
            return 0
        self._writer.send(work, [first], "first_in_data_collection", time.time_ns())
        return 1

    async def _lock(self, table: CatalogTable) -> None:
        # The lock needs a timeout: PostgreSQL queues it after another session's request that waits for the worker's own lock.
        for statement in lock_statements(self._config.snapshot_locking_mode, [table], self._config.snapshot_lock_timeout_ms):
            await self.source.execute(statement)

    def _open(self, table: CatalogTable) -> TableWork:
        # Consecutive parts are usually of the same table.
        if self._work is None or self._work[0] != table:
            self._work = table, self._reader.open(table)
        return self._work[1]

    def _edge(self, work: TableWork, line: bytes, words: Iterable[str]) -> EdgeRow:
        records: dict[str, Record] = {}
        now = time.time_ns()
        for word in words:
            out = _Collector()
            self._writer.send(TableWork(work.encoder, work.source, out, work.blocks), [line], word, now)
            (records[word],) = out.records
        return EdgeRow(work.encoder.topic, records)


async def open_part_reader(stack: contextlib.AsyncExitStack, job: Job, report: Callable[[PartReport], None]) -> PartReader:
    """Connect to PostgreSQL, with the job's snapshot, and to Kafka. ``stack`` closes both connections. Raises CdcError."""
    config = job.config
    backtrack = BacktrackingProcess()
    stack.callback(backtrack.close)
    capture = Capture(Selection.of(config, backtrack), dict(job.types), job.key_converter, job.value_converter, LOG.warning, job.plugins)
    source = await PostgresSnapshot.open(config, "Understudy Snapshot Reader")
    stack.push_async_callback(source.close)
    await source.lift_timeouts()
    for statement in begin_statements("repeatable_read", job.exported, read_only=job.read_only):
        await source.execute(statement)
    if job.guard and not await source.share_guard(job.guard):
        raise CdcError(ErrorKind.INTERNAL, "A reader of a snapshot came when the snapshot was over", "Nothing is to be done")
    kafka = job.kafka
    used = cache(lambda topic: report(TopicUsed(topic)))

    def failed(*, left_out: bool, logged: bool) -> None:
        report(RecordsFailed(1, left_out, logged))

    creator = TopicCreator(kafka.admin, config.topic_creation, used, enabled=kafka.topic_creation, backtrack=backtrack)
    sink: KafkaSink
    if job.transactional_id is None:
        sink = KafkaSink(kafka, creator, leave_out=leaves_out(config, failed))
    else:
        sink = TransactionalSink(kafka, creator, job.transactional_id, None)
    stack.push_async_callback(sink.stop)
    await sink.start()
    rows = await converted(sink, job.conversion, config, stack, backtrack, failed=failed)
    return PartReader(job, config, TableReader(config, capture, rows, source, job.statements), rows, source, report)
