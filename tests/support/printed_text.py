"""How PostgreSQL prints values (DateStyle ISO, IntervalStyle postgres, time zone UTC), written from its manual, chapter 8.

Independent of ``connector``: what makes the tests' values and what reads events back into them both print with these functions.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
"""The calendar repeats after this number of years, and of days."""
_EPOCH = dt.date(1970, 1, 1).toordinal()
_BLANKS = " \t\n\r\v\f"


def floating(value: float, *, single: bool) -> str:
    """The shortest exact form, with an exponent where the server uses one (8.1.3); NaN and infinities too."""
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "Infinity" if value > 0 else "-Infinity"

    if single:
        (value,) = struct.unpack("f", struct.pack("f", value))

    if not value:
        return "-0" if math.copysign(1, value) < 0 else "0"
    shortest = _shortest(value, single=single)
    exponent = shortest.adjusted()
    if -4 <= exponent < (6 if single else 15):
        return format(shortest, "f")
    sign, digits, _ = shortest.as_tuple()
    mantissa = "".join(map(str, digits))
    return f"{'-' if sign else ''}{mantissa[0]}{'.' if len(digits) > 1 else ''}{mantissa[1:]}e{exponent:+03d}"


@lru_cache(8192)
def _shortest(value: float, *, single: bool) -> Decimal:
    """The fewest digits that are read as the number, which is not zero, of those the nearest."""
    exactly, middles = Decimal(value), _middles(value, single=single)

    def back(number: Decimal) -> float | None:
        try:
            return float(struct.unpack("f", struct.pack("f", float(number)))[0]) if single else float(number)
        except OverflowError:
            return None

    for digits in range(1 if single else len(Decimal(repr(value)).normalize().as_tuple().digits), 18):
        around = [Context(prec=digits, rounding=way).create_decimal(exactly) for way in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)]
        # The server does not take a number in the middle of two, though it would be read as the right one.
        found = [number for number in around if back(number) == value and Fraction(number) not in middles]
        if found:
            return min(found, key=lambda number: abs(Fraction(number) - Fraction(value))).normalize()
    raise AssertionError(value)


def _middles(value: float, *, single: bool) -> set[Fraction]:
    """The middles between a finite number and its neighbours."""
    code, number = ("<i", "<f") if single else ("<q", "<d")
    (bits,) = struct.unpack(code, struct.pack(number, abs(value)))
    neighbours = [struct.unpack(number, struct.pack(code, near))[0] for near in (bits - 1, bits + 1) if near >= 0]
    sign = -1 if value < 0 else 1
    return {sign * (Fraction(abs(value)) + Fraction(near)) / 2 for near in neighbours if near < float("inf")}


def date_text(days: int) -> tuple[str, str]:
    """A date by its days since 1970-01-01, and its era: ``("0044-03-15", " BC")``. The standard library counts within 400 years."""
    cycles, rest = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    day = dt.date.fromordinal(rest + 1)
    return year_text(day.year + cycles * _CYCLE_YEARS, f"-{day.month:02d}-{day.day:02d}")


def year_text(year: int, rest: str) -> tuple[str, str]:
    """A date by its year, in which 0 is 1 BC, and what follows it."""
    return (f"{year:04d}{rest}", "") if year > 0 else (f"{1 - year:04d}{rest}", " BC")


def clock_text(micros: int) -> str:
    """A time of day or a duration, without needless zeros: ``01:02:03.5``."""
    seconds, fraction = divmod(micros, 1_000_000)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{shown}.{fraction:06d}".rstrip("0") if fraction else shown


def timestamp_text(micros: int) -> str:
    """A timestamp by its microseconds since the epoch."""
    days, rest = divmod(micros, 86_400_000_000)
    day, era = date_text(days)
    return f"{day} {clock_text(rest)}{era}"


def interval_text(years: int, months: int, days: int, micros: int) -> str:
    """``1 year -2 mons +3 days 04:05:06.78``: a plus where a part follows a negative one (8.5.5)."""
    parts: list[str] = []
    negative = False
    for count, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if count:
            parts.append(f"{'+' if negative and count > 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
            negative = count < 0
    if micros or not parts:
        parts.append(("-" if micros < 0 else "+" if negative else "") + clock_text(abs(micros)))
    return " ".join(parts)


def quoted(text: str) -> str:
    """In double quotes, with backslashes before quotes and backslashes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array_text(members: Sequence[str | None], delimiter: str = ",") -> str:
    """An array of one dimension; its members are quoted where they must be (8.15.6)."""

    def shown(member: str) -> str:
        plain = member and member.upper() != "NULL" and not any(c in '{}"\\' + delimiter + _BLANKS for c in member)
        return member if plain else quoted(member)

    return "{" + delimiter.join("NULL" if member is None else shown(member) for member in members) + "}"


def array_members(text: str, delimiter: str = ",") -> list[str | None]:
    """The members of an array: :func:`array_text` reversed. With several dimensions each part is None. Bounds are ignored."""
    body = text[text.index("{") + 1 : -1]
    return [None if bare == "NULL" or bare.startswith("{") else _unquoted(bare) for bare in _split(body, delimiter)] if body else []


def _split(body: str, delimiter: str) -> Iterator[str]:
    start = depth = at = 0
    inside = False
    while at < len(body):
        char = body[at]
        if char == "\\":
            at += 1
        elif char == '"':
            inside = not inside
        elif not inside:
            depth += (char == "{") - (char == "}")
            if char == delimiter and not depth:
                yield body[start:at]
                start = at + 1
        at += 1
    yield body[start:]


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    return text[1:-1].replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")


def each_member(text: str, change: Callable[[str], str]) -> str:
    """An array with each of its members changed."""
    return array_text([None if member is None else change(member) for member in array_members(text)])


def hstore_text(members: Mapping[str, str | None]) -> str:
    """An hstore, in which short keys come first (F.18)."""
    ordered = sorted(members.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
    return ", ".join(f"{quoted(key)}=>{'NULL' if value is None else quoted(value)}" for key, value in ordered)


def money_text(amount: Decimal) -> str:
    """An amount where ``lc_monetary`` is C."""
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"
