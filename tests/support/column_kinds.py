"""Columns of all types for property tests: texts as the server prints them, and the types in the catalog.

``COLUMNS`` have a value in every mode; ``FURTHER`` are the rest: types of extensions, arrays, and values that some modes refuse.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final

from hypothesis import strategies as st

from connector.types.codec import TypeInfo, TypeSettings
from tests.support.printed_text import (
    array_text,
    clock_text,
    date_text,
    floating,
    hstore_text,
    interval_text,
    money_text,
    timestamp_text,
)
from tests.support.stream_rig import TYPES

KINDS: Final = TYPES | {
    info.oid: info
    for info in (
        TypeInfo(22, "int2vector", "pg_catalog", category="A", element=21),
        TypeInfo(26, "oid", "pg_catalog", category="N"),
        TypeInfo(30, "oidvector", "pg_catalog", category="A", element=26),
        TypeInfo(142, "xml", "pg_catalog"),
        TypeInfo(600, "point", "pg_catalog", category="G"),
        TypeInfo(603, "box", "pg_catalog", category="G"),
        TypeInfo(650, "cidr", "pg_catalog", category="I"),
        TypeInfo(790, "money", "pg_catalog", category="N"),
        TypeInfo(829, "macaddr", "pg_catalog"),
        TypeInfo(1000, "_bool", "pg_catalog", category="A", element=16),
        TypeInfo(1001, "_bytea", "pg_catalog", category="A", element=17),
        TypeInfo(1005, "_int2", "pg_catalog", category="A", element=21),
        TypeInfo(1016, "_int8", "pg_catalog", category="A", element=20),
        TypeInfo(1021, "_float4", "pg_catalog", category="A", element=700),
        TypeInfo(1022, "_float8", "pg_catalog", category="A", element=701),
        TypeInfo(1042, "bpchar", "pg_catalog", category="S"),
        TypeInfo(1115, "_timestamp", "pg_catalog", category="A", element=1114),
        TypeInfo(1182, "_date", "pg_catalog", category="A", element=1082),
        TypeInfo(1183, "_time", "pg_catalog", category="A", element=1083),
        TypeInfo(1185, "_timestamptz", "pg_catalog", category="A", element=1184),
        TypeInfo(1231, "_numeric", "pg_catalog", category="A", element=1700),
        TypeInfo(1270, "_timetz", "pg_catalog", category="A", element=1266),
        TypeInfo(1560, "bit", "pg_catalog", category="V"),
        TypeInfo(1562, "varbit", "pg_catalog", category="V"),
        TypeInfo(2951, "_uuid", "pg_catalog", category="A", element=2950),
        TypeInfo(3220, "pg_lsn", "pg_catalog"),
        TypeInfo(3614, "tsvector", "pg_catalog"),
        TypeInfo(3807, "_jsonb", "pg_catalog", category="A", element=3802),
        TypeInfo(3904, "int4range", "pg_catalog", "r", "R"),
        TypeInfo(3906, "numrange", "pg_catalog", "r", "R"),
        TypeInfo(3908, "tsrange", "pg_catalog", "r", "R"),
        TypeInfo(3910, "tstzrange", "pg_catalog", "r", "R"),
        TypeInfo(3912, "daterange", "pg_catalog", "r", "R"),
        TypeInfo(90_001, "mood", "public", "e", "E", labels=("sad", "ok", 'very "happy"')),
        TypeInfo(90_002, "_mood", "public", category="A", element=90_001),
        TypeInfo(90_003, "price", "public", "d", "N", base=1700, base_modifier=655366),
        TypeInfo(90_004, "year", "public", "d", "N", base=23),
        TypeInfo(90_005, "hstore", "public"),
        TypeInfo(90_006, "citext", "public", category="S"),
        TypeInfo(90_007, "_hstore", "public", category="A", element=90_005),
        TypeInfo(90_008, "ltree", "public"),
        TypeInfo(90_009, "isbn", "public"),
        TypeInfo(90_010, "geometry", "public"),
        TypeInfo(90_011, "geography", "public"),
        TypeInfo(90_012, "_geometry", "public", category="A", element=90_010),
        TypeInfo(90_013, "vector", "public"),
        TypeInfo(90_014, "halfvec", "public"),
        TypeInfo(90_015, "sparsevec", "public"),
    )
}

TEXTS: Final = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
ODD_TEXTS: Final = st.sampled_from(["", "\x01\x1f\x7f", '"\\/', "漢字", "😀", "tab\tnew\nline", "\u2028", "NULL", "long " * 50])
STRINGS: Final = TEXTS | ODD_TEXTS


def integers(bits: int) -> st.SearchStrategy[str]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(str)


def fixed(digits: int, scale: int) -> st.SearchStrategy[str]:
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda n: format(Decimal(n).scaleb(-scale), "f"))


def listed(elements: st.SearchStrategy[str], delimiter: str = ",") -> st.SearchStrategy[str]:
    return st.lists(st.none() | elements, max_size=5).map(lambda members: array_text(members, delimiter))


def cut(text: str, digits: int) -> str:
    """A time or timestamp with no more than so many fraction digits."""
    clock, blank, era = text.partition(" BC")
    whole, point, fraction = clock.partition(".")
    fraction = fraction[:digits].rstrip("0")
    return (f"{whole}.{fraction}" if point and fraction else whole) + blank + era


INFINITIES: Final = st.sampled_from(["infinity", "-infinity"])
# 4713 BC, where the server's dates begin, to year 5874897; timestamps end before microseconds overflow 64 bits.
DAYS: Final = st.integers(-2_440_000, 2_145_000_000).map(lambda days: "".join(date_text(days)))
DATES: Final = st.dates().map(str) | st.sampled_from(["0044-03-15 BC", "0001-12-31 BC", "12345-06-07"]) | DAYS | INFINITIES
TIMES: Final = st.sampled_from(["00:00:00", "23:59:59", "24:00:00", "12:34:56.7", "12:34:56.789", "01:02:03.000004"]) | st.integers(
    0, 86_400_000_000
).map(clock_text)
MOMENTS: Final = (
    st.integers(-210_000_000_000_000_000, 9_223_371_331_199_999_999).map(timestamp_text)
    | st.integers(-9_000_000_000_000_000, 9_000_000_000_000_000).map(timestamp_text)
    | st.sampled_from(["0044-03-15 12:00:00.123 BC", "12345-06-07 00:00:00.12345", "2024-02-29 23:59:59.123456"])
    | INFINITIES
)
OFFSETS: Final = st.builds(
    lambda sign, hours, rest: f"{sign}{hours:02d}{rest}", st.sampled_from("+-"), st.integers(1, 15), st.sampled_from(["", ":30", ":59:59"])
) | st.just("+00")
INTERVALS: Final = st.sampled_from(
    ["1 year 2 mons 3 days 04:05:06.789", "-00:00:00.5", "00:00:00", "-3 days", "-3 days +01:00:00"]
) | st.builds(
    lambda months, days, micros: interval_text(int(months / 12), months - int(months / 12) * 12, days, micros),
    st.integers(-99_999, 99_999),
    st.integers(-9_999, 9_999),
    st.integers(-(10**12), 10**12),
)
SINGLES: Final = st.floats(width=32, allow_nan=False, allow_infinity=False)
REALS: Final = SINGLES.map(lambda value: floating(value, single=True))
DOUBLES: Final = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: floating(value, single=False))
SPECIALS: Final = st.sampled_from(["NaN", "Infinity", "-Infinity"])
POINTS: Final = st.tuples(DOUBLES, DOUBLES).map(lambda point: f"({point[0]},{point[1]})")
MONEY: Final = st.sampled_from(["$1,234.50", "-$0.05", "$0.00", "$92,233,720,368,547,758.07", "-$92,233,720,368,547,758.08"]) | st.integers(
    -(2**63), 2**63 - 1
).map(lambda cents: money_text(Decimal(cents).scaleb(-2)))
HSTORES: Final = st.dictionaries(STRINGS, st.none() | STRINGS, max_size=4).map(hstore_text)
BYTEA: Final = st.binary(max_size=20).map(lambda data: "\\x" + data.hex()) | st.sampled_from(["\\x", "\\xfbefbeffff", "\\x00ff"])


def zoned(moment: str) -> str:
    if moment.endswith("y"):
        return moment
    clock, era, _ = moment.partition(" BC")
    return f"{clock}+00{era}"


def ewkb(x: float, y: float, srid: int | None, *, big: bool = False) -> str:
    """A point as PostGIS prints it."""
    order = ">" if big else "<"
    kind = 1 if srid is None else 1 | 0x20000000
    head = struct.pack(order + "BI", not big, kind) + (b"" if srid is None else struct.pack(order + "i", srid))
    return (head + struct.pack(order + "dd", x, y)).hex().upper()


_DEGREES: Final = st.integers(-89, 89).map(float)
GEOMETRIES: Final = st.builds(ewkb, _DEGREES, _DEGREES, st.sampled_from([None, 4326, 3187]))
GEOGRAPHIES: Final = st.builds(ewkb, _DEGREES, _DEGREES, st.just(4326))
SIXTEENTHS: Final = st.integers(-(2**11), 2**11).map(lambda n: floating(n / 16, single=True))
"""Numbers that 16 bits hold exactly."""


def _vector(members: list[str]) -> str:
    return f"[{','.join(members)}]"


def _sparse(members: dict[int, str]) -> str:
    return "{" + ",".join(f"{index}:{value}" for index, value in sorted(members.items()) if value != "0") + "}/20"


@dataclass(frozen=True)
class Kind:
    """A column type: oid, modifier, texts as the server prints them, and defaults as pg_get_expr prints them."""

    oid: int
    modifier: int
    texts: st.SearchStrategy[str]
    defaults: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        """The type's own name, without ``_`` and with ``[]`` for arrays."""
        name = KINDS[self.oid].name
        return f"{name[1:]}[]" if name.startswith("_") else name

    @cached_property
    def declared(self) -> str:
        """The column's type in SQL, with the modifier in words."""
        name, modifier = self.name, self.modifier
        base = name.removesuffix("[]")
        if modifier < 0 or base in {"price", "year"}:
            return name
        if base == "numeric":
            words = f"({modifier - 4 >> 16},{(modifier - 4 & 0x7FF ^ 0x400) - 0x400})"
        elif base in {"varchar", "bpchar"}:
            words = f"({modifier - 4})"
        else:
            words = f"({modifier})"
        return base + words + name[len(base) :]


