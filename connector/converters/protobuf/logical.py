"""The messages of logical types: ``confluent.type.Decimal``, ``google.type.Date`` and ``TimeOfDay``, ``google.protobuf.Timestamp``."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from connector.converters.protobuf.binary import LENGTH, number_field, sized, tag
from connector.record.json_converter import twos_complement, unscaled

_DAY_MS: Final = 86_400_000
_EPOCH: Final = 2_440_588
"""Julian day number of 1970-01-01."""
_GREGORIAN: Final = 2_299_161
"""Julian day number of 1582-10-15, where Java's calendar changes from the Julian calendar to the Gregorian one."""
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_VALUE: Final = tag(1, LENGTH)


def decimal(value: Decimal, scale: int) -> bytes:
    """Unscaled value, number of its digits, scale. Raises ValueError where the scale of the schema does not hold the value."""
    number = unscaled(value, scale)
    digits = len(Decimal(number).as_tuple().digits)
    return _VALUE + sized(twos_complement(number)) + number_field(2, digits) + number_field(3, scale)


def date(days: int) -> bytes:
    """Year, month and day of Java's calendar: Julian before 1582-10-15, and years before Christ without their sign."""
    year, month, day = _calendar(days + _EPOCH)
    return number_field(1, year if year > 0 else 1 - year) + number_field(2, month) + number_field(3, day)


def time_of_day(milliseconds: int) -> bytes:
    """Hours, minutes, seconds, nanoseconds. Raises ValueError beyond a day; its end is its beginning."""
    if not 0 <= milliseconds <= _DAY_MS:
        raise ValueError("A time of the day must be from 0 to 86400000 ms")
    seconds, rest = divmod(milliseconds % _DAY_MS, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return number_field(1, hour) + number_field(2, minute) + number_field(3, second) + number_field(4, rest * 1_000_000)


def timestamp(milliseconds: int) -> bytes:
    """Seconds and nanoseconds. Raises ValueError outside the years 1 to 9999, which google.protobuf.Timestamp does not hold."""
    seconds, rest = divmod(milliseconds, 1000)
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise ValueError("A google.protobuf.Timestamp must be within the years 1 to 9999")
    return number_field(1, seconds) + number_field(2, rest * 1_000_000)


def _calendar(julian_day: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month, day. Months count from March within years of 365.25 days; the Gregorian calendar lacks some leap days."""
    shifted = julian_day + 32_082
    if julian_day >= _GREGORIAN:
        century = (4 * (julian_day + 32_044) + 3) // 146_097
        shifted = julian_day + 32_044 - 146_097 * century // 4
        year = 100 * century
    else:
        year = 0
    within = (4 * shifted + 3) // 1461
    rest = shifted - 1461 * within // 4
    month = (5 * rest + 2) // 153
    return year + within - 4800 + month // 10, month + 3 - 12 * (month // 10), rest - (153 * month + 2) // 5 + 1
