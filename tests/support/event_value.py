"""Reads the values of events as a consumer does: by the Connect schema that comes with them, and by nothing else.

Written from what the schemas' names mean in Debezium's and Kafka Connect's documentation; it must not import ``connector``, whose
values it judges. What a schema does not tell, and what a mode does not keep, is the table of :mod:`support.kept_value`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from tests.support.printed_text import (
    array_text,
    clock_text,
    date_text,
    floating,
    hstore_text,
    interval_text,
    timestamp_text,
    year_text,
)

Json = Mapping[str, Any]

_INTEGERS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_DAY_MICROS: Final = 86_400_000_000
_INFINITE_DAYS: Final = {
    -2147472692: "infinity",
    -2147472691: "-infinity",
    # Those of arrays.
    -622191234: "infinity",
    -625821272: "-infinity",
}
"""The recorded distant dates that stand for infinities. The server has no such dates."""
_INFINITE_ISO_DATES: Final = {
    "-5877611-06-21Z": "infinity",
    "-5877611-06-22Z": "-infinity",
    "+292278994-08-16Z": "infinity",
    "+292269055-12-02Z": "-infinity",
}
_INFINITE_MICROS: Final = {9223372036825200000: "infinity", -9223372036832400000: "-infinity"}
_INFINITE_MILLIS: Final = {9223372036825200: "infinity", -9223372036832400: "-infinity"}
_INFINITE_NANOS: Final = {2**63 - 1: "infinity", -(2**63): "-infinity"}
_INFINITE_ISO: Final = {"+294247-01-10T04:00:25.2Z": "infinity", "-290308-12-21T19:59:27.6Z": "-infinity"}
_ISO_DATE: Final = re.compile(r"([+-]?\d{4,})(-\d\d-\d\d)")
_ISO_CLOCK: Final = re.compile(r"(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?")
_ISO_DURATION: Final = re.compile(r"P(-?\d+)Y(-?\d+)M(-?\d+)DT(-?\d+)H(-?\d+)M(-?)(\d+)(?:\.(\d{1,6}))?S")


def parsed(text: bytes | str) -> Any:
    """JSON with its numbers as they are written: those with a point are ``Decimal``."""
    return json.loads(text, parse_float=Decimal)


def decoded(schema: Json, value: Any) -> str | None:
    """PostgreSQL's text of ``value``, None for NULL. Raises ValueError for values that are invalid or undocumented."""
    if value is None:
        if not schema["optional"]:
            raise ValueError("null in a required field")
        return None
    name = schema.get("name")
    if name is None:
        return _plain(schema, value)
    if name not in _NAMED:
        raise ValueError(f"unknown schema {name}")
    kind, read = _NAMED[name]
    if schema["type"] != kind or schema.get("version") != 1:
        raise ValueError(f"{name} of type {schema['type']}, version {schema.get('version')}")
    return read(schema, _checked(schema, value))


def _checked(schema: Json, value: Any) -> Any:
    """A value whose JSON is of the schema's type; integers must fit it."""
    kind = schema["type"]
    if kind in _INTEGERS:
        limit = 1 << (_INTEGERS[kind] - 1)
        if type(value) is not int or not -limit <= value < limit:
            raise ValueError(f"no {kind}")
        return value
    numeric = kind == "bytes" and schema.get("name") == "org.apache.kafka.connect.data.Decimal"
    expected: dict[str, tuple[type, ...]] = {
        "boolean": (bool,),
        "float": (Decimal, str),
        "double": (Decimal, str),
        "string": (str,),
        "bytes": (str, int, Decimal) if numeric else (str,),
        "array": (list,),
        "map": (dict, list),
        "struct": (dict,),
    }
    if type(value) not in expected[kind]:
        raise ValueError(f"{type(value).__name__} for {kind}")
    return value


def _plain(schema: Json, value: Any) -> str:
    value, kind = _checked(schema, value), schema["type"]
    if kind == "boolean":
        return "t" if value else "f"
    if kind in _INTEGERS:
        return str(value)
    if kind in {"float", "double"}:
        return floating(_number(value), single=kind == "float")
    if kind == "string":
        return str(value)
    if kind == "bytes":
        return "\\x" + _bytes(value).hex()
    if kind == "array":
        items = schema["items"]
        # PostGIS' types have their own delimiter.
        delimiter = ":" if str(items.get("name")).startswith("io.debezium.data.geometry.") else ","
        return array_text([decoded(items, member) for member in value], delimiter)
    if kind == "map" and schema["keys"]["type"] == "string":
        return hstore_text({key: decoded(schema["values"], member) for key, member in value.items()})
    raise ValueError(f"a {kind} without a name")


