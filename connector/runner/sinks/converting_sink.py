"""A sink whose records are transformed and converted on their way to Kafka.

Records and positions keep their order. When a record needs an answer of the network before it can be written (the id of its schema, the
partitions of its topic), it waits in a queue, and so does everything that comes after it, positions included. Nothing is confirmed that
is still in the queue.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from connector.converters.converter import SchemaNeededError, SchemaRequest
from connector.delivery.avro_rows import AvroRows
from connector.delivery.compiled_avro import AvroPath
from connector.delivery.compiled_outbox import OutboxPath
from connector.delivery.compiled_path import CompiledPath
from connector.delivery.flat_rows import FlatRows
from connector.delivery.frontier import Frontier, Mark
from connector.delivery.moved_key_headers import has_other_key
from connector.delivery.offsets import Position
from connector.delivery.outbox_rows import OutboxRows
from connector.delivery.record_conversion import RecordConversion, RecordReader, Written
from connector.delivery.row_run import RowRun, RowTable
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_out import TopicOut
from connector.record.connect_record import ConnectRecord, Header

ResolveSchema = Callable[[Any, SchemaRequest], Awaitable[None]]
"""Asks a schema registry what a SchemaNeededError names, and tells the registry's cache. Raises CdcError when it does not answer."""

_Path = CompiledPath | OutboxPath | AvroPath

_MOST_QUEUED: Final = 10_000
"""Records that may wait in the queue while the source is still read."""
_MOST_QUEUED_BYTES: Final = 8_000_000
"""Bytes of these records, as the core wrote them. It equals the default limit of :class:`KafkaSink`."""


