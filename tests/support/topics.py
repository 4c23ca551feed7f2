"""Reads topics from their beginning to the end they have now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from connector.io.kafka.aiokafka_internals import partitions_of


@dataclass(frozen=True, slots=True)
class Raw:
    """A record as its partition stores it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class TopicReader:
    """A consumer without a group, and what an administrator sees."""

    def __init__(self, consumer: Any, ends: Any, admin: Any) -> None:
        self._consumer = consumer
        self._ends = ends
        self._admin = admin

    async def topics(self) -> dict[str, list[int]]:
        """All topics there are, with the numbers of their partitions."""
        described = await self._admin.describe_topics()
        return {topic["topic"]: sorted(part["partition"] for part in topic["partitions"]) for topic in described}

    async def settings(self, topic: str, names: Collection[str]) -> dict[str, str]:
        """What the topic's configuration says of these."""
        [answer] = await self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        entries = answer.resources[0][4]
        return {entry[0]: entry[1] for entry in entries if entry[0] in names}

    async def delete(self, topics: Collection[str]) -> None:
        """Remove topics."""
        if topics:
            await self._admin.delete_topics(list(topics))

    async def ends(self, *topics: str) -> dict[tuple[str, int], int]:
        """The end of every partition of those topics that exist."""
        # A description of all topics is long after some hundred tests.
        return await self.ends_of({topic: await partitions_of(self._ends, topic) or [] for topic in topics})

    async def ends_of(self, topics: Mapping[str, Collection[int]]) -> dict[tuple[str, int], int]:
        """The end of each of these partitions."""
        places = [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers]
        if not places:
            return {}
        return {(place.topic, place.partition): end for place, end in (await self._ends.end_offsets(places)).items()}

    async def read(self, topic: str) -> list[Raw]:
        """The records up to the present end: partition after partition."""
        missing = {TopicPartition(topic, number): end for (_, number), end in (await self.ends(topic)).items() if end > 0}
        records: list[Raw] = []
        if not missing:
            return records
        ends = dict(missing)
        self._consumer.assign(list(missing))
        await self._consumer.seek_to_beginning(*missing)
        while missing:
            for place, messages in (await self._consumer.getmany(timeout_ms=100)).items():
                for message in messages:
                    if message.offset < ends[place]:
                        headers = tuple((str(name), value if value is None else bytes(value)) for name, value in message.headers)
                        records.append(Raw(place.partition, message.offset, message.key, message.value, headers))
            # By position, not by record: compaction may have removed the last ones.
            missing = {place: end for place, end in missing.items() if await self._consumer.position(place) < end}
        # An assigned consumer would ask for the topic's leader again and again once the topic is gone.
        self._consumer.unsubscribe()
        return sorted(records, key=lambda raw: (raw.partition, raw.offset))


@asynccontextmanager
async def topic_reader(bootstrap: str, *, committed: bool = False) -> AsyncIterator[TopicReader]:
    """A reader that is closed in the end; ``committed``: of committed records only, and it waits for transactions that are open."""
    own = {"bootstrap_servers": bootstrap, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    consumer = AIOKafkaConsumer(isolation_level="read_committed" if committed else "read_uncommitted", **own)
    # Reads the present ends. Those for committed records are updated after the answer to a commit.
    ends = AIOKafkaConsumer(**own) if committed else consumer
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    clients = [consumer, ends] if committed else [consumer]
    for client in (*clients, admin):
        await client.start()
    try:
        yield TopicReader(consumer, ends, admin)
    finally:
        await admin.close()
        for client in reversed(clients):
            await client.stop()


async def read_to_end(bootstrap: str, topic: str, *, committed: bool = False) -> list[Raw]:
    """The records of one topic up to its present end: partition after partition."""
    async with topic_reader(bootstrap, committed=committed) as reader:
        return await reader.read(topic)
