"""``Flatten``: fields of nested structs become fields of the outermost one (Kafka documentation, "Transformations")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.java_date import JavaDate
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.record.struct import SchemaCache, value_of
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.requirements import require_map_or_null, require_struct_or_null
from connector.transforms.kafka.schemas import has_default, struct_schema
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "flattening"


@dataclass(frozen=True, slots=True)
class Flatten:
    """Joins the names on the way to a field with ``delimiter``. Arrays stay as they are; maps with a schema cannot be flattened."""

    side: Side
    delimiter: str
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> Flatten:
        """Make it of its options."""
        return cls(side, options.needed("delimiter"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with a flat key or value. A null key or value stays as it is. Raises DataError."""
        schema, value = part_of(record, self.side)
        if value is None:
            return record
        if schema is None:
            found = require_map_or_null(value, _PURPOSE) or {}
            return with_part(record, self.side, None, dict(self._plain_members(found, "")))
        struct = require_struct_or_null(schema, value, _PURPOSE)
        flat = self.schemas.get(schema, self._flat)
        values = dict.fromkeys((each.name for each in flat.fields), None) | dict(self._members(schema, struct, ""))
        return with_part(record, self.side, flat, values)

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.delimiter}{name}" if prefix else name

    def _plain_members(self, found: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in found.items():
            full = self._name(prefix, name)
            if isinstance(value, Mapping):
                yield from self._plain_members(value, full)
            elif isinstance(value, JavaDate | Decimal):
                raise DataError(
                    f"Flatten transformation was passed a value of type {type(value).__name__} which is not supported without a schema"
                )
            else:
                yield full, value

    def _members(self, schema: Schema, struct: Mapping[str, Any] | None, prefix: str) -> Iterator[tuple[str, Any]]:
        if struct is None:
            return
        for each in schema.fields:
            full = self._name(prefix, each.name)
            if each.schema.type == "struct":
                yield from self._members(each.schema, value_of(each, struct), full)
            else:
                yield full, value_of(each, struct)

    def _flat(self, schema: Schema) -> Schema:
        default = schema.default if has_default(schema) else None
        return struct_schema(schema, self._fields(schema, "", schema.optional, default))

    def _fields(self, schema: Schema, prefix: str, optional: bool, default: Any) -> Iterator[Field]:
        for each in schema.fields:
            full = self._name(prefix, each.name)
            nullable = optional or each.schema.optional
            own = each.schema.default if has_default(each.schema) else None if default is None else value_of(each, default)
            if each.schema.type == "struct":
                yield from self._fields(each.schema, full, nullable, own)
            elif each.schema.type == "map":
                raise DataError(f"Flatten transformation does not support MAP for record with schemas (for field {full}).")
            else:
                yield Field(full, replace(each.schema, optional=nullable, default=NO_DEFAULT if own is None else own))


KEYS: Final = (
    Key("delimiter", "STRING", ".", "MEDIUM", "delimiter", "What stands between the joined names.", framework=True, fixed_order=-1),
)
DEFINITIONS: Final = both_sides("Flatten", KEYS, Flatten.of, "Makes fields of nested structs fields of the outermost one.")
