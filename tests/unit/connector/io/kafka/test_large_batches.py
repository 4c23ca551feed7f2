"""Batches and records that a topic, or a broker, does not take: they are too large, or have a timestamp that it refuses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

import pytest
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka import batch_maker
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.fake_kafka import FakeKafka

SETTINGS = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})


@asynccontextmanager
async def started(
    kafka: FakeKafka, *, transactional: bool = False, leave_out: Callable[[str, str], None] | None = None
) -> AsyncIterator[KafkaSink]:
    creator = TopicCreator({}, {}, lambda _topic: None)
    sink = (
        TransactionalSink(SETTINGS, creator, "id", None, connect=kafka.producer)
        if transactional
        else KafkaSink(SETTINGS, creator, connect=kafka.producer, leave_out=leave_out)
    )
    sink.frontier.begin(0)
    await sink.start()
    try:
        async with asyncio.timeout(20):
            yield sink
    finally:
        await sink.stop()


def append(sink: KafkaSink, sizes: list[int], begin: int = 0, late: Collection[int] = ()) -> None:
    noise = random.Random(begin)
    for number, size in enumerate(sizes, begin):
        sink.out("t").append(b"%d" % number, b"", noise.randbytes(size), NO_HEADERS, int(number in late))


def keys(kafka: FakeKafka) -> list[int]:
    return [int(key or b"") for key, *_ in kafka.topics["t"]]


@pytest.mark.parametrize("refusal", [MessageSizeTooLargeError, RecordListTooLargeError])
@pytest.mark.parametrize("transactional", [False, True])
async def test_a_batch_that_the_topic_refuses_is_divided(refusal: type[KafkaError], *, transactional: bool) -> None:
    kafka = FakeKafka(limit=100_000, refusal=refusal)
    async with started(kafka, transactional=transactional) as sink:
        append(sink, [20_000] * 100)
        sink.send(Position(1, 1))
        await sink.drained()
        assert keys(kafka) == list(range(100))
        assert (sink.meter.all.records, sink.meter.all.errors, sink.delivered) == (100, 0, 100)
        assert (sink.waiting, sink.active) == (0, 0)
        kafka.batches.clear()
        append(sink, [20_000] * 100, begin=100)
        sink.send(Position(2, 2))
        await sink.drained()
        assert keys(kafka) == list(range(200))
        assert max(size for _, size in kafka.batches) < 100_000, "what the topic refused once is not sent again"
        assert min(count for count, _ in kafka.batches) > 1


@pytest.mark.parametrize("transactional", [False, True])
async def test_a_record_that_the_topic_refuses_is_the_reason(*, transactional: bool) -> None:
    kafka = FakeKafka(limit=100_000)
    async with started(kafka, transactional=transactional) as sink:
        append(sink, [1_000] * 5 + [200_000] + [1_000] * 5)
        sink.send(Position(1, 1))
        with pytest.raises(CdcError, match="A record for topic t is larger than Kafka takes") as reported:
            await sink.drained()
        assert reported.value.kind is ErrorKind.SINK_RECORD_TOO_LARGE
        assert kafka.topics.get("t", []) == [] if transactional else keys(kafka) == list(range(5))
        assert sink.reached is None


async def test_a_record_that_the_topic_refuses_is_left_out_where_that_is_tolerated() -> None:
    kafka, left_out = FakeKafka(limit=100_000), list[str]()
    async with started(kafka, leave_out=lambda topic, _reason: left_out.append(topic)) as sink:
        append(sink, [1_000] * 5 + [200_000] + [1_000] * 5)
        sink.send(Position(1, 1))
        await sink.drained()
        assert keys(kafka) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
        assert left_out == ["t"]
        assert (sink.meter.all.records, sink.meter.all.errors, sink.delivered) == (11, 1, 10)


async def test_records_with_a_refused_timestamp_are_left_out_where_that_is_tolerated() -> None:
    kafka, left_out = FakeKafka(latest=0), list[tuple[str, str]]()
    async with started(kafka, leave_out=lambda *why: left_out.append(why)) as sink:
        append(sink, [1_000] * 100, late=(0, 41, 42, 99))
        sink.send(Position(1, 1))
        await sink.drained()
        assert keys(kafka) == [number for number in range(100) if number not in {0, 41, 42, 99}]
        assert left_out == [("t", "Kafka does not accept its timestamp")] * 4
        assert (sink.meter.all.records, sink.meter.all.errors, sink.delivered) == (100, 4, 96)
        assert (sink.waiting, sink.active) == (0, 0)
        assert sink.reached is not None
        kafka.batches.clear()
        append(sink, [1_000] * 100, begin=100)
        await sink.drained()
        assert [count for count, _ in kafka.batches] == [100], "timestamps do not limit the size of later batches"


@pytest.mark.parametrize("transactional", [False, True])
async def test_a_refused_timestamp_is_the_reason(*, transactional: bool) -> None:
    async with started(FakeKafka(latest=0), transactional=transactional) as sink:
        append(sink, [10] * 3, late=(1,))
        sink.send(Position(1, 1))
        with pytest.raises(CdcError, match="Kafka refused records for topic t") as reported:
            await sink.drained()
        assert (reported.value.kind, sink.reached) == (ErrorKind.SINK_REFUSED, None)


@pytest.mark.parametrize("tolerant", [False, True])
async def test_a_record_that_no_broker_can_answer_is_not_sent(monkeypatch: pytest.MonkeyPatch, *, tolerant: bool) -> None:
    # A record of 100 MiB would take seconds.
    monkeypatch.setattr(batch_maker, "_BROKER_LIMIT", 3_000_000)
    kafka, left_out = FakeKafka(limit=10_000_000), list[str]()
    async with started(kafka, leave_out=(lambda topic, _reason: left_out.append(topic)) if tolerant else None) as sink:
        append(sink, [10, 2_900_000, 3_100_000, 10])
        sink.send(Position(1, 1))
        if tolerant:
            await sink.drained()
            append(sink, [10], begin=4)
            await sink.drained()
            assert (keys(kafka), left_out) == ([0, 1, 3, 4], ["t"])
        else:
            with pytest.raises(CdcError, match="A record for topic t is larger than Kafka takes"):
                await sink.drained()
    assert max(size for _, size in kafka.batches) < 3_000_000
