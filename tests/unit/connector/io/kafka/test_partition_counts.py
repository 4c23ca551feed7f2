"""A topic's number of partitions changes while a task runs: records follow it, as those of Kafka's producer do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.partitioner import partition_of
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.fake_kafka import FakeKafka

SETTINGS = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})


@asynccontextmanager
async def started(kafka: FakeKafka, *, transactional: bool) -> AsyncIterator[KafkaSink]:
    creator = TopicCreator({}, {}, lambda _topic: None)
    sink = (
        TransactionalSink(SETTINGS, creator, "id", None, connect=kafka.producer)
        if transactional
        else KafkaSink(SETTINGS, creator, connect=kafka.producer)
    )
    sink.frontier.begin(0)
    await sink.start()
    try:
        async with asyncio.timeout(10):
            yield sink
    finally:
        await sink.stop()


async def put(sink: KafkaSink, number: int) -> None:
    for key in range(40):
        sink.out("t").append(b"k%d" % key, b"", b"%d" % number, NO_HEADERS, 0)
    sink.send(Position(number, number))
    await sink.drained()


@pytest.mark.parametrize("before", [1, 3])
@pytest.mark.parametrize("transactional", [False, True])
async def test_records_go_to_partitions_that_were_added(before: int, *, transactional: bool) -> None:
    kafka = FakeKafka(partitions=before)
    async with started(kafka, transactional=transactional) as sink:
        await put(sink, 1)
        kafka.partitions = 6
        await put(sink, 2)
    assert len(kafka.places) == 80
    for _, partition, (key, _, value, _, _) in kafka.places:
        assert key is not None
        assert partition == partition_of(key, before if value == b"1" else 6)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("transactional", [False, True])
async def test_a_topic_that_was_deleted_or_made_again_with_fewer_partitions_restarts_the_task(left: int, *, transactional: bool) -> None:
    kafka = FakeKafka(partitions=3)
    async with started(kafka, transactional=transactional) as sink:
        await put(sink, 1)
        kafka.partitions = left
        with pytest.raises(CdcError, match=r"Topic t has no partition \d any more") as reported:
            await put(sink, 2)
        assert (reported.value.kind, reported.value.passes) == (ErrorKind.SINK_UNREACHABLE, True)
    kafka.partitions = 1
    async with started(kafka, transactional=transactional) as sink:
        await put(sink, 3)
    assert [partition for _, partition, record in kafka.places if record[2] == b"3"] == [0] * 40


async def test_a_record_may_name_a_partition_that_was_added() -> None:
    kafka = FakeKafka(partitions=1)
    async with started(kafka, transactional=False) as sink:
        await sink.prepare("t")
        kafka.partitions = 2
        sink.out("t").append_to(1, (b"k", b"", b"v", NO_HEADERS, 0))
        with pytest.raises(CdcError, match="partition 2 of topic t, which has 2 partitions"):
            sink.out("t").append_to(2, (b"k", b"", b"v", NO_HEADERS, 0))
        await sink.drained()
    assert [partition for _, partition, _ in kafka.places] == [1]