class ConvertingOut:
    """Takes the core's records of one topic (:class:`connector.ports.Out`)."""

    __slots__ = ("_apart", "_reader", "_shared", "_short", "_sink", "_topic")

    def __init__(self, sink: ConvertingSink, topic: str, *, apart: bool) -> None:
        self._sink = sink
        self._topic = topic
        self._apart = apart
        self._reader = RecordReader()
        self._short: dict[tuple[bytes, bool], _Path | None] = {}
        """The fast path of events with this schema, with a key or without."""
        self._shared: tuple[Header, ...] = ()
        """What the last record's transforms added to the headers that a tombstone of it has too."""

    def rows(self, table: RowTable) -> ConvertingRows:
        """Return what takes the rows of ``table`` as cells (:class:`connector.delivery.row_run.DirectOut`)."""
        return ConvertingRows(self._sink, self._path, table, apart=self._apart)

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Transform, convert and append one record. Raises CdcError(TRANSFORM)."""
        path = None if payload is None else self._path(prefix, key)
        if isinstance(path, OutboxPath):
            message = None if payload is None else path.message(payload, headers)
            if message is not None:
                topic, found = message
                self._sink.inner_out(topic, apart=self._apart).append(*found)
                return
        elif isinstance(path, AvroPath):
            written = None if payload is None else path.record(key, payload, headers)
            if written is not None:
                self._sink.inner_out(path.topic, apart=self._apart).append(written.key, path.prefix, written.payload, headers, timestamp)
                return
        elif path is not None and payload is not None and path.takes(key, payload) and not has_other_key(headers):
            [cut] = path.payloads([payload])
            [new_key] = [None] if key is None else path.keys([key])
            self._sink.inner_out(path.topic, apart=self._apart).append(new_key, path.prefix, cut, headers, timestamp)
            return
        record = self._reader.read(self._topic, key, prefix, payload, headers)
        if payload is None and self._shared:
            # The tombstone comes right after the event of the deleted row.
            record = replace(record, headers=record.headers + self._shared)
        transformed, self._shared = self._sink.conversion.transform_with_shared(record)
        if transformed is not None:
            weight = len(key or b"") + len(payload or b"")
            self._sink.take(transformed, timestamp, apart=self._apart, weight=weight)

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """:meth:`append` for each payload."""
        every: Sequence[bytes | None] = keys if keys is not None else [None] * len(payloads)
        path = self._path(prefix, every[0]) if payloads else None
        if isinstance(path, CompiledPath) and all(map(path.takes, every, payloads)):
            out = self._sink.inner_out(path.topic, apart=self._apart)
            out.extend(None if keys is None else path.keys(keys), path.prefix, path.payloads(payloads), headers, timestamp)
            return
        if isinstance(path, AvroPath) and (written := path.records(keys, payloads, headers)) is not None:
            out = self._sink.inner_out(path.topic, apart=self._apart)
            for key, payload in written:
                out.append(key, path.prefix, payload, headers, timestamp)
            return
        for key, payload in zip(every, payloads, strict=True):
            self.append(key, prefix, payload, headers, timestamp)

    def _path(self, prefix: bytes, key: bytes | None) -> _Path | None:
        if self._sink.waits:
            # What is written now must not overtake the records that wait for an answer.
            return None
        at = prefix, key is None
        if at not in self._short:
            try:
                self._short[at] = self._sink.conversion.fast_path(self._topic, prefix, key)
            except SchemaNeededError:
                # The record will ask the registry.
                return None
        return self._short[at]


class ConvertingRows:
    """Takes the rows of one table as cells, where its fast path has a direct way (:class:`connector.delivery.row_run.RowTaker`)."""

    __slots__ = ("_apart", "_find_path", "_path", "_sink", "_table", "_way")

    def __init__(
        self, sink: ConvertingSink, find_path: Callable[[bytes, bytes | None], _Path | None], table: RowTable, *, apart: bool
    ) -> None:
        self._sink = sink
        self._find_path = find_path
        self._table = table
        self._apart = apart
        self._path: _Path | None = None
        self._way: AvroRows | FlatRows | OutboxRows | None = None
        """The direct way of ``_path``."""

    def take(self, run: RowRun, headers: bytes, timestamp: int) -> bool:
        """Append the records of the rows. Returns False when it appended nothing and they must come as events."""
        if self._sink.waits or not self._found(run):
            return False
        path, way = self._path, self._way
        if path is None or way is None:
            return False
        if isinstance(way, OutboxRows):
            messages = way.messages(run, headers)
            if messages is None:
                return False
            for topic, records in messages:
                self._sink.inner_out(topic, apart=self._apart).add(records)
            return True
        written = way.written(run)
        if written is None or isinstance(path, OutboxPath):
            return False
        self._sink.inner_out(path.topic, apart=self._apart).extend(written.keys, path.prefix, written.payloads, headers, timestamp)
        return True

    def _found(self, run: RowRun) -> bool:
        """Find the path and its direct way. Returns False where there is none, or none yet."""
        if self._path is None:
            table = self._table
            try:
                key = table.keys([column[:1] for column in run.columns], run.nulls)[0] if table.has_key else None
            except ValueError:
                return False
            self._path = self._find_path(table.prefix, key)
            if self._path is not None:
                self._way = self._path.rows(table)
        return self._way is not None


class ConvertingSink:
    """:class:`connector.delivery.sink.Sink` in front of a :class:`KafkaSink`, which it owns no more than that."""

    def __init__(self, sink: KafkaSink, conversion: RecordConversion, resolve: ResolveSchema) -> None:
        self._sink = sink
        self.stores_offsets = sink.stores_offsets
        self.conversion = conversion
        self._resolve = resolve
        self._outs: dict[tuple[str, bool], ConvertingOut] = {}
        self._queue: deque[tuple[ConnectRecord, int, bool, int] | Position] = deque()
        self._queued_bytes = 0
        self._working: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def frontier(self) -> Frontier:
        """The positions of this task."""
        return self._sink.frontier

    @property
    def reached(self) -> Mark | None:
        """The last mark before which Kafka has everything."""
        return self._sink.reached

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is in flight."""
        return not self._queue and self._sink.idle

    @property
    def waits(self) -> bool:
        """Whether records wait for an answer of the network."""
        return bool(self._queue)

    def out(self, topic: str, *, apart: bool = False) -> ConvertingOut:
        """Return where the core appends the records of ``topic``; a transform may send them elsewhere."""
        found = self._outs.get((topic, apart))
        if found is None:
            found = self._outs[topic, apart] = ConvertingOut(self, topic, apart=apart)
        return found

    def inner_out(self, topic: str, *, apart: bool) -> TopicOut:
        """Return where records that are written already are appended."""
        return self._sink.out(topic, apart=apart)

    def bind(self, *, to_marks: bool) -> None:
        """As :meth:`KafkaSink.bind`."""
        self._sink.bind(to_marks=to_marks)

    def take(self, record: ConnectRecord, timestamp: int, *, apart: bool, weight: int) -> None:
        """Convert and append a transformed record, or let it wait. ``weight`` is its size in bytes. Raises CdcError(TRANSFORM)."""
        if self._queue or not self._written(record, timestamp, apart=apart):
            self._queue.append((record, timestamp, apart, weight))
            self._queued_bytes += weight

    def _written(self, record: ConnectRecord, timestamp: int, *, apart: bool) -> bool:
        """Append the record. Returns False when the network must be asked first."""
        try:
            written = self.conversion.convert(record)
        except SchemaNeededError:
            return False
        return written is None or self._appended(written, timestamp, apart=apart)

    def _appended(self, written: Written, timestamp: int, *, apart: bool) -> bool:
        topic, partition, key, prefix, payload, headers, own = written
        out = self._sink.out(topic, apart=apart)
        at = timestamp if own is None else own
        if partition is None:
            out.append(key, prefix, payload, headers, at)
        elif not out.partitions:
            return False
        else:
            out.append_to(partition, (key, prefix, payload, headers, at))
        return True

    def pump(self) -> None:
        """Begin to send what was appended. Raises the failure of an earlier record or batch."""
        if self._failure is not None:
            raise self._failure
        self._sink.pump()
        self._begin()

    def send(self, position: Position) -> None:
        """Begin to send everything before ``position``. Raises the failure of an earlier record or batch."""
        if not self._queue:
            self._sink.send(position)
            return
        self._queue.append(position)
        self.pump()

    async def room(self) -> None:
        """Wait until there is room for more. Raises the failure of a record or batch."""
        while len(self._queue) > _MOST_QUEUED or self._queued_bytes > _MOST_QUEUED_BYTES:
            await self._next_move()
        await self._sink.room()

    async def drained(self) -> None:
        """Wait until everything appended is acknowledged. Raises the failure of a record or batch."""
        self.pump()
        while self._queue:
            await self._next_move()
        await self._sink.drained()

    async def stop(self) -> None:
        """Abandon what waits. The inner sink is stopped by its owner."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _next_move(self) -> None:
        if self._failure is None:
            # A task that has emptied the queue is still there for one turn, in which records may come. Nobody began to write these.
            self._begin()
            self._moved.clear()
            await self._moved.wait()
        if self._failure is not None:
            raise self._failure

    def _begin(self) -> None:
        if self._queue and self._working is None:
            self._working = asyncio.create_task(self._work(), name="ask for schemas and topics")
            self._working.add_done_callback(self._worked)

    async def _work(self) -> None:
        while self._queue:
            head = self._queue[0]
            if isinstance(head, Position):
                self._sink.send(head)
            else:
                record, timestamp, apart, weight = head
                await self._write_head(record, timestamp, apart)
                self._queued_bytes -= weight
            self._queue.popleft()
            self._moved.set()
        self._sink.pump()

    async def _write_head(self, record: ConnectRecord, timestamp: int, apart: bool) -> None:
        while True:
            try:
                written = self.conversion.convert(record)
            except SchemaNeededError as needed:
                try:
                    await self._resolve(needed.registry, needed.request)
                except CdcError as error:
                    # The registry refused the schema, so the converter cannot convert the record.
                    if error.kind is not ErrorKind.SCHEMA:
                        raise
                    self.conversion.fail(error)
                    return
                continue
            if written is not None and not self._appended(written, timestamp, apart=apart):
                await self._sink.prepare(written.topic)
                continue
            return

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._working = None
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._failure = problem
        self._moved.set()
