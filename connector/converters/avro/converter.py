"""What both Avro converters have in common: values of a schema are prepared once for each topic, then only written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.writer import Write, member_writers
from connector.converters.converter import Converted
from connector.converters.registry import Registry, Wire
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema
from connector.record.struct import SchemaCache


class Prepared(NamedTuple):
    """How the values of one schema go to one topic. ``own``: they are always written by their own schema, not by one of the registry."""

    write: Write
    wire: Wire
    own: bool


class AvroConverter(ABC):
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, settings: AvroSettings) -> None:
        self._registry = registry
        self._settings = settings
        self._topics: dict[str, SchemaCache[Prepared]] = {}
        self._without_schema: dict[str, Prepared] = {}

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if value is None:
            if schema is not None and not schema.optional:
                raise DataError(f"Found null value for non-optional schema {schema.name or schema.type}")
            return Converted(None)
        write, wire, _ = self.prepared(topic, schema)
        return Converted(write(value), wire.prefix, wire.headers)

    def prepared(self, topic: str, schema: Schema | None) -> Prepared:
        """Return how values of ``schema`` go to ``topic``. Raises DataError; SchemaNeededError until the registry has answered."""
        if self._registry.forgot():
            self._topics.clear()
            self._without_schema.clear()
        if schema is None:
            found = self._without_schema.get(topic)
            if found is None:
                found = self._without_schema[topic] = self._prepare(topic, None)
            return found
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        return cache.get(schema, lambda made: self._prepare(topic, made))

    def members(self, schema: Schema) -> tuple[Write, ...]:
        """Return what writes the fields of a struct, in their order. What they write, joined, is the struct that is not optional.

        They raise the exceptions of :data:`connector.converters.avro.writer.FAILURES` for values that do not fit.
        """
        return member_writers(schema, self._settings)

    @abstractmethod
    def _prepare(self, topic: str, schema: Schema | None) -> Prepared:
        """Map the schema and ask the registry for its id."""
