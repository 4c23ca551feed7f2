"""Dates, times and intervals as structs: ``time.precision.mode=structured``, since Debezium 3.7.0.

Each struct holds the units as PostgreSQL prints them, without a change of time zone, and the precision that the column declares. Dates and
timestamps name an infinity in ``specialValue``. Source: recordings of 3.7.0.Final.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from connector.record.schema import INT32, INT64, STRING, Field, Schema
from connector.types.codec import Codec
from connector.types.temporal.calendar import DAY_MICROS, INFINITY, NEGATIVE_INFINITY, parse_date, parse_time
from connector.types.temporal.interval import parts

_SPECIAL: Final = {INFINITY: "POSITIVE_INFINITY", NEGATIVE_INFINITY: "NEGATIVE_INFINITY"}
_INT8: Final = Schema("int8")
_MOST_INT32: Final = 2**31 - 1
_NO_DIGITS: Final = 0xFFFF
"""Selects the precision in an interval's atttypmod. It is 65535 if only units are declared, and the reference sends that."""

_Value = dict[str, object]

_DATE: Final = (("year", INT32), ("month", _INT8), ("day", _INT8))
_CLOCK: Final = (("hour", _INT8), ("minute", _INT8), ("second", _INT8), ("nanos", INT32))
_OFFSET: Final = ("offsetSeconds", INT32)
_SPECIAL_VALUE: Final = ("specialValue", STRING)
_PRECISION: Final = ("precision", INT32)


def _schema(name: str, *fields: tuple[str, Schema]) -> Schema:
    optional = tuple(Field(field, schema.as_optional()) for field, schema in fields)
    return Schema("struct", name=f"io.debezium.time.Structured{name}", version=1, fields=optional)


DATE: Final = _schema("Date", *_DATE, _SPECIAL_VALUE)
TIME: Final = _schema("Time", *_CLOCK, _PRECISION)
TIMESTAMP: Final = _schema("Timestamp", *_DATE, *_CLOCK, _SPECIAL_VALUE, _PRECISION)
ZONED_TIME: Final = _schema("ZonedTime", *_CLOCK, _OFFSET, _PRECISION)
ZONED_TIMESTAMP: Final = _schema("ZonedTimestamp", *_DATE, *_CLOCK, _OFFSET, ("zoneId", STRING), _SPECIAL_VALUE, _PRECISION)
DURATION: Final = _schema(
    "Duration",
    *((name, INT32) for name in ("years", "months", "days", "hours", "minutes")),
    ("seconds", INT64),
    ("nanos", INT32),
    _PRECISION,
)


def date() -> Codec:
    """Return the codec of a date column, and of an array's element."""
    return _codec(DATE, {"year": 1970, "month": 1, "day": 1, "specialValue": None}, _decode_date)


def time(precision: int, *, element: bool = False) -> Codec:
    """Return the codec of a time column, which refuses 24:00. An array's element is truncated to milliseconds of one day."""

    def decode(text: bytes) -> _Value:
        micros = parse_time(text)
        if element:
            micros = (micros - micros % 1000) % DAY_MICROS
        if micros >= DAY_MICROS:
            raise ValueError("Time 24:00:00 is not a time of the day")
        return {**_clock(micros), "precision": precision}

    return _codec(TIME, {**_clock(0), "precision": precision}, decode)


def timestamp(precision: int) -> Codec:
    """Return the codec of a timestamp without time zone."""

    def decode(text: bytes) -> _Value:
        special = _SPECIAL.get(text)
        units = _nothing(TIMESTAMP) if special else _moment(text)
        return {**units, "specialValue": special, "precision": precision}

    return _codec(TIMESTAMP, {**_moment(b"1970-01-01 00:00:00"), "specialValue": None, "precision": precision}, decode)


def timestamptz(precision: int) -> Codec:
    """Return the codec of a timestamptz column, whose texts must be in UTC."""

    def decode(text: bytes) -> _Value:
        special = _SPECIAL.get(text)
        if special:
            return {**_nothing(ZONED_TIMESTAMP), "specialValue": special, "precision": precision}
        bare = text.removesuffix(b" BC")
        if not bare.endswith(b"+00"):
            raise ValueError("Timestamp with time zone is not in UTC. Set TimeZone to UTC on the connection")
        units = _moment(bare.removesuffix(b"+00") + text[len(bare) :])
        return {**units, "offsetSeconds": 0, "zoneId": "Z", "specialValue": None, "precision": precision}

    zero = {**_moment(b"1970-01-01 00:00:00"), "offsetSeconds": 0, "zoneId": None, "specialValue": None, "precision": precision}
    return _codec(ZONED_TIMESTAMP, zero, decode)


def timetz(precision: int) -> Codec:
    """Return the codec of a timetz column, and of an array's element. The offset is the one that was stored, and 24:00 is legal."""

    def decode(text: bytes) -> _Value:
        at = max(text.rfind(b"+"), text.rfind(b"-"))
        if at < len(b"00:00:00"):
            raise ValueError("Time with time zone has no offset")
        hours, _, rest = text[at + 1 :].partition(b":")
        minutes, _, seconds = rest.partition(b":")
        offset = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        signed = -offset if text[at : at + 1] == b"-" else offset
        return {**_clock(parse_time(text[:at])), "offsetSeconds": signed, "precision": precision}

    return _codec(ZONED_TIME, {**_clock(0), "offsetSeconds": 0, "precision": precision}, decode)


def interval(modifier: int) -> Codec:
    """Return the codec of an interval column with the atttypmod ``modifier``, whatever ``interval.handling.mode`` is."""
    precision = modifier & _NO_DIGITS if modifier >= 0 else 6

    def decode(text: bytes) -> _Value:
        years, months, days, hours, minutes, seconds, micros = parts(text)
        if abs(hours) > _MOST_INT32:
            raise ValueError("Interval has more hours than an int32 holds")
        units = {"years": years, "months": months, "days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        return {**units, "nanos": micros * 1000, "precision": precision}

    return _codec(DURATION, decode(b"00:00:00"), decode)


def _codec(schema: Schema, zero: Mapping[str, object], decode: Callable[[bytes], _Value]) -> Codec:
    """Return the codec with the values of ``decode``, which need not have the fields in the schema's order."""
    names = tuple(field.name for field in schema.fields)

    def ordered(text: bytes) -> _Value:
        value = decode(text)
        return {name: value[name] for name in names}

    return Codec(
        schema=schema,
        encode=lambda text: json.dumps(ordered(text), separators=(",", ":")).encode(),
        decode=ordered,
        fallback={name: zero[name] for name in names},
    )


def _nothing(schema: Schema) -> _Value:
    return dict.fromkeys((field.name for field in schema.fields), None)


def _decode_date(text: bytes) -> _Value:
    special = _SPECIAL.get(text)
    if special:
        return {**_nothing(DATE), "specialValue": special}
    return {**_day(text), "specialValue": None}


def _day(text: bytes) -> _Value:
    year, month, day = parse_date(text)
    return {"year": year, "month": month, "day": day}


def _clock(micros: int) -> _Value:
    seconds, fraction = divmod(micros, 1_000_000)
    return {"hour": seconds // 3600, "minute": seconds // 60 % 60, "second": seconds % 60, "nanos": fraction * 1000}


def _moment(text: bytes) -> _Value:
    day, _, rest = text.partition(b" ")
    clock, era, _ = rest.partition(b" BC")
    return {**_day(day + era), **_clock(parse_time(clock))}
