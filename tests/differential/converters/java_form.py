"""Schemas and values in the form in which the Java program reads them: each value with its type."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any, Final

from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, NO_DEFAULT, Schema
from tests.differential.converters.numbers import bits

_DAY_MS: Final = 86_400_000


def java_schema(schema: Schema | None) -> Any:
    """Return the schema."""
    if schema is None:
        return None
    found: dict[str, Any] = {
        "type": schema.type,
        "optional": schema.optional,
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": schema.parameters,
    }
    if schema.default is not NO_DEFAULT and schema.default is not None:
        found["default"] = java_value(schema, schema.default)
    if schema.type == "struct":
        found["fields"] = [[field.name, java_schema(field.schema)] for field in schema.fields]
    for name in ("items", "keys", "values"):
        part = getattr(schema, name)
        if part is not None:
            found[name] = java_schema(part)
    return found


def java_value(schema: Schema | None, value: Any, bytes_as: str = "buffer", *, small_ints: bool = False) -> Any:
    """Return the value. ``bytes_as`` is the Java type of bytes: a ``buffer`` or ``bytes``, an array.

    Integers without a schema are a Long in Java; with ``small_ints`` an Integer where they fit.
    """

    def part(schema: Schema | None, value: Any) -> Any:
        return java_value(schema, value, bytes_as, small_ints=small_ints)

    match value:
        case None:
            return None
        case bool():
            return ["boolean", value]
        case int():
            return _integer(schema, value, small=small_ints)
        case float():
            single = schema is not None and schema.type == "float"
            return ["float" if single else "double", bits(value, single=single)]
        case str():
            return ["string", value]
        case bytes():
            return [bytes_as, b64encode(value).decode()]
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            return ["decimal", [("-" if sign else "") + "".join(map(str, digits)), -int(exponent)]]
        case JavaDate():
            return ["date", str(value.ms)]
        case list():
            items = None if schema is None else schema.items
            return ["array", [part(items, each) for each in value]]
    if schema is not None and schema.type == "struct":
        return ["struct", [part(field.schema, value[field.name]) for field in schema.fields]]
    keys, values = (None, None) if schema is None else (schema.keys, schema.values)
    return ["map", [[part(keys, key), part(values, each)] for key, each in value.items()]]


def _integer(schema: Schema | None, value: int, *, small: bool) -> Any:
    if schema is None:
        return ["int32", value] if small and -(1 << 31) <= value < 1 << 31 else ["int64", str(value)]
    if schema.name == CONNECT_DATE:
        return ["date", str(value * _DAY_MS)]
    if schema.name in (CONNECT_TIME, CONNECT_TIMESTAMP):
        return ["date", str(value)]
    if schema.type == "int64":
        return ["int64", str(value)]
    return [schema.type if schema.type.startswith("int") else "int32", value]


def short(schema: Schema | None) -> str:
    """Return a text of the schema for people: what differs from the standard alone."""
    if schema is None:
        return "none"
    parts = [schema.type + ("?" if schema.optional else "")]
    parts += [f"{name}={getattr(schema, name)!r}" for name in ("name", "version", "doc") if getattr(schema, name) is not None]
    parts += [f"parameters={dict(schema.parameters)}"] if schema.parameters else []
    parts += [f"default={schema.default!r}"] if schema.default is not NO_DEFAULT else []
    parts += [f"{name}: {short(getattr(schema, name))}" for name in ("items", "keys", "values") if getattr(schema, name) is not None]
    parts += [f"{field.name!r}: {short(field.schema)}" for field in schema.fields]
    return parts[0] if len(parts) == 1 else f"{parts[0]}({', '.join(parts[1:])})"
