"""Maps as Confluent's ``JsonSchemaData`` writes them: objects if their keys are required strings, otherwise arrays of key and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from connector.record.schema import NO_DEFAULT, Field, Schema


def string_keys(schema: Schema) -> bool:
    """Whether a map is an object, and not an array of entries."""
    return schema.keys is not None and schema.keys.type == "string" and not schema.keys.optional


def with_entries(schema: Schema) -> Schema:
    """Return the same schema, in which maps without string keys are arrays of structs ``key``, ``value``; so are defaults."""
    change = entries(schema)
    if change is None:
        return schema
    default = schema.default if schema.default is NO_DEFAULT else change(schema.default)
    if schema.type == "struct":
        return replace(schema, default=default, fields=tuple(Field(field.name, with_entries(field.schema)) for field in schema.fields))
    if schema.type == "array" and schema.items is not None:
        return replace(schema, default=default, items=with_entries(schema.items))
    if schema.keys is None or schema.values is None:
        return schema
    if string_keys(schema):
        return replace(schema, default=default, values=with_entries(schema.values))
    entry = Schema("struct", fields=(Field("key", with_entries(schema.keys)), Field("value", with_entries(schema.values))))
    return Schema("array", optional=schema.optional, items=entry, default=default)


def entries(schema: Schema) -> Callable[[Any], Any] | None:
    """Return what brings values of ``schema`` into the form of :func:`with_entries`, or None where they have it."""
    if schema.type == "struct":
        changed = [(field.name, change) for field in schema.fields if (change := entries(field.schema)) is not None]
        return _nullable(lambda value: {**value, **{name: change(value[name]) for name, change in changed}}) if changed else None
    if schema.type == "array" and schema.items is not None:
        item = entries(schema.items)
        return None if item is None else _nullable(lambda value: [item(each) for each in value])
    if schema.type != "map" or schema.keys is None or schema.values is None:
        return None
    member = entries(schema.values)
    if string_keys(schema):
        return None if member is None else _nullable(lambda value: {key: member(each) for key, each in value.items()})
    return _nullable(lambda value: [{"key": key, "value": each if member is None else member(each)} for key, each in value.items()])


def _nullable(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else change(value)
