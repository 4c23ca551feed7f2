"""Sends records and their source offset to Kafka in one transaction (exactly-once delivery, KIP-618).

:meth:`TransactionalSink.send` seals the appended records, which are all records before a position. One transaction contains all sealed
records and the offset of the last mark. Records that arrive meanwhile wait for the next transaction. A connector with few events therefore
commits each event at once, and a busy one has large transactions, without a linger time. No transaction is open while the task waits for
the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    OutOfOrderSequenceNumber,
    ProducerFenced,
)

from connector import failpoints
from connector.delivery.frontier import Mark
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.kafka_transaction import Step, TransactionLife
from connector.delivery.offsets import Position
from connector.emulation import DEFAULT, Emulation
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.aiokafka_internals import set_pause_between_transactions
from connector.io.kafka.client import whole_number
from connector.io.kafka.partitioner import partition_of
from connector.io.kafka.sink import KafkaSink, sink_error
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.topic_out import Partition, TopicOut
from connector.log import EventLog
from connector.meters.delay_meter import DelayMeter
from connector.meters.producer_meter import ProducerMeter
from connector.ports import JsonObject
from connector.record.batch import NO_HEADERS, RecordBatch

LOG: Final = EventLog(__name__)

_TIMEOUT_MS: Final = 60_000
"""Kafka's default of transaction.timeout.ms."""
_FENCE_S: Final = 60.0
"""Time limit for the transaction coordinator's answer at the start; it is Kafka's default of max.block.ms."""
_ALONE_S: Final = 0.5
"""Shortest interval between commits of an offset without records."""
_ABORT_S: Final = 2.0
"""Time limit for the abort of an open transaction at the task's end. The next producer with this id ends the transaction too."""

# Kafka writes a transaction's markers after it has answered the commit, and the next transaction can begin only after them. Markers take
# 1 to 5 ms. aiokafka's pause of 20 ms before a retry would delay every second event of a busy connector.
set_pause_between_transactions(0.004)

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class OffsetTarget:
    """How a transaction stores the source offset: ``records`` returns the topic, key and value of each record for an offset."""

    records: Callable[[JsonObject], Sequence[tuple[str, bytes, bytes]]]
    emulation: Emulation = DEFAULT


