"""Why a value does not fit its schema: the field and the types, for an error message. Never a value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from connector.record.schema import DECIMAL, Schema

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


def misfit(schema: Schema, value: Any, problem: Exception) -> str:
    """Return a sentence about the first value that does not fit; ``problem`` is what writing it raised."""
    # A KeyError may quote the value.
    reason = str(problem) if type(problem) is ValueError else type(problem).__name__
    return _find(schema, value, "") or f"The value does not fit the schema {schema.name or schema.type}: {reason}"


def _find(schema: Schema, value: Any, place: str) -> str | None:
    if value is None:
        return None
    types = (Decimal,) if schema.name == DECIMAL else _TYPES.get(schema.type, (object,))
    # Through a variable: a type checker takes the value for an object after the test itself.
    fits: bool = isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
    if not fits:
        return f"Invalid type for {schema.type.upper()}{_at(place)}: {type(value).__name__}"
    members: list[tuple[Schema | None, Any, str]] = []
    if schema.type == "struct":
        for field in schema.fields:
            if field.name not in value:
                return f"The struct{_at(place)} lacks the field {field.name} of its schema"
            members.append((field.schema, value[field.name], f"{place}.{field.name}" if place else field.name))
    elif schema.type == "array":
        if any(item is None for item in value):
            return f"The array{_at(place)} has a null item: Protocol Buffers have no null in repeated fields"
        members = [(schema.items, item, f"{place}[]") for item in value]
    elif schema.type == "map":
        members = [
            (part, item, f"{place}[]") for pair in value.items() for part, item in zip((schema.keys, schema.values), pair, strict=True)
        ]
    for part, item, inner in members:
        if part is not None and (found := _find(part, item, inner)):
            return found
    return None


def _at(place: str) -> str:
    return f" of field {place}" if place else ""