def _number(value: Decimal | str) -> float:
    """JSON has no word for NaN and the infinities; they are strings."""
    if isinstance(value, str) and value not in {"NaN", "Infinity", "-Infinity"}:
        raise ValueError("text for a number")
    return float(value)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decimal(schema: Json, value: str | Decimal | int) -> str:
    scale = int(schema["parameters"]["scale"])
    if isinstance(value, str):
        # The unscaled integer, big-endian.
        return _scaled(int.from_bytes(_bytes(value), "big", signed=True), scale)
    plain = format(Decimal(value), "f")
    if scale > 0 and len(plain.partition(".")[2]) != scale:
        raise ValueError("another scale than the schema's")
    return plain


def _scaled(unscaled: int, scale: int) -> str:
    if scale <= 0:
        return str(unscaled * 10**-scale)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _variable_scale(schema: Json, value: Json) -> str:
    scale, unscaled = (_member(schema, value, name) for name in ("scale", "value"))
    return _scaled(int.from_bytes(_bytes(unscaled), "big", signed=True), scale)


def _member(schema: Json, value: Json, name: str) -> Any:
    """A member of a struct, checked by its own schema."""
    fields = {field["field"]: field for field in schema["fields"]}
    if set(fields) != set(value):
        raise ValueError("other members than the schema has")
    if value[name] is None and fields[name]["optional"]:
        return None
    return _checked(fields[name], value[name])


def _date(_schema: Json, value: int) -> str:
    return _INFINITE_DAYS.get(value) or "".join(date_text(value))


def _time(per_second: int) -> Callable[[Json, int], str]:
    def read(_schema: Json, value: int) -> str:
        micros = _micros(value, per_second)
        if not 0 <= micros <= _DAY_MICROS:
            raise ValueError("beyond a day")
        return clock_text(micros)

    return read


def _timestamp(per_second: int, infinities: Mapping[int, str]) -> Callable[[Json, int], str]:
    return lambda _schema, value: infinities.get(value) or timestamp_text(_micros(value, per_second))


def _micros(value: int, per_second: int) -> int:
    micros, rest = divmod(value * 1_000_000, per_second)
    if rest:
        raise ValueError("finer than the server's microseconds")
    return micros


def _iso_date(_schema: Json, value: str) -> str:
    return _INFINITE_ISO_DATES.get(value) or "".join(_iso_day(value.removesuffix("Z")))


def _iso_day(text: str) -> tuple[str, str]:
    found = _ISO_DATE.fullmatch(text)
    if found is None:
        raise ValueError("no ISO date")
    return year_text(int(found[1]), found[2])


def _iso_clock(text: str) -> str:
    found = _ISO_CLOCK.fullmatch(text.removesuffix("Z"))
    if found is None or not text.endswith("Z"):
        raise ValueError("no ISO time in UTC")
    fraction = (found[2] or "").rstrip("0")
    return f"{found[1]}.{fraction}" if fraction else found[1]


def _iso_timestamp(zone: str, infinities: Mapping[str, str]) -> Callable[[Json, str], str]:
    def read(_schema: Json, value: str) -> str:
        if value in infinities:
            return infinities[value]
        date, _, clock = value.partition("T")
        day, era = _iso_day(date)
        return f"{day} {_iso_clock(clock)}{zone}{era}"

    return read


def _duration(_schema: Json, value: str) -> str:
    found = _ISO_DURATION.fullmatch(value)
    if found is None:
        raise ValueError("no ISO duration")
    years, months, days, hours, minutes = map(int, found.groups()[:5])
    seconds = int(found[7]) * 1_000_000 + int((found[8] or "").ljust(6, "0"))
    return interval_text(years, months, days, (hours * 60 + minutes) * 60_000_000 + (-seconds if found[6] else seconds))


def _bits(schema: Json, value: str) -> str:
    """Least significant byte first; zeros in front are not sent, so that only a fixed length brings them back."""
    length = int(schema["parameters"]["length"])
    number = int.from_bytes(_bytes(value), "little")
    shown = f"{number:b}" if number else ""
    return shown if length == 2**31 - 1 else shown.rjust(length, "0")


def _enum(schema: Json, value: str) -> str:
    if f",{value}," not in f",{schema['parameters']['allowed']},":
        raise ValueError("a label that the schema does not allow")
    return value


