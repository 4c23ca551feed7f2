"""What a transform demands of a key or value (Kafka documentation, "Transformations"): a struct, or a map where there is no schema.

Errors name the type that was found and what the transform was about to do, never the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connector.record.connect_record import DataError
from connector.record.schema import Schema


def require_struct(schema: Schema | None, value: object, purpose: str) -> Mapping[str, Any]:
    """Return the struct. Raises DataError for null and for any other type."""
    if schema is None or schema.type != "struct" or not isinstance(value, Mapping):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {found(schema, value)}")
    return value


def require_struct_or_null(schema: Schema | None, value: object, purpose: str) -> Mapping[str, Any] | None:
    """Return the struct, or None for null."""
    return None if value is None else require_struct(schema, value, purpose)


def require_map(value: object, purpose: str) -> Mapping[str, Any]:
    """Return the map of a schemaless key or value. Raises DataError for null and for any other type."""
    if not isinstance(value, Mapping):
        raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {found(None, value)}")
    return value


def require_map_or_null(value: object, purpose: str) -> Mapping[str, Any] | None:
    """Return the map, or None for null."""
    return None if value is None else require_map(value, purpose)


def found(schema: Schema | None, value: object) -> str:
    """Return the name of a value's type."""
    if value is None:
        return "null"
    return type(value).__name__ if schema is None else schema.type
