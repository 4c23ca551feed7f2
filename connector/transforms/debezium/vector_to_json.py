"""``VectorToJsonConverter``: pgvector's vectors as JSON texts (Debezium documentation, "Vector to JSON")."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import SINCE_3
from connector.configdef.options import Options
from connector.java.floats import java_double, java_float
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.debezium.nested_values import Change, nested_change
from connector.transforms.transform import SharesHeaders, TransformDefinition

_FLOATS: Final = "io.debezium.data.FloatVector"
_DOUBLES: Final = "io.debezium.data.DoubleVector"
_SPARSE: Final = "io.debezium.data.SparseDoubleVector"
_VECTORS: Final = (_FLOATS, _DOUBLES, _SPARSE)


@dataclass(frozen=True, slots=True)
class VectorToJsonConverter(SharesHeaders):
    """Makes ``{ "values": [1.0, 2.5] }`` of vectors, ``{ "dimensions": 3, "vector": { "1": 0.5 } }`` of sparse ones."""

    _made: SchemaCache[tuple[Schema, Change | None]] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, _options: Options) -> VectorToJsonConverter:
        """Make it; it has no options."""
        return cls()

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with JSON in the places of vectors. Raises DataError for a value that is no struct."""
        if record.value is None:
            return record
        if record.value_schema is None or record.value_schema.type != "struct":
            raise DataError("VectorToJsonConverter needs a struct with a schema as the record's value")
        schema, change = self._made.get(record.value_schema, _made)
        return record if change is None else replace(record, value_schema=schema, value=change(record.value))


def _made(schema: Schema) -> tuple[Schema, Change | None]:
    return _changed_schema(schema), nested_change(schema, _change)


def _changed_schema(schema: Schema) -> Schema:
    return replace(schema, fields=tuple(Field(member.name, _changed_member(member.schema)) for member in schema.fields))


def _changed_member(schema: Schema) -> Schema:
    if schema.name in _VECTORS:
        return Schema("string", name="io.debezium.data.Json", version=1, optional=schema.optional)
    return _changed_schema(schema) if schema.type == "struct" else schema


def _change(schema: Schema) -> Change | None:
    match schema.name:
        case "io.debezium.data.FloatVector":
            return lambda value: _values([_text(java_float(number)) for number in value])
        case "io.debezium.data.DoubleVector":
            return lambda value: _values([_text(java_double(number)) for number in value])
        case "io.debezium.data.SparseDoubleVector":
            return _sparse
        case _:
            return None


def _text(number: bytes) -> str:
    """A number as Java prints it; JSON's quotes around NaN and the infinities are not there."""
    return number.strip(b'"').decode()


def _values(numbers: list[str]) -> str:
    return f'{{ "values": [{", ".join(numbers)}] }}'


def _sparse(value: Any) -> str:
    members = ", ".join(f'"{index}": {_text(java_double(number))}' for index, number in value["vector"].items())
    return f'{{ "dimensions": {value["dimensions"]}, "vector": {{ {members} }} }}'


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.VectorToJsonConverter", (), VectorToJsonConverter.of, SINCE_3, "Writes pgvector's vectors as JSON texts."
    ),
)