COLUMNS: Final = [
    Kind(16, -1, st.sampled_from(["t", "f"]), ("true", "false")),
    Kind(17, -1, BYTEA),
    Kind(20, -1, integers(64), ("7",)),
    Kind(21, -1, integers(16), ("'-7'::integer",)),
    Kind(23, -1, integers(32), ("0", "nextval('s'::regclass)")),
    Kind(25, -1, STRINGS, ("'it''s'::text", "''::text", "upper('x'::text)")),
    Kind(26, -1, st.integers(0, 2**32 - 1).map(str)),
    Kind(114, -1, STRINGS.map(json.dumps), ("'{}'::json",)),
    Kind(142, -1, st.sampled_from(["<a/>", '<a b="c">ä</a>'])),
    Kind(600, -1, POINTS),
    Kind(700, -1, REALS | SPECIALS | st.just("-0")),
    Kind(701, -1, DOUBLES | SPECIALS | st.just("-0"), ("1.5",)),
    Kind(790, -1, MONEY),
    Kind(869, -1, st.sampled_from(["10.0.0.1", "::1", "192.168.0.0/24"])),
    Kind(1007, -1, listed(integers(32))),
    Kind(1009, -1, listed(STRINGS)),
    Kind(1231, 655366, listed(fixed(10, 2))),
    Kind(1043, 44, STRINGS.map(lambda text: text[:40]), ("'nobody'::character varying",)),
    Kind(1082, -1, DATES, ("'2020-02-29'::date", "now()")),
    Kind(1083, 0, TIMES.map(lambda text: cut(text, 0))),
    Kind(1083, 6, TIMES, ("'12:34:56'::time without time zone",)),
    Kind(1114, 3, MOMENTS.map(lambda text: cut(text, 3))),
    Kind(1114, 6, MOMENTS, ("now()",)),
    Kind(1184, -1, MOMENTS.map(zoned)),
    Kind(1186, -1, INTERVALS),
    Kind(1266, -1, st.tuples(TIMES, OFFSETS).map("".join)),
    Kind(1560, 1, st.sampled_from(["0", "1"])),
    Kind(1560, 12, st.text("01", min_size=12, max_size=12)),
    Kind(1562, -1, st.text("01", max_size=40)),
    Kind(1700, -1, fixed(20, 5) | fixed(5, 7) | fixed(30, 0) | st.sampled_from(["0", "0.00", "1" * 60])),
    Kind(1700, 655366, fixed(10, 2), ("9.90", "'-1'::integer")),
    Kind(1700, (12 << 16) + 9 + 4, fixed(12, 9)),
    Kind(1700, (3 << 16) + (-2 & 0x7FF) + 4, st.integers(-999, 999).map(lambda n: str(n * 100))),
    Kind(2950, -1, st.uuids().map(str)),
    Kind(3802, -1, STRINGS.map(lambda text: json.dumps(text, ensure_ascii=False)), ("""'{"a": "\\""}'::jsonb""",)),
    Kind(90_001, -1, st.sampled_from(["sad", "ok", 'very "happy"']), ("'sad'::mood",)),
    Kind(90_002, -1, st.sampled_from(["{}", "{sad,ok}", '{"very \\"happy\\""}'])),
    Kind(90_003, -1, fixed(10, 2)),
    Kind(90_004, -1, integers(32)),
    Kind(90_005, -1, HSTORES),
    Kind(90_006, -1, STRINGS),
]

