"""The value of a column as ``Neo4jCudConverter`` writes it: dates and times as ISO texts, everything as JSON (Jackson's)."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final

from connector.java.calendar import gregorian_civil
from connector.java.floats import as_float32, java_double, java_float
from connector.java.hash_map import java_order
from connector.record.connect_record import DataError
from connector.record.json_converter import json_text
from connector.record.schema import DECIMAL, Schema
from connector.types.temporal.calendar import iso_year

_DAY_NANOS: Final = 86_400_000_000_000
_EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"


def _date(days: int) -> str:
    year, month, day = gregorian_civil(days)
    return f"{iso_year(year)}-{month:02d}-{day:02d}"


def _time(nanos: int) -> str:
    """A time of day; 24:00:00 is written as 00:00:00. Raises DataError beyond it."""
    if not 0 <= nanos <= _DAY_NANOS:
        raise DataError("A time must be between 00:00:00 and 24:00:00")
    seconds, fraction = divmod(nanos % _DAY_NANOS, 1_000_000_000)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return (f"{shown}.{fraction:09d}".rstrip("0") if fraction else shown) + "Z"


def _timestamp(nanos: int) -> str:
    days, of_day = divmod(nanos, _DAY_NANOS)
    return f"{_date(days)}T{_time(of_day)}"


_TEMPORAL: Final[Mapping[str, Callable[[int], str]]] = {
    "io.debezium.time.Date": _date,
    "io.debezium.time.Time": lambda value: _time(value * 1_000_000),
    "io.debezium.time.MicroTime": lambda value: _time(value * 1_000),
    "io.debezium.time.NanoTime": _time,
    "io.debezium.time.Timestamp": lambda value: _timestamp(value * 1_000_000),
    "io.debezium.time.MicroTimestamp": lambda value: _timestamp(value * 1_000),
    "io.debezium.time.NanoTimestamp": _timestamp,
    "org.apache.kafka.connect.data.Date": _date,
    "org.apache.kafka.connect.data.Time": lambda value: _time(value * 1_000_000),
    "org.apache.kafka.connect.data.Timestamp": lambda value: _timestamp(value * 1_000_000),
}


def column_json(schema: Schema, value: Any) -> str:
    """Return a column's value, which is not null, as JSON. Raises DataError for what the original cannot write."""
    temporal = _TEMPORAL.get(schema.name or "")
    if temporal is not None:
        return json_text(temporal(value))
    return _outer(schema, value)


def _outer(schema: Schema, value: Any) -> str:
    """A column, or a field of a struct in one: structs, maps and decimals are texts there."""
    match schema.type:
        case "float":
            # The original makes a double of it.
            return java_double(as_float32(value)).decode()
        case "struct":
            return json_text(_number(value) if schema.name == _VARIABLE else _struct(schema, value))
        case "map":
            return json_text(_inner(schema, value))
        case "bytes" if schema.name == DECIMAL:
            return json_text(format(value, "f"))
        case _:
            return _inner(schema, value)


def _number(value: Mapping[str, Any]) -> str:
    return format(Decimal(int.from_bytes(value["value"], "big", signed=True)).scaleb(-value["scale"], _EXACT), "f")


def _struct(schema: Schema, value: Mapping[str, Any]) -> str:
    """The fields that are not null."""
    shown = ((field, value.get(field.name)) for field in schema.fields)
    return "{" + ",".join(f"{json_text(field.name)}:{_outer(field.schema, each)}" for field, each in shown if each is not None) + "}"


def _inner(schema: Schema, value: Any) -> str:
    """A value as Jackson writes it, in an array or a map too."""
    if value is None:
        return "null"
    match schema.type:
        case "string":
            return json_text(value)
        case "boolean":
            return "true" if value else "false"
        case "float":
            return java_float(value).decode()
        case "double":
            return java_double(value).decode()
        case "bytes" if schema.name == DECIMAL:
            return str(value)
        case "bytes":
            return f'"{binascii.b2a_base64(value, newline=False).decode()}"'
        case "array" if schema.items is not None:
            items = schema.items
            return f"[{','.join(_inner(items, each) for each in value)}]"
        case "map" if schema.values is not None:
            values = schema.values
            return "{" + ",".join(f"{json_text(name)}:{_inner(values, value[name])}" for name in java_order(value)) + "}"
        case "struct" | "array" | "map":
            raise DataError(f"A {schema.type} within an array or a map cannot be written as JSON")
        case _:
            return str(value)
