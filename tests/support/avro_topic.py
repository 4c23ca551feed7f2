"""Topics that AvroConverter wrote, read by Confluent's client."""

from __future__ import annotations

from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.support.topics import read_to_end

Decoded = tuple[Any, Any]
"""A key and a value."""


async def decoded(bootstrap: str, registry: str, topic: str) -> list[Decoded]:
    """Keys and values of all records that the topic has now. ``registry``: the address that Confluent's client gets."""
    raws = await read_to_end(bootstrap, topic)
    key, value = (SerializationContext(topic, field) for field in (MessageField.KEY, MessageField.VALUE))
    with SchemaRegistryClient({"url": registry}) as client:
        deserializer = AvroDeserializer(client)
        return [(deserializer(raw.key, key), deserializer(raw.value, value)) for raw in raws]
