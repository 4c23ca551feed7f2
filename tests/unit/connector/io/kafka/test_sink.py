"""The sink with a fake Kafka: which records count as reached, in which order, and the state after a refusal or a stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations

import pytest
from aiokafka.errors import (
    InvalidTopicError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotEnoughReplicasError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.meters.delay_meter import DelayMeter
from connector.meters.stream_meter import StreamMeter
from connector.record.batch import NO_HEADERS
from tests.support.each_case import each_case
from tests.support.fake_kafka import FakeKafka


def position(lsn: int) -> Position:
    return Position(lsn, lsn)


class Rig:
    def __init__(self, limit: int = 8_000_000) -> None:
        self.delays = DelayMeter()
        self.kafka = FakeKafka(held=True)
        self.used: list[str] = []
        creator = TopicCreator({}, {}, self.used.append)
        settings = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})
        self.sink = KafkaSink(settings, creator, limit=limit, connect=self.kafka.producer, delays=self.delays)
        self.sink.frontier.begin(0)

    def append(self, topic: str, *values: str) -> None:
        for value in values:
            self.sink.out(topic).append(value.encode(), b"", value.encode(), NO_HEADERS, 0)

    async def in_flight(self, count: int) -> None:
        """Wait until so many batches wait for their acknowledgement."""
        async with asyncio.timeout(5):
            while len(self.kafka.waiting) < count:
                self.kafka.arrived.clear()
                await self.kafka.arrived.wait()

    async def settle(self) -> None:
        """Let every task take its turns."""
        for _ in range(10):
            await asyncio.sleep(0)

    @property
    def reached(self) -> int | None:
        return None if self.sink.reached is None else self.sink.reached.position.event

    def seen(self, topic: str) -> list[str]:
        return [(payload or b"").decode() for _, _, payload, _, _ in self.kafka.topics.get(topic, [])]


@asynccontextmanager
async def started(limit: int = 8_000_000) -> AsyncIterator[Rig]:
    rig = Rig(limit)
    before = asyncio.all_tasks()
    await rig.sink.start()
    try:
        yield rig
    finally:
        await rig.sink.stop()
        assert asyncio.all_tasks() == before
        assert rig.kafka.open == 0


async def test_a_position_is_reached_when_kafka_has_the_records_that_one_call_sent_with_it() -> None:
    async with started() as rig:
        rig.append("a", "1", "2")
        rig.sink.send(position(10))
        await rig.in_flight(1)
        rig.append("a", "3")
        assert (rig.reached, rig.sink.idle, rig.sink.active) == (None, False, 3)
        rig.kafka.answer()
        await rig.in_flight(1)
        assert rig.sink.active == 1
        rig.kafka.answer()
        await rig.sink.drained()
        assert rig.sink.active == 0
        assert (rig.reached, rig.seen("a"), rig.used) == (10, ["1", "2", "3"], ["a", "a"])


async def test_a_position_without_records_is_reached_at_once() -> None:
    async with started() as rig:
        rig.sink.send(position(10))
        assert (rig.reached, rig.sink.idle) == (10, True)


async def test_records_during_a_batch_in_flight_form_the_next_batch() -> None:
    async with started() as rig:
        rig.append("a", "1")
        rig.sink.send(position(10))
        await rig.in_flight(1)
        rig.append("a", "2")
        rig.sink.send(position(20))
        rig.append("a", "3")
        rig.sink.send(position(30))
        await rig.settle()
        assert len(rig.kafka.waiting) == 1, "one batch of a partition at a time"
        rig.kafka.answer()
        await rig.in_flight(1)
        assert rig.reached == 10
        rig.kafka.answer()
        await rig.sink.drained()
        assert (rig.reached, rig.seen("a")) == (30, ["1", "2", "3"])


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_no_position_runs_ahead_for_any_order_of_acknowledgements(order: tuple[int, ...]) -> None:
    async with started() as rig:
        for number, topic in enumerate("abc"):
            rig.append(topic, topic)
            rig.sink.send(position(10 * (number + 1)))
            await rig.in_flight(number + 1)
        topics = [topic for topic, _, _ in rig.kafka.waiting]
        done: set[int] = set()
        for number in order:
            done.add(number)
            rig.kafka.answer([topic for topic, _, _ in rig.kafka.waiting].index(topics[number]))
            await rig.settle()
            whole = next(count for count in range(4) if count not in done)
            assert rig.reached == (10 * whole if whole else None)


@each_case(
    ("error", "kind"),
    [
        (KafkaTimeoutError(), ErrorKind.SINK_UNREACHABLE),
        (KafkaConnectionError(), ErrorKind.SINK_UNREACHABLE),
        (NotEnoughReplicasError(), ErrorKind.SINK_UNREACHABLE),
        (MessageSizeTooLargeError(), ErrorKind.SINK_RECORD_TOO_LARGE),
        (TopicAuthorizationFailedError(), ErrorKind.SINK_PERMISSION),
        (InvalidTopicError(), ErrorKind.SINK_REFUSED),
        (UnknownTopicOrPartitionError(), ErrorKind.SINK_REFUSED),
        (KafkaError(), ErrorKind.SINK_REFUSED),
    ],
)
async def test_after_a_refusal_nothing_is_reached_and_every_call_says_why(error: KafkaError, kind: ErrorKind) -> None:
    async with started() as rig:
        rig.append("a", "1")
        rig.append("b", "1")
        rig.sink.send(position(10))
        await rig.in_flight(2)
        rig.kafka.answer(0, error)
        await rig.settle()
        rig.kafka.answer(0)
        await rig.settle()
        assert rig.reached is None
        rig.append("a", "2")
        for call in (rig.sink.pump, lambda: rig.sink.send(position(20))):
            with pytest.raises(CdcError) as reported:
                call()
            assert reported.value.kind is kind
        with pytest.raises(CdcError):
            await rig.sink.drained()
        await rig.settle()
        assert (rig.reached, rig.kafka.waiting) == (None, [])


async def test_small_records_never_form_a_batch_above_the_default_limit_of_topics() -> None:
    settings = KafkaSettings({"bootstrap.servers": "nowhere:1", "max.request.size": "20971520"}, {})
    kafka = FakeKafka()
    sink = KafkaSink(settings, TopicCreator({}, {}, lambda _topic: None), connect=kafka.producer)
    sink.frontier.begin(0)
    await sink.start()
    noise = random.Random(1)
    try:
        for size in [*[100] * 3_000, *[200_000] * 20, 3_000_000, *[200_000] * 20]:
            sink.out("a").append(None, b"", noise.randbytes(size), NO_HEADERS, 0)
        await sink.drained()
    finally:
        await sink.stop()
    assert len(kafka.topics["a"]) == 3_041
    assert sum(count > 1 for count, _ in kafka.batches) > 3
    assert all(size < 1_048_588 for count, size in kafka.batches if count > 1)
    assert max(size for _, size in kafka.batches) > 3_000_000


async def test_no_batch_overtakes_one_that_was_refused() -> None:
    async with started() as rig:
        rig.append("a", "1")
        rig.sink.send(position(10))
        await rig.in_flight(1)
        rig.append("a", "2")
        rig.kafka.answer(0, KafkaConnectionError())
        # Whoever pumps at any turn after the refusal, before or after it is known, sends nothing more.
        refused = 0
        for _ in range(10):
            try:
                rig.sink.pump()
            except CdcError:
                refused += 1
            await asyncio.sleep(0)
        assert refused
        assert (rig.kafka.waiting, rig.kafka.faults.calls["send"]) == ([], 1)


@pytest.mark.parametrize("step", ["partitions", "send"])
async def test_a_failure_before_a_batch_is_in_flight_is_reported_too(step: str) -> None:
    async with started() as rig:
        rig.kafka.faults.order(step, KafkaConnectionError())
        rig.append("a", "1")
        rig.sink.send(position(10))
        with pytest.raises(CdcError) as reported:
            await rig.sink.drained()
        assert (reported.value.kind, rig.reached) == (ErrorKind.SINK_UNREACHABLE, None)


async def test_a_stop_while_batches_are_in_flight_reaches_nothing() -> None:
    async with started() as rig:
        rig.append("a", "1")
        rig.sink.send(position(10))
        await rig.in_flight(1)
    assert (rig.reached, rig.seen("a")) == (None, [])


async def test_a_stop_while_topics_are_made_reaches_nothing() -> None:
    async with started() as rig:
        rig.append("a", "1")
        rig.sink.send(position(10))
    assert (rig.reached, rig.kafka.faults.calls["send"]) == (None, 0)


async def test_the_producer_is_disconnected_even_if_the_admin_client_fails_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(_: TopicCreator) -> None:
        raise KafkaConnectionError

    rig = Rig()
    await rig.sink.start()
    monkeypatch.setattr(TopicCreator, "stop", failing)
    with pytest.raises(KafkaConnectionError):
        await rig.sink.stop()
    assert rig.kafka.open == 0


async def test_the_source_waits_while_too_much_is_outstanding() -> None:
    async with started(limit=100) as rig:
        rig.append("a", "x" * 200)
        rig.sink.send(position(10))
        waiting = asyncio.create_task(rig.sink.room())
        await rig.in_flight(1)
        assert not waiting.done()
        rig.kafka.answer()
        await waiting
        assert rig.sink.waiting == 0


async def test_a_refusal_ends_the_wait_for_room() -> None:
    async with started(limit=100) as rig:
        rig.append("a", "x" * 200)
        rig.sink.pump()
        waiting = asyncio.create_task(rig.sink.room())
        await rig.in_flight(1)
        rig.kafka.answer(0, KafkaConnectionError())
        with pytest.raises(CdcError):
            await waiting


async def test_records_of_one_key_go_to_one_partition_in_order() -> None:
    async with started() as rig:
        rig.kafka.partitions, rig.kafka.held = 3, False
        rig.append("a", *"abcabcabc")
        rig.sink.send(position(10))
        await rig.sink.drained()
        assert (sorted(rig.seen("a")), rig.reached) == (sorted("abcabcabc"), 10)


async def test_the_delay_of_a_transaction_ends_when_kafka_has_its_records() -> None:
    async with started() as rig:
        stream = StreamMeter()
        stream.committed(1, 10, 1_000)
        rig.append("a", "1")
        rig.delays.sent(10, stream)
        rig.sink.send(position(10))
        await rig.in_flight(1)
        assert rig.delays.histogram.count == 0
        rig.kafka.answer()
        await rig.sink.drained()
        assert rig.delays.histogram.count == 1
        # The records of a long transaction may all be acknowledged before its commit arrives.
        stream.committed(2, 20, 1_000)
        rig.delays.sent(20, stream)
        rig.sink.send(position(20))
        assert rig.delays.histogram.count == 2
