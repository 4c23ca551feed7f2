"""The two ways to JSON agree on every value a type can have."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from connector.record.json_converter import ConverterSettings, value_json
from connector.types.registry import resolve
from connector.types.temporal.calendar import days_from_civil
from tests.support.type_catalog import OIDS, TYPES, column, compiled_inline, settings

MODES = ("adaptive", "adaptive_time_microseconds", "connect", "microseconds", "nanoseconds", "isostring")
ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
WORDS = st.text(ANY, max_size=20)


def shortest(value: float) -> str:
    return repr(value).removesuffix(".0").replace("inf", "Infinity").replace("nan", "NaN")


def shortest_single(value: float) -> str:
    if value in {float("inf"), float("-inf")} or value != value:  # noqa: PLR0124 - NaN
        return shortest(value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        try:
            if struct.unpack("<f", struct.pack("<f", float(text)))[0] == value:
                return text
        except OverflowError:
            continue
    raise AssertionError(value)


def array_text(elements: Sequence[str | None]) -> str:
    return "{" + ",".join("NULL" if e is None else '"' + e.replace("\\", "\\\\").replace('"', '\\"') + '"' for e in elements) + "}"


def hstore_text(pairs: dict[str, str | None]) -> str:
    def shown(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return ", ".join(f"{shown(k)}=>{'NULL' if v is None else shown(v)}" for k, v in pairs.items())


def trimmed(fraction: int) -> str:
    return f".{fraction:06d}".rstrip("0").rstrip(".")


def clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{trimmed(fraction)}"


def day(year: int, month: int, number: int) -> tuple[str, str]:
    return f"{year if year > 0 else 1 - year:04d}-{month:02d}-{number:02d}", " BC" if year <= 0 else ""


DAYS = st.tuples(st.integers(-4712, 294276), st.integers(1, 12), st.integers(1, 28)).map(lambda parts: day(*parts))
CLOCKS = st.integers(0, 86_400_000_000).map(clock)
INFINITIES = st.sampled_from(["infinity", "-infinity"])
DATES = DAYS.map("".join) | INFINITIES
TIMESTAMPS = st.builds(lambda date, time: f"{date[0]} {time}{date[1]}", DAYS, CLOCKS) | INFINITIES
ZONED = st.builds(lambda date, time: f"{date[0]} {time}+00{date[1]}", DAYS, CLOCKS) | INFINITIES
OFFSETS = st.builds(
    lambda sign, hours, rest: f"{sign}{hours:02d}{rest}", st.sampled_from("+-"), st.integers(0, 15), st.sampled_from(["", ":30", ":59:59"])
)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False).map(lambda value: format(value, "f"))
SPECIAL = st.sampled_from(["NaN", "Infinity", "-Infinity"])
FIXED = st.integers(-(10**12), 10**12).map(lambda value: format(Decimal(value).scaleb(-2), "f"))
INTERVALS = st.builds(
    lambda years, months, days, sign, micros: " ".join(
        part
        for part in (years and f"{years} years", months and f"{months} mons", days and f"{days} days", f"{sign}{clock(micros)}")
        if part
    ),
    st.integers(-9999, 9999),
    st.integers(-11, 11),
    st.integers(-9999, 9999),
    st.sampled_from(["", "-"]),
    st.integers(0, 10**13),
)
MONEY = st.integers(-(2**63), 2**63 - 1).map(lambda cents: f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}")
UUIDS = st.uuids().map(str)

CASES: list[tuple[str, int, dict[str, str], st.SearchStrategy[str]]] = [
    ("bool", -1, {}, st.sampled_from("tf")),
    ("int4", -1, {}, st.integers(-(2**31), 2**31 - 1).map(str)),
    ("oid", -1, {}, st.integers(0, 2**32 - 1).map(str)),
    ("float8", -1, {}, st.floats().map(shortest)),
    ("float4", -1, {}, st.floats(width=32).map(shortest_single)),
    *[("numeric", -1, {"decimal_handling_mode": mode}, NUMBERS) for mode in ("precise", "double", "string")],
    *[("numeric", -1, {"decimal_handling_mode": mode}, SPECIAL) for mode in ("double", "string")],
    *[("numeric", (20 << 16 | 2) + 4, {"decimal_handling_mode": mode}, FIXED) for mode in ("precise", "double", "string")],
    ("numeric", (20 << 16 | 2) + 4, {"decimal_format": "NUMERIC"}, FIXED),
    ("numeric", (30 << 16 | 12) + 4, {"decimal_format": "NUMERIC"}, st.integers().map(lambda v: format(Decimal(v).scaleb(-12), "f"))),
    ("numeric", (3 << 16 | 0x7FE) + 4, {}, st.integers(-999, 999).map(lambda v: str(v * 100))),
    *[("money", -1, {"decimal_handling_mode": mode}, MONEY) for mode in ("precise", "double", "string")],
    *[("money", -1, {"money_fraction_digits": digits}, MONEY) for digits in ("0", "1", "4")],
    *[(name, -1, {}, WORDS) for name in ("text", "citext", "json", "xml", "mood", "tsvector")],
    ("uuid", -1, {}, UUIDS),
    *[
        ("bytea", -1, {"binary_handling_mode": mode}, st.binary().map(lambda v: "\\x" + v.hex()))
        for mode in ("bytes", "base64", "base64-url-safe", "hex")
    ],
    *[("box", -1, {"include_unknown_datatypes": "true", "binary_handling_mode": mode}, WORDS) for mode in ("bytes", "hex")],
    ("bit", 1, {}, st.sampled_from("01")),
    ("varbit", -1, {}, st.text("01")),
    *[("date", -1, {"time_precision_mode": mode}, DATES) for mode in MODES],
    *[("time", digits, {"time_precision_mode": mode}, CLOCKS) for mode in MODES for digits in (-1, 3)],
    *[("timestamp", digits, {"time_precision_mode": mode}, TIMESTAMPS) for mode in MODES for digits in (-1, 0)],
    ("timestamptz", -1, {}, ZONED),
    ("timetz", -1, {}, st.builds(lambda time, offset: time + offset, CLOCKS, OFFSETS)),
    *[("interval", -1, {"interval_handling_mode": mode}, INTERVALS) for mode in ("numeric", "string")],
    ("point", -1, {}, st.builds(lambda x, y: f"({shortest(x)},{shortest(y)})", st.floats(), st.floats())),
    *[
        ("hstore", -1, {"hstore_handling_mode": mode}, st.dictionaries(WORDS, st.none() | WORDS).map(hstore_text))
        for mode in ("json", "map")
    ],
    ("text[]", -1, {}, st.lists(st.none() | WORDS).map(array_text)),
    (
        "int4[]",
        -1,
        {},
        st.lists(st.none() | st.integers(-9, 9)).map(lambda v: "{" + ",".join("NULL" if e is None else str(e) for e in v) + "}"),
    ),
    ("numeric[]", -1, {}, st.lists(st.none() | NUMBERS).map(array_text)),
    ("date[]", -1, {}, st.lists(st.none() | DATES).map(array_text)),
    ("time[]", -1, {}, st.lists(CLOCKS).map(array_text)),
    ("timestamp[]", -1, {"time_precision_mode": "nanoseconds"}, st.lists(TIMESTAMPS).map(array_text)),
    ("mood[]", -1, {}, st.lists(WORDS).map(array_text)),
    ("hstore[]", -1, {}, st.lists(st.dictionaries(WORDS, st.none() | WORDS).map(hstore_text)).map(array_text)),
]


@pytest.mark.parametrize(("name", "modifier", "changed", "texts"), CASES, ids=[f"{c[0]}({c[1]}) {c[2]}" for c in CASES])
@tries(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_fast_path_equals_json_converter(
    name: str, modifier: int, changed: dict[str, str], texts: st.SearchStrategy[str], data: st.DataObject
) -> None:
    assert name in OIDS
    chosen = settings(changed)
    codec = resolve(column(name, modifier), TYPES, chosen)
    assert codec is not None
    text = data.draw(texts).encode()
    try:
        value = codec.decode(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"^[A-Z]"):
            codec.encode(text)
        return
    encoded = codec.encode(text)
    assert encoded == value_json(codec.schema, value, ConverterSettings(decimal_format=chosen.decimal_format))
    inline = compiled_inline(codec)
    assert inline is None or inline(text) == encoded


@given(st.dates())
def test_day_numbers_are_those_of_the_standard_library(date: dt.date) -> None:
    assert days_from_civil(date.year, date.month, date.day) == date.toordinal() - 719_163
