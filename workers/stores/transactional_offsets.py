"""Source offsets that the transactions of a connector's producer write (exactly-once delivery, KIP-618).

They go to the worker's offset topic, and to the connector's own where it has one (``offsets.storage.topic``): both in the transaction of
the records. Connect writes its own topic in the transaction and copies the offset afterwards; here the copy can never be behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from connector.errors import CdcError, ErrorKind
from connector.io.kafka_client import client_arguments
from connector.ports import JsonObject
from workers.settings import StoreTopic
from workers.stores.offset_store import AllOffsets
from workers.stores.records import json_object
from workers.stores.topic_tail import Last, last_record

_EXISTS: Final = 36


class TransactionOffsets:
    """:class:`connector.ports.TransactionalOffsets` of one connector.

    ``properties`` are those of the worker's Kafka clients, ``topic`` is the worker's. ``own`` names the connector's, if any: it is made
    when it is missing, as large as the worker's.
    """

    def __init__(self, offsets: AllOffsets, connector: str, properties: Mapping[str, str], topic: StoreTopic, own: str | None) -> None:
        self._offsets = offsets
        self._connector = connector
        self._properties = properties
        self._topic = topic
        self._own = own if own != topic.name else None

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset committed. Of the two topics the one counts that was written last, in doubt the worker's. Raises CdcError."""
        last = await last_record(self._properties, self._topic.name, self._offsets.key(self._connector, partition))
        if self._own is not None:
            await _create(self._properties, replace(self._topic, name=self._own))
            own = await last_record(self._properties, self._own, self._fresh_key(partition))
            # REST changes the worker's topic alone; a Connect worker that was killed may have written its own topic alone.
            if own is not None and (last is None or own.timestamp > last.timestamp):
                last = own
        return self._read(last)

    def records(self, partition: JsonObject, offset: JsonObject) -> Sequence[tuple[str, bytes, bytes]]:
        """Topic, key and value of each record that a transaction stores ``offset`` with."""
        value = orjson.dumps(offset)
        written = [(self._topic.name, self._offsets.key(self._connector, partition), value)]
        if self._own is not None:
            written.append((self._own, self._fresh_key(partition), value))
        return written

    def _fresh_key(self, partition: JsonObject) -> bytes:
        return orjson.dumps([self._connector, partition])

    def _read(self, last: Last | None) -> JsonObject | None:
        return None if last is None else json_object(last.value)


async def _create(properties: Mapping[str, str], topic: StoreTopic) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # noqa: PLC0415 (only with a topic of the connector's own)
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
                "Create it with cleanup.policy=compact, or take offsets.storage.topic out of the connector's configuration.",
                str(message[0] or "") if message else "",
            )
    except KafkaError as problem:
        raise CdcError(
            ErrorKind.STORE, f"The topic {topic.name} cannot be looked up", "Check that the brokers run.", type(problem).__name__
        ) from problem
    finally:
        await admin.close()
