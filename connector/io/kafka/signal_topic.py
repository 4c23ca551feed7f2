"""Reads the signal topic: the records of its partition 0, from the consumer group's committed offset."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from connector.io.kafka.client import client_arguments, invalid, whole_number

Record = tuple[bytes | None, bytes | None, int]
"""Key, value, offset."""

_NUMBERS: Final = {
    "fetch.min.bytes": "fetch_min_bytes",
    "fetch.max.bytes": "fetch_max_bytes",
    "fetch.max.wait.ms": "fetch_max_wait_ms",
    "max.partition.fetch.bytes": "max_partition_fetch_bytes",
    "session.timeout.ms": "session_timeout_ms",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "max.poll.interval.ms": "max_poll_interval_ms",
    "max.poll.records": "max_poll_records",
}
_WORDS: Final = {
    "auto.offset.reset": ("auto_offset_reset", ("earliest", "latest", "none")),
    "isolation.level": ("isolation_level", ("read_committed", "read_uncommitted")),
}


class SignalTopic:
    """Reads one signal topic.

    ``properties`` have Kafka's own names and include ``bootstrap.servers`` and ``group.id``. ``poll_s`` is the pause between checks whether
    a missing topic exists. Raises CdcError(CONFIG_INVALID) for properties that cannot be used.
    """

    def __init__(self, topic: str, properties: Mapping[str, str], poll_s: float) -> None:
        self.name = topic
        self._arguments = _arguments(properties)
        self._poll_s = poll_s
        self._next: int | None = None
        """The offset after the last record that was yielded. A record whose commit failed is therefore not yielded twice in one run."""

    async def records(self) -> AsyncGenerator[list[Record], None]:
        """Yield records in bursts as they arrive. A burst is committed when the next one is requested.

        The first call begins at the group's committed offset, or at the topic's first record. A later call begins after the last burst. If
        the topic does not exist, wait for it. Raises aiokafka's KafkaError.
        """
        consumer: Any = AIOKafkaConsumer(**self._arguments)
        try:
            await consumer.start()
            while self.name not in await consumer.topics():  # noqa: ASYNC110 (only Kafka knows)
                await asyncio.sleep(self._poll_s)
            partition = TopicPartition(self.name, 0)
            consumer.assign([partition])
            if self._next is not None:
                consumer.seek(partition, self._next)
            while True:
                found = (await consumer.getmany(partition, timeout_ms=60_000)).get(partition, [])
                if found:
                    self._next = found[-1].offset + 1
                    yield [(record.key, record.value, record.offset) for record in found]
                    await consumer.commit({partition: self._next})
        finally:
            await consumer.stop()


def _arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "auto_offset_reset": "earliest",
        **client_arguments(properties),
        "group_id": properties["group.id"],
        "enable_auto_commit": False,
    }
    for key, (argument, choices) in _WORDS.items():
        if key in properties:
            arguments[argument] = properties[key].strip().lower()
            if arguments[argument] not in choices:
                raise invalid(key, properties[key], f"choose one of {', '.join(choices)}")
    for key, argument in _NUMBERS.items():
        if key in properties:
            arguments[argument] = whole_number(properties, key, least=1 if key.startswith("max.poll.") else 0)
    for key, argument in (("client.rack", "client_rack"), ("group.instance.id", "group_instance_id")):
        if properties.get(key, "").strip():
            arguments[argument] = properties[key].strip()
    arguments["check_crcs"] = properties.get("check.crcs", "true").strip().lower() != "false"
    return arguments
