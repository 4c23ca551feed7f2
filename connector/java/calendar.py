"""The calendar of ``java.util.GregorianCalendar``: Julian up to 1582-10-04, Gregorian from the next day, which is 1582-10-15.

Days are counted from 1970-01-01. Year 0 is 1 BC. A week begins on Sunday, and the first week of a year or month is the one that holds its
first day, as in the locale ``en`` (Unicode's CLDR).
"""

from __future__ import annotations

from typing import Final

DAY_MS: Final = 86_400_000
CUTOVER: Final = -141_427
"""1582-10-15."""
CUTOVER_YEAR: Final = 1582
_GREGORIAN: Final = 719_468
_JULIAN: Final = 719_470


def days_of(year: int, month: int, day: int) -> int:
    """Return the day of a date. Month and day may lie outside their ranges, as a lenient calendar allows."""
    gregorian = gregorian_days(year, month, day)
    return gregorian if gregorian >= CUTOVER else julian_days(year, month, day)


def gregorian_days(year: int, month: int, day: int) -> int:
    """Return the same in the Gregorian calendar alone."""
    year, in_year = _to_march(year, month, day)
    era, of_era = divmod(year, 400)
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + in_year - _GREGORIAN


def julian_days(year: int, month: int, day: int) -> int:
    """Return the same in the Julian calendar alone."""
    year, in_year = _to_march(year, month, day)
    cycle, of_cycle = divmod(year, 4)
    return cycle * 1461 + of_cycle * 365 + in_year - _JULIAN


def _to_march(year: int, month: int, day: int) -> tuple[int, int]:
    """Return the year that begins in March, which has the leap day at its end, and the number of the day in it, from 0."""
    years, place = divmod(month - 1, 12)
    month = place + 1
    return year + years - (month <= 2), (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1


def civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day."""
    if days < CUTOVER:
        cycle, day = divmod(days + _JULIAN, 1461)
        # A cycle's last day is the leap day, at the end of its fourth year.
        of_cycle = min(day // 365, 3)
        return _from_march(4 * cycle + of_cycle, day - 365 * of_cycle)
    return gregorian_civil(days)


def gregorian_civil(days: int) -> tuple[int, int, int]:
    """Return the same in the Gregorian calendar alone, as ``java.time`` does."""
    era, day = divmod(days + _GREGORIAN, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    return _from_march(era * 400 + year, day - (365 * year + year // 4 - year // 100))


def _from_march(year: int, in_year: int) -> tuple[int, int, int]:
    month = (5 * in_year + 2) // 153
    number = month + 3 if month < 10 else month - 9
    return year + (number <= 2), number, in_year - (153 * month + 2) // 5 + 1


def weekday(days: int) -> int:
    """Return the day of the week: 0 is Sunday."""
    return (days + 4) % 7


def weekday_on_or_before(days: int, wanted: int) -> int:
    """Return the last day up to this one that is the wanted day of the week."""
    return days - (weekday(days) - wanted) % 7


def day_of_year(days: int) -> int:
    """Return the number of the day in its year, from 1."""
    return days - days_of(civil(days)[0], 1, 1) + 1


def week_of_year(days: int) -> tuple[int, int]:
    """Return the week's year and its number in that, from 1."""
    year = civil(days)[0]
    saturday = weekday_on_or_before(days, 0) + 6
    if civil(saturday)[0] > year:
        return year + 1, 1
    first = days_of(year, 1, 1)
    return year, (days - first + weekday(first)) // 7 + 1


def week_of_month(days: int) -> int:
    """Return the number of the week in its month, from 1."""
    first = _first_of_month(days)
    return (days - first + weekday(first)) // 7 + 1


def weekday_of_month(days: int) -> int:
    """Return how often this day of the week has come in its month, from 1."""
    return (days - _first_of_month(days)) // 7 + 1


def _first_of_month(days: int) -> int:
    """Return the first day of the month; for the end of October 1582, the first Gregorian day."""
    year, month, _ = civil(days)
    first = days_of(year, month, 1)
    return CUTOVER if first < CUTOVER <= days else first
