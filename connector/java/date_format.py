"""``java.text.SimpleDateFormat`` in the locale ``en`` and the zone UTC: patterns, and times written by them.

Times are in ms since 1970-01-01. Source: the class's documentation, "Date and Time Patterns". Reading is in
:mod:`connector.java.date_parsing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from connector.java.calendar import DAY_MS, civil, day_of_year, days_of, week_of_month, week_of_year, weekday, weekday_of_month
from connector.java.date_parsing import parse
from connector.java.date_tokens import DAYS, ERAS, HALVES, LETTERS, MONTHS, ZONE_NAME, Token

_YEARS_BEFORE: Final = 80


class PatternError(ValueError):
    """A pattern that Java refuses. The text is Java's."""


class _Moment(NamedTuple):
    """A time, split."""

    days: int
    ms: int
    year: int
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A compiled pattern."""

    pattern: str
    tokens: tuple[Token, ...]
    century: int
    """The time at which the century of years of two digits begins."""

    @classmethod
    def compile(cls, pattern: str, now: int = 0) -> DateFormat:
        """Compile a pattern. Raises PatternError. ``now`` in ms counts only for texts whose years have two digits."""
        days, ms = divmod(now, DAY_MS)
        year, month, day = civil(days)
        return cls(pattern, tuple(_tokens(pattern)), days_of(year - _YEARS_BEFORE, month, day) * DAY_MS + ms)

    def format(self, ms: int) -> str:
        """Return the text of a time."""
        days, rest = divmod(ms, DAY_MS)
        moment = _Moment(days, rest, *civil(days))
        return "".join(token.text if token.letter is None else _written(token.letter, token.count, moment) for token in self.tokens)

    def parse(self, text: str) -> int | None:
        """Return the time that a text begins with, or None where it does not go with the pattern. Anything may follow.

        A year of two digits lies in the 80 years before the moment at which the pattern was compiled, or in the 20 years after it.
        """
        return parse(self.tokens, text, self.century)


def _tokens(pattern: str) -> list[Token]:
    """Split a pattern into fields and literal text. Raises PatternError."""
    tokens: list[Token] = []
    literal: list[str] = []
    at, quoted = 0, False

    def close() -> None:
        if literal:
            tokens.append(Token("".join(literal), None, 0))
            literal.clear()

    while at < len(pattern):
        sign = pattern[at]
        if sign == "'":
            if pattern[at + 1 : at + 2] == "'":
                literal.append("'")
                at += 1
            else:
                quoted = not quoted
            at += 1
        elif quoted or not (sign.isascii() and sign.isalpha()):
            literal.append(sign)
            at += 1
        else:
            if sign not in LETTERS:
                raise PatternError(f"Illegal pattern character '{sign}'")
            close()
            end = at
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            if sign == "X" and end - at > 3:
                raise PatternError(f"invalid ISO 8601 format: length={end - at}")
            tokens.append(Token("", sign, end - at))
            at = end
    if quoted:
        raise PatternError("Unterminated quote")
    close()
    return tokens


def _written(letter: str, count: int, moment: _Moment) -> str:
    """Return the text of one field."""
    match letter:
        case "G":
            return ERAS[moment.year > 0]
        case "y":
            return _year(moment.year if moment.year > 0 else 1 - moment.year, count)
        case "Y":
            return _year(week_of_year(moment.days)[0], count)
        case "M" | "L":
            return _named(MONTHS[moment.month - 1], count) if count > 2 else str(moment.month).zfill(count)
        case "E":
            return _named(DAYS[weekday(moment.days)], count)
        case "a":
            return HALVES[moment.ms >= DAY_MS // 2]
        case "z":
            return ZONE_NAME if count > 3 else "UTC"
        case "Z":
            return "+0000"
        case "X":
            return "Z"
        case _:
            return str(_number(letter, moment)).zfill(count)


_FULL_NAMES: Final = 4


def _named(name: str, count: int) -> str:
    return name if count >= _FULL_NAMES else name[:3]


def _year(year: int, count: int) -> str:
    """Return a year. Two letters keep two digits."""
    sign, digits = "-" if year < 0 else "", str(abs(year)).zfill(count)
    return sign + (digits[-2:] if count == 2 else digits)


def _number(letter: str, moment: _Moment) -> int:
    hour = moment.ms // 3_600_000
    match letter:
        case "d":
            return moment.day
        case "D":
            return day_of_year(moment.days)
        case "F":
            return weekday_of_month(moment.days)
        case "w":
            return week_of_year(moment.days)[1]
        case "W":
            return week_of_month(moment.days)
        case "u":
            return weekday(moment.days) or 7
        case "H":
            return hour
        case "k":
            return hour or 24
        case "K":
            return hour % 12
        case "h":
            return hour % 12 or 12
        case "m":
            return moment.ms // 60_000 % 60
        case "s":
            return moment.ms // 1000 % 60
        case _:
            return moment.ms % 1000
