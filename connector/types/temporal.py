"""date, time and timestamp (PostgreSQL manual, 8.5) in every ``time.precision.mode``.

Debezium documentation, "Temporal types". The declared precision counts (6 when there is none): the adaptive modes send
milliseconds up to three digits and microseconds beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from connector.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema
from connector.types.calendar import DAY_MICROS, DAYS, INFINITY, MINUTES, NEGATIVE_INFINITY, iso_date, parse_time, parse_timestamp
from connector.types.codec import Codec

_DATE_INFINITY: Final = {INFINITY: -2147472692, NEGATIVE_INFINITY: -2147472691}
"""Debezium streams the driver's far-away dates cut to 32 bits; they are what consumers know infinity by."""
_ISO_DATE_INFINITY: Final = {INFINITY: "-5877611-06-21Z", NEGATIVE_INFINITY: "-5877611-06-22Z"}
_ELEMENT_DATE_INFINITY: Final = {INFINITY: -622191234, NEGATIVE_INFINITY: -625821272}
"""In an array the driver hands out other dates, in snapshots and in streams alike."""
_ELEMENT_ISO_DATE_INFINITY: Final = {INFINITY: "+292278994-08-16Z", NEGATIVE_INFINITY: "+292269055-12-02Z"}
_MILLIS_INFINITY: Final = {INFINITY: 9223372036825200, NEGATIVE_INFINITY: -9223372036832400}
_MICROS_INFINITY: Final = {INFINITY: 9223372036825200000, NEGATIVE_INFINITY: -9223372036832400000}
_NANOS_INFINITY: Final = {INFINITY: 2**63 - 1, NEGATIVE_INFINITY: -(2**63)}
_ISO_INFINITY: Final = {INFINITY: "+294247-01-10T04:00:25.2Z", NEGATIVE_INFINITY: "-290308-12-21T19:59:27.6Z"}
_LONG: Final = 2**63
_LETTER: Final = ord("y")
"""Both infinities end in it, nothing else does."""

_DASH: Final = ord("-")
_END_OF_BC: Final = ord("C")
_CACHED_DATES: Final = 16_384

_Value = TypeVar("_Value")


class _DateJson(dict[bytes, bytes]):
    """The JSON number of a date by its text. Bounded as :class:`connector.types.calendar.DayCache` is; a hit takes 0.04 µs."""

    def __missing__(self, text: bytes) -> bytes:
        number = b"%d" % epoch_days(text)
        if len(self) >= _CACHED_DATES:
            self.clear()
        self[text] = number
        return number


_DATES: Final = _DateJson()
INLINE_NAMES: Final[dict[str, object]] = {"date_json": _DATES}


def precision_of(modifier: int) -> int:
    """Fraction digits of a time or timestamp column: atttypmod, or 6 when it has none."""
    return modifier if 0 <= modifier <= 6 else 6


def date(mode: str, *, element: bool = False) -> Codec:
    """A date column, or an array's element: infinities differ."""
    if mode == "isostring":
        return _string("io.debezium.time.IsoDate", _element_iso_date if element else iso_date_value, "1970-01-01Z")
    name = CONNECT_DATE if mode == "connect" else "io.debezium.time.Date"
    if element:
        return _integer("int32", name, _element_days)
    return Codec(
        schema=Schema("int32", name=name, version=1),
        encode=_DATES.__getitem__,
        decode=epoch_days,
        fallback=0,
        inline="date_json[{c}]",
    )


