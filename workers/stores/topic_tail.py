"""The last record of one key in a compacted topic that transactions write, read when it must be known for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmurhash2 import murmurhash2

from connector.errors import CdcError, ErrorKind
from connector.io.kafka_client import client_arguments
from workers.stores.records import RecordError, json_object, pass_over

_SEED: Final = 0x9747B28C
"""Of Kafka's DefaultPartitioner."""
_FIRST_STEP: Final = 2_000
"""Records that are read at first; each further step goes as far back again as all before it, and more."""
_STEP_FACTOR: Final = 8
_OPEN_SECONDS: Final = 120.0
"""How long a transaction of somebody else may keep us waiting: twice what Kafka gives one by default."""
_ASK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Last:
    """The last record of a key. ``value`` is a JSON object, None when it removes what was there; ``timestamp`` is in milliseconds."""

    value: bytes | None
    timestamp: int


async def last_record(properties: Mapping[str, str], topic: str, key: bytes) -> Last | None:
    """The last committed record of ``key``, or None without one. Transactions open now in its partition are waited for.

    A record whose value is anything but a JSON object or nothing is passed over, as :mod:`workers.stores.log` does.

    ``properties`` are Kafka's, of a client. Raises CdcError(STORE).
    """
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (heavy, and imported long before this is called)

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

    place = TopicPartition(topic, (murmurhash2(key, _SEED) & 0x7FFFFFFF) % await _partition_count(clients, topic))
    arguments = {**clients, "group_id": None, "enable_auto_commit": False}
    everything = AIOKafkaConsumer(**arguments)
    committed = AIOKafkaConsumer(isolation_level="read_committed", fetch_max_wait_ms=100, **arguments)
    try:
        await asyncio.gather(everything.start(), committed.start())
        # A transaction that is open, of another connector even, hides what was committed after it began.
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
    """Of a topic that exists, though perhaps not for long: brokers that have not heard of it yet are asked again."""
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
        # By position, not by record: the last ones may be a transaction's marker, or compacted away.
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
