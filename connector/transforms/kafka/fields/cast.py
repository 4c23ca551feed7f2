"""``Cast``: other types for fields, or for the whole key or value (Kafka documentation, "Transformations")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from connector.configdef.key import Key, Settings
from connector.configdef.options import Options
from connector.java.splitting import java_split
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.cast_values import TARGETS, cast_value
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.list_validators import entries
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.schemas import has_default, struct_schema, typed
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "cast types"
_NOT_CASTABLE: Final = ("bytes", "array", "map", "struct")


@dataclass(frozen=True, slots=True)
class Cast:
    """Casts the fields of ``casts``, or the whole key or value to ``whole``."""

    side: Side
    whole: str | None
    casts: Mapping[str, str]
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> Cast:
        """Make it of its options. Raises OptionError."""
        pairs = [_pair(entry) for entry in options.names("spec")]
        whole = [kind for name, kind in pairs if name is None]
        casts = {name: kind for name, kind in pairs if name is not None}
        return cls(side, whole[-1] if whole else None, casts, FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with other types. A null key or value stays as it is. Raises DataError."""
        schema, value = part_of(record, self.side)
        if value is None:
            return record
        updated = None if schema is None else self.schemas.get(schema, self._cast)
        if self.whole is not None:
            return with_part(record, self.side, updated, cast_value(schema, value, self.whole))
        if schema is None:
            found = dict(require_map(value, _PURPOSE))
            found |= {name: cast_value(None, found.get(name), kind) for name, kind in self.casts.items()}
            return with_part(record, self.side, None, found)
        struct = require_struct(schema, value, _PURPOSE)
        values = self.read.every(schema, struct)
        for each in schema.fields:
            kind = self.casts.get(each.name)
            if kind is not None:
                values[each.name] = cast_value(each.schema, values[each.name], kind)
        return with_part(record, self.side, updated, values)

    def _cast(self, schema: Schema) -> Schema:
        if self.whole is not None:
            return _with_default(schema, typed(schema, Schema(self.whole, optional=schema.optional)), self.whole)
        fields = [Field(each.name, self._cast_field(each)) for each in schema.fields]
        return struct_schema(schema, fields).as_optional(schema.optional)

    def _cast_field(self, each: Field) -> Schema:
        kind = self.casts.get(each.name)
        return each.schema if kind is None else _with_default(each.schema, Schema(kind, optional=each.schema.optional), kind)


def _with_default(source: Schema, schema: Schema, kind: str) -> Schema:
    return schema.with_default(cast_value(source, source.default, kind)) if has_default(source) else schema


def _pair(entry: str) -> tuple[str | None, str]:
    """Return a field's name, or None for the whole value, and JsonConverter's word for the type."""
    *name, kind = java_split(entry, ":")
    return trim(name[0]) if name else None, TARGETS[trim(kind).lower()]


def _valid_spec(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require pairs ``field:type``, or a single type."""
    listed = entries(value)
    problem = next(filter(None, map(_spec_problem, listed)), None) if listed else "Must specify at least one field to cast."
    if problem is None and len(listed) > 1 and any(len(java_split(entry, ":")) == 1 for entry in listed):
        problem = "Cast transformations that specify a type to cast the entire value to may only specify a single cast in their spec"
    if problem is not None:
        yield problem


def _spec_problem(entry: str) -> str | None:
    """Return what is wrong with a pair or a type; in part in words that Connect took from other checks."""
    parts = java_split(entry, ":") or [""]
    if len(parts) > 2:
        return f"Invalid value [{entry}] for configuration renames: Invalid rename mapping: {entry}"
    kind = trim(parts[-1])
    if kind.lower() in _NOT_CASTABLE:
        known = ", ".join(target.upper() for target in TARGETS)
        return f"Cast transformation does not support casting to {kind.upper()}; supported types are [{known}]"
    if kind.lower() in TARGETS:
        return None
    unknown = f"java.lang.IllegalArgumentException: No enum constant org.apache.kafka.connect.data.Schema.Type.{kind.upper()}"
    return f"Invalid value {unknown} for configuration Invalid type found in casting spec: {kind}"


KEYS: Final = (
    Key(
        "spec",
        "LIST",
        None,
        "HIGH",
        "spec",
        "Pairs field:type, or one type for the whole key or value: int8, int16, int32, int64, float32, float64, boolean or string.",
        validators=(_valid_spec,),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("Cast", KEYS, Cast.of, "Gives fields, or the whole key or value, another type.")
