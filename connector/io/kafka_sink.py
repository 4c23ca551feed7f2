"""Records to Kafka: one open batch per topic partition, sent whenever the one before it is acknowledged.

While a batch is on its way the next one fills, so that a quiet connector delivers each event at once and a busy one sends
large batches, without a linger. aiokafka owns the protocol (metadata, idempotence, retries, order); batches are
:mod:`connector.record_batch`'s because its own builder was the largest part of the worker's time (measured there).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidTopicError,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.util import calc_crc32c
from murmurhash2 import murmurhash2

from connector.errors import CdcError, ErrorKind
from connector.flush import AckLedger
from connector.frontier import Frontier, Mark
from connector.io.compression import Compressor, compressor_of
from connector.io.kafka_client import connection_problem
from connector.io.producer_settings import max_request_size, producer_arguments
from connector.io.topic_creation import TopicCreator
from connector.offsets import Position
from connector.ports import KafkaSettings
from connector.record_batch import ProducerState, Record, RecordBatch, encode_records, frame_batch

_log = logging.getLogger(__name__)

SEED: Final = 0x9747B28C
"""Of Kafka's DefaultPartitioner."""
_CHUNK_WEIGHT: Final = 900_000
"""Bytes of one batch that do not compress away, so that the broker's default limit of 1 MiB is kept."""
_CHUNK_SIZE: Final = 4_000_000
"""Bytes of one batch before compression: bounds what consumers must hold."""
_CHUNK_RECORDS: Final = 4_000


class _PreparedBatch(BatchBuilder):  # type: ignore[misc]
    """What aiokafka's sender asks of a batch builder, answered from records that are complete already."""

    def __init__(self, records: list[Record], body: bytes, codec: int, *, transactional: bool) -> None:
        # Not calling the base: it would allocate the builder that this class replaces.
        self._records = records
        self._body = body
        self._codec = codec
        self._transactional = transactional
        self._state = ProducerState()
        self._buffer: bytearray | None = None
        self._closed = True
        self._relative_offset = len(records)

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        self._state = ProducerState(producer_id, producer_epoch, base_sequence, self._transactional)

    def _build(self) -> bytearray:
        if self._buffer is None:
            self._buffer = frame_batch(self._records, self._body, self._codec, self._state, calc_crc32c)
        return self._buffer

    def size(self) -> int:
        return len(self._body)


