"""A real broker that takes topics written by hand (:mod:`topic_log`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete

from tests.support.spark.topic_log import TopicLog


class Broker:
    """Writes logs to topics of one partition."""

    def __init__(self, bootstrap: str, producer: AIOKafkaProducer) -> None:
        self.bootstrap = bootstrap
        self._producer = producer

    async def create(self, *logs: TopicLog) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(log.topic, num_partitions=1, replication_factor=1) for log in logs])
        await admin.close()

    async def send(self, topic: str, *values: bytes) -> None:
        """Any records without keys, to a topic that is made by that."""
        for value in values:
            await self._producer.send_and_wait(topic, value)

    async def remove(self, topic: str, before: int) -> None:
        """Remove the records before an offset of partition 0, as retention does."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=before)})
        await admin.close()

    async def write(self, log: TopicLog) -> None:
        """Add the new records of the log at once, so that no reader sees only some of them."""
        batch = self._producer.create_batch()
        for *_, key, value, headers in log.new():
            assert batch.append(key=key, value=value, timestamp=None, headers=headers) is not None
        await (await self._producer.send_batch(batch, log.topic, partition=0))


@pytest_asyncio.fixture(loop_scope="session")
async def broker(kafka_bootstrap: str) -> AsyncIterator[Broker]:
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        yield Broker(kafka_bootstrap, producer)
