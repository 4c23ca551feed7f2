"""How ``SimpleDateFormat`` reads a text, leniently: fields may be out of their ranges, and those that are missing are those of 1970-01-01.

Which fields decide where several could is as the documentation of ``java.util.Calendar`` says ("Calendar Fields Resolution"): of the groups
that tell a day, the one that was read last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from connector.java.calendar import CUTOVER, CUTOVER_YEAR, DAY_MS, civil, days_of, gregorian_days, julian_days, weekday_on_or_before
from connector.java.date_tokens import DAYS, ERAS, HALVES, MONTHS, Token
from connector.java.numbers import wrap
from connector.java.zone_names import OFFSETS

_LONG: Final = 2**63
_MOST_DIGITS: Final = 1_000
_BLANKS: Final = " \t"
_DIGITS: Final = re.compile(r"-?\d+")
_OFFSET: Final = re.compile(r"([+-])(\d{2})(\d{2})")
_GMT_OFFSET: Final = re.compile(r"gmt([+-])(\d{1,2}):(\d{2})", re.IGNORECASE)
_HOURS: Final = re.compile(r"([+-])(\d{2})")

Days = Callable[[int, int, int], int]
Found = dict[str, tuple[int, int]]
"""Letter of a field → its value, and its place in the order of reading."""


def parse(tokens: Sequence[Token], text: str, century: int) -> int | None:
    """Return the time in ms since 1970-01-01, or None. A year of two digits lies in the hundred years from ``century`` (ms) on."""
    found: Found = {}
    first_year = civil(century // DAY_MS)[0]
    ambiguous = False
    at = 0
    for place, token in enumerate(tokens):
        if token.letter is None:
            if not text.startswith(token.text, at):
                return None
            at += len(token.text)
            continue
        begin = at
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        if at >= len(text):
            return None
        abuts = place + 1 < len(tokens) and tokens[place + 1].numeric
        read = _number(token, text, at, begin + token.count if abuts else None) if token.numeric else _named(token, text, begin, at)
        if read is None:
            return None
        value, end = read
        if token.letter in ("y", "Y") and token.count <= 2 and end - at == 2 and text[at:end].isdigit():
            ambiguous = value == first_year % 100
            value += first_year // 100 * 100 + (100 if value < first_year % 100 else 0)
        at = end
        found[_MEANT.get(token.letter, token.letter)] = value, place
    if not at:
        # Java reports no success where nothing was read.
        return None
    time = _time(found)
    if ambiguous and time < century:
        # The year begins before the century does.
        time = _time(found | {letter: (found[letter][0] + 100, found[letter][1]) for letter in "yY" if letter in found})
    return time


_MEANT: Final = {"L": "M", "k": "H", "h": "K", "u": "E", "X": "Z", "z": "Z"}
"""Letters that tell the same field."""


def _named(token: Token, text: str, begin: int, at: int) -> tuple[int, int] | None:
    """Return the value of a field that is no number, and the place behind it. Blanks may come before a zone, but not before a name."""
    match token.letter:
        case "G":
            return _name(ERAS, text, begin)
        case "M" | "L":
            found = _name([*MONTHS, *(name[:3] for name in MONTHS)], text, begin)
            return None if found is None else (found[0] % 12 + 1, found[1])
        case "E":
            found = _name([*DAYS, *(name[:3] for name in DAYS)], text, begin)
            return None if found is None else (found[0] % 7, found[1])
        case "a":
            return _name(HALVES, text, begin)
        case "X":
            return _iso_zone(token.count, text, at)
        case _:
            return _zone(text, at)


def _number(token: Token, text: str, at: int, end: int | None) -> tuple[int, int] | None:
    """Return the value of a number, and the place behind it. ``end`` is where it must end at the latest, as another follows at once."""
    if end is not None and end > len(text):
        return None
    read = _DIGITS.match(text[:end], at)
    if read is None:
        return None
    value = _int(read[0])
    match token.letter:
        case "k":
            value = 0 if value == 24 else value
        case "h":
            value = 0 if value == 12 else value
        case "u":
            # From Sunday, which is 0. What is no day is taken for Java's own number, which is 1 for Sunday.
            value = value % 7 if 1 <= value <= 7 else value - 1
    return value, read.end()


def _int(digits: str) -> int:
    """Return a number as an int of Java: the lowest bits of one of 64 bits, and the largest or smallest of one beyond them."""
    if len(digits) < _MOST_DIGITS and -_LONG <= (number := int(digits)) < _LONG:
        return wrap(number, 32)
    return -(2**31) if digits.startswith("-") else 2**31 - 1


def _name(names: Sequence[str], text: str, at: int) -> tuple[int, int] | None:
    """Return the place of the longest name that stands here, case aside."""
    fitting = [name for name in names if text[at : at + len(name)].lower() == name.lower()]
    if not fitting:
        return None
    longest = max(fitting, key=len)
    return names.index(longest), at + len(longest)


def _iso_zone(count: int, text: str, at: int) -> tuple[int, int] | None:
    """Read an offset in ms as ISO 8601 writes it: hours, with minutes from two letters on, with a colon for three."""
    if text[at] == "Z":
        return 0, at + 1
    read = _HOURS.match(text, at)
    if read is None:
        return None
    minutes, end = 0, read.end()
    if count > 1:
        rest = re.compile(r":(\d{2})" if count == 3 else r"(\d{2})").match(text, end)
        if rest is None:
            return None
        minutes, end = int(rest[1]), rest.end()
    if int(read[2]) > 23 or minutes > 59:
        return None
    return _offset(read[1], int(read[2]), minutes), end


def _zone(text: str, at: int) -> tuple[int, int] | None:
    """Read an offset in ms as RFC 822 writes it, or after GMT, or the name of a zone."""
    read = _OFFSET.match(text, at) or _GMT_OFFSET.match(text, at)
    if read is not None and int(read[2]) <= 23 and int(read[3]) <= 59:
        return _offset(read[1], int(read[2]), int(read[3])), read.end()
    if text[at : at + 3].lower() == "gmt":
        return None if text[at + 3 : at + 4] in ("+", "-") else (0, at + 3)
    named = _zone_names().match(text, at)
    return None if named is None else (OFFSETS[named[0].lower()], named.end())


@cache
def _zone_names() -> re.Pattern[str]:
    # Longer names first: some begin with others.
    return re.compile("|".join(map(re.escape, sorted(OFFSETS, key=len, reverse=True))), re.IGNORECASE | re.ASCII)


def _offset(sign: str, hours: int, minutes: int) -> int:
    total = (hours * 60 + minutes) * 60_000
    return -total if sign == "-" else total


def _time(found: Found) -> int:
    """Return the time that the fields tell."""
    days = _day(found)
    if _place(found, "H") >= max(_place(found, "K"), 0) or ("H" in found and "a" not in found):
        hours = _value(found, "H", 0)
    else:
        hours = _value(found, "K", 0) + 12 * _value(found, "a", 0)
    ms = ((hours * 60 + _value(found, "m", 0)) * 60 + _value(found, "s", 0)) * 1000 + _value(found, "S", 0)
    return days * DAY_MS + ms - _value(found, "Z", 0)


def _value(found: Found, letter: str, default: int) -> int:
    return found[letter][0] if letter in found else default


def _place(found: Found, letter: str) -> int:
    return found[letter][1] if letter in found else -1


def _together(found: Found, one: str, other: str) -> int:
    """Return the later place of two fields that count only together; -1 where one is missing."""
    return max(_place(found, one), _place(found, other)) if one in found and other in found else -1


def _day(found: Found) -> int:
    """Return the day."""
    if "Y" in found and _place(found, "Y") > _place(found, "y"):
        first = weekday_on_or_before(days_of(_value(found, "Y", 1970), 1, 1), 0)
        day = _value(found, "E", 0)
        if not 0 <= day < 7:
            # Days go on into other weeks, counted from Monday as the letter u does.
            weeks, day = divmod(day, 7)
            day = (day + 1) % 7 + 7 * weeks
        return first + 7 * (_value(found, "w", 1) - 1) + day
    year = _value(found, "y", 1970)
    if "G" in found and found["G"][0] == 0:
        year = 1 - year
    chosen = _deciding(found)
    # The year tells the calendar, however far month and day go beyond it.
    if year < CUTOVER_YEAR or (year == CUTOVER_YEAR and chosen in "Dw"):
        return _day_in(found, year, chosen, julian_days)
    gregorian = _day_in(found, year, chosen, gregorian_days)
    return gregorian if gregorian >= CUTOVER else _day_in(found, year, chosen, julian_days)


def _deciding(found: Found) -> str:
    """Return the letter of the field that decides about the day."""
    groups = {
        "d": _place(found, "d"),
        "W": _together(found, "W", "E"),
        "F": _together(found, "F", "E"),
        "D": _place(found, "D"),
        "w": _together(found, "w", "E"),
    }
    if max(groups.values()) < 0:
        groups |= {"W": _place(found, "W"), "F": max(_place(found, "F"), _place(found, "E")), "w": _place(found, "w")}
    best = max(groups.values())
    # The first of equal ones: a day of the month goes before a week of the month, and so on.
    chosen = "d" if best < 0 else next(group for group, place in groups.items() if place == best)
    return "w" if chosen in "WF" and max(_place(found, "W"), _place(found, "F")) < _place(found, "w") else chosen


def _day_in(found: Found, year: int, chosen: str, days: Days) -> int:
    """Return the day in one of the calendars."""
    first = days(year, 1 if chosen in "Dw" else _value(found, "M", 1), 1)
    match chosen:
        case "d":
            # From the first on, so that a day beyond its month is one of the next.
            return first + _value(found, "d", 1) - 1
        case "D":
            return first + _value(found, "D", 1) - 1
        case "F":
            weeks = _value(found, "F", 1)
            # A negative number counts from the month's end.
            length = 0 if weeks >= 0 else days(year, _value(found, "M", 1) + 1, 1) - first + 7
            return weekday_on_or_before(first + length + 7 * weeks - 1, _value(found, "E", 0))
        case _:
            return weekday_on_or_before(first, 0) + 7 * (_value(found, chosen, 1) - 1) + _value(found, "E", 0) % 7
