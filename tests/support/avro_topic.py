"""Records that AvroConverter wrote, read by Confluent's client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.fix_worker import Record
from tests.support.topics import Raw


def decoded(registry: str, topic: str, records: Iterable[Raw | Record]) -> list[tuple[Any, Any]]:
    """Key and value of each record of the topic. ``registry``: the address that Confluent's client gets."""
    key, value = (SerializationContext(topic, field) for field in (MessageField.KEY, MessageField.VALUE))
    with SchemaRegistryClient({"url": registry}) as client:
        deserializer = AvroDeserializer(client)
        return [(deserializer(record.key, key), deserializer(record.value, value)) for record in records]
