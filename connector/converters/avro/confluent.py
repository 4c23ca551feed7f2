"""``io.confluent.connect.avro.AvroConverter``: Avro, with schemas in a registry of Confluent's API."""

from __future__ import annotations

import json
from typing import Final

from connector.configdef.options import Options
from connector.converters.avro.avro_schema import AvroSchema
from connector.converters.avro.converter import AvroConverter, Prepared
from connector.converters.avro.keys import AVRO_KEYS
from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.substitute import substitute_writer
from connector.converters.avro.writer import Write, bare_writer, value_writer
from connector.converters.confluent import Subjects, confluent_registry
from connector.converters.confluent_keys import CONFLUENT_KEYS
from connector.converters.converter import ConverterDefinition, Side
from connector.converters.registry import Registry
from connector.record.schema import Schema
from connector.record.struct import SchemaCache


class ConfluentAvroConverter(AvroConverter):
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, subjects: Subjects, settings: AvroSettings) -> None:
        super().__init__(registry, settings)
        self._subjects = subjects
        self._mapped: SchemaCache[tuple[AvroSchema, str, Write]] = SchemaCache()

    @classmethod
    def of(cls, options: Options, side: Side) -> ConfluentAvroConverter:
        """Make it of its options."""
        return cls(confluent_registry(options), Subjects.of(options, side), AvroSettings.of(options))

    def _map(self, schema: Schema) -> tuple[AvroSchema, str, Write]:
        found = avro_schema(schema, self._settings)
        return found, found.text(), value_writer(schema, self._settings)

    def _prepare(self, topic: str, schema: Schema | None) -> Prepared:
        if schema is None:
            avro = avro_schema(None, self._settings)
            text, write = avro.text(), value_writer(None, self._settings)
        else:
            avro, text, write = self._mapped.get(schema, self._map)
        name = avro.full_name if avro.type == "record" else None
        answer = self._registry.schema(self._subjects.request(topic, name, "AVRO", text))
        own = answer.text is None or answer.text == text
        if not own:
            write = substitute_writer(schema, self._settings, text, answer.text or "", strict=self._subjects.strict)
        if schema is not None and avro.type == "bytes" and (own or _is_bytes(answer.text or "")):
            # The serializer sends bytes without the length that Avro puts before them.
            write = bare_writer(schema)
        return Prepared(
            write, self._subjects.wire(answer), own and (self._registry.newest_seconds < 0 or self._subjects.action != "latest")
        )


def _is_bytes(text: str) -> bool:
    """Whether an Avro schema is of bytes. A union with them is not."""
    schema = json.loads(text)
    return (schema.get("type") if isinstance(schema, dict) else schema) == "bytes"


DEFINITIONS: Final = (
    ConverterDefinition("io.confluent.connect.avro.AvroConverter", (*CONFLUENT_KEYS, *AVRO_KEYS), ConfluentAvroConverter.of),
)
