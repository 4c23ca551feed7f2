"""``InsertField``: adds fields with the record's topic, partition, timestamp or a constant (Kafka documentation, "Transformations")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import CONNECT_TIMESTAMP, INT32, INT64, STRING, Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.schemas import struct_schema
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "field insertion"
_TIMESTAMP: Final = Schema("int64", name=CONNECT_TIMESTAMP, version=1)


@dataclass(frozen=True, slots=True)
class Insertion:
    """The name of a new field, and whether it may be null."""

    name: str
    optional: bool

    @classmethod
    def read(cls, text: str | None) -> Insertion | None:
        """Read ``name``, ``name?`` (optional, as without a sign) or ``name!`` (required)."""
        if text is None:
            return None
        return cls(text[:-1] if text.endswith(("?", "!")) else text, optional=not text.endswith("!"))


@dataclass(frozen=True, slots=True)
class InsertField:
    """Adds the fields whose names are given, after those that are there, in the order of the attributes."""

    side: Side
    topic: Insertion | None
    partition: Insertion | None
    offset: Insertion | None
    timestamp: Insertion | None
    static: Insertion | None
    static_value: str | None
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> InsertField:
        """Make it of its options. Raises OptionError."""
        topic, partition, offset, timestamp, static = (
            Insertion.read(options.text(f"{name}.field")) for name in ("topic", "partition", "offset", "timestamp", "static")
        )
        value = options.text("static.value")
        if topic is partition is offset is timestamp is static is None:
            raise OptionError("No field insertion configured")
        if static is not None and value is None:
            raise OptionError("Invalid value null for configuration static.value: No value specified for static field: static.field")
        return cls(side, topic, partition, offset, timestamp, static, value, FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with the new fields. A null key or value stays as it is. Raises DataError."""
        schema, value = part_of(record, self.side)
        if value is None:
            return record
        if self.offset is not None:
            if schema is None:
                require_map(value, _PURPOSE)
            else:
                require_struct(schema, value, _PURPOSE)
            raise DataError(f"Only SinkRecord is supported for [{_PURPOSE}], found: SourceRecord; remove offset.field")
        if schema is None:
            return with_part(record, self.side, None, {**require_map(value, _PURPOSE), **dict(self._values(record))})
        struct = require_struct(schema, value, _PURPOSE)
        updated_schema = self.schemas.get(schema, self._extended)
        values = self.read.every(schema, struct)
        for spec in (self.partition, self.timestamp):
            if spec is not None:
                values[spec.name] = None
        values |= self._values(record)
        return with_part(record, self.side, updated_schema, values)

    def _values(self, record: ConnectRecord) -> Iterator[tuple[str, Any]]:
        if self.topic is not None:
            yield self.topic.name, record.topic
        if self.partition is not None and record.partition is not None:
            yield self.partition.name, record.partition
        if self.timestamp is not None and record.timestamp is not None:
            yield self.timestamp.name, record.timestamp
        if self.static is not None:
            yield self.static.name, self.static_value

    def _extended(self, schema: Schema) -> Schema:
        wanted = (
            (self.topic, STRING),
            (self.partition, INT32),
            (self.offset, INT64),
            (self.timestamp, _TIMESTAMP),
            (self.static, STRING),
        )
        added = [Field(spec.name, kind.as_optional(spec.optional)) for spec, kind in wanted if spec is not None]
        return struct_schema(schema, (*schema.fields, *added))


def _row(name: str, doc: str) -> Key:
    return Key(name, "STRING", None, "MEDIUM", name, doc, framework=True, fixed_order=-1)


KEYS: Final = (
    _row("topic.field", "Field for the topic. A trailing ! makes it required, a trailing ? optional, as it is without a sign."),
    _row("partition.field", "Field for the partition, if the record has one already. The signs are those of topic.field."),
    _row("offset.field", "Field for the offset, which only records of sink connectors have. The signs are those of topic.field."),
    _row("timestamp.field", "Field for the record's timestamp. The signs are those of topic.field."),
    _row("static.field", "Field for a constant. The signs are those of topic.field."),
    _row("static.value", "The constant."),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("InsertField", KEYS, InsertField.of, "Adds fields with the topic, partition, timestamp or a constant.")
