"""Batches on a real broker: those that it refuses, and those after the highest sequence number."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable

import pytest
from aiokafka.structs import TopicPartition

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.aiokafka_internals import SEQUENCES
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.fix_pg import PgServer
from tests.fix_worker import Worker, read_topics
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once


async def test_sequence_numbers_begin_again_after_the_highest(kafka_bootstrap: str) -> None:
    topic = f"sequence-{uuid.uuid4().hex[:12]}"
    groups = {"default": {"partitions": "1", "replication.factor": "1"}}
    settings = KafkaSettings({"bootstrap.servers": kafka_bootstrap}, {"bootstrap.servers": kafka_bootstrap})
    sink = KafkaSink(settings, TopicCreator(settings.admin, groups, lambda _topic: None))
    sink.frontier.begin(0)
    await sink.start()
    try:
        await sink.prepare(topic)
        # A broker accepts any number as the first one of a producer that it does not know.
        sink._producer._txn_manager._sequence_numbers[TopicPartition(topic, 0)] = SEQUENCES - 2
        for burst in range(4):
            for number in range(3):
                sink.out(topic).append(None, b"", b"%d" % (3 * burst + number), NO_HEADERS, 0)
            sink.send(Position(burst + 1, burst + 1))
            await sink.drained()
    finally:
        await sink.stop()
    records = await read_topics(kafka_bootstrap, [topic], 12)
    assert [record.json for record in records] == list(range(12))


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_batches_that_a_topic_refuses_are_divided(kafka_bootstrap: str, exactly_once: bool) -> None:
    topic = f"small-{uuid.uuid4().hex[:12]}"
    room = {"default": {"partitions": "1", "replication.factor": "1", "max.message.bytes": "100000"}}
    settings = KafkaSettings({"bootstrap.servers": kafka_bootstrap}, {"bootstrap.servers": kafka_bootstrap})
    creator = TopicCreator(settings.admin, room, lambda _topic: None)
    sink = TransactionalSink(settings, creator, topic, None) if exactly_once else KafkaSink(settings, creator)
    sink.frontier.begin(0)
    await sink.start()
    try:
        for burst in range(3):
            for number in range(100):
                sent = b'{"n":%d,"v":"%b"}' % (100 * burst + number, os.urandom(10_000).hex().encode())
                sink.out(topic).append(None, b"", sent, NO_HEADERS, 0)
            sink.send(Position(burst + 1, burst + 1))
            await sink.drained()
    finally:
        await sink.stop()
    records = await read_topics(kafka_bootstrap, [topic], 300)
    numbers = [value["n"] for record in records if isinstance(value := record.json, dict)]
    assert numbers == list(range(300))


@pytest.mark.parametrize(
    ("limit", "key", "timestamp"),
    [
        ({"message.timestamp.after.max.ms": "3600000"}, b"k", 9_224_318_016_000),
        ({"cleanup.policy": "compact"}, None, 0),
    ],
    ids=["timestamp", "no key"],
)
@pytest.mark.parametrize("tolerant", [False, True])
async def test_records_that_a_topic_refuses(
    kafka_bootstrap: str, limit: dict[str, str], key: bytes | None, timestamp: int, tolerant: bool
) -> None:
    topic, left_out = f"choosy-{uuid.uuid4().hex[:12]}", list[str]()
    settings = KafkaSettings({"bootstrap.servers": kafka_bootstrap}, {"bootstrap.servers": kafka_bootstrap})
    groups = {"default": {"partitions": "1", "replication.factor": "1", **limit}}
    creator = TopicCreator(settings.admin, groups, lambda _topic: None)
    sink = KafkaSink(settings, creator, leave_out=(lambda topic, _reason: left_out.append(topic)) if tolerant else None)
    sink.frontier.begin(0)
    await sink.start()
    try:
        for number in range(20):
            refused = number in {7, 8, 19}
            sink.out(topic).append(key if refused else b"k", b"", b"%d" % number, NO_HEADERS, timestamp if refused else 0)
        sink.send(Position(1, 1))
        if not tolerant:
            with pytest.raises(CdcError) as reported:
                await sink.drained()
            assert reported.value.kind is ErrorKind.SINK_REFUSED
            assert ("takes only records with keys" in str(reported.value)) is (key is None)
            return
        await sink.drained()
        sink.out(topic).append(b"k", b"", b"20", NO_HEADERS, 0)
        await sink.drained()
    finally:
        await sink.stop()
    records = await read_topics(kafka_bootstrap, [topic], 18)
    assert [record.json for record in records] == [number for number in range(21) if number not in {7, 8, 19}]
    assert left_out == [topic] * 3


@pytest.mark.parametrize("threads", [0, 1, 2])
async def test_a_row_that_is_too_large_is_left_out_where_that_is_tolerated(
    pg: PgServer, worker: Callable[..., Worker], kafka_bootstrap: str, threads: int
) -> None:
    """The row comes from the stream, or from a snapshot with so many ``threads``."""
    started = worker(jolokia_enabled="true")
    database = pg.database("tolerant")
    # Random digits, because equal ones would be compressed.
    noise = "(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 20000))"
    rows = [f"INSERT INTO t SELECT {number}, {noise if number == 3 else repr('small')}" for number in range(1, 6)]
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)", *(rows if threads else []))
    connector = Connector(started, database, f"tolerant_{uuid.uuid4().hex[:10]}")
    room = {"partitions": "1", "replication.factor": "1", "max.message.bytes": "100000"}
    try:
        more = {"errors.tolerance": "all", "snapshot.max.threads": str(threads or 1)}
        connector.create({**more, **{f"topic.creation.default.{key}": value for key, value in room.items()}})
        if not threads:
            database.execute(*rows)
        database.execute("INSERT INTO t VALUES (6, 'last')")
        # A consumer would have the broker create the topic, with its default limit.
        connector.await_confirmed(connector.lsn())
        records = await read_topics(kafka_bootstrap, [f"{connector.name}.public.t"], 5)
        assert [value["after"]["id"] for record in records if isinstance(value := record.json, dict)] == [1, 2, 4, 5, 6]
        status = started.rest("GET", f"/connectors/{connector.name}/status").json()
        assert [task["state"] for task in status["tasks"]] == ["RUNNING"]
        errors = f"kafka.connect:type=task-error-metrics,connector={connector.name},task=0"
        answer = started.rest("GET", f"/jolokia/read/{errors}/total-records-skipped").json()
        assert answer.get("value") == 1, answer
        assert f"topic={connector.name}.public.t" in next(
            line for line in started.log.splitlines() if "record left out" in line and connector.name in line
        )
    finally:
        connector.delete()
