"""Sends records to Kafka: each topic partition has one open batch, which is sent when Kafka has acknowledged the previous batch.

While a batch is in flight, the next one fills. A connector with few events therefore sends each event at once, and a busy one sends large
batches, without a linger time of its own (:func:`connector.io.kafka.producer_settings.linger_s`). aiokafka implements the protocol
(metadata, idempotence, retries, order). :mod:`connector.record.batch` builds the batches, because aiokafka's own builder took the largest
part of the worker's time (measured there).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidTimestampError,
    InvalidTopicError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
)

from connector import failpoints
from connector.delivery.flush import AckLedger
from connector.delivery.frontier import Frontier, Mark
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.aiokafka_internals import InvalidRecordError, PreparedBatch, disconnect, known_partitions, take_back, traffic
from connector.io.kafka.batch_maker import BatchMaker
from connector.io.kafka.client import connection_problem
from connector.io.kafka.compression import compressor_of
from connector.io.kafka.illegal_topic import RefusedOut, is_legal, shortened
from connector.io.kafka.producer_settings import max_request_size, producer_arguments
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.topic_out import Partition, TopicOut
from connector.meters.delay_meter import DelayMeter
from connector.meters.producer_meter import ProducerMeter
from connector.record.batch import RecordBatch

_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
"""A batch exceeds ``max.message.bytes`` of its topic, or ``segment.bytes``."""
_REFUSED: Final[dict[type[KafkaError], str]] = {
    InvalidTimestampError: "Kafka does not accept its timestamp",
    InvalidRecordError: "Kafka does not accept it; a topic with cleanup.policy=compact takes only records with keys",
}
"""Why a single record is left out that is not too large."""


class KafkaSink:
    """The producer of one task (:class:`connector.delivery.sink.Sink`). ``connect`` creates its client without starting it."""

    stores_offsets = False

    def __init__(
        self,
        settings: KafkaSettings,
        creator: TopicCreator,
        *,
        limit: int = 8_000_000,
        connect: Callable[..., Any] = AIOKafkaProducer,
        meter: ProducerMeter | None = None,
        delays: DelayMeter | None = None,
        leave_out: Callable[[str, str], None] | None = None,
    ) -> None:
        """``leave_out`` is called with the topic of each record that Kafka does not take and that is left out, and with the reason.

        These are records that are too large, those with a timestamp or without a key that the topic does not take, and those of topics
        whose names are not legal. By default the task fails.
        """
        self._leave_out = leave_out
        self.meter: Final = meter or ProducerMeter()
        self._delays: Final = delays or DelayMeter()
        self._settings = settings
        self._creator = creator
        self._limit = limit
        """The most bytes (without constant prefixes) that may wait or be in flight before the task stops reading from the source."""
        self._connect = connect
        self._producer: Any = None
        self._maker = BatchMaker(compressor_of(settings.producer), max_request_size(settings.producer), transactional=self.stores_offsets)
        self._outs: dict[str, TopicOut] = {}
        self._touched: dict[TopicOut, None] = {}
        """Topics with records that were appended since the last look at them. No other topic is looked at."""
        self._unresolved: dict[TopicOut, None] = {}
        """Topics with records that wait until their partitions are known, but for those that are being asked for."""
        self._held_weight = 0
        self._held = 0
        """Weight and number of the counted records of open batches, which are no longer new."""
        self._resolving: asyncio.Task[None] | None = None
        self._waiting = 0
        self._in_flight = 0
        """Records of the batches that Kafka has not acknowledged, or of which it refused one."""
        self.delivered = 0
        """The number of records that Kafka has acknowledged."""
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None
        self.frontier: Final = Frontier()
        self._ledger: AckLedger[Mark] = AckLedger()
        self._waiting_mark: Mark | None = None
        self._observed: Mark | None = None
        """The reached mark up to which delays are counted."""

    async def start(self) -> None:
        """Connect. Raises CdcError: SINK_UNREACHABLE if no broker answers, SINK_PERMISSION if no broker accepts the login."""
        arguments = self._arguments()
        self._producer = self._connect(**arguments)
        try:
            await self._producer.start()
            await self._creator.start()
            self.meter.connections.watch(lambda: traffic(self._producer))
        except KafkaError as error:
            await self._producer.stop()
            raise await connection_problem(arguments) or sink_error(error, "Kafka") from error

    def _arguments(self) -> dict[str, Any]:
        return producer_arguments(self._settings.producer)

    async def stop(self) -> None:
        """Discard records that Kafka has not acknowledged, and disconnect. This ends soon even while Kafka does not answer.

        Nothing is sent afterwards, so that no record comes after those of the task's next run.
        """
        tasks = [p.sender for out in self._outs.values() for p in out.partitions if p.sender is not None]
        if self._resolving is not None:
            tasks.append(self._resolving)
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            try:
                await self._disconnect()
            finally:
                await self._creator.stop()

    async def _disconnect(self) -> None:
        if self._producer is None:
            return
        ending = asyncio.create_task(disconnect(self._producer), name="disconnect the producer")
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            # A producer that stayed connected would write the old records after the next run's.
            await ending
            raise

    def out(self, topic: str, *, apart: bool = False) -> TopicOut:
        """Return the object to which the records of ``topic`` are appended. The topic is created when the first record is sent.

        If Kafka does not take the name, each record is left out, or the append raises CdcError(SINK_REFUSED).
        Its records stay ``apart`` as long as everybody asks for it as such: a transform may send heartbeats to the topic of a table.
        """
        found = self._outs.get(topic)
        if found is None:
            if not is_legal(topic):
                # It is not kept: a transform may name a topic after each value of a column.
                return RefusedOut(topic, self._refuse, apart=apart)
            found = self._outs[topic] = TopicOut(topic, self._touched, self._known, apart=apart)
        elif not apart:
            found.apart = False
        return found

    def _refuse(self, topic: str) -> None:
        # aiokafka would ask for the topic until its timeout, and then say that there is none.
        self.meter.failed(topic, 1)
        shown = shortened(topic)
        if self._leave_out is None:
            raise sink_error(InvalidTopicError(), f"topic {shown}")
        self._leave_out(shown, "Kafka does not accept the name of its topic")

    def _known(self, topic: str) -> int:
        return known_partitions(self._producer, topic)

    def bind(self, *, to_marks: bool) -> None:
        """No-op: without transactions, records never wait for a position."""

    def pump(self) -> None:
        """Begin to send the appended records. Raises the failure of an earlier batch."""
        if self._failure is not None:
            raise self._failure
        self._count_new()
        for out in list(self._touched):
            out.rest()
            if out.pending.records:
                self._unresolved[out] = None
            for part in out.partitions:
                if part.batch.records and not part.number:
                    part.number = self._ledger.open_batch()
                if part.number and part.sender is None:
                    part.sender = asyncio.create_task(self._send(out, part), name=f"send {part.topic}-{part.partition}")
                    part.sender.add_done_callback(self._sender_done)
        if self._unresolved and self._resolving is None:
            self._resolving = asyncio.create_task(self._resolve(), name="create topics")
            self._resolving.add_done_callback(self._sender_done)

    def _count_new(self) -> None:
        """Count the new records in ``_held_weight`` and ``_held``."""
        for out in self._touched:
            self._recount(out, out.pending)
            for part in out.partitions:
                self._recount(part, part.batch)

    def _recount(self, place: TopicOut | Partition, batch: RecordBatch) -> None:
        weight, records = place.counted
        self._held_weight += batch.weight - weight
        self._held += len(batch.records) - records
        place.counted = batch.weight, len(batch.records)

    def _take_batch(self, out: TopicOut, part: Partition) -> RecordBatch:
        """Return the partition's open batch, which is not held any more, and open another."""
        taken, part.batch = part.batch, RecordBatch()
        self._recount(part, part.batch)
        out.renew()
        return taken

    def _distribute(self, out: TopicOut, count: int) -> None:
        """Let the topic have ``count`` partitions."""
        if not out.partitions:
            self._recount(out, RecordBatch())
            out.resolve(count)

    def send(self, position: Position) -> None:
        """Begin to send the appended records. ``position`` is reached when Kafka has them. Raises the failure of an earlier batch."""
        self.pump()
        mark = self.frontier.mark(position)
        if self._resolving is None:
            self._ledger.mark(mark)
            self._observe()
        else:
            # Some records wait for their topic and are not in the ledger yet, so the mark waits too.
            self._waiting_mark = mark

    @property
    def reached(self) -> Mark | None:
        """The last mark before which Kafka has everything."""
        return self._ledger.reached

    @property
    def idle(self) -> bool:
        """Whether no record waits and none is in flight."""
        return self._ledger.idle and self._resolving is None and not any(out.pending.records for out in self._touched)

    @property
    def waiting(self) -> int:
        """The number of bytes that are not acknowledged, without constant prefixes."""
        self._count_new()
        return self._waiting + self._held_weight

    @property
    def active(self) -> int:
        """The number of records that are not acknowledged."""
        self._count_new()
        return self._in_flight + self._held

    async def room(self) -> None:
        """Wait until the unacknowledged bytes are below the limit. Raises the failure of a batch."""
        while self.waiting > self._limit:
            await self._next_change()

    async def drained(self) -> None:
        """Wait until all appended records are acknowledged. Raises the failure of a batch."""
        self.pump()
        while not self.idle:
            await self._next_change()
            self.pump()

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
        while self._unresolved:
            waiting = [out for out in self._unresolved if out.pending.records]
            self._unresolved.clear()
            # Topics are created concurrently. Otherwise a snapshot of many tables would wait for each topic in turn.
            await asyncio.gather(*(self._resolve_topic(out) for out in waiting))
        self._resolving = None
        self.pump()
        if self._waiting_mark is not None:
            self._ledger.mark(self._waiting_mark)
            self._waiting_mark = None
            self._observe()

    def _observe(self) -> None:
        """Count the delay of the transactions that Kafka has acknowledged since the last call."""
        mark = self.reached
        if mark is not None and mark is not self._observed:
            self._observed = mark
            self._delays.acknowledged(mark.position.confirmable, time.time_ns() // 1_000_000)

    async def prepare(self, topic: str) -> None:
        """Make the topic if need be, and learn its partitions: a record that names one needs them. Raises CdcError."""
        out = self.out(topic)
        if not out.partitions:
            await self._resolve_topic(out)

    async def _resolve_topic(self, out: TopicOut) -> None:
        try:
            await self._creator.ensure(out.name)
            partitions = await self._producer.partitions_for(out.name)
        except KafkaError as error:
            raise sink_error(error, f"topic {out.name}") from error
        self._distribute(out, len(partitions))

    async def _send(self, out: TopicOut, part: Partition) -> None:
        try:
            while part.number:
                number, part.number = part.number, 0
                batch = self._take_batch(out, part)
                self._waiting += batch.weight
                self._in_flight += len(batch.records)
                await self._deliver(part, batch)
                self._waiting -= batch.weight
                self._in_flight -= len(batch.records)
                self._creator.used(part.topic)
                self._ledger.acknowledge(number)
                self._observe()
                self._changed.set()
                if part.batch.records and not part.number:
                    part.number = self._ledger.open_batch()
        except Exception as error:
            # The failure is set before the event loop runs other tasks, so that no later batch of the partition is sent.
            self._failure = self._failure or error
            raise
        finally:
            part.sender = None

    async def _deliver(self, part: Partition, batch: RecordBatch) -> None:
        began = time.monotonic()
        # One batch is in flight, so that none comes before the records of one that Kafka refuses and that is divided. The next one is
        # compressed meanwhile.
        sent: PreparedBatch | None = None
        answer: asyncio.Future[Any] | None = None
        try:
            for prepared in self._maker.batches(part.topic, batch):
                if sent is not None:
                    await self._acknowledged(part, sent, answer, began)
                sent, answer = prepared, await self._submit(part, prepared)
            if sent is not None:
                await self._acknowledged(part, sent, answer, began)
        except KafkaError as error:
            raise sink_error(error, f"topic {part.topic}") from error

    async def _acknowledged(self, part: Partition, sent: PreparedBatch, answer: asyncio.Future[Any] | None, began: float) -> None:
        """Wait until Kafka has the batch; without an ``answer`` it was too large to be sent.

        A batch that is too large is divided and sent again. So is a batch with a record that Kafka refuses for another reason, if the
        configuration leaves records out; a record that is refused alone is then left out. Raises KafkaError.
        """
        count = sent.record_count()
        try:
            if answer is None:
                raise MessageSizeTooLargeError
            await answer
        except KafkaError as error:
            too_large = isinstance(error, _TOO_LARGE)
            # A broker refuses the whole batch for one of its records.
            singly = too_large or (type(error) in _REFUSED and self._leave_out is not None)
            if singly and answer is not None:
                take_back(self._producer, part.topic, part.partition, count)
            if singly and count > 1:
                divide = self._maker.smaller if too_large else self._maker.halves
                for smaller in divide(part.topic, sent):
                    await self._acknowledged(part, smaller, await self._submit(part, smaller), began)
                return
            self._count_sent(part.topic, sent, time.monotonic())
            self.meter.failed(part.topic, count)
            if not singly or self._leave_out is None:
                raise
            self._leave_out(part.topic, "it is larger than Kafka accepts" if too_large else _REFUSED[type(error)])
        else:
            now = time.monotonic()
            self._count_sent(part.topic, sent, now)
            self.meter.answered((now - began) * 1000, now)
            self.delivered += count

    def _count_sent(self, topic: str, sent: PreparedBatch, now: float) -> None:
        self.meter.packed(topic, sent.record_count(), sent.written, sent.size(), now)

    async def _submit(self, part: Partition, prepared: PreparedBatch) -> asyncio.Future[Any] | None:
        """Give a batch to the producer. Returns what waits for Kafka's answer; None for a batch that is too large to be sent.

        Raises CdcError if the partition is gone, and KafkaError.
        """
        if not self._maker.sendable(prepared):
            return None
        try:
            # This waits only if the topic is unknown; between a known topic and send_batch no other task runs.
            known = await self._producer.partitions_for(part.topic)
        except UnknownTopicOrPartitionError:
            known = ()
        if part.partition not in known:
            raise CdcError(
                ErrorKind.SINK_UNREACHABLE,
                f"Topic {part.topic} has no partition {part.partition} any more: it was deleted, or made again with fewer partitions",
                "Nothing is to be done: the task starts again, and makes the topic as it did at first or takes it as it is",
            )
        acknowledged: asyncio.Future[Any] = await self._producer.send_batch(prepared, part.topic, partition=part.partition)
        failpoints.reached(failpoints.AFTER_SEND)
        return acknowledged


def sink_error(error: KafkaError, where: str) -> CdcError:
    """Return the CdcError for an error of Kafka or aiokafka at ``where``."""
    detail = type(error).__name__
    if isinstance(error, _TOO_LARGE):
        return CdcError(
            ErrorKind.SINK_RECORD_TOO_LARGE,
            f"A record for {where} is larger than Kafka takes",
            "Raise max.message.bytes of the topic (or message.max.bytes of the broker) and producer.override.max.request.size",
            detail,
        )
    if isinstance(error, TopicAuthorizationFailedError):
        return CdcError(
            ErrorKind.SINK_PERMISSION, f"Kafka does not let this principal write to {where}", "Grant Write (and Create) on it", detail
        )
    if isinstance(error, TransactionalIdAuthorizationFailed):
        return CdcError(
            ErrorKind.SINK_PERMISSION,
            f"Kafka does not let this principal use the transactional id {error.args[0] if error.args else where}",
            "Grant Write and Describe on that TransactionalId, or set exactly.once.source.support=disabled in the worker",
            detail,
        )
    if isinstance(error, InvalidTopicError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"Kafka does not accept the name of {where}",
            "Correct the transform that names the topic, or topic.prefix or topic.delimiter",
            detail,
        )
    if isinstance(error, (ProducerFenced, OutOfOrderSequenceNumber)):
        return CdcError(ErrorKind.SINK_UNREACHABLE, f"Kafka lost the order of this producer's batches for {where}", "", detail)
    if isinstance(error, UnknownTopicOrPartitionError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"Kafka has no {where} and does not create it",
            "Set auto.create.topics.enable on the broker, or topic.creation.default.partitions and .replication.factor in the connector",
            detail,
        )
    if isinstance(error, InvalidRecordError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"Kafka refused a record for {where}; a topic with cleanup.policy=compact takes only records with keys",
            "Give the table a key (message.key.columns), or change cleanup.policy of the topic",
            detail,
        )
    # aiokafka's own timeout is not marked as retriable. It occurs if a broker does not answer within request.timeout.ms.
    if isinstance(error, (KafkaConnectionError, KafkaTimeoutError)) or error.retriable:
        return CdcError(ErrorKind.SINK_UNREACHABLE, f"Kafka did not answer for {where}", "Check bootstrap.servers and the brokers", detail)
    return CdcError(ErrorKind.SINK_REFUSED, f"Kafka refused records for {where}", "", f"{detail}: {error}")
