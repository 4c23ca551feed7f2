"""Reads parts of a snapshot and sends their rows, but for those whose marker only the one who hands the parts out can know."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from connector.capture import Capture
from connector.chunks import Handout
from connector.config import ConnectorConfig, parse
from connector.errors import CdcError, ErrorKind
from connector.io import pg_guard
from connector.io.backtracking import BacktrackingProcess
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect
from connector.io.topic_creation import TopicCreator
from connector.io.transactional_sink import TransactionalSink
from connector.record_batch import Record
from connector.runner.snapshot_pipe import Acknowledged, Advanced, EdgeRow, Opened, Order, PartRead, Told, TopicUsed
from connector.runner.snapshot_rows import RowWriter, TableReader, TableWork, execute, lift_timeouts
from connector.snapshot import begin_statements, lock_statements
from connector.snapshot_job import Job
from connector.table import CatalogTable

_TELL_S: Final = 0.2
"""How often progress is told, and how long rows may wait for their acknowledgement to be asked for."""
_FIRST: Final = ("first", "first_in_data_collection", "true")
_LAST: Final = ("last", "last_in_data_collection")
_ANY: Final = (*_FIRST, *_LAST)


class _Collector:
    """Keeps records instead of sending them."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self.records.append((key, prefix, payload, headers, timestamp))

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for number, payload in enumerate(payloads):
            self.append(keys[number] if keys is not None else None, prefix, payload, headers, timestamp)


class PartReader:
    """Reads one part after the other and tells what became of it. Made by :func:`open_part_reader`."""

    def __init__(
        self,
        job: Job,
        config: ConnectorConfig,
        reader: TableReader,
        sink: KafkaSink,
        connection: Connection,
        tell: Callable[[Told], None],
    ) -> None:
        self._config = config
        self._reader = reader
        self.sink = sink
        self.connection = connection
        self._tell = tell
        self._writer = RowWriter(job.lsn, job.facts, job.headers, config.event_converting_failure_handling_mode)
        self._work: tuple[CatalogTable, TableWork] | None = None
        self._asked = time.monotonic()
        self.go = asyncio.Event()

    async def read(self, order: Order) -> None:
        """Send the rows of a part but for the last, which is handed in.

        Of a part without a row (:class:`connector.snapshot.Chunk`) that row was sent: it was the first. Raises CdcError.
        """
        handout, table = order.handout, order.table
        await self._lock(table)
        work = self._open(table)
        held: bytes | None = None
        alone = handout.part.of == 1 and not handout.ask and handout.part.chunk.without is None
        begun = not alone and not handout.ask
        sent, told = 0, time.monotonic()
        async for lines in self._reader.bursts(table, handout.part.chunk):
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
            if time.monotonic() - told >= _TELL_S:
                self._tell(Advanced(sent))
                sent, told = 0, time.monotonic()
        last = None if held is None else self._edge(work, held, _LAST if alone else _ANY)
        self._tell(PartRead(sent, last))
        # Many small tables are acknowledged together; a wait for each would cost more than reading it.
        if time.monotonic() - self._asked >= _TELL_S:
            await self.flush()

    async def edge(self, order: Order) -> EdgeRow | None:
        """The last row of a part, which should have one only, as the record that it becomes; nothing is sent. Raises CdcError."""
        await self._lock(order.table)
        work = self._open(order.table)
        row: bytes | None = None
        async for lines in self._reader.bursts(order.table, order.handout.part.chunk):
            row = lines[-1]
        return None if row is None else self._edge(work, row, _ANY)

    async def flush(self) -> None:
        """Wait until Kafka has everything, and say so."""
        await self.sink.drained()
        self._asked = time.monotonic()
        self._tell(Acknowledged())

    async def _begin(self, work: TableWork, lines: list[bytes], handout: Handout) -> int:
        """Take the first row off ``lines``: it is the worker's to send, or the table's only reader's. How many rows were sent here."""
        first = lines.pop(0)
        if handout.ask:
            self._tell(Opened(self._edge(work, first, _FIRST)))
            await self.go.wait()
            self.go.clear()
            return 0
        self._writer.send(work, [first], "first_in_data_collection", time.time_ns())
        return 1

    async def _lock(self, table: CatalogTable) -> None:
        # A lock that somebody else waits for, behind the worker's own, would never be given: it must have a time limit.
        for statement in lock_statements(self._config.snapshot_locking_mode, [table], self._config.snapshot_lock_timeout_ms):
            await execute(self.connection, statement)

    def _open(self, table: CatalogTable) -> TableWork:
        # Parts of one table mostly come one after the other.
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


async def open_part_reader(stack: contextlib.AsyncExitStack, job: Job, tell: Callable[[Told], None]) -> PartReader:
    """Connect to PostgreSQL, in the job's snapshot, and to Kafka; ``stack`` closes both. Raises CdcError."""
    config, _notices = parse(job.config)
    backtrack = BacktrackingProcess()
    stack.callback(backtrack.close)
    warn = logging.getLogger("connector").warning
    capture = Capture(config, dict(job.types), job.key_converter, job.value_converter, warn, job.plugins, backtrack)
    connection = await connect(config, "Understudy Snapshot Reader")
    stack.push_async_callback(connection.close)
    await lift_timeouts(connection)
    for statement in begin_statements("repeatable_read", job.exported, read_only=job.read_only):
        await execute(connection, statement)
    if job.guard and not await pg_guard.share(connection, job.guard):
        raise CdcError(ErrorKind.INTERNAL, "A reader of a snapshot came when the snapshot was over", "Nothing is to be done")
    kafka = job.kafka
    used = cache(lambda topic: tell(TopicUsed(topic)))
    creator = TopicCreator(kafka.admin, config.topic_creation, used, enabled=kafka.topic_creation, backtrack=backtrack)
    sink = KafkaSink(kafka, creator) if job.transactional_id is None else TransactionalSink(kafka, creator, job.transactional_id, None)
    stack.push_async_callback(sink.stop)
    await sink.start()
    return PartReader(job, config, TableReader(config, capture, sink, connection, job.statements), sink, connection, tell)
