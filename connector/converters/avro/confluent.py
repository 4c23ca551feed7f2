"""``io.confluent.connect.avro.AvroConverter``: Avro, with schemas in a registry of Confluent's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connector.configdef.options import Options
from connector.converters.avro.avro_schema import AvroSchema
from connector.converters.avro.keys import AVRO_KEYS
from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.substitute import substitute_writer
from connector.converters.avro.writer import Write, value_writer
from connector.converters.confluent import Subjects, confluent_registry
from connector.converters.confluent_keys import CONFLUENT_KEYS
from connector.converters.converter import Converted, ConverterDefinition, Side
from connector.converters.registry import Registry, Wire
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema
from connector.record.struct import SchemaCache

_Ready = tuple[Write, Wire]


class AvroConverter:
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, subjects: Subjects, settings: AvroSettings) -> None:
        self._registry = registry
        self._subjects = subjects
        self._settings = settings
        self._topics: dict[str, SchemaCache[_Ready]] = {}
        self._mapped: SchemaCache[tuple[AvroSchema, str, Write]] = SchemaCache()
        self._without_schema: dict[str, _Ready] = {}

    @classmethod
    def of(cls, options: Options, side: Side) -> AvroConverter:
        """Make it of its options."""
        return cls(confluent_registry(options), Subjects.of(options, side), AvroSettings.of(options))

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if value is None:
            if schema is not None and not schema.optional:
                raise DataError(f"Found null value for non-optional schema {schema.name or schema.type}")
            return Converted(None)
        write, wire = self._ready(topic, schema)
        return Converted(write(value), wire.prefix, wire.headers)

    def _ready(self, topic: str, schema: Schema | None) -> _Ready:
        if schema is None:
            ready = self._without_schema.get(topic)
            if ready is None:
                ready = self._without_schema[topic] = self._prepare(topic, avro_schema(None, self._settings), None)
            return ready
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        return cache.get(schema, lambda made: self._prepare(topic, self._mapped.get(made, self._map)[0], made))

    def _map(self, schema: Schema) -> tuple[AvroSchema, str, Write]:
        found = avro_schema(schema, self._settings)
        return found, found.text(), value_writer(schema, self._settings)

    def _prepare(self, topic: str, avro: AvroSchema, schema: Schema | None) -> _Ready:
        text, write = (avro.text(), value_writer(None, self._settings)) if schema is None else self._mapped.get(schema, self._map)[1:]
        name = avro.full_name if avro.type == "record" else None
        answer = self._registry.schema(self._subjects.request(topic, name, "AVRO", text))
        if avro.type == "bytes":
            # The serializer sends bytes without the length that Avro puts before them.
            write = bytes
        if answer.text is not None and answer.text != text:
            write = substitute_writer(schema, self._settings, text, answer.text, strict=self._subjects.strict)
        return write, self._subjects.wire(answer)


DEFINITIONS: Final = (ConverterDefinition("io.confluent.connect.avro.AvroConverter", (*CONFLUENT_KEYS, *AVRO_KEYS), AvroConverter.of),)