class Partition:
    """One topic partition's open batch, and whether a sender works for it."""

    __slots__ = ("batch", "number", "partition", "sender", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.batch = RecordBatch()
        self.number = 0
        """The open batch's number in the ledger; 0 while it is empty."""
        self.sender: asyncio.Task[None] | None = None


class TopicOut:
    """Where the records of one topic are appended (:class:`connector.stream.Out`)."""

    __slots__ = ("apart", "append", "extend", "name", "partitions", "pending")

    def __init__(self, name: str, *, apart: bool = False) -> None:
        self.name = name
        self.apart = apart
        """Its records are none of the stream's: no position says whether they were sent."""
        self.pending = RecordBatch()
        """Records appended before the topic's partitions are known."""
        self.partitions: list[Partition] = []
        self.append: Callable[[bytes | None, bytes, bytes | None, bytes, int], None]
        self.extend: Callable[[Sequence[bytes] | None, bytes, Sequence[bytes], bytes, int], None]
        self.use(self.pending)

    def resolve(self, count: int) -> None:
        """The topic has ``count`` partitions: spread what waits."""
        self.partitions = [Partition(self.name, number) for number in range(count)]
        if count == 1:
            self.use(self.partitions[0].batch)
        else:
            self.append, self.extend = self._spread, self._spread_all
        for record in self.pending.records:
            self.append(*record)
        self.pending = RecordBatch()

    def use(self, batch: RecordBatch) -> None:
        """All records go to ``batch`` from now on; bound methods save the way through the partition."""
        self.append, self.extend = batch.append, batch.extend

    def _spread_all(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for key, payload in zip(keys or repeat(None), payloads, strict=False):
            self._spread(key, prefix, payload, headers, timestamp)

    def _spread(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        partitions = self.partitions
        if key is None:
            # No key, no order to keep: whoever has least to send takes it.
            target = min(partitions, key=lambda p: p.batch.size)
        else:
            target = partitions[(murmurhash2(key, SEED) & 0x7FFFFFFF) % len(partitions)]
        target.batch.append(key, prefix, payload, headers, timestamp)


class KafkaSink:
    """Producer of one task. Use: append to :meth:`out`, then :meth:`pump` after each burst, then :meth:`mark`."""

    stores_offsets = False
    """What is ``reached`` is stored too: offsets go to Kafka with the records (:mod:`connector.io.transactional_sink`)."""

    def __init__(self, settings: KafkaSettings, creator: TopicCreator, *, limit: int = 8_000_000) -> None:
        self._settings = settings
        self._creator = creator
        self._limit = limit
        """Bytes (without constant prefixes) that may wait or be in flight before the source is no longer read."""
        self._producer: Any = None
        self._compressor: Compressor = compressor_of(settings.producer)
        self._max_request = max_request_size(settings.producer)
        self._outs: dict[str, TopicOut] = {}
        self._resolving: asyncio.Task[None] | None = None
        self._waiting = 0
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None
        self.frontier: Final = Frontier()
        self._ledger: AckLedger[Mark] = AckLedger()
        self._waiting_mark: Mark | None = None

    async def start(self) -> None:
        """Connect. CdcError(SINK_UNREACHABLE) when no broker answers, SINK_PERMISSION when none accepts the login."""
        arguments = self._arguments()
        self._producer = AIOKafkaProducer(**arguments)
        try:
            await self._producer.start()
            await self._creator.start()
        except KafkaError as error:
            await self._producer.stop()
            raise await connection_problem(arguments) or sink_error(error, "Kafka") from error

    def _arguments(self) -> dict[str, Any]:
        return producer_arguments(self._settings.producer)

    async def stop(self) -> None:
        """Give up what is not sent, and disconnect."""
        tasks = [p.sender for out in self._outs.values() for p in out.partitions if p.sender is not None]
        if self._resolving is not None:
            tasks.append(self._resolving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._creator.stop()
        if self._producer is not None:
            await self._producer.stop()

    def out(self, topic: str, *, apart: bool = False) -> TopicOut:
        """Where to append the records of ``topic``; the topic is made when the first record is sent.

        ``apart``: they belong to no place in the stream (heartbeats, notifications), and need not wait for a mark.
        """
        found = self._outs.get(topic)
        if found is None:
            found = self._outs[topic] = TopicOut(topic, apart=apart)
        return found

    def bind(self, *, to_marks: bool) -> None:
        """Whether records may be delivered for good only together with the mark that comes after them.

        Of no consequence here, where a restart may deliver records again in any case.
        """

    def pump(self) -> None:
        """Begin to send what was appended. Raises the failure of an earlier batch."""
        if self._failure is not None:
            raise self._failure
        unresolved = False
        for out in self._outs.values():
            if out.pending.records:
                unresolved = True
            for part in out.partitions:
                if part.batch.records and not part.number:
                    part.number = self._ledger.open_batch()
                if part.number and part.sender is None:
                    part.sender = asyncio.create_task(self._send(out, part), name=f"send {part.topic}-{part.partition}")
                    part.sender.add_done_callback(self._sender_done)
        if unresolved and self._resolving is None:
            self._resolving = asyncio.create_task(self._resolve(), name="create topics")
            self._resolving.add_done_callback(self._sender_done)

    def mark(self, position: Position) -> None:
        """Everything before ``position`` has been appended and pumped."""
        mark = self.frontier.mark(position)
        if self._resolving is None:
            self._ledger.mark(mark)
        else:
            # Records wait outside the ledger for their topic: the mark waits with them.
            self._waiting_mark = mark

    @property
    def reached(self) -> Mark | None:
        """The last mark before which Kafka has everything."""
        return self._ledger.reached

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is in flight."""
        return self._ledger.idle and self._resolving is None and not any(out.pending.records for out in self._outs.values())

    @property
    def waiting(self) -> int:
        """Bytes not acknowledged, without constant prefixes."""
        return self._waiting + sum(out.pending.weight + sum(part.batch.weight for part in out.partitions) for out in self._outs.values())

    async def room(self) -> None:
        """Wait until less than the limit is outstanding. Raises the failure of a batch."""
        while self.waiting > self._limit:
            await self._next_change()

    async def drained(self) -> None:
        """Wait until everything appended is acknowledged. Raises the failure of a batch."""
        self.pump()
        while not self.idle:
            await self._next_change()
            self.pump()

    async def changed(self) -> None:
        """Wait for the next acknowledgement or failure."""
        await self._next_change()

    async def _next_change(self) -> None:
        if self._failure is None:
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure

    def _sender_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
        self._changed.set()

    async def _resolve(self) -> None:
        while waiting := [out for out in self._outs.values() if out.pending.records]:
            # All at once: a snapshot of many tables would otherwise wait for one topic after the other.
            await asyncio.gather(*(self._resolve_topic(out) for out in waiting))
        self._resolving = None
        self.pump()
        if self._waiting_mark is not None:
            self._ledger.mark(self._waiting_mark)
            self._waiting_mark = None

    async def _resolve_topic(self, out: TopicOut) -> None:
        try:
            await self._creator.ensure(out.name)
            partitions = await self._producer.partitions_for(out.name)
        except KafkaError as error:
            raise sink_error(error, f"topic {out.name}") from error
        out.resolve(len(partitions))

    async def _send(self, out: TopicOut, part: Partition) -> None:
        try:
            while part.number:
                batch, number = part.batch, part.number
                part.batch, part.number = RecordBatch(), 0
                if len(out.partitions) == 1:
                    out.use(part.batch)
                self._waiting += batch.weight
                await self._deliver(part, batch)
                self._waiting -= batch.weight
                self._creator.used(part.topic)
                self._ledger.acknowledge(number)
                self._changed.set()
                if part.batch.records and not part.number:
                    part.number = self._ledger.open_batch()
        finally:
            part.sender = None

    async def _deliver(self, part: Partition, batch: RecordBatch) -> None:
        try:
            acks = [
                await self._producer.send_batch(prepared, part.topic, partition=part.partition)
                for chunk in _chunks(batch)
                for prepared in self._prepare(chunk)
            ]
            for ack in acks:
                await ack
        except KafkaError as error:
            raise sink_error(error, f"topic {part.topic}") from error

    def _prepare(self, records: list[Record]) -> list[_PreparedBatch]:
        """Compress; a batch that the broker would refuse is cut in two until it fits or is a single record."""
        body = encode_records(records)
        codec, packed = self._compressor.compress(body)
        if len(packed) > self._max_request - 512 and len(records) > 1:
            middle = len(records) // 2
            return self._prepare(records[:middle]) + self._prepare(records[middle:])
        return [_PreparedBatch(records, packed, codec, transactional=self.stores_offsets)]


def _chunks(batch: RecordBatch) -> list[list[Record]]:
    """The records in runs that each make one batch: of equal counts, as many as the limits ask for on average.

    A run that is still too large once compressed is cut further when it is built.
    """
    records = batch.records
    count = max(-(-batch.weight // _CHUNK_WEIGHT), -(-batch.size // _CHUNK_SIZE), -(-len(records) // _CHUNK_RECORDS))
    if count <= 1:
        return [records]
    step = -(-len(records) // count)
    return [records[begin : begin + step] for begin in range(0, len(records), step)]


def sink_error(error: KafkaError, where: str) -> CdcError:
    """Kafka's refusal in our words."""
    told = type(error).__name__
    if isinstance(error, (MessageSizeTooLargeError, RecordListTooLargeError)):
        return CdcError(
            ErrorKind.SINK_RECORD_TOO_LARGE,
            f"A record for {where} is larger than Kafka takes",
            "Raise max.message.bytes of the topic (or message.max.bytes of the broker) and producer.override.max.request.size",
            told,
        )
    if isinstance(error, TopicAuthorizationFailedError):
        return CdcError(
            ErrorKind.SINK_PERMISSION, f"Kafka does not let this principal write to {where}", "Grant Write (and Create) on it", told
        )
    if isinstance(error, TransactionalIdAuthorizationFailed):
        return CdcError(
            ErrorKind.SINK_PERMISSION,
            f"Kafka does not let this principal use the transactional id {error.args[0] if error.args else where}",
            "Grant Write and Describe on that TransactionalId, or set exactly.once.source.support=disabled in the worker",
            told,
        )
    if isinstance(error, InvalidTopicError):
        return CdcError(ErrorKind.SINK_REFUSED, f"Kafka does not accept the name of {where}", "Set topic.prefix or topic.delimiter", told)
    if isinstance(error, (ProducerFenced, OutOfOrderSequenceNumber)):
        return CdcError(ErrorKind.SINK_UNREACHABLE, f"Kafka lost the order of this producer's batches for {where}", "", told)
    if isinstance(error, UnknownTopicOrPartitionError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"Kafka has no {where} and does not create it",
            "Set auto.create.topics.enable on the broker, or topic.creation.default.partitions and .replication.factor in the connector",
            told,
        )
    if isinstance(error, KafkaConnectionError) or error.retriable:
        return CdcError(ErrorKind.SINK_UNREACHABLE, f"Kafka did not answer for {where}", "Check bootstrap.servers and the brokers", told)
    return CdcError(ErrorKind.SINK_REFUSED, f"Kafka refused records for {where}", "", f"{told}: {error}")
