"""The sinks look at topics with new records only, and know nevertheless how much waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.topic_out import Partition
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.each_case import each_case
from tests.support.fake_kafka import FakeKafka

KAFKA = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})


class Unseen(list[Partition]):
    """The partitions of a topic at which nobody may look."""

    def __iter__(self) -> Iterator[Partition]:
        raise AssertionError("A topic without new records was looked at")


@asynccontextmanager
async def started(kafka: FakeKafka, *, transactional: bool) -> AsyncIterator[KafkaSink]:
    creator = TopicCreator({}, {}, lambda _topic: None)
    sink = (
        TransactionalSink(KAFKA, creator, "id", None, connect=kafka.producer)
        if transactional
        else KafkaSink(KAFKA, creator, connect=kafka.producer)
    )
    sink.frontier.begin(0)
    await sink.start()
    try:
        yield sink
    finally:
        await sink.stop()


@pytest.mark.parametrize("transactional", [False, True])
async def test_topics_without_new_records_are_not_looked_at(*, transactional: bool) -> None:
    async with asyncio.timeout(10), started(FakeKafka(), transactional=transactional) as sink:
        sink.bind(to_marks=True)
        for topic in ("idle", "busy"):
            sink.out(topic).append(b"k", b"", b"v", NO_HEADERS, 0)
        sink.send(Position(1, 1))
        await sink.drained()
        idle = sink.out("idle")
        known, idle.partitions = idle.partitions, Unseen(idle.partitions)
        sink.out("busy").append(b"k", b"", b"v", NO_HEADERS, 0)
        sink.pump()
        assert (sink.waiting, sink.active) == (2, 1)
        sink.send(Position(2, 2))
        await sink.room()
        await sink.drained()
        assert (sink.waiting, sink.active, sink.idle) == (0, 0, True)
        idle.partitions = known


def held(sink: KafkaSink) -> tuple[int, int]:
    """Return the weight and the number of the records that no batch in flight has, found the long way."""
    batches = [out.pending for out in sink._outs.values()] + [part.batch for out in sink._outs.values() for part in out.partitions]
    if isinstance(sink, TransactionalSink):
        batches += [*sink._sealed.values(), *sink._unplaced.values()]
    return sum(batch.weight for batch in batches), sum(len(batch.records) for batch in batches)


@each_case("partitions", [1, 3])
@each_case("transactional", [False, True])
@each_case("seed", range(20))
async def test_what_waits_is_known_at_any_time(seed: int, partitions: int, *, transactional: bool) -> None:
    chance = random.Random(seed)
    kafka = FakeKafka(partitions=partitions)
    written: dict[str, list[bytes]] = {}

    async with asyncio.timeout(20), started(kafka, transactional=transactional) as sink:
        for step in range(1, 200):
            # Names of later topics come later, so that some topics are made while others have batches in flight.
            topic = f"t{chance.randrange(1 + step // 20)}"
            out, payload = sink.out(topic, apart=topic == "t3"), b"%d" % step
            choice = chance.randrange(10)
            if choice < 4:
                out.append(b"key", b"p", payload, NO_HEADERS, 0)
            elif choice == 4:
                out.extend([b"key"], b"p", [payload], NO_HEADERS, 0)
            elif choice == 5:
                out.add([(b"key", b"p", payload, NO_HEADERS, 0)])
            elif choice == 6:
                await sink.prepare(topic)
            elif choice == 7:
                sink.bind(to_marks=chance.random() < 0.7)
                sink.pump()
            elif choice == 8:
                sink.send(Position(step, step))
            else:
                await asyncio.sleep(0)
            if choice < 6:
                written.setdefault(topic, []).append(payload)
            weight, records = held(sink)
            assert (sink.waiting, sink.active) == (sink._waiting + weight, sink._in_flight + records)
        sink.send(Position(1_000, 1_000))
        await sink.drained()
        assert (sink.waiting, sink.active, sink.idle) == (0, 0, True)
        assert sink.reached is not None
        assert sink.reached.position.event == 1_000
    assert {topic: [record[2] for record in records] for topic, records in kafka.topics.items()} == written
