"""``TimestampConverter``: times as texts, numbers or Connect's own types (Kafka documentation, "Transformations")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from connector.configdef.kafka_validators import one_of
from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.java.date_format import DateFormat, PatternError
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.requirements import require_map, require_struct_or_null
from connector.transforms.kafka.schemas import has_default, struct_schema
from connector.transforms.kafka.sides import Side, part_of, with_part
from connector.transforms.kafka.timestamps import TARGETS, UNITS, Timestamps

_PURPOSE: Final = "converting timestamp formats"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TimestampConverter:
    """Converts one field, or the whole key or value where ``name`` is empty. What a time is now, its schema tells."""

    side: Side
    name: str
    times: Timestamps
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side, clock: Callable[[], datetime] = _now) -> TimestampConverter:
        """Make it of its options. Raises OptionError. What years of two digits mean depends on the moment."""
        target, pattern = options.needed("target.type"), options.text("format") or ""
        if target == "string" and not pattern:
            raise OptionError("TimestampConverter requires format option to be specified when using string timestamps")
        try:
            compiled = DateFormat.compile(pattern, int(clock().timestamp() * 1000)) if pattern else None
        except PatternError as error:
            raise OptionError(
                f"TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}: {error}"
            ) from None
        times = Timestamps(target, compiled, UNITS[options.needed("unix.precision")])
        return cls(side, options.text("field") or "", times, FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with another form of its time. Null stays null. Raises DataError."""
        schema, value = part_of(record, self.side)
        if schema is None:
            return with_part(record, self.side, None, self._plain(value))
        if not self.name:
            target = self.times.schema(optional=schema.optional)
            return with_part(record, self.side, target, self.times.convert(schema, value))
        struct = require_struct_or_null(schema, value, _PURPOSE)
        updated = self.schemas.get(schema, self._converted)
        values = None if struct is None else self._values(schema, struct)
        return with_part(record, self.side, updated, values)

    def _plain(self, value: Any) -> Any:
        if not self.name or value is None:
            return self.times.convert_plain(value)
        found = dict(require_map(value, _PURPOSE))
        found[self.name] = self.times.convert_plain(found.get(self.name))
        return found

    def _values(self, schema: Schema, struct: Any) -> dict[str, Any]:
        values = self.read.every(schema, struct)
        source = field_of(schema, self.name)
        if source is not None:
            values[self.name] = self.times.convert(source.schema, values[self.name])
        return values

    def _converted(self, schema: Schema) -> Schema:
        if schema.type != "struct":
            raise DataError("Cannot list fields on non-struct type")
        updated = struct_schema(schema, self._fields(schema)).as_optional(schema.optional)
        return updated.with_default(self._values(schema, schema.default)) if has_default(schema) else updated

    def _fields(self, schema: Schema) -> Iterator[Field]:
        for each in schema.fields:
            yield Field(each.name, self.times.schema(optional=each.schema.optional)) if each.name == self.name else each


def _row(name: str, default: str | None, importance: Any, doc: str, *validators: Any) -> Key:
    required = default is None
    return Key(name, "STRING", default, importance, name, doc, validators=validators, required=required, framework=True, fixed_order=-1)


KEYS: Final = (
    _row("field", "", "HIGH", "Name of the field; empty if the whole key or value is a time."),
    _row("target.type", None, "HIGH", "What the time becomes: string, unix, Date, Time or Timestamp.", one_of(*TARGETS)),
    _row("format", "", "MEDIUM", "Pattern of Java's SimpleDateFormat in which a text is read or written, in UTC."),
    _row(
        "unix.precision",
        "milliseconds",
        "LOW",
        "Unit of a time that is a number; what is smaller than a millisecond is lost.",
        one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
    ),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("TimestampConverter", KEYS, TimestampConverter.of, "Converts times between texts, numbers and types.")