class TransactionalSink(KafkaSink):
    """A :class:`KafkaSink` with transactions. Its start fences earlier producers with ``transactional_id`` and ends their transactions.

    A mark is ``reached`` when its transaction, which also stores its offset, is committed. ``offsets`` is None if only records are sent.
    ``interval`` is the least number of seconds between two commits (``transaction.boundary=interval``), unless many records wait.
    """

    stores_offsets = True

    def __init__(
        self,
        settings: KafkaSettings,
        creator: TopicCreator,
        transactional_id: str,
        offsets: OffsetTarget | None,
        *,
        interval: float = 0.0,
        limit: int = 8_000_000,
        connect: Callable[..., Any] = AIOKafkaProducer,
        meter: ProducerMeter | None = None,
        delays: DelayMeter | None = None,
    ) -> None:
        super().__init__(settings, creator, limit=limit, connect=connect, meter=meter, delays=delays)
        self._id = transactional_id
        self._offsets = offsets
        self._interval = interval
        self._timeout_ms = whole_number(settings.producer, "transaction.timeout.ms", _TIMEOUT_MS)
        self._life = TransactionLife(self._timeout_ms / 1000)
        self._to_marks = False
        self._later: dict[TopicOut, None] = {}
        """Topics with records that wait for a position, but for those with new records."""
        self._sealed: dict[Partition, RecordBatch] = {}
        self._unplaced: dict[TopicOut, RecordBatch] = {}
        """Sealed records of topics whose partitions are not known yet."""
        self._sealed_weight = 0
        self._sealed_records = 0
        """Weight and number of the records of both."""
        self._mark: Mark | JsonObject | None = None
        """The position or offset to store with the sealed records."""
        self._stored: Mark | JsonObject | None = None
        self._reached: Mark | None = None
        self._under_way = False
        self._ended = 0.0
        self._wake = asyncio.Event()
        self._hurried = 0
        """The number of callers that wait for the next commit."""
        self._committer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect and fence earlier producers.

        Raises CdcError: SINK_UNREACHABLE if no coordinator answers, SINK_PERMISSION if Kafka does not allow the transactional id.
        """
        try:
            async with asyncio.timeout(_FENCE_S):
                await super().start()
        except TimeoutError as error:
            await self._producer.stop()
            raise CdcError(
                ErrorKind.SINK_UNREACHABLE,
                f"Kafka has no coordinator for the transactional id {self._id}",
                "Look at the brokers' logs for __transaction_state (transaction.state.log.replication.factor)",
            ) from error
        LOG.info("fenced earlier producers", transactional_id=self._id)
        self._committer = asyncio.create_task(self._run(), name="commit transactions")
        self._committer.add_done_callback(self._sender_done)

    def _arguments(self) -> dict[str, Any]:
        # As in Connect, a configuration cannot change these.
        own = {"transactional_id": self._id, "transaction_timeout_ms": self._timeout_ms, "enable_idempotence": True, "acks": -1}
        return super()._arguments() | own

    async def stop(self) -> None:
        """Discard uncommitted records, and disconnect. This ends soon even while Kafka does not answer."""
        try:
            if self._committer is not None:
                self._committer.cancel()
                await asyncio.gather(self._committer, return_exceptions=True)
            if self._life.abortable:
                # Without the abort, readers of committed records wait for the transaction's timeout or for the task's next start.
                with contextlib.suppress(TimeoutError, KafkaError, AssertionError):
                    await asyncio.wait_for(self._producer.abort_transaction(), _ABORT_S)
        finally:
            # An error at this point must not hide the reason why the task ends.
            with contextlib.suppress(KafkaError):
                await super().stop()

    def bind(self, *, to_marks: bool) -> None:
        """Decide whether records wait for :meth:`send`. Without ``to_marks`` they may be committed at any time."""
        self._to_marks = to_marks

    def pump(self) -> None:
        """Seal the records that do not wait for a position. Raises the failure of an earlier transaction."""
        if self._failure is not None:
            raise self._failure
        self._seal(all_of_it=not self._to_marks)

    def send(self, position: Position) -> None:
        """Commit the appended records together with ``position`` as soon as possible. Raises the failure of a transaction."""
        if self._failure is not None:
            raise self._failure
        self._seal(all_of_it=True)
        mark = self.frontier.mark(position)
        if mark is not self._mark:
            self._mark = mark
            self._wake.set()

    async def store(self, offset: JsonObject) -> None:
        """Commit ``offset`` together with all appended records. Raises the failure of a transaction."""
        self._seal(all_of_it=True)
        self._mark = offset
        await self.drained()

    @property
    def reached(self) -> Mark | None:
        """The last committed mark."""
        return self._reached

    @property
    def stored(self) -> JsonObject | None:
        """The last committed offset."""
        return self._offset_of(self._stored)

    @property
    def idle(self) -> bool:
        """Whether no record waits, even for a position, and none is in flight."""
        return not self._busy and not self.active

    @property
    def waiting(self) -> int:
        """The number of bytes that are not committed, without constant prefixes."""
        return super().waiting + self._sealed_weight

    @property
    def active(self) -> int:
        """The number of records that are not committed."""
        return super().active + self._sealed_records

    async def room(self) -> None:
        """Wait until the uncommitted bytes are below the limit or all wait for a position. Raises the failure of a transaction."""
        while self._busy and self.waiting > self._limit:
            await self._next_change()

    async def drained(self) -> None:
        """Wait until all sealed records and the last mark are committed. Raises the failure of a transaction."""
        self.pump()
        self._hurried += 1
        self._wake.set()
        try:
            while self._busy or self._mark is not self._stored:
                await self._next_change()
        finally:
            self._hurried -= 1

    @property
    def _busy(self) -> bool:
        return self._under_way or bool(self._sealed) or bool(self._unplaced)

    def _seal(self, *, all_of_it: bool) -> None:
        self._count_new()
        for out in list(self._touched):
            out.rest()
            if all_of_it or out.apart:
                self._seal_topic(out)
            else:
                self._later[out] = None
        if all_of_it:
            for out in self._later:
                self._seal_topic(out)
            self._later.clear()
        if self._sealed or self._unplaced:
            self._wake.set()

    def _seal_topic(self, out: TopicOut) -> None:
        if out.pending.records:
            self._join(self._unplaced, out, self._take_pending(out))
        self._take(out)

    def _take_pending(self, out: TopicOut) -> RecordBatch:
        taken, out.pending = out.pending, RecordBatch()
        self._recount(out, out.pending)
        out.renew()
        return taken

    def _take(self, out: TopicOut) -> None:
        for part in out.partitions:
            if part.batch.records:
                self._join(self._sealed, part, self._take_batch(out, part))

    def _join(self, held: dict[K, RecordBatch], key: K, taken: RecordBatch) -> None:
        self._sealed_weight += taken.weight
        self._sealed_records += len(taken.records)
        before = held.get(key)
        if before is None:
            held[key] = taken
        else:
            before.join(taken)

    async def _run(self) -> None:
        while True:
            wait = self._pause(time.monotonic())
            if wait == 0:
                await self._commit()
                continue
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait)

    def _pause(self, now: float) -> float | None:
        """Return the seconds until the next commit is due, 0 for now; None when there is nothing to commit."""
        records = bool(self._sealed) or bool(self._unplaced)
        if not records and self._mark is self._stored:
            return None
        if self._hurried or (records and 2 * self.waiting > self._limit):
            return 0
        least = self._interval if records else max(self._interval, _ALONE_S)
        return max(0.0, self._ended + least - now)

    async def _commit(self) -> None:
        self._under_way = True
        try:
            await self._place()
            await self._transact()
        finally:
            self._under_way = False
        self._changed.set()

    async def _place(self) -> None:
        """Create the topics of the sealed records. This may take long, so it is done before the transaction begins."""
        while self._unplaced:
            outs = list(self._unplaced)
            counts = await asyncio.gather(*(self._count(out.name) for out in outs))
            for out, count in zip(outs, counts, strict=True):
                self._distribute(out, count)

    def _distribute(self, out: TopicOut, count: int) -> None:
        sealed = self._unplaced.pop(out, None)
        if sealed is None:
            super()._distribute(out, count)
            return
        self._sealed_weight -= sealed.weight
        self._sealed_records -= len(sealed.records)
        later = self._take_pending(out)
        super()._distribute(out, count)
        for record in sealed.records:
            out.append(*record)
        self._take(out)
        out.rest()
        for record in later.records:
            out.append(*record)

    async def _count(self, topic: str) -> int:
        try:
            await self._creator.ensure(topic)
            return len(await self._producer.partitions_for(topic))
        except KafkaError as error:
            raise sink_error(error, f"topic {topic}") from error

    async def _transact(self) -> None:
        sealed, self._sealed = self._sealed, {}
        mark = self._mark
        weight = sum(batch.weight for batch in sealed.values())
        records = sum(len(batch.records) for batch in sealed.values())
        self._sealed_weight -= weight
        self._sealed_records -= records
        self._waiting += weight
        self._in_flight += records
        try:
            offset = self._offset_of(mark) if mark is not self._stored else None
            content = list(sealed.items())
            if self._offsets is not None and offset is not None:
                content += [await self._offset_record(*record) for record in self._offsets.records(offset)]
            await self._producer.begin_transaction()
            self._life.step(Step.BEGIN, time.monotonic())
            await self._deliver_all(content)
            failpoints.reached(failpoints.BEFORE_COMMIT)
            self._life.step(Step.COMMIT, time.monotonic())
            await self._producer.commit_transaction()
            failpoints.reached(failpoints.AFTER_COMMIT)
            self._ended = time.monotonic()
            self._life.step(Step.COMMITTED, self._ended)
        except (KafkaError, CdcError) as error:
            raise self._problem(error) from error
        self._waiting -= weight
        self._in_flight -= records
        for part in sealed:
            self._creator.used(part.topic)
        self._stored = mark
        if isinstance(mark, Mark):
            self._reached = mark
            self._observe()

    async def _deliver_all(self, content: Sequence[tuple[Partition, RecordBatch]]) -> None:
        """Send the content of a transaction. Raises CdcError, also if Kafka does not take it while the transaction may be open.

        A broker ends a transaction that is too old. It knows nothing of one whose partitions it does not let the producer add, and aiokafka
        asks for these without an end: the topic was deleted, for example.
        """
        sending = {asyncio.create_task(self._deliver(part, batch), name=f"send {part.topic}"): part for part, batch in content}
        late: set[asyncio.Task[None]] = set()
        try:
            if sending:
                _, late = await asyncio.wait(sending, timeout=self._timeout_ms / 1000)
        finally:
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
        for task in sending:
            # What Kafka said of one topic explains more than that it did not answer for another.
            if task not in late:
                task.result()
        if late:
            topics = ", ".join(sorted({sending[task].topic for task in late}))
            raise CdcError(
                ErrorKind.SINK_UNREACHABLE,
                f"Kafka did not take the records of {topics} within {self._timeout_ms} ms",
                "See whether the topics were deleted; the task starts again, and makes them as it did at first",
            )

    def _offset_of(self, mark: Mark | JsonObject | None) -> JsonObject | None:
        if isinstance(mark, Mark):
            return mark.position.to_offset(DEFAULT if self._offsets is None else self._offsets.emulation)
        return mark

    async def _offset_record(self, topic: str, key: bytes, value: bytes) -> tuple[Partition, RecordBatch]:
        count = len(await self._producer.partitions_for(topic))
        batch = RecordBatch()
        batch.append(key, b"", value, NO_HEADERS, time.time_ns() // 1_000_000)
        return Partition(topic, partition_of(key, count)), batch

    def _problem(self, error: KafkaError | CdcError) -> CdcError:
        """Return the CdcError for a failed transaction. An open transaction is aborted when the task stops."""
        now = time.monotonic()
        causes: list[BaseException | None] = [error, error.__cause__, error.__cause__.__cause__ if error.__cause__ else None]
        if any(isinstance(cause, ProducerFenced | InvalidProducerEpoch) for cause in causes):
            self._life.step(Step.FAIL, now)
            self._life.abortable = False
            if self._life.outlived(now):
                return CdcError(
                    ErrorKind.SINK_UNREACHABLE,
                    f"Kafka ended a transaction of {self._id} because it was open for longer than {self._timeout_ms} ms",
                    "Check the brokers, or raise producer.override.transaction.timeout.ms",
                )
            return CdcError(
                ErrorKind.SINK_FENCED,
                f"Another producer with the transactional id {self._id} took over: another worker runs this connector",
                "Do nothing if a worker of this group took the connector over; else give each group a group.id of its own",
            )
        self._life.step(Step.FAIL, now)
        if any(isinstance(cause, InvalidProducerIdMapping | InvalidTxnState | OutOfOrderSequenceNumber) for cause in causes) or (
            type(error) is KafkaError
        ):
            return CdcError(ErrorKind.SINK_UNREACHABLE, f"Kafka lost the transaction of {self._id}", "", type(causes[1] or error).__name__)
        return error if isinstance(error, CdcError) else sink_error(error, f"transactional id {self._id}")
