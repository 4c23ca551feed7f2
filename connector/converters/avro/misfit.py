"""Why a value does not fit its schema: the field and the types, for an error message. Never a value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from connector.converters.avro.mapping import has_default, is_union
from connector.record.schema import DECIMAL, Schema

RANGES: Final = {"int8": 1 << 7, "int16": 1 << 15, "int32": 1 << 31, "int64": 1 << 63}
"""The types of whole numbers, and the first number that each does not have."""
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int8": (int,),
    "int16": (int,),
    "int32": (int,),
    "int64": (int,),
    "float": (float, int),
    "double": (float, int),
    "boolean": (bool,),
    "string": (str,),
    "bytes": (bytes, bytearray, memoryview),
    "array": (list, tuple),
    "map": (Mapping,),
    "struct": (Mapping,),
}


def misfit(schema: Schema, value: Any, problem: Exception, place: str = "") -> str:
    """Return a sentence about the first value that does not fit; ``problem`` is what writing it raised."""
    return _find(schema, value, place) or f"The value does not fit the schema {schema.name or schema.type}: {reason(problem)}"


def reason(problem: Exception) -> str:
    """Return why a value could not be written, without the value."""
    # A KeyError or an IndexError may quote the value.
    return str(problem) if type(problem) is ValueError else type(problem).__name__


def _find(schema: Schema, value: Any, place: str) -> str | None:
    if value is None:
        if schema.optional or has_default(schema):
            return None
        return f"Found null value for non-optional schema{_at(place)}: it has the type {schema.type}"
    types = (Decimal,) if schema.name == DECIMAL else _TYPES.get(schema.type, (object,))
    # Through a variable: a type checker takes the value for an object after the test itself.
    fits: bool = isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
    if not fits:
        return f"Invalid type for {schema.type.upper()}{_at(place)}: {type(value).__name__}"
    end = RANGES.get(schema.type)
    if end is not None and not -end <= value < end:
        return f"The number{_at(place)} is out of the range of {schema.type}"
    if schema.type == "struct":
        for field in schema.fields:
            if field.name not in value:
                return f"The struct{_at(place)} lacks the field {field.name} of its schema"
            inner = field.schema.as_optional() if is_union(schema) else field.schema
            if described := _find(inner, value[field.name], f"{place}.{field.name}" if place else field.name):
                return described
    members: list[tuple[Schema | None, Any]] = []
    if schema.type == "array":
        members = [(schema.items, item) for item in value]
    elif schema.type == "map":
        members = [pair for key, member in value.items() for pair in ((schema.keys, key), (schema.values, member))]
    for inner_schema, member in members:
        if inner_schema is not None and (described := _find(inner_schema, member, f"{place}[]")):
            return described
    return None


def _at(place: str) -> str:
    return f" of field {place}" if place else ""
