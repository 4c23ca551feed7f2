"""Source offsets that a connector's producer writes in the transactions of its records (exactly-once delivery, KIP-618).

A transaction writes them to the worker's offset topic and to the connector's own topic if it has one (``offsets.storage.topic``). Kafka
Connect writes only the connector's topic in the transaction and copies the offset afterwards. Here the two topics never differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.client import client_arguments
from connector.ports import JsonObject
from workers.settings.worker_settings import StoreTopic
from workers.stores.offset_store import AllOffsets
from workers.stores.records import json_object
from workers.stores.topic_tail import Last, last_record

_EXISTS: Final = 36


class TransactionOffsets:
    """:class:`connector.ports.TransactionalOffsets` of one connector.

    ``properties`` are those of the worker's Kafka clients. ``topic`` is the worker's topic. ``own`` is the name of the connector's topic,
    if any: it is created when it is missing, with as many partitions as the worker's. ``producer`` has the properties of the connector's
    producer, whose login may write there.
    """

    def __init__(
        self,
        offsets: AllOffsets,
        connector: str,
        properties: Mapping[str, str],
        topic: StoreTopic,
        own: str | None,
        producer: Mapping[str, str],
    ) -> None:
        self._offsets = offsets
        self._connector = connector
        self._properties = properties
        self._topic = topic
        self._own = own if own != topic.name else None
        self._producer = producer

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last committed offset. The later record of the two topics counts; the worker's when both are equal. Raises CdcError."""
        last = await last_record(self._properties, self._topic.name, self._offsets.key(self._connector, partition))
        if self._own is not None:
            await _create(self._properties, replace(self._topic, name=self._own))
            own = await last_record(self._properties, self._own, self._fresh_key(partition))
            # A killed worker of Kafka Connect may have written the connector's topic only.
            if own is not None and (last is None or own.timestamp > last.timestamp):
                last = own
        return self._read(last)

    def records(self, partition: JsonObject, offset: JsonObject) -> Sequence[tuple[str, bytes, bytes]]:
        """Topic, key and value of each record that stores ``offset``."""
        value = orjson.dumps(offset)
        written = [(self._topic.name, self._offsets.key(self._connector, partition), value)]
        if self._own is not None:
            written.append((self._own, self._fresh_key(partition), value))
        return written

    async def change_own(self, changes: Sequence[tuple[JsonObject | None, JsonObject | None]]) -> None:
        """Write offsets (None removes one) to the connector's topic, if it has one. Nothing else may write there. Raises CdcError(STORE).

        What a change removes from the worker's topic alone would count again when compaction has removed the removal.
        """
        if self._own is not None and changes:
            try:
                last = {self._fresh_key(partition): None if offset is None else orjson.dumps(offset) for partition, offset in changes}
            except orjson.JSONEncodeError as problem:
                raise CdcError(ErrorKind.STORE, f"The offset of the connector {self._connector} is not JSON") from problem
            await _create(self._properties, replace(self._topic, name=self._own))
            await _write(self._producer, self._own, last)

    def _fresh_key(self, partition: JsonObject | None) -> bytes:
        return orjson.dumps([self._connector, partition])

    def _read(self, last: Last | None) -> JsonObject | None:
        return None if last is None else json_object(last.value)


async def _write(properties: Mapping[str, str], topic: str, values: Mapping[bytes, bytes | None]) -> None:
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    producer = AIOKafkaProducer(acks="all", **client_arguments(properties))
    try:
        await producer.start()
        await asyncio.gather(*[await producer.send(topic, value, key) for key, value in values.items()])
    except KafkaError as problem:
        raise CdcError(
            ErrorKind.STORE,
            f"Kafka did not accept a record of the topic {topic}",
            "Check that the brokers run, and that the connector's producer may write to the topic.",
            type(problem).__name__,
        ) from problem
    finally:
        await producer.stop()


async def _create(properties: Mapping[str, str], topic: StoreTopic) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # noqa: PLC0415 (needed only for a connector's own topic)
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    admin = AIOKafkaAdminClient(**client_arguments(properties))
    try:
        await admin.start()
        if topic.name in await admin.list_topics():
            return
        wanted = NewTopic(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            replica_assignments={} if -1 in (topic.partitions, topic.replication_factor) else None,
            topic_configs={**topic.settings, "cleanup.policy": "compact"},
        )
        _name, code, *message = (await admin.create_topics([wanted])).topic_errors[0]
        if code not in (0, _EXISTS):
            raise CdcError(
                ErrorKind.STORE,
                f"The topic {topic.name} cannot be created",
                "Create it with cleanup.policy=compact, or remove offsets.storage.topic from the connector's configuration.",
                str(message[0] or "") if message else "",
            )
    except KafkaError as problem:
        raise CdcError(
            ErrorKind.STORE, f"The topic {topic.name} cannot be looked up", "Check that the brokers run.", type(problem).__name__
        ) from problem
    finally:
        await admin.close()