FURTHER: Final = [
    Kind(22, -1, st.lists(integers(16), max_size=4).map(" ".join)),
    Kind(30, -1, st.lists(st.integers(0, 2**32 - 1).map(str), max_size=4).map(" ".join)),
    Kind(603, -1, st.sampled_from(["(3,4),(1,2)", "(1.5,1e+20),(-2,-0.001)"])),
    Kind(650, -1, st.sampled_from(["10.0.0.0/8", "2001:db8::/32"])),
    Kind(829, -1, st.sampled_from(["08:00:2b:01:02:03"])),
    Kind(1000, -1, listed(st.sampled_from("tf"))),
    Kind(1001, -1, listed(BYTEA)),
    Kind(1005, -1, listed(integers(16))),
    Kind(1007, -1, st.sampled_from(["{{1,2},{3,NULL}}", "[0:1]={7,8}", "[-1:0][2:3]={{1,2},{3,4}}", "{{{1},{2}}}"])),
    Kind(1009, -1, st.sampled_from(['{{a,"}{,"},{NULL,"\\"{"}}', '[2:3]={"a b",NULL}'])),
    Kind(1016, -1, listed(integers(64))),
    Kind(1021, -1, listed(REALS | SPECIALS)),
    Kind(1022, -1, listed(DOUBLES | SPECIALS)),
    Kind(1042, 9, st.text("ab ", max_size=5).map(lambda text: text.ljust(5))),
    Kind(1083, 3, TIMES.map(lambda text: cut(text, 3))),
    Kind(1114, -1, MOMENTS),
    Kind(1115, -1, listed(MOMENTS)),
    Kind(1115, 3, listed(MOMENTS.map(lambda text: cut(text, 3)))),
    Kind(1182, -1, listed(DATES)),
    Kind(1183, -1, listed(TIMES)),
    Kind(1184, 0, MOMENTS.map(lambda text: zoned(cut(text, 0)))),
    Kind(1184, 3, MOMENTS.map(lambda text: zoned(cut(text, 3)))),
    Kind(1185, -1, listed(MOMENTS.map(zoned))),
    Kind(1231, -1, listed(fixed(20, 5) | SPECIALS)),
    Kind(1270, -1, listed(st.tuples(TIMES, OFFSETS).map("".join))),
    Kind(1562, 1, st.sampled_from(["", "0", "1"])),
    Kind(1562, 12, st.text("01", max_size=12)),
    Kind(1700, -1, fixed(9, 2) | SPECIALS),
    Kind(2951, -1, listed(st.uuids().map(str))),
    Kind(3220, -1, st.sampled_from(["0/0", "16/B374D848"])),
    Kind(3614, -1, st.sampled_from(["'direct':6 'insert':8", "'it''s':1A"])),
    Kind(3807, -1, listed(STRINGS.map(lambda text: json.dumps(text, ensure_ascii=False)))),
    Kind(3904, -1, st.sampled_from(["[1,5)", "empty", "(,)", "[-7,)"])),
    Kind(3906, -1, st.sampled_from(["[1.50,2]", "(,0)"])),
    Kind(3908, -1, st.sampled_from(['["2019-03-31 15:30:00",infinity)', '("0044-03-15 00:00:00 BC","2020-01-01 00:00:00.5"]'])),
    Kind(3910, -1, st.sampled_from(['["2019-03-31 15:30:00+00",)', "empty"])),
    Kind(3912, -1, st.sampled_from(["[2019-03-31,2020-01-01)", "(,)"])),
    Kind(90_007, -1, listed(HSTORES)),
    Kind(90_008, -1, st.sampled_from(["Top.Science.Astronomy", ""])),
    Kind(90_009, -1, st.sampled_from(["0-393-04002-X"])),
    Kind(90_010, -1, GEOMETRIES),
    Kind(90_011, -1, GEOGRAPHIES),
    Kind(90_012, -1, listed(GEOMETRIES, ":")),
    Kind(90_013, -1, st.lists(REALS, min_size=1, max_size=4).map(_vector)),
    Kind(90_014, -1, st.lists(SIXTEENTHS, min_size=1, max_size=4).map(_vector)),
    Kind(90_015, -1, st.dictionaries(st.integers(1, 20), REALS, max_size=4).map(_sparse)),
]

TYPE_SETTINGS: Final = st.builds(
    TypeSettings,
    decimal_handling_mode=st.sampled_from(["precise", "double", "string"]),
    time_precision_mode=st.sampled_from(["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds"]),
    interval_handling_mode=st.sampled_from(["numeric", "string"]),
    binary_handling_mode=st.sampled_from(["bytes", "base64", "base64-url-safe", "hex"]),
    hstore_handling_mode=st.sampled_from(["json", "map"]),
    decimal_format=st.sampled_from(["BASE64", "NUMERIC"]),
)

EVERY_MODE: Final = tuple(
    TypeSettings(
        decimal_handling_mode=("precise", "double", "string")[number % 3],
        time_precision_mode=("adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds")[number % 6],
        interval_handling_mode=("numeric", "string")[number // 3 % 2],
        binary_handling_mode=("bytes", "base64", "base64-url-safe", "hex")[number % 4],
        hstore_handling_mode=("json", "map")[number // 2 % 2],
        decimal_format=("BASE64", "NUMERIC")[number % 2],
        money_fraction_digits=(2, 4, 0, 1)[number % 4],
    )
    for number in range(12)
)
"""Among the first six is every mode, among all of them each ``decimal.handling.mode`` with each number of digits."""
