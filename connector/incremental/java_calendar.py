"""The calendar of ``java.util.Date``: Julian up to 1582-10-04, Gregorian from the next day, which is 1582-10-15.

PostgreSQL's calendar is always Gregorian (:mod:`connector.types.temporal.calendar`). The JDBC driver copies year, month and day as
PostgreSQL prints them, so a date before the change is a different day in Java. Source: the documentation of ``GregorianCalendar``, and
recordings of Debezium.
"""

from __future__ import annotations

from typing import Final

from connector.types.temporal.calendar import days_from_civil

_CHANGE: Final = (1582, 10, 15)
_CHANGE_DAY: Final = days_from_civil(*_CHANGE)


def java_days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a printed date; year 0 is 1 BC. The ten days that the change skipped count as Julian dates."""
    if (year, month, day) >= _CHANGE:
        return days_from_civil(year, month, day)
    return _from_march(*divmod(year - (month <= 2), 4), month) + day - 1 - 719_470


def java_civil(days: int) -> tuple[int, int, int]:
    """Return year (0 is 1 BC), month and day for a number of days since 1970-01-01: the inverse of :func:`java_days`."""
    if days < _CHANGE_DAY:
        cycle, day = divmod(days + 719_470, 1461)
        # A cycle's last day is the leap day, at the end of its fourth year.
        year = min(day // 365, 3)
        return _civil(4 * cycle + year, day - 365 * year)
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    return _civil(era * 400 + year, day - (365 * year + year // 4 - year // 100))


def _from_march(cycle: int, year: int, month: int) -> int:
    """Return the days before the first day of a month, counted in cycles of four years that begin in March."""
    return cycle * 1461 + year * 365 + (153 * (month - 3 if month > 2 else month + 9) + 2) // 5


def _civil(year: int, day_of_year: int) -> tuple[int, int, int]:
    """Convert a day of a year that begins in March to year, month and day of a year that begins in January."""
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
