"""What a consumer must know beside the schema, and what a mode does not keep of a value: one table, ``RULES``.

A decoded value equals the original unless a rule here says otherwise. Each rule exists for texts and in SQL, so PostgreSQL checks it too.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from typing import Final

from connector.types.codec import TypeSettings
from tests.support.printed_text import array_members, array_text, clock_text, floating, hstore_text, money_text, timestamp_text


class RefusedError(Exception):
    """The mode has no value for this one: the connector must say so instead of sending another."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a rule asks about: the type's name, atttypmod, the modes, and whether it is a member of an array."""

    name: str
    modifier: int
    modes: TypeSettings
    member: bool = False


def _same(text: str, _cell: Cell) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Rule:
    """One exception. ``reported`` makes the server's text of what was decoded, ``kept`` makes of the server's text what the mode keeps.

    ``sql_reported`` and ``sql_kept`` are SQL for what is compared: ``{d}`` is the text that ``reported`` made, ``{t}`` the column's type,
    ``{c}`` the column. ``close`` compares numbers that a double has held: within 1, and within one part in 2^50.
    """

    about: str
    applies: Callable[[Cell], bool]
    reported: Callable[[str, Cell], str] = _same
    kept: Callable[[str, Cell], str] = _same
    sql_reported: str = "{d}::{t}"
    sql_kept: str = "{c}"
    close: bool = False


