"""Reads the last committed record of a key in a compacted topic that transactions write."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.client import client_arguments
from connector.io.kafka.partitioner import partition_of
from workers.stores.records import RecordError, json_object, pass_over

_FIRST_STEP: Final = 2_000
"""Offsets that the first step reads, from the end backwards. Each further step is larger by a factor."""
_STEP_FACTOR: Final = 8
_OPEN_SECONDS: Final = 120.0
"""How long to wait for another producer's transaction: twice Kafka's default limit."""
_ASK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Last:
    """The last record of a key. ``value`` is a JSON object, None for a deletion; ``timestamp`` is in milliseconds since 1970."""

    value: bytes | None
    timestamp: int


async def last_record(properties: Mapping[str, str], topic: str, key: bytes) -> Last | None:
    """The last committed record of ``key``, or None. Waits for the transactions that are open now in its partition.

    A record whose value is neither a JSON object nor null is ignored, as in :mod:`workers.stores.topic_log`.
    ``properties`` are those of a Kafka client. Raises CdcError(STORE).
    """
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (a slow import, which happens before the first call)

    try:
        return await _read_back(client_arguments(properties), topic, key)
    except (KafkaError, TimeoutError) as problem:
        raise CdcError(
            ErrorKind.STORE,
            f"The topic {topic} cannot be read up to its end",
            "Check that the brokers run, that this user may read the topic, and that no transaction in it hangs (kafka-transactions).",
            type(problem).__name__,
        ) from problem


async def _read_back(clients: Mapping[str, Any], topic: str, key: bytes) -> Last | None:
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415

    place = TopicPartition(topic, partition_of(key, await _partition_count(clients, topic)))
    arguments = {**clients, "group_id": None, "enable_auto_commit": False}
    everything = AIOKafkaConsumer(**arguments)
    committed = AIOKafkaConsumer(isolation_level="read_committed", fetch_max_wait_ms=100, **arguments)
    try:
        await asyncio.gather(everything.start(), committed.start())
        # An open transaction, even another connector's, hides the records that were committed after it began.
        end = (await everything.end_offsets([place]))[place]
        await _await_end(committed, place, end)
        begin = (await committed.beginning_offsets([place]))[place]
        if begin < end:
            committed.assign([place])
        step, upto = _FIRST_STEP, end
        while upto > begin:
            start = max(begin, upto - step)
            found = await _last_between(committed, place, key, start, upto)
            if found is not None:
                return found
            upto, step = start, step * _STEP_FACTOR
        return None
    finally:
        await asyncio.gather(everything.stop(), committed.stop())


async def _partition_count(clients: Mapping[str, Any], topic: str) -> int:
    """The number of partitions of a topic that exists. Waits for brokers that do not list a new topic yet."""
    from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415

    admin = AIOKafkaAdminClient(**clients)
    try:
        await admin.start()
        async with asyncio.timeout(_OPEN_SECONDS):
            while True:
                [described] = await admin.describe_topics([topic])
                if described["partitions"]:
                    return len(described["partitions"])
                await asyncio.sleep(_ASK_SECONDS)
    finally:
        await admin.close()


async def _await_end(committed: Any, place: Any, end: int) -> None:
    async with asyncio.timeout(_OPEN_SECONDS):
        while True:
            if (await committed.end_offsets([place]))[place] >= end:
                return
            await asyncio.sleep(_ASK_SECONDS)


async def _last_between(consumer: Any, place: Any, key: bytes, start: int, upto: int) -> Last | None:
    consumer.seek(place, start)
    found: Last | None = None
    async with asyncio.timeout(_OPEN_SECONDS):
        # The position counts, not the record: the last offsets may be a transaction's marker or removed by compaction.
        while await consumer.position(place) < upto:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for record in records:
                    if record.key != key or record.offset >= upto:
                        continue
                    try:
                        json_object(record.value)
                    except RecordError as problem:
                        pass_over(place.topic, place.partition, record.offset, problem)
                    else:
                        found = Last(record.value, record.timestamp)
    return found
