"""Reads the last records of a topic, without a group and without a trace on the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.client import client_arguments

_SECONDS: Final = 5.0
"""How long a page may wait for Kafka."""
_POLL_MS: Final = 200
_FETCH_BYTES: Final = 8_388_608


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

    ``properties`` are those of a Kafka client. Raises CdcError(STORE) if the topic does not exist, or cannot be read within five seconds.
    The topic is never created. No more than ``count`` records are kept in memory, besides those of one answer of the brokers.
    """
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (a slow import, which only a page needs)

    try:
        async with asyncio.timeout(_SECONDS):
            return await _read(client_arguments(properties), topic, count)
    except (KafkaError, TimeoutError) as problem:
        raise CdcError(
            ErrorKind.STORE,
            f"The topic {topic} cannot be read",
            "Check that the brokers run, and that the worker's user may read the topic.",
            type(problem).__name__,
        ) from problem


def _newest(found: Iterable[StoredRecord], count: int) -> list[StoredRecord]:
    return nlargest(count, found, key=lambda record: (record.timestamp, record.partition, record.offset))


async def _read(clients: Mapping[str, Any], topic: str, count: int) -> list[StoredRecord]:
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415

    from connector.io.kafka.aiokafka_internals import partitions_of  # noqa: PLC0415

    own = {"group_id": None, "enable_auto_commit": False, "isolation_level": "read_committed", "fetch_max_wait_ms": _POLL_MS}
    # Without limits a topic with large values would fill the worker's memory.
    limits = {"max_partition_fetch_bytes": 1_048_576, "fetch_max_bytes": _FETCH_BYTES}
    consumer = AIOKafkaConsumer(**{**clients, **own, **limits})
    try:
        await consumer.start()
        numbers = await partitions_of(consumer, topic)
        if numbers is None:
            raise CdcError(ErrorKind.STORE, f"The topic {topic} does not exist", "It was deleted. It comes back with its next event.")
        places = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(places)
        begins, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        left = {place for place in places if begins[place] < ends[place]}
        for place in left:
            consumer.seek(place, max(begins[place], ends[place] - count))
        found: list[StoredRecord] = []
        while left:
            for messages in (await consumer.getmany(*left, timeout_ms=_POLL_MS)).values():
                read = (StoredRecord(each.partition, each.offset, each.timestamp, each.key, each.value) for each in messages)
                found = _newest((*found, *read), count)
            # By position: the last offsets may be those of transaction markers.
            left = {place for place in left if await consumer.position(place) < ends[place]}
        return found
    finally:
        await consumer.stop()