def _point(schema: Json, value: Json) -> str:
    x, y = (_number(_member(schema, value, name)) for name in ("x", "y"))
    wkb, srid = (_member(schema, value, name) for name in ("wkb", "srid"))
    if wkb is not None and _bytes(wkb) != struct.pack("<BIdd", 1, 1, x, y):
        raise ValueError("two different points")
    if srid is not None:
        raise ValueError("the server's points have no SRID")
    return f"({floating(x, single=False)},{floating(y, single=False)})"


def _geometry(schema: Json, value: Json) -> str:
    wkb, srid = _bytes(_member(schema, value, "wkb")), _member(schema, value, "srid")
    order = "<" if wkb[0] else ">"
    flagged = struct.unpack_from(order + "I", wkb, 1)[0] & 0x20000000
    if srid != (struct.unpack_from(order + "i", wkb, 5)[0] if flagged else None):
        raise ValueError("another SRID than the binary's")
    return binascii.hexlify(wkb).decode().upper()


def _vector(schema: Json, value: list[Any]) -> str:
    """Whatever the schema's width, the server prints these numbers as it prints ``real``."""
    return f"[{','.join(floating(_number(_checked(schema['items'], member)), single=True) for member in value)}]"


def _sparse_vector(schema: Json, value: Json) -> str:
    vector = next(field for field in schema["fields"] if field["field"] == "vector")
    pairs = [
        f"{_checked(vector['keys'], index)}:{floating(_number(_checked(vector['values'], number)), single=True)}"
        for index, number in _member(schema, value, "vector")
    ]
    return "{" + ",".join(pairs) + "}/" + str(_member(schema, value, "dimensions"))


def _same(_schema: Json, value: str) -> str:
    return value


_NAMED: Final[dict[str, tuple[str, Callable[[Json, Any], str]]]] = {
    "org.apache.kafka.connect.data.Decimal": ("bytes", _decimal),
    "org.apache.kafka.connect.data.Date": ("int32", _date),
    "org.apache.kafka.connect.data.Time": ("int32", _time(1_000)),
    "org.apache.kafka.connect.data.Timestamp": ("int64", _timestamp(1_000, _INFINITE_MILLIS)),
    "io.debezium.data.VariableScaleDecimal": ("struct", _variable_scale),
    "io.debezium.time.Date": ("int32", _date),
    "io.debezium.time.Time": ("int32", _time(1_000)),
    "io.debezium.time.MicroTime": ("int64", _time(1_000_000)),
    "io.debezium.time.NanoTime": ("int64", _time(1_000_000_000)),
    "io.debezium.time.Timestamp": ("int64", _timestamp(1_000, _INFINITE_MILLIS)),
    "io.debezium.time.MicroTimestamp": ("int64", _timestamp(1_000_000, _INFINITE_MICROS)),
    "io.debezium.time.NanoTimestamp": ("int64", _timestamp(1_000_000_000, _INFINITE_NANOS)),
    "io.debezium.time.IsoDate": ("string", _iso_date),
    "io.debezium.time.IsoTime": ("string", lambda _schema, value: _iso_clock(value)),
    "io.debezium.time.IsoTimestamp": ("string", _iso_timestamp("", _INFINITE_ISO)),
    "io.debezium.time.ZonedTimestamp": ("string", _iso_timestamp("+00", {"infinity": "infinity", "-infinity": "-infinity"})),
    "io.debezium.time.ZonedTime": ("string", lambda _schema, value: _iso_clock(value) + "+00"),
    "io.debezium.time.MicroDuration": ("int64", lambda _schema, value: interval_text(0, 0, 0, value)),
    "io.debezium.time.Interval": ("string", _duration),
    "io.debezium.data.Bits": ("bytes", _bits),
    "io.debezium.data.Uuid": ("string", _same),
    "io.debezium.data.Json": ("string", _same),
    "io.debezium.data.Xml": ("string", _same),
    "io.debezium.data.Ltree": ("string", _same),
    "io.debezium.data.Tsvector": ("string", _same),
    "io.debezium.data.Enum": ("string", _enum),
    "io.debezium.data.geometry.Point": ("struct", _point),
    "io.debezium.data.geometry.Geometry": ("struct", _geometry),
    "io.debezium.data.geometry.Geography": ("struct", _geometry),
    "io.debezium.data.DoubleVector": ("array", _vector),
    "io.debezium.data.FloatVector": ("array", _vector),
    "io.debezium.data.SparseDoubleVector": ("struct", _sparse_vector),
}
"""The semantic types: the Connect type that each has, and its reading."""
