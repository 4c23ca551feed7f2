"""New schemas from old ones. Each takes over name, version, doc and parameters of its model, not whether it is optional or its default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from connector.record.connect_record import DataError
from connector.record.schema import NO_DEFAULT, Field, Schema


def struct_schema(model: Schema, fields: Iterable[Field]) -> Schema:
    """Return a struct with these fields. Raises DataError where two of them have one name."""
    return typed(model, Schema("struct", fields=distinct(fields)))


def typed(model: Schema, schema: Schema) -> Schema:
    """Return ``schema`` with the model's name, version, doc and parameters."""
    return replace(schema, name=model.name, version=model.version, doc=model.doc, parameters=model.parameters)


def distinct(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields. Raises DataError where two of them have one name, or one has none."""
    listed = tuple(fields)
    if not all(field.name for field in listed):
        raise DataError("Cannot create a field whose name is empty")
    if len({field.name for field in listed}) < len(listed):
        raise DataError("Cannot create field because of field name duplication")
    return listed


def has_default(schema: Schema) -> bool:
    """Whether the schema has a default other than null."""
    return schema.default is not NO_DEFAULT and schema.default is not None
