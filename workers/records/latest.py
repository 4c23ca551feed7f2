"""Reads the last records of a topic, without a group and without a trace on the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.client import client_arguments

_SECONDS: Final = 5.0
"""How long a page may wait for Kafka."""
_POLL_MS: Final = 200


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as its partition has it. ``timestamp`` is in milliseconds since 1970."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


async def latest_records(properties: Mapping[str, str], topic: str, count: int) -> list[StoredRecord]:
    """The last ``count`` committed records of all partitions, the newest first.

    ``properties`` are those of a Kafka client. Raises CdcError(STORE) if the topic cannot be read within five seconds.
    """
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (a slow import, which only a page needs)

    try:
        async with asyncio.timeout(_SECONDS):
            found = await _read(client_arguments(properties), topic, count)
    except (KafkaError, TimeoutError) as problem:
        raise CdcError(
            ErrorKind.STORE,
            f"The topic {topic} cannot be read",
            "Check that the brokers run, and that the worker's user may read the topic.",
            type(problem).__name__,
        ) from problem
    return sorted(found, key=lambda record: (record.timestamp, record.partition, record.offset), reverse=True)[:count]


async def _read(clients: Mapping[str, Any], topic: str, count: int) -> list[StoredRecord]:
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415

    # Without these limits a topic with large values would fill the worker's memory.
    own = {"group_id": None, "enable_auto_commit": False, "isolation_level": "read_committed"}
    consumer = AIOKafkaConsumer(topic, **{**clients, **own}, max_partition_fetch_bytes=1_048_576, fetch_max_wait_ms=_POLL_MS)
    try:
        await consumer.start()
        places = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        begins, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        left = {place for place in places if begins[place] < ends[place]}
        for place in left:
            consumer.seek(place, max(begins[place], ends[place] - count))
        found: list[StoredRecord] = []
        while left:
            for messages in (await consumer.getmany(*left, timeout_ms=_POLL_MS)).values():
                found += [StoredRecord(each.partition, each.offset, each.timestamp, each.key, each.value) for each in messages]
            # By position: the last offsets may be those of transaction markers.
            left = {place for place in left if await consumer.position(place) < ends[place]}
        return found
    finally:
        await consumer.stop()
