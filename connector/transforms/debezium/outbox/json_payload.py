"""A payload of JSON text becomes a struct whose schema is inferred from it (option ``table.expand.json.payload``).

The rules were recorded: objects become structs of optional fields, numbers INT32, INT64 or FLOAT64, an array has the schema of its first
element, and objects in one array share the fields of all of them. Text that does not parse, or whose arrays mix types, stays text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from connector.record.connect_record import DataError
from connector.record.name_adjustment import NameAdjuster
from connector.record.schema import BOOLEAN, BYTES, FLOAT64, INT32, INT64, STRING, Field, Schema

_BOOLEAN: Final = BOOLEAN.as_optional()
_STRING: Final = STRING.as_optional()
_INT32: Final = INT32.as_optional()
_INT64: Final = INT64.as_optional()
_FLOAT64: Final = FLOAT64.as_optional()
_BYTES: Final = BYTES.as_optional()
_INTEGERS: Final = 2**31, 2**63


class Unexpandable(ValueError):  # noqa: N818 - not an error: the payload stays as it is
    """The payload has no schema."""


def _no_constant(_text: str) -> None:
    raise ValueError("NaN and the infinities are no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def parsed(text: str) -> Any:
    """Return the object or array that the text begins with; what follows it is ignored. Raises Unexpandable for other text."""
    if not text.startswith(("{", "[")):
        raise Unexpandable
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        raise Unexpandable from None


def renamed(node: Any, adjusted: NameAdjuster) -> Any:
    """Return the node with adjusted names of fields. The field that has such a name already wins over others that get it."""
    if isinstance(node, list):
        return [renamed(each, adjusted) for each in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for label, member in node.items():
        name = adjusted(label)
        if name == label or found.get(name) is None:
            found[name] = renamed(member, adjusted)
    return found


class PayloadSchemas:
    """Infers the schemas of parsed payloads."""

    __slots__ = ("_empty_array", "_nested_prefix", "_null")

    def __init__(self, *, keeps_nulls: bool, names_nested_arrays_null: bool, keeps_empty_arrays: bool = False) -> None:
        self._null: Final = _BYTES if keeps_nulls else None
        """Schema of null, and of arrays that hold nothing else; None: such fields are left out."""
        self._empty_array: Final = Schema("array", optional=True, items=_STRING) if keeps_empty_arrays else None
        """Schema of an empty array; None: such fields are left out."""
        self._nested_prefix: Final = "null." if names_nested_arrays_null else ""

    def schema(self, name: str | None, node: Any) -> Schema | None:
        """Return the schema of a node below the field ``name``; None for what is left out. Raises Unexpandable."""
        match node:
            case None:
                return self._null
            case bool():
                return _BOOLEAN
            case str():
                return _STRING
            case int():
                # A larger number has no type that holds it: conversion fails on it.
                return _INT32 if _fits(node, _INTEGERS[0]) else _INT64
            case float():
                return _FLOAT64
            case dict():
                return self._struct(name, node)
            case _:
                return self._array(name, node)

    def _struct(self, name: str | None, node: dict[str, Any]) -> Schema:
        prefix = self._nested_prefix if name is None else f"{name}."
        fields = []
        for label, member in node.items():
            schema = self.schema(prefix + label, member)
            if schema is not None:
                if not label:
                    raise Unexpandable
                fields.append(Field(label, schema))
        return Schema("struct", optional=True, name=name, fields=tuple(fields))

    def _array(self, name: str | None, nodes: list[Any]) -> Schema | None:
        if not nodes:
            return self._empty_array
        present = [node for node in nodes if node is not None]
        if len({_kind(node) for node in present}) > 1:
            raise Unexpandable
        if not present:
            item = self._null
        elif isinstance(present[0], dict):
            item = _merged([self._struct(name, node) for node in present])
        elif isinstance(present[0], list):
            item = self.schema(None, present[0])
        else:
            item = self.schema(name, present[0])
        if item is None:
            raise Unexpandable
        return Schema("array", optional=True, items=item)


def _fits(number: int, limit: int) -> bool:
    return -limit <= number < limit


def _kind(node: Any) -> str:
    if isinstance(node, int) and not isinstance(node, bool):
        return next((str(limit) for limit in _INTEGERS if _fits(node, limit)), "more")
    return type(node).__name__


def _merged(schemas: Sequence[Schema]) -> Schema:
    """One schema for all objects of an array: required, unless they are all alike.

    The reference orders the fields of different objects by the hash codes of its process. Here they come as they first appear.
    """
    first = schemas[0]
    if all(schema == first for schema in schemas):
        return first
    fields: dict[str, Schema] = {}
    for schema in schemas:
        for field in schema.fields:
            known = fields.get(field.name)
            fields[field.name] = field.schema if known is None else _either(known, field.schema)
    return replace(first, optional=False, fields=tuple(Field(name, schema) for name, schema in fields.items()))


def _either(one: Schema, other: Schema) -> Schema:
    """The schema that holds both values. The reference takes one of two structs at random, and loses fields of the other."""
    if one in (other, _BYTES):
        return other
    if other != _BYTES:
        if one.type == other.type == "struct":
            return _merged([one, other]).as_optional()
        if one.type == other.type == "array" and one.items is not None and other.items is not None:
            return replace(one, items=_either(one.items, other.items))
    return one


def converted(schema: Schema, node: Any) -> Any:
    """Return the node as a value of its schema: structs hold every field. Raises DataError where the node does not fit."""
    if node is None:
        if not schema.optional:
            raise _unfit(schema)
        return None
    match schema.type:
        case "struct":
            if not isinstance(node, dict):
                raise _unfit(schema)
            return {field.name: converted(field.schema, node.get(field.name)) for field in schema.fields}
        case "array":
            if not isinstance(node, list) or schema.items is None:
                raise _unfit(schema)
            return [converted(schema.items, each) for each in node]
        case _:
            if not _holds(schema, node):
                raise _unfit(schema)
            return node


def _holds(schema: Schema, node: Any) -> bool:
    match schema.type:
        case "string":
            return isinstance(node, str)
        case "boolean":
            return isinstance(node, bool)
        case "double":
            return isinstance(node, float)
        case "int32":
            return _kind(node) == str(_INTEGERS[0])
        case "int64":
            return _kind(node) == str(_INTEGERS[1])
        case _:
            return False


def _unfit(schema: Schema) -> DataError:
    return DataError(f"The JSON payload has values that do not fit its inferred schema: one is no {schema.type.upper()}")
