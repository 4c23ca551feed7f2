"""``MaskField``: overwrites fields with a constant, or with the null-like value of their type (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from connector.configdef.kafka_validators import not_empty
from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.java.numbers import NumberError, narrow_to_float, parse_decimal, wrap_decimal
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.list_validators import some_distinct_names, some_names
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "mask fields"
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_TEMPORAL: Final = (CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP)


@dataclass(frozen=True, slots=True)
class MaskField:
    """Overwrites the fields of these names that are not null, by ``replacement`` or else by 0, false, an empty text, list or map."""

    side: Side
    fields: frozenset[str]
    replacement: str | None
    read: FieldReader
    kinds: SchemaCache[tuple[tuple[str, str], ...]] = field(default_factory=SchemaCache)
    """The fields of a schema that are masked, and how."""

    @classmethod
    def of(cls, options: Options, side: Side) -> MaskField:
        """Make it of its options."""
        return cls(side, frozenset(options.names("fields")), options.text("replacement"), FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its fields masked. Raises DataError, also for a null key or value."""
        schema, value = part_of(record, self.side)
        if schema is None:
            found = dict(require_map(value, _PURPOSE))
            found |= {name: self._masked(_kind(found.get(name)), found.get(name)) for name in self.fields}
            return with_part(record, self.side, None, found)
        struct = require_struct(schema, value, _PURPOSE)
        values = self.read.every(schema, struct)
        for name, kind in self.kinds.get(schema, self._kinds):
            values[name] = self._masked(kind, values[name])
        return with_part(record, self.side, schema, values)

    def _kinds(self, schema: Schema) -> tuple[tuple[str, str], ...]:
        return tuple((each.name, _kind_of(each.schema)) for each in schema.fields if each.name in self.fields)

    def _masked(self, kind: str, value: object) -> Any:
        if value is None:
            return None
        return _null_like(kind) if self.replacement is None else _converted(kind, self.replacement)


def _kind_of(schema: Schema) -> str:
    """Return the type by which a value is masked: the schema's, or that of a logical type's Java class."""
    if schema.name == DECIMAL:
        return "decimal"
    return "date" if schema.name in _TEMPORAL else schema.type


def _kind(value: object) -> str:
    """Return the same for a value without a schema."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "int64"
        case float():
            return "double"
        case str():
            return "string"
        case Decimal():
            return "decimal"
        case JavaDate():
            return "schemaless date"
        case list() | tuple():
            return "array"
        case dict():
            return "map"
        case _:
            return type(value).__name__


def _null_like(kind: str) -> Any:
    match kind:
        case "boolean":
            return False
        case "int8" | "int16" | "int32" | "int64" | "date":
            return 0
        case "float" | "double":
            return 0.0
        case "string":
            return ""
        case "decimal":
            return Decimal(0)
        case "schemaless date":
            return JavaDate(0)
        case "array":
            return []
        case "map":
            return {}
        case _:
            raise DataError(f"Cannot mask value of type: {kind}")


def _converted(kind: str, text: str) -> Any:
    try:
        match kind:
            case "int8" | "int16" | "int32" | "int64":
                return wrap_decimal(parse_decimal(text), _BITS[kind])
            case "float":
                return narrow_to_float(float(parse_decimal(text)))
            case "double":
                return float(parse_decimal(text))
            case "string":
                return text
            case "decimal":
                return parse_decimal(text)
            case _:
                raise DataError(f"Cannot mask value of type {kind} with custom replacement.")
    except NumberError:
        raise DataError(f"The replacement of MaskField is not a number, as a field of type {kind} needs it") from None


KEYS: Final = (
    Key(
        "fields",
        "LIST",
        None,
        "HIGH",
        "fields",
        "Names of the fields that are masked.",
        validators=(some_distinct_names,),
        validators_until_2=(some_names,),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    Key(
        "replacement",
        "STRING",
        None,
        "LOW",
        "replacement",
        "What the fields hold instead: text or a number. Without it, a number becomes 0 and a text becomes empty.",
        validators=(not_empty,),
        framework=True,
        fixed_order=-1,
    ),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("MaskField", KEYS, MaskField.of, "Overwrites fields with a constant or a null-like value.")
