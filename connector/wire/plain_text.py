"""Texts of numbers, dates and times as PostgreSQL prints them with DateStyle ISO and time zone UTC.

For output plugins that send numbers where pgoutput sends text. Times are in microseconds, dates in days, both since 1970-01-01. Ranges and
infinities: PostgreSQL manual, 8.5 Date/Time Types; ``DATEVAL_NOEND`` and ``DT_NOEND`` in its sources.
"""

from __future__ import annotations

import struct
from math import isinf, isnan
from typing import Final

_DAY_US: Final = 86_400_000_000
_EPOCH_DAYS: Final = 10_957
"""Days from 1970-01-01 to PostgreSQL's own epoch, 2000-01-01."""
_LEAST_US: Final = -210_866_803_200_000_000
"""4714-11-24 BC, PostgreSQL's earliest timestamp."""
_LONG: Final = 1 << 63
_INT: Final = 1 << 31
_FLOAT: Final = struct.Struct("<f")
_FIRST_DAY: Final = -2_451_545 + _EPOCH_DAYS
"""Julian day 0, which is before PostgreSQL's earliest date."""


def date_text(days: int) -> bytes:
    """Return the text of a date.

    PostgreSQL's infinities are its least and greatest 32-bit numbers of days. The change of epoch moves and wraps them.
    """
    own = (days - _EPOCH_DAYS + _INT) % (1 << 32) - _INT
    if own == -_INT:
        return b"-infinity"
    if own == _INT - 1:
        return b"infinity"
    year, month, day = _civil(days if days >= _FIRST_DAY else own + _EPOCH_DAYS)
    return b"%b-%02d-%02d%b" % (_year(year), month, day, b"" if year > 0 else b" BC")


def _year(year: int) -> bytes:
    return b"%04d" % (year if year > 0 else 1 - year)


def _civil(days: int) -> tuple[int, int, int]:
    """Return year (0 is 1 BC), month and day in the Gregorian calendar, which PostgreSQL uses for all times."""
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def time_text(us: int) -> bytes:
    """Return the text of a time of day; 86,400,000,000 is 24:00:00."""
    seconds, fraction = divmod(us, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = b"%02d:%02d:%02d" % (hour, minute, second)
    return text + (b".%06d" % fraction).rstrip(b"0") if fraction else text


def timestamp_text(us: int, *, zoned: bool) -> bytes:
    """Return the text of a timestamp, with ``+00`` if ``zoned``.

    The change of epoch may have overflowed the number; this is reversed.
    """
    if us == -_LONG:
        return b"-infinity"
    if us == _LONG - 1:
        return b"infinity"
    if us < _LEAST_US:
        us += 1 << 64
    days, rest = divmod(us, _DAY_US)
    year, month, day = _civil(days)
    zone, era = b"+00" if zoned else b"", b"" if year > 0 else b" BC"
    return b"%b-%02d-%02d %b%b%b" % (_year(year), month, day, time_text(rest), zone, era)


def interval_text(us: int) -> bytes:
    """Return the text of an interval in microseconds, in hours, minutes and seconds only."""
    return (b"-" if us < 0 else b"") + time_text(abs(us))


def money_text(hundredths: int) -> bytes:
    """Return the text of an amount without a currency sign, as with locale C."""
    units, rest = divmod(abs(hundredths), 100)
    return b"%b%d.%02d" % (b"-" if hundredths < 0 else b"", units, rest)


def float8_text(number: float) -> bytes:
    """Return the shortest text that reads back as the same double."""
    return _special(number) or repr(number).removesuffix(".0").encode()


def float4_text(number: float) -> bytes:
    """Return the shortest text that reads back as the same 32-bit float; ``number`` is such a float."""
    special = _special(number)
    if special:
        return special
    packed = _FLOAT.pack(number)
    for digits in range(6, 9):
        text = f"{number:.{digits}g}"
        if _FLOAT.pack(float(text)) == packed:
            return text.encode()
    return f"{number:.9g}".encode()


def _special(number: float) -> bytes:
    if isnan(number):
        return b"NaN"
    if isinf(number):
        return b"Infinity" if number > 0 else b"-Infinity"
    return b""
