"""One value cast to another type, as ``Cast`` does it: Java's narrowing of numbers, its texts of numbers, its reading of texts."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from connector.java.floats import java_double, java_float
from connector.java.numbers import (
    NumberError,
    narrow_to_float,
    narrow_to_integer,
    nearest_float,
    parse_double,
    parse_float,
    parse_integer,
    wrap,
    wrap_decimal,
)
from connector.record.connect_record import DataError
from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema
from connector.record.values import temporal_text

BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TARGETS: Final = {**{name: name for name in BITS}, "float32": "float", "float64": "double", "boolean": "boolean", "string": "string"}
"""Types that can be asked for, and what JsonConverter calls them."""
_SOURCES: Final = frozenset({*TARGETS.values(), "bytes"})
_Cast = Callable[[Schema | None, Any, str], Any]
_DAY_MS: Final = 86_400_000


def cast_value(schema: Schema | None, value: Any, target: str) -> Any:
    """Return the value as one of type ``target``. Raises DataError, which names types and never the value."""
    if value is None:
        return None
    source = _schemaless_type(value) if schema is None else schema.type
    if source not in _SOURCES:
        raise DataError(f"Cast transformation does not support casting to/from {source}")
    if source == "float":
        value = narrow_to_float(value)
    try:
        cast: _Cast = _CASTS.get(target, _integer)
        return cast(schema, value, target)
    except NumberError:
        raise DataError(f"A value of type {source} was out of range for requested data type {target}") from None


def _schemaless_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "int64"
        case float():
            return "double"
        case str():
            return "string"
        case bytes():
            return "bytes"
        case Decimal() | JavaDate():
            raise DataError(
                f"Cast transformation was passed a value of type {type(value).__name__} which is not supported without a schema"
            )
        case _:
            return "map" if isinstance(value, dict) else "array"


def _unexpected(schema: Schema | None) -> DataError:
    return DataError(f"Unexpected type in Cast transformation: {'bytes' if schema is None else schema.name or schema.type}")


def _integer(schema: Schema | None, value: Any, target: str) -> int:
    bits = BITS[target]
    match value:
        case str():
            return parse_integer(value, bits)
        case bool() | int():
            return wrap(int(value), bits)
        case float():
            return narrow_to_integer(value, bits)
        case Decimal():
            return wrap_decimal(value, bits)
        case _:
            raise _unexpected(schema)


def _float(schema: Schema | None, value: Any, target: str) -> float:
    match value:
        case str():
            return parse_float(value) if target == "float" else parse_double(value)
        case bool() | int() | float():
            return float(value) if target == "double" else _single(value)
        case Decimal():
            double = parse_double(str(value))
            return double if target == "double" else nearest_float(value, double)
        case _:
            raise _unexpected(schema)


def _single(value: float) -> float:
    return nearest_float(Decimal(value), float(value)) if isinstance(value, int) else narrow_to_float(value)


def _boolean(schema: Schema | None, value: Any, _target: str) -> bool:
    match value:
        case str():
            return value.lower() == "true"
        case float():
            return narrow_to_integer(value, 64) != 0
        case bool() | int():
            return value != 0
        case Decimal():
            return wrap_decimal(value, 64) != 0
        case _:
            raise _unexpected(schema)


def _text(schema: Schema | None, value: Any, _target: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Decimal():
            return str(value)
        case bytes():
            return binascii.b2a_base64(value, newline=False).decode()
        case float():
            text = java_float(value) if schema is not None and schema.type == "float" else java_double(value)
            return text.decode().strip('"')
        case _:
            return _number_text(schema, value)


def _number_text(schema: Schema | None, value: int) -> str:
    if schema is not None and schema.name in (CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP):
        return temporal_text(value * _DAY_MS if schema.name == CONNECT_DATE else value)
    return str(value)


_CASTS: Final[dict[str, _Cast]] = {
    "float": _float,
    "double": _float,
    "boolean": _boolean,
    "string": _text,
}
