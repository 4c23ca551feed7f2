"""A broker and its producers (the part of ``AIOKafkaProducer`` that the sinks call). Nothing is encoded: records stay tuples."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aiokafka.errors import (
    InvalidTimestampError,
    KafkaError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    UnknownTopicOrPartitionError,
)
from aiokafka.structs import TopicPartition

from connector.record.batch import Record

from .faults import Faults


@dataclass(slots=True)
class FakeKafka:
    """What the topics hold. Steps: ``start``, ``partitions``, ``send``, ``acknowledge``, ``begin``, ``commit``, ``committed``."""

    faults: Faults = field(default_factory=Faults)
    topics: dict[str, list[Record]] = field(default_factory=dict)
    """The records of each topic that consumers see, in the order in which they came."""
    partitions: int = 1
    """Of each topic. With 0 there are no topics."""
    held: bool = False
    """Batches wait for :meth:`answer`."""
    waiting: list[tuple[str, list[Record], asyncio.Future[None]]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a batch begins to wait."""
    places: list[tuple[str, int, Record]] = field(default_factory=list)
    """The topic and partition of each record that was sent."""
    open: int = 0
    """Producers that are connected."""
    limit: int | None = None
    """The most bytes of a batch. Larger ones are refused."""
    refusal: type[KafkaError] = MessageSizeTooLargeError
    """What refuses them."""
    latest: int | None = None
    """The latest timestamp. Batches with a later one are refused."""
    deaf: set[str] = field(default_factory=set)
    """Topics whose batches are never answered."""
    taken: defaultdict[object, int] = field(default_factory=lambda: defaultdict(int))
    """How many records of each partition came from this producer; the next batch must begin there."""
    batches: list[tuple[int, int]] = field(default_factory=list)
    """The records and bytes of each batch that was sent."""

    def producer(self, **arguments: Any) -> FakeProducer:
        """Make a producer, as ``AIOKafkaProducer(**arguments)`` does."""
        return FakeProducer(self, transactional="transactional_id" in arguments)

    def answer(self, place: int = 0, error: BaseException | None = None) -> None:
        """Acknowledge the batch at ``place`` of those that wait, or refuse it."""
        topic, records, acknowledged = self.waiting.pop(place)
        if acknowledged.cancelled():
            return
        if error is None:
            self.keep(topic, records)
            acknowledged.set_result(None)
        else:
            acknowledged.set_exception(error)

    def keep(self, topic: str, records: list[Record]) -> None:
        """Let consumers see these records."""
        self.topics.setdefault(topic, []).extend(records)


class FakeProducer:
    """One producer."""

    def __init__(self, kafka: FakeKafka, *, transactional: bool) -> None:
        self._kafka = kafka
        self._transactional = transactional
        self._transaction: list[tuple[str, list[Record]]] | None = None
        self._started = False
        self._known: set[str] = set()
        """Topics whose metadata the producer has."""
        self.sequences: defaultdict[object, int] = defaultdict(int)
        """How many records of each partition the producer has counted."""
        # What connector.io.kafka.aiokafka_internals uses.
        self._closed = False
        self._txn_manager = SimpleNamespace(_sequence_numbers=self.sequences, sequence_number=self.sequences.__getitem__)
        self._sender = SimpleNamespace(sender_task=None)
        cluster = SimpleNamespace(partitions_for_topic=lambda _topic: set(range(kafka.partitions)))
        self.client = SimpleNamespace(_conns={}, close=self.stop, cluster=cluster)

    async def start(self) -> None:
        """Connect."""
        self._kafka.faults.at("start")
        self._kafka.open += 1
        self._started = True

    async def stop(self) -> None:
        """Disconnect."""
        self._kafka.open -= self._started
        self._started = False

    async def partitions_for(self, topic: str) -> set[int]:
        """The numbers of the topic's partitions. The first call for a topic waits."""
        if topic not in self._known:
            await asyncio.sleep(0)
            self._kafka.faults.at("partitions")
            self._known.add(topic)
        if not self._kafka.partitions:
            raise UnknownTopicOrPartitionError
        return set(range(self._kafka.partitions))

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> asyncio.Future[None]:
        """Take a batch; the future ends when it is acknowledged."""
        assert self._started
        assert partition < self._kafka.partitions
        kafka, acknowledged = self._kafka, asyncio.get_running_loop().create_future()
        kafka.batches.append((batch.record_count(), batch.size()))
        kafka.places += [(topic, partition, record) for record in batch.records]
        await asyncio.sleep(0)
        kafka.faults.at("send")
        place = TopicPartition(topic, partition)
        begins = self.sequences[place]
        self.sequences[place] += batch.record_count()
        if kafka.limit is not None or kafka.latest is not None:
            if begins != kafka.taken[self, place]:
                acknowledged.set_exception(OutOfOrderSequenceNumber())
                return acknowledged
            if kafka.limit is not None and batch.size() > kafka.limit:
                acknowledged.set_exception(kafka.refusal())
                return acknowledged
            if kafka.latest is not None and any(timestamp > kafka.latest for *_, timestamp in batch.records):
                acknowledged.set_exception(InvalidTimestampError())
                return acknowledged
        if topic in kafka.deaf:
            return acknowledged
        kafka.taken[self, place] += batch.record_count()
        if self._transactional:
            assert self._transaction is not None, "a batch outside of a transaction"
            self._transaction.append((topic, list(batch._records)))
            acknowledged.set_result(None)
            return acknowledged
        kafka.waiting.append((topic, list(batch._records), acknowledged))
        kafka.arrived.set()
        if not kafka.held:
            asyncio.get_running_loop().call_soon(self._answer, acknowledged)
        return acknowledged

    def _answer(self, acknowledged: asyncio.Future[None]) -> None:
        place = next((at for at, (_, _, future) in enumerate(self._kafka.waiting) if future is acknowledged), None)
        if place is None:
            return
        try:
            self._kafka.faults.at("acknowledge")
        except BaseException as error:  # noqa: BLE001 (whatever the test ordered)
            self._kafka.answer(place, error)
        else:
            self._kafka.answer(place)

    async def begin_transaction(self) -> None:
        """Begin."""
        await asyncio.sleep(0)
        self._kafka.faults.at("begin")
        assert self._transaction is None
        self._transaction = []

    async def commit_transaction(self) -> None:
        """Commit; a failure at ``committed`` comes after the commit, as a lost answer."""
        await asyncio.sleep(0)
        self._kafka.faults.at("commit")
        content, self._transaction = self._transaction or [], None
        for topic, records in content:
            self._kafka.keep(topic, records)
        self._kafka.faults.at("committed")

    async def abort_transaction(self) -> None:
        """Forget the open transaction."""
        self._transaction = None
