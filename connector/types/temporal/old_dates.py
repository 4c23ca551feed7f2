"""Dates before 1582-10-15 as the JDBC driver of Debezium 2.3.4 reads them: in its snapshots, and in arrays everywhere.

Java's older classes use the Julian calendar before 1582-10-15, and ``java.sql.Date`` has no era. PostgreSQL, and therefore the stream, uses
only the Gregorian calendar. Each function here rewrites PostgreSQL's text to the text of the day that the driver returns. The codecs of the
type table then read it as any other text. Source: recordings of 2.3.4.Final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from connector.types.codec import Codec
from connector.types.temporal.calendar import INFINITY, NEGATIVE_INFINITY, days_from_civil, parse_date

_CUTOVER: Final = b"1582-10-15"
_CUTOVER_DAY: Final = (1582, 10, 15)
_LAST_JULIAN_DAY: Final = (1582, 10, 4)
_MISSING_DAYS: Final = 10
"""The number of days between these two that the calendar skipped."""
_END_OF_BC: Final = ord("C")
_ZONED_NEGATIVE_INFINITY: Final = b"292269055-12-02 23:00:00+00"
"""The driver's date for -infinity, without its era. 2.3.4 recognizes it as infinity, but not within an array."""


def by_driver(codec: Codec, as_read: Callable[[bytes], bytes]) -> Codec:
    """Return ``codec`` for the texts that ``as_read`` returns. Both raise ValueError for a text that the type cannot have."""
    encode, decode = codec.encode, codec.decode
    return replace(codec, encode=lambda text: encode(as_read(text)), decode=lambda text: decode(as_read(text)), inline=None)


def date_as_read(text: bytes) -> bytes:
    """Rewrite a date, or the date of a timestamp. Skipped days are moved after the gap, and a year BC becomes the year AD.

    Infinities are unchanged. Raises ValueError for a 29 February whose new year has none.
    """
    if _is_new(text) or text in (INFINITY, NEGATIVE_INFINITY):
        return text
    day, rest = _parted(text)
    year, month, number = parse_date(day)
    if _LAST_JULIAN_DAY < (year, month, number) < _CUTOVER_DAY:
        number += _MISSING_DAYS
    year = year if year > 0 else 1 - year
    if (month, number) == (2, 29) and days_from_civil(year, 3, 1) - days_from_civil(year, 2, 28) == 1:
        raise ValueError("Date before Christ is a 29 February, and the year after Christ of the same number has none")
    return b"%04d-%02d-%02d%b" % (year, month, number, rest)


def timestamp_as_read(text: bytes) -> bytes:
    """Rewrite a timestamp, with or without time zone: before 1582-10-15, its date is read in the Julian calendar."""
    if _is_new(text) or text in (INFINITY, NEGATIVE_INFINITY):
        return text
    day, rest = _parted(text)
    civil = parse_date(day)
    if civil >= _CUTOVER_DAY:
        return text
    year, month, number = _civil_from_days(_days_from_julian(*civil))
    shown = b"%04d-%02d-%02d%b" % (year if year > 0 else 1 - year, month, number, rest)
    return shown if year > 0 else shown + b" BC"


def zoned_element_as_read(text: bytes) -> bytes:
    """Rewrite a timestamptz within an array, as :func:`date_as_read` does. -infinity becomes the driver's date for it."""
    return _ZONED_NEGATIVE_INFINITY if text == NEGATIVE_INFINITY else date_as_read(text)


def _is_new(text: bytes) -> bool:
    return text[4:5] == b"-" and text[:10] >= _CUTOVER and text[-1] != _END_OF_BC


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """Return the date with its era, and the rest of the text without the era."""
    bare = text.removesuffix(b" BC")
    day, blank, clock = bare.partition(b" ")
    return day + text[len(bare) :], blank + clock


def _days_from_julian(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a day in the Julian calendar; ``year`` may be zero or negative."""
    year -= month <= 2
    cycle, year_of_cycle = divmod(year, 4)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return cycle * 1461 + year_of_cycle * 365 + day_of_year - 719_470


def _civil_from_days(days: int) -> tuple[int, int, int]:
    """Return year (0 is 1 BC), month and day in the Gregorian calendar.

    This reverses :func:`connector.types.temporal.calendar.days_from_civil`.
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