_NOTHING: Final = Rule("comes back as it was", lambda _cell: True)
_GEOMETRIC: Final = frozenset({"box", "circle", "line", "lseg", "path", "polygon"})
_WHOLE: Final = frozenset({"mood", "isbn", "tsvector"})
"""Types whose arrays take no NULL."""
UNMAPPED: Final = frozenset({"box", "pg_lsn"})
"""Types without a mapping, of which the properties have columns; only for them do modes say ``include_unknown_datatypes`` here."""
_SPECIAL_WORDS: Final = {"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}
_SPECIALS: Final = frozenset(_SPECIAL_WORDS.values())
_DAY: Final = 86_400_000_000
_MONTH: Final = Decimal("365.25") / 12 * _DAY
_UNITS: Final = {"year": 12 * _MONTH, "mon": _MONTH, "day": Decimal(_DAY)}


def _binary(text: str, cell: Cell) -> str:
    mode = cell.modes.binary_handling_mode
    if mode == "bytes":
        return text
    if mode == "hex":
        return f"\\x{text}"
    if mode == "base64-url-safe":
        # The standard library takes both alphabets.
        assert not {"+", "/"} & set(text)
        text = text.replace("-", "+").replace("_", "/")
    return "\\x" + base64.b64decode(text, validate=True).hex()


def _unmapped(text: str, cell: Cell) -> str:
    shown = bytes.fromhex(_binary(text, cell)[2:]).decode()
    # Java prints the numbers of geometric types in its own way.
    number = r"-?\d+(?:\.\d+)?(?:E-?\d+)?"
    return re.sub(number, lambda found: floating(float(found[0]), single=False), shown) if cell.name in _GEOMETRIC else shown


def _hstore(text: str, _cell: Cell) -> str:
    return hstore_text(json.loads(text))


def _significant(text: str, _cell: Cell) -> str:
    return text.lstrip("0")


def _refused(text: str, _cell: Cell) -> str:
    raise RefusedError(text)


def _bit(text: str, _cell: Cell) -> str:
    return {"t": "1", "f": "0"}[text]


def _without_zeros(text: str, _cell: Cell) -> str:
    if text in _SPECIALS:
        raise RefusedError(text)
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _no_specials(text: str, _cell: Cell) -> str:
    if text in _SPECIALS:
        raise RefusedError(text)
    return text


def _double(text: str, cell: Cell) -> str:
    if cell.member:
        _no_specials(text, cell)
    return floating(float(text), single=False)


def _amount(text: str) -> Decimal:
    return Decimal(text.replace("$", "").replace(",", ""))


def _money_double(text: str, _cell: Cell) -> str:
    return floating(float(_amount(text)), single=False)


def _rounded_money(text: str, cell: Cell) -> str:
    return money_text(_amount(text).quantize(Decimal(1).scaleb(-cell.modes.money_fraction_digits), ROUND_HALF_UP))


def _clock_micros(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000_000 + int(Decimal(seconds) * 1_000_000)


def _millis(text: str, _cell: Cell) -> str:
    """Fraction digits of a time or timestamp count upwards, before Christ too: cutting them is rounding down."""
    found = re.fullmatch(r"([^.]*)(?:\.(\d{1,3})\d*)?(.*)", text)
    assert found is not None
    fraction = (found[2] or "").rstrip("0")
    return found[1] + (f".{fraction}" if fraction else "") + found[3]


def _nanos(text: str, _cell: Cell) -> str:
    day = text[: text.index(" ")] if " " in text else text
    if text.endswith("y") or ("1677-09-21 00:12:43.145225" <= text <= "2262-04-11 23:47:16.854775" and len(day) == 10 and text[-1] != "C"):
        return text
    raise RefusedError(text)


def _overflowing(text: str, _cell: Cell) -> str:
    year, hyphen, rest = text.partition("-")
    if not hyphen or not year.isdecimal() or int(year) < 294_247 or text.endswith("BC"):
        return text
    first = dt.date.fromisoformat(f"{int(year) - 292_000}-{rest.partition(' ')[0]}").toordinal() - dt.date(1970, 1, 1).toordinal()
    micros = (first + 292_000 // 400 * 146_097) * _DAY + _clock_micros(rest.partition(" ")[2])
    seconds = min(micros - micros % 1_000_000, 2**63 - 1)
    return timestamp_text((seconds + micros % 1_000_000 + 2**63) % 2**64 - 2**63)


def _within_day(text: str, _cell: Cell) -> str:
    return clock_text(_clock_micros(text) % _DAY)


def _member_time(text: str, _cell: Cell) -> str:
    micros = _clock_micros(text) % _DAY
    return clock_text(micros - micros % 1_000)


def _in_utc(text: str, cell: Cell) -> str:
    found = re.fullmatch(r"([\d:.]+)([+-])(\d+)(?::(\d+))?(?::(\d+))?", text)
    assert found is not None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[2:])
    offset = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    micros = (_clock_micros(found[1]) - (offset if found[2] == "+" else -offset)) % _DAY
    return clock_text(micros - (micros % 1_000_000 if cell.member else 0)) + "+00"


def _interval_micros(text: str, _cell: Cell) -> str:
    total = Decimal(0)
    for count, unit, sign, clock in re.findall(r"([+-]?\d+) (year|mon|day)s?|([+-]?)(\d+:\d\d:\d\d(?:\.\d+)?)", text):
        total += int(count) * _UNITS[unit] if unit else _clock_micros(clock) * (-1 if sign == "-" else 1)
    return str(max(min(int(total), 2**63 - 1), -(2**63)))


_SQL_MICROS: Final = (
    "((extract(year from {0}) * 12 + extract(month from {0})) * 365.25 / 12 * 86400 + extract(day from {0}) * 86400"
    " + extract(hour from {0}) * 3600 + extract(minute from {0}) * 60 + extract(second from {0})) * 1000000"
)

RULES: Final = (
    Rule("bit[]: refused", lambda cell: cell.name == "bit" and cell.member, kept=_refused),
    Rule(
        "bit(1), varbit(1): a boolean; an empty varbit(1) is refused",
        lambda cell: cell.name in {"bit", "varbit"} and cell.modifier == 1,
        reported=_bit,
        kept=lambda text, cell: text or _refused(text, cell),
        sql_reported="({d} = '1')",
        sql_kept="({c} = '1')",
    ),
    Rule(
        "varbit: how many zeros stand in front",
        lambda cell: cell.name == "varbit",
        reported=_significant,
        kept=_significant,
        sql_reported="ltrim({d}, '0')",
        sql_kept="ltrim({c}::text, '0')",
    ),
    Rule("bytea as base64 or hex: a plain string", lambda cell: cell.name == "bytea", reported=_binary),
    Rule(
        "unmapped types: bytes, the UTF-8 of their text",
        lambda cell: cell.modes.include_unknown_datatypes,
        reported=_unmapped,
        sql_reported="{d}::{t}::text",
        sql_kept="{c}::text",
    ),
    Rule(
        "hstore as json: a Json as any other",
        lambda cell: cell.name == "hstore" and cell.modes.hstore_handling_mode == "json",
        reported=_hstore,
    ),
    Rule(
        "money, double: 15 to 17 digits",
        lambda cell: cell.name == "money" and cell.modes.decimal_handling_mode == "double",
        kept=_money_double,
        sql_reported="{d}::float8",
        sql_kept="{c}::numeric::float8",
    ),
    Rule(
        "money, string: a plain string of its digits",
        lambda cell: cell.name == "money" and cell.modes.decimal_handling_mode == "string",
        reported=lambda text, _cell: money_text(Decimal(text)),
    ),
    Rule(
        "money, precise: a Decimal as any other, rounded half up to money.fraction.digits",
        lambda cell: cell.name == "money",
        reported=lambda text, _cell: money_text(Decimal(text)),
        kept=_rounded_money,
        sql_reported="translate({d}, '$,', '')::numeric",
        sql_kept="round({c}::numeric, {digits})",
    ),
    Rule(
        "numeric, double: 15 to 17 digits; NaN and infinities are refused in arrays",
        lambda cell: cell.name == "numeric" and cell.modes.decimal_handling_mode == "double",
        kept=_double,
        sql_reported="{d}::float8",
        sql_kept="{c}::float8",
    ),
    Rule(
        "numeric[], string: NaN and infinities are refused",
        lambda cell: cell.name == "numeric" and cell.modes.decimal_handling_mode == "string" and cell.member,
        kept=_no_specials,
    ),
    Rule(
        "numeric, string: NaN and infinities have words of Debezium's",
        lambda cell: cell.name == "numeric" and cell.modes.decimal_handling_mode == "string",
        reported=lambda text, _cell: _SPECIAL_WORDS.get(text, text),
    ),
    Rule(
        "numeric without a precision, precise: zeros at the end of the fraction; NaN and infinities are refused",
        lambda cell: cell.name == "numeric" and cell.modifier < 4,
        kept=_without_zeros,
    ),
    Rule("numeric(p,s), precise: NaN is refused", lambda cell: cell.name == "numeric", kept=_no_specials),
    Rule(
        "time[]: finer than milliseconds; 24:00 is 00:00",
        lambda cell: cell.name == "time" and cell.member,
        kept=_member_time,
        sql_kept="date_trunc('milliseconds', {c})::time",
    ),
    Rule(
        "time, connect: finer than milliseconds",
        lambda cell: cell.name == "time" and cell.modes.time_precision_mode == "connect",
        kept=_millis,
        sql_reported="{d}::time::interval",
        sql_kept="date_trunc('milliseconds', {c})",
    ),
    Rule(
        "time, isostring: 24:00 is 00:00",
        lambda cell: cell.name == "time" and cell.modes.time_precision_mode == "isostring",
        kept=_within_day,
        sql_kept="{c}::interval::time",
    ),
    Rule(
        "timestamp, connect: finer than milliseconds, rounded down",
        lambda cell: cell.name == "timestamp" and cell.modes.time_precision_mode == "connect",
        kept=_millis,
        sql_kept="date_trunc('milliseconds', {c})",
    ),
    Rule(
        "timestamp, nanoseconds: before 1677-09-21 or after 2262-04-11 it is refused, and null in arrays",
        lambda cell: cell.name == "timestamp" and cell.modes.time_precision_mode == "nanoseconds",
        kept=_nanos,
        sql_kept=("case when not isfinite({c}) or {c} between '1677-09-21 00:12:43.145225' and '2262-04-11 23:47:16.854775' then {c} end"),
    ),
    Rule(
        "timestamp in microseconds: from 294247-01-10 04:00:54.775808 on 64 bits overflow, as in Java (not in the properties)",
        lambda cell: cell.name == "timestamp" and cell.modes.time_precision_mode != "isostring" and not 0 <= cell.modifier <= 3,
        kept=_overflowing,
    ),
    Rule(
        "timetz[]: its offset, and what is finer than seconds",
        lambda cell: cell.name == "timetz" and cell.member,
        kept=_in_utc,
        sql_kept="(date_trunc('second', ({c} at time zone 'UTC')::time)::time || '+00')::timetz",
    ),
    Rule(
        "timetz: its offset; 24:00 is 00:00",
        lambda cell: cell.name == "timetz",
        kept=_in_utc,
        sql_kept="{c} at time zone 'UTC'",
    ),
    Rule(
        "interval, numeric: the units; a month counts 365.25 / 12 days, in double arithmetic, up to 64 bits",
        lambda cell: cell.name == "interval" and cell.modes.interval_handling_mode == "numeric",
        reported=_interval_micros,
        kept=_interval_micros,
        sql_reported="{d}::numeric",
        sql_kept=_SQL_MICROS.replace("{0}", "{c}"),
        close=True,
    ),
    Rule(
        "int2vector, oidvector: arrays",
        lambda cell: cell.name in {"int2vector", "oidvector"},
        reported=lambda text, _cell: text[1:-1].replace(",", " "),
    ),
    Rule(
        "no equality in SQL",
        lambda cell: cell.name in {"json", "xml", "point", "geometry", "geography", "bpchar"},
        sql_reported="{d}::{t}::text",
        sql_kept="{c}::text",
    ),
)
"""The first that applies counts. Of arrays, members by themselves; bounds are lost, and of more
dimensions all but the first's length; a NULL among members that take none is refused."""


@cache
def rule_of(cell: Cell) -> Rule:
    return next((rule for rule in RULES if rule.applies(cell)), _NOTHING)


def reported(name: str, modifier: int, modes: TypeSettings, text: str) -> str:
    """The server's text of a decoded value, by all that a consumer knows."""
    return _changed(name, modifier, modes, text, lambda rule: rule.reported)


@lru_cache(16_384)
def kept(name: str, modifier: int, modes: TypeSettings, text: str) -> str:
    """What the modes keep of the server's text. Raises RefusedError when they have no value for it."""
    return _changed(name, modifier, modes, text, lambda rule: rule.kept)


def _changed(name: str, modifier: int, modes: TypeSettings, text: str, side: Callable[[Rule], Callable[[str, Cell], str]]) -> str:
    if not name.endswith("[]"):
        cell = Cell(name, modifier, modes)
        return side(rule_of(cell))(text, cell)
    cell = Cell(name.removesuffix("[]"), modifier, modes, member=True)
    change, delimiter = side(rule_of(cell)), ":" if cell.name == "geometry" else ","
    members: list[str | None] = []
    for member in array_members(text, delimiter):
        try:
            members.append(None if member is None else change(member, cell))
        except RefusedError:
            if cell.name != "timestamp":
                raise
            members.append(None)
    if None in members and cell.name in _WHOLE:
        raise RefusedError(text)
    return array_text(members, delimiter)


def agree(name: str, modifier: int, modes: TypeSettings, one: str, other: str) -> bool:
    """Whether the decoded value is the expected one."""
    if not rule_of(Cell(name, modifier, modes)).close:
        return one == other
    return abs(int(one) - int(other)) <= 1 + (abs(int(other)) >> 50)


def comparison(name: str, declared: str, modifier: int, modes: TypeSettings, names: Mapping[str, str]) -> str:
    """SQL that is true when a decoded text (``names["d"]``) is what the modes keep of the column ``names["c"]`` of type ``declared``."""
    member = name.endswith("[]")
    rule = rule_of(Cell(name.removesuffix("[]"), modifier, modes, member))
    further = {"t": declared.removesuffix("[]"), "digits": str(modes.money_fraction_digits)}
    if not member:
        one, other = (f"({side.format(**names, **further)})" for side in (rule.sql_reported, rule.sql_kept))
        if rule.close:
            return f"(({one} is null and {other} is null) or coalesce(abs({one} - {other}) <= 1 + abs({other}) / 1125899906842624, false))"
        return f"{one} is not distinct from {other}"
    d, c = names["d"], names["c"]
    one, other = (
        f"(select coalesce(array_agg({side.format(d='e', c='e', **further)} order by n), '{{}}')"
        f" from unnest({source}) with ordinality as u(e, n))"
        for side, source in ((rule.sql_reported, f"{d}::text[]"), (rule.sql_kept, c))
    )
    if name == "geometry[]":
        one, other = f"{d}::{declared}::text", f"{c}::text"
    nulls = f"array_fill(null::text, array[array_length({c}, 1)])"
    return (
        f"case when {c} is null or {d} is null then {c} is null and {d} is null"
        f" when array_ndims({c}) > 1 then {d}::text[] = {nulls} else {one} is not distinct from {other} end"
    )
