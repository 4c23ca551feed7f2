"""The last records of a topic, on a real broker."""

from __future__ import annotations

import uuid

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from connector.errors import CdcError, ErrorKind
from workers.records.latest import latest_records


async def topic_of(bootstrap: str, partitions: int) -> str:
    name = f"latest-{uuid.uuid4().hex[:8]}"
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, partitions, 1)])
    await admin.close()
    return name


async def test_the_newest_of_all_partitions_come_first(kafka_bootstrap: str) -> None:
    topic = await topic_of(kafka_bootstrap, 3)
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        for number in range(30):
            await producer.send(topic, b"%d" % number, partition=number % 2, timestamp_ms=1_795_000_000_000 + number)
    found = await latest_records({"bootstrap.servers": kafka_bootstrap}, topic, 5)
    assert [record.value for record in found] == [b"29", b"28", b"27", b"26", b"25"]
    assert [(record.partition, record.offset) for record in found[:2]] == [(1, 14), (0, 14)]


async def test_an_empty_topic_has_none(kafka_bootstrap: str) -> None:
    assert await latest_records({"bootstrap.servers": kafka_bootstrap}, await topic_of(kafka_bootstrap, 1), 5) == []


async def test_aborted_records_are_left_out(kafka_bootstrap: str) -> None:
    topic = await topic_of(kafka_bootstrap, 1)
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=topic) as producer:
        async with producer.transaction():
            await producer.send(topic, b"kept")
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"aborted")
        await producer.abort_transaction()
    found = await latest_records({"bootstrap.servers": kafka_bootstrap}, topic, 5)
    assert [record.value for record in found] == [b"kept"]


async def test_a_topic_that_does_not_exist_is_named_and_not_created(kafka_bootstrap: str) -> None:
    topic = f"deleted-{uuid.uuid4().hex[:8]}"
    for _ in range(2):
        with pytest.raises(CdcError) as caught:
            await latest_records({"bootstrap.servers": kafka_bootstrap}, topic, 5)
        assert (caught.value.kind, caught.value.message) == (ErrorKind.STORE, f"The topic {topic} does not exist")
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        # Proves that the broker creates topics that a client asks for.
        await producer.send_and_wait(topic, b"created")
    assert [record.value for record in await latest_records({"bootstrap.servers": kafka_bootstrap}, topic, 5)] == [b"created"]


async def test_a_broker_that_does_not_answer_is_an_error_that_names_the_topic() -> None:
    with pytest.raises(CdcError) as caught:
        await latest_records({"bootstrap.servers": "127.0.0.1:1"}, "orders", 5)
    assert (caught.value.kind, caught.value.message) == (ErrorKind.STORE, "The topic orders cannot be read")