def time(mode: str, modifier: int, *, element: bool = False) -> Codec:
    """A time column. As an array's element it is cut to milliseconds within one day, as the driver Debezium uses does."""
    micros = _element_micros if element else parse_time
    if mode == "isostring":
        return _string("io.debezium.time.IsoTime", lambda text: iso_time(micros(text)) + "Z", "00:00:00Z")
    if mode == "nanoseconds":
        return _integer("int64", "io.debezium.time.NanoTime", lambda text: micros(text) * 1000)
    if mode == "connect" or (mode == "adaptive" and precision_of(modifier) <= 3):
        return _integer("int32", CONNECT_TIME if mode == "connect" else "io.debezium.time.Time", lambda text: micros(text) // 1000)
    return _integer("int64", "io.debezium.time.MicroTime", micros)


def timestamp(mode: str, modifier: int) -> Codec:
    """A column of timestamp without time zone."""
    if mode == "isostring":
        return _string("io.debezium.time.IsoTimestamp", iso_timestamp, "1970-01-01T00:00:00Z")
    if mode == "nanoseconds":
        return _integer("int64", "io.debezium.time.NanoTimestamp", epoch_nanos)
    if mode == "connect":
        return _integer("int64", CONNECT_TIMESTAMP, epoch_millis)
    if precision_of(modifier) <= 3 and mode != "microseconds":
        return _integer("int64", "io.debezium.time.Timestamp", epoch_millis)
    micros = _integer("int64", "io.debezium.time.MicroTimestamp", epoch_micros)
    return replace(micros, encode=_encode_micros)


def epoch_days(text: bytes) -> int:
    """Days since 1970-01-01; infinities have their own numbers."""
    return DAYS[text] if text[-1] != _LETTER else _special(_DATE_INFINITY, text)


def epoch_millis(text: bytes) -> int:
    """Milliseconds since the epoch, rounded down."""
    if text[-1] == _LETTER:
        return _special(_MILLIS_INFINITY, text)
    days, micros = parse_timestamp(text)
    return (days * DAY_MICROS + micros) // 1000


def epoch_micros(text: bytes) -> int:
    """Microseconds since the epoch; beyond the year 294247 they overflow as Java's arithmetic does."""
    if text[-1] == _LETTER:
        return _special(_MICROS_INFINITY, text)
    days, micros = parse_timestamp(text)
    value = days * DAY_MICROS + micros
    return value if value < _LONG else wrapped_micros(value)


def _encode_micros(text: bytes) -> bytes:
    """The number of :func:`epoch_micros`. Measured: 0.55 µs for the usual text with six fraction digits, 1.0 µs part by part."""
    if len(text) == 26 and text[4] == _DASH and text[25] != _END_OF_BC:
        return b"%d" % (DAYS[text[:10]] * DAY_MICROS + MINUTES[text[11:16]] + int(text[17:19] + text[20:]))
    return b"%d" % epoch_micros(text)


def epoch_nanos(text: bytes) -> int:
    """Nanoseconds since the epoch. Raises ValueError outside 1677-09-21T00:12:43.145224193 to 2262-04-11T23:47:16.854775807."""
    if text[-1] == _LETTER:
        return _special(_NANOS_INFINITY, text)
    days, micros = parse_timestamp(text)
    value = (days * DAY_MICROS + micros) * 1000
    if not -_LONG <= value < _LONG:
        raise ValueError(
            "Timestamp is outside the representable range for INT64 epoch nanoseconds (1677-09-21T00:12:43Z to 2262-04-11T23:47:16Z). "
            "Use 'time.precision.mode=microseconds' or 'isostring' for values outside this range."
        )
    return value


def wrapped_micros(micros: int) -> int:
    """What ``TimeUnit.SECONDS.toMicros(seconds) + micros`` gives past 64 bits: the seconds saturate, the sum wraps."""
    seconds, rest = divmod(micros, 1_000_000)
    return (max(min(seconds * 1_000_000, _LONG - 1), -_LONG) + rest + _LONG) % (2 * _LONG) - _LONG


def iso_date_value(text: bytes) -> str:
    """``2017-09-15Z``."""
    return iso_date(text) + "Z" if text[-1] != _LETTER else _special(_ISO_DATE_INFINITY, text)


def iso_time(micros: int) -> str:
    """``HH:MM:SS`` and as many fraction digits as are needed; 24:00:00 becomes 00:00:00."""
    seconds, fraction = divmod(micros % DAY_MICROS, 1_000_000)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{shown}.{fraction:06d}".rstrip("0") if fraction else shown


def iso_timestamp(text: bytes) -> str:
    """``2019-07-09T02:28:57.123456Z`` without trailing zeros."""
    if text[-1] == _LETTER:
        return _special(_ISO_INFINITY, text)
    day, _, rest = text.partition(b" ")
    clock, era, _ = rest.partition(b" BC")
    parse_time(clock)
    return f"{iso_date(day + era)}T{clock.decode()}Z"


def _element_days(text: bytes) -> int:
    return DAYS[text] if text[-1] != _LETTER else _special(_ELEMENT_DATE_INFINITY, text)


def _element_iso_date(text: bytes) -> str:
    return iso_date(text) + "Z" if text[-1] != _LETTER else _special(_ELEMENT_ISO_DATE_INFINITY, text)


def _element_micros(text: bytes) -> int:
    micros = parse_time(text)
    return (micros - micros % 1000) % DAY_MICROS


def _special(values: Mapping[bytes, _Value], text: bytes) -> _Value:
    value = values.get(text)
    if value is None:
        raise ValueError("Date or timestamp ends in a letter and is no infinity")
    return value


def _integer(kind: str, name: str, decode: Callable[[bytes], int]) -> Codec:
    return Codec(schema=Schema(kind, name=name, version=1), encode=lambda text: b"%d" % decode(text), decode=decode, fallback=0)


def _string(name: str, decode: Callable[[bytes], str], fallback: str) -> Codec:
    return Codec(
        schema=Schema("string", name=name, version=1),
        encode=lambda text: b'"' + decode(text).encode() + b'"',
        decode=decode,
        fallback=fallback,
    )
