"""Replays the topics of a load at a steady rate, while PostgreSQL, pgbench and the connector have nothing to do.

On two cores a load of pgbench leaves the mirror a third of the CPU time. During a replay the mirror has nearly all of it, as on a machine
of its own. The records are those that the connector wrote. Only Kafka's timestamps are new: the topics have ``LogAppendTime``, so that
the age of a record counts from its replay.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

TICK: Final = 0.1
"""Seconds between two requests for a topic. A connector under such a load sends more often; the mirror reads what has come either way."""
BATCH: Final = 500_000
"""Bytes of a batch. The broker takes 1 MiB (``message.max.bytes``)."""
_WAIT_MS: Final = 1_000


class Record(NamedTuple):
    """What is replayed of a record."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


async def exist(bootstrap: str, topics: Iterable[str]) -> bool:
    """Whether all these topics exist."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        return set(await admin.list_topics()).issuperset(topics)
    finally:
        await admin.close()


async def read_topics(bootstrap: str, counts: Mapping[str, int]) -> dict[str, list[Record]]:
    """Read so many records of each topic, which has one partition. The topics must exist; their records may be still to come."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        found: dict[str, list[Record]] = {topic: [] for topic in counts}
        consumer.assign([TopicPartition(topic, 0) for topic in counts])
        while any(len(found[topic]) < count for topic, count in counts.items()):
            for place, records in (await consumer.getmany(timeout_ms=_WAIT_MS)).items():
                found[place.topic] += (Record(one.key, one.value, list(one.headers)) for one in records)
    finally:
        await consumer.stop()
    return {topic: records[: counts[topic]] for topic, records in found.items()}


def parts(records: Sequence[Record], sizes: Sequence[int]) -> Iterator[Sequence[Record]]:
    """Cut the records into parts of these sizes. The last ones are smaller, or empty, if there are too few. Pure."""
    at = 0
    for size in sizes:
        yield records[at : at + size]
        at += size


class Replay:
    """Writes recorded records to topics of its own, as an async context manager. ``renamed`` gives a recorded topic's new name."""

    def __init__(self, bootstrap: str, records: Mapping[str, Sequence[Record]], renamed: Callable[[str], str]) -> None:
        self._bootstrap = bootstrap
        self._left = {renamed(topic): list(found) for topic, found in records.items()}
        self._producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=BATCH, compression_type="zstd", acks="all")

    async def __aenter__(self) -> Self:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            await admin.create_topics(
                [NewTopic(topic, 1, 1, topic_configs={"message.timestamp.type": "LogAppendTime"}) for topic in self._left]
            )
        finally:
            await admin.close()
        await self._producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    async def write(self, counts: Mapping[str, int]) -> None:
        """Write the next so many records of each topic at once."""
        await self._send([(topic, batch) for topic, count in counts.items() for batch in self._batches(self._taken(topic, count))])

    def prepare(self, seconds: int, each: int) -> list[list[tuple[str, Any]]]:
        """Make the batches of each tick, for ``each`` records of each topic a second: while they are written, the cores are measured."""
        a_second = round(1 / TICK)
        sizes = [each * (tick + 1) // a_second - each * tick // a_second for tick in range(seconds * a_second)]
        taken = {topic: list(parts(self._taken(topic, sum(sizes)), sizes)) for topic in self._left}
        return [[(topic, batch) for topic, found in taken.items() for batch in self._batches(found[tick])] for tick in range(len(sizes))]

    async def steadily(self, ticks: Sequence[Sequence[tuple[str, Any]]], look: Callable[[], None]) -> None:
        """Write what is prepared, each tick at its time. ``look`` is called after each."""
        begun = time.monotonic()
        for number, batches in enumerate(ticks):
            await asyncio.sleep(max(0.0, begun + number * TICK - time.monotonic()))
            await self._send(batches)
            look()

    def _taken(self, topic: str, count: int) -> list[Record]:
        taken, self._left[topic] = self._left[topic][:count], self._left[topic][count:]
        return taken

    def _batches(self, records: Sequence[Record]) -> list[Any]:
        made: list[Any] = []
        for record in records:
            if not made or made[-1].append(timestamp=None, key=record.key, value=record.value, headers=record.headers) is None:
                made.append(self._producer.create_batch())
                made[-1].append(timestamp=None, key=record.key, value=record.value, headers=record.headers)
        for batch in made:
            batch.close()
        return made

    async def _send(self, batches: Sequence[tuple[str, Any]]) -> None:
        for written in [await self._producer.send_batch(batch, topic, partition=0) for topic, batch in batches]:
            await written
