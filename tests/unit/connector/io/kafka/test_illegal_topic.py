"""Records of topics whose names Kafka does not take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.illegal_topic import is_legal, shortened
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.topic_out import TopicOut
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.each_case import each_case
from tests.support.fake_kafka import FakeKafka

SETTINGS = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})
ILLEGAL = ["", ".", "..", "x.a b", "a" * 250, "t\n", "\u00e4", "a/b"]
WAYS: list[Callable[[TopicOut], None]] = [
    lambda out: out.append(b"1", b"", b"v", NO_HEADERS, 0),
    lambda out: out.extend(None, b"", [b"v"], NO_HEADERS, 0),
    lambda out: out.add([(b"1", b"", b"v", NO_HEADERS, 0)]),
    lambda out: out.append_to(7, (b"1", b"", b"v", NO_HEADERS, 0)),
]


@asynccontextmanager
async def started(sink: KafkaSink) -> AsyncIterator[KafkaSink]:
    sink.frontier.begin(0)
    await sink.start()
    try:
        async with asyncio.timeout(20):
            yield sink
    finally:
        await sink.stop()


def creator() -> TopicCreator:
    return TopicCreator({}, {}, lambda _topic: None)


@each_case("topic", ILLEGAL)
def test_a_name_that_kafka_does_not_take(topic: str) -> None:
    assert not is_legal(topic)


@pytest.mark.parametrize("topic", ["a", "...", "a" * 249, "A-z_0.9", ".a", "..a"])
def test_a_legal_name(topic: str) -> None:
    assert is_legal(topic)


def test_messages_show_the_begin_of_a_long_name() -> None:
    assert shortened("a b") == "'a b'"
    assert shortened("x" * 1000) == f"'{'x' * 300}'... (1000 characters)"


@each_case("way", WAYS)
@each_case("topic", ILLEGAL)
async def test_the_append_says_that_the_name_is_refused(topic: str, way: Callable[[TopicOut], None]) -> None:
    kafka = FakeKafka()
    async with started(KafkaSink(SETTINGS, creator(), connect=kafka.producer)) as sink:
        with pytest.raises(CdcError, match="Kafka does not accept the name of topic '") as reported:
            way(sink.out(topic))
        assert reported.value.kind is ErrorKind.SINK_REFUSED
        assert repr(topic) in reported.value.message
        assert sink.meter.all.errors == 1


async def test_a_transaction_fails_too() -> None:
    kafka = FakeKafka()
    async with started(TransactionalSink(SETTINGS, creator(), "id", None, connect=kafka.producer)) as sink:
        with pytest.raises(CdcError, match="Kafka does not accept the name of topic 'a b'"):
            WAYS[0](sink.out("a b"))


@each_case("way", WAYS)
@each_case("topic", ILLEGAL)
async def test_the_record_is_left_out_where_that_is_tolerated(topic: str, way: Callable[[TopicOut], None]) -> None:
    kafka, left_out = FakeKafka(), list[tuple[str, str]]()
    async with started(KafkaSink(SETTINGS, creator(), connect=kafka.producer, leave_out=lambda *each: left_out.append(each))) as sink:
        WAYS[0](sink.out("t"))
        way(sink.out(topic))
        WAYS[0](sink.out("t"))
        sink.send(Position(1, 1))
        await sink.drained()
        assert (list(kafka.topics), len(kafka.topics["t"])) == (["t"], 2)
        assert left_out == [(repr(topic), "Kafka does not accept the name of its topic")]
        assert sink.reached is not None
        assert (sink.waiting, sink.active, sink.delivered, sink.meter.all.errors) == (0, 0, 2, 1)


async def test_an_out_does_nothing_without_records() -> None:
    async with started(KafkaSink(SETTINGS, creator(), connect=FakeKafka().producer)) as sink:
        out = sink.out("a b")
        out.extend([], b"", [], NO_HEADERS, 0)
        out.add([])
        await sink.prepare("a b")
