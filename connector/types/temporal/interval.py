"""interval (PostgreSQL manual, 8.5.4), printed with IntervalStyle postgres: ``1 year 2 mons 3 days 04:05:06.78``."""

from __future__ import annotations

import re
from typing import Final

from connector.record.schema import INT64, Schema
from connector.types.codec import Codec

_INTERVAL: Final = re.compile(
    rb"(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?(?:([+-]?)(\d+):(\d+):(\d+)(?:\.(\d+))?)?"
)
_DAYS_PER_MONTH: Final = 365.25 / 12
_LONG: Final = 2**63

NUMERIC: Final = Schema(INT64.type, name="io.debezium.time.MicroDuration", version=1)
STRING: Final = Schema("string", name="io.debezium.time.Interval", version=1)

Parts = tuple[int, int, int, int, int, int, int]
"""Years, months, days, hours, minutes, seconds, microseconds; the last four have the same sign."""


def interval(mode: str) -> Codec:
    """Return the codec of an interval column; ``mode`` is ``interval.handling.mode``: numeric or string."""
    if mode == "string":
        return Codec(
            schema=STRING,
            encode=lambda text: b'"' + iso_duration(text).encode() + b'"',
            decode=iso_duration,
            fallback="P0Y0M0DT0H0M0S",
        )
    return Codec(schema=NUMERIC, encode=lambda text: b"%d" % micros(text), decode=micros, fallback=0)


def parts(text: bytes) -> Parts:
    """Return the units of the text. Raises ValueError if it is no interval in this style."""
    found = _INTERVAL.fullmatch(text)
    if found is None or not text:
        raise ValueError("Interval is not in the style postgres. Set IntervalStyle to postgres on the connection")
    years, months, days, sign, hours, minutes, seconds, fraction = found.groups()
    factor = -1 if sign == b"-" else 1
    return (
        int(years or 0),
        int(months or 0),
        int(days or 0),
        factor * int(hours or 0),
        factor * int(minutes or 0),
        factor * int(seconds or 0),
        factor * int((fraction or b"").ljust(6, b"0")),
    )


def micros(text: bytes) -> int:
    """Return the microseconds with a month of 365.25 / 12 days, computed in floating point and saturated at 64 bits, as Java casts.

    This repeats the steps of Debezium's ``MicroDuration.durationMicros``, because rounding errors are visible (1.005 s is 1004999).
    """
    years, months, days, hours, minutes, seconds, fraction = parts(text)
    number_of_days = (years * 12 + months) * _DAYS_PER_MONTH + days
    number_of_seconds = ((number_of_days * 24 + hours) * 60 + minutes) * 60 + _seconds(seconds, fraction)
    total = number_of_seconds * 1e6
    return _LONG - 1 if total >= _LONG else max(int(total), -_LONG)


def iso_duration(text: bytes) -> str:
    """Return ``P1Y2M3DT4H5M6.78S``; every unit is present, each with its own sign."""
    years, months, days, hours, minutes, seconds, fraction = parts(text)
    if fraction:
        sign = "-" if fraction < 0 else ""
        shown = f"{sign}{abs(seconds)}.{abs(fraction):06d}".rstrip("0")
    else:
        shown = str(seconds)
    return f"P{years}Y{months}M{days}DT{hours}H{minutes}M{shown}S"


def _seconds(seconds: int, fraction: int) -> float:
    return float(f"{'-' if seconds < 0 or fraction < 0 else ''}{abs(seconds)}.{abs(fraction):06d}")
