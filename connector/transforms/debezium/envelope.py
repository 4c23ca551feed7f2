"""What Debezium's transforms ask of a change event: whether it is one, its rows, and copies of its schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.record.struct import field_of


def is_change_event(record: ConnectRecord) -> bool:
    """Whether the value's schema has the name of an envelope. Raises DataError when its value is no struct."""
    schema = record.value_schema
    if schema is None or schema.name is None or not schema.name.endswith(".Envelope"):
        return False
    if schema.type != "struct":
        raise DataError(f"Only structs can be change events, and a value of schema {schema.name} is of type {schema.type}")
    return True


def schema_of(schema: Schema, name: str) -> Schema:
    """Return the schema of a struct's field. Raises DataError when there is none."""
    if schema.type != "struct":
        raise DataError("Cannot look up fields on non-struct type")
    field = field_of(schema, name)
    if field is None:
        raise DataError(f"{name} is not a valid field name")
    return field.schema


def text_of(schema: Schema, struct: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a text field, without its default (``Struct.getString``). Raises DataError for another type."""
    value: str | None = _typed(schema, struct, name, "string")
    return value


def int32_of(schema: Schema, struct: Mapping[str, Any], name: str) -> int | None:
    """Return the value of an INT32 field, without its default (``Struct.getInt32``). Raises DataError for another type."""
    value: int | None = _typed(schema, struct, name, "int32")
    return value


def int64_of(schema: Schema, struct: Mapping[str, Any], name: str) -> int | None:
    """Return the value of an INT64 field, without its default (``Struct.getInt64``). Raises DataError for another type."""
    value: int | None = _typed(schema, struct, name, "int64")
    return value


def _typed(schema: Schema, struct: Mapping[str, Any], name: str, kind: str) -> Any:
    if schema_of(schema, name).type != kind:
        raise DataError(f"Field '{name}' is not of type {kind.upper()}")
    return struct.get(name)


def copied(schema: Schema, fields: Iterable[Field]) -> Schema:
    """Return a required struct schema with the schema's name, version, doc and parameters, and these fields.

    Kafka's ``SchemaUtil.copySchemaBasics`` leaves out the same: the default, and whether the schema is optional. Raises DataError when
    two fields have the same name or one has none.
    """
    several = tuple(fields)
    seen: set[str] = set()
    for field in several:
        if not field.name:
            raise DataError("fieldName cannot be null.")
        if field.name in seen:
            raise DataError(f"Cannot create field because of field name duplication {field.name}")
        seen.add(field.name)
    return replace(schema, optional=False, default=NO_DEFAULT, fields=several)


def with_defaults(schema: Schema) -> tuple[tuple[str, Any], ...]:
    """Return the fields whose schemas have a default other than null, with it."""
    return tuple(
        (field.name, field.schema.default)
        for field in schema.fields
        if field.schema.default is not NO_DEFAULT and field.schema.default is not None
    )


def filled(struct: Mapping[str, Any], defaults: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a copy of the struct that has the defaults in place of nulls."""
    out = dict(struct)
    for name, default in defaults:
        if out[name] is None:
            out[name] = default
    return out
