"""Numbers printed as PostgreSQL prints them: against the type table, which reads such texts, and against what a server printed."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from connector.types.money import amount
from connector.types.temporal import interval
from connector.types.temporal.calendar import parse_date, parse_time
from connector.types.temporal.local import epoch_days, epoch_micros
from connector.wire import plain_text
from connector.wire.declared_type import modifier_of
from connector.wire.pgoutput import UNTOLD_MODIFIER
from tests.support.each_case import each_case

DAY_US = 86_400_000_000
LAST_US = 9_224_318_016_000_000_000 - 1
"""294276-12-31 23:59:59.999999, beyond what 64 bits hold."""


@given(st.integers(-2_440_588, 2_145_042_905))
def test_dates_read_back(days: int) -> None:
    assert epoch_days(plain_text.date_text(days)) == days


@given(st.integers(-210_866_803_200_000_000, 2**63 - 2))
def test_timestamps_read_back(us: int) -> None:
    assert epoch_micros(plain_text.timestamp_text(us, zoned=False)) == us
    assert plain_text.timestamp_text(us, zoned=True) in (
        plain_text.timestamp_text(us, zoned=False) + b"+00",
        plain_text.timestamp_text(us, zoned=False).removesuffix(b" BC") + b"+00 BC",
    )


@given(st.integers(0, DAY_US))
def test_times_read_back(us: int) -> None:
    assert parse_time(plain_text.time_text(us)) == us


@given(st.integers(-(2**53), 2**53))
def test_intervals_read_back(us: int) -> None:
    _, _, _, hours, minutes, seconds, fraction = interval.parts(plain_text.interval_text(us))
    assert ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction == us


@given(st.integers(-(2**63), 2**63 - 1))
def test_amounts_read_back(hundredths: int) -> None:
    assert int(amount(plain_text.money_text(hundredths)).scaleb(2)) == hundredths


@given(st.floats(allow_nan=False))
def test_doubles_read_back(number: float) -> None:
    assert float(plain_text.float8_text(number)) == number


@given(st.floats(allow_nan=False, width=32))
def test_floats_read_back(number: float) -> None:
    assert struct.pack("<f", float(plain_text.float4_text(number))) == struct.pack("<f", number)


@each_case(
    ("text", "printed"),
    [
        (plain_text.date_text(2_147_483_647 + 10_957 - 2**32), b"infinity"),
        (plain_text.date_text(-2_147_483_648 + 10_957), b"-infinity"),
        (plain_text.date_text(-2_440_588), b"4714-11-24 BC"),
        (plain_text.date_text(-719_163), b"0001-12-31 BC"),
        (plain_text.date_text(0), b"1970-01-01"),
        (plain_text.date_text(2_145_042_905), b"5874897-12-31"),
        (plain_text.timestamp_text(2**63 - 1, zoned=True), b"infinity"),
        (plain_text.timestamp_text(-(2**63), zoned=False), b"-infinity"),
        (plain_text.timestamp_text(LAST_US - 2**64, zoned=False), b"294276-12-31 23:59:59.999999"),
        (plain_text.timestamp_text(-63_517_820_277_000_000, zoned=True), b"0044-03-15 01:02:03+00 BC"),
        (plain_text.timestamp_text(120_000, zoned=False), b"1970-01-01 00:00:00.12"),
        (plain_text.time_text(DAY_US), b"24:00:00"),
        (plain_text.interval_text(-1_500_000), b"-00:00:01.5"),
        (plain_text.money_text(-5), b"-0.05"),
        (plain_text.float4_text(struct.unpack("<f", struct.pack("<f", 0.1))[0]), b"0.1"),
        (plain_text.float4_text(struct.unpack("<f", struct.pack("<f", 3.4028235e38))[0]), b"3.4028235e+38"),
        (plain_text.float4_text(float("nan")), b"NaN"),
        (plain_text.float8_text(float("-inf")), b"-Infinity"),
        (plain_text.float8_text(2.0), b"2"),
    ],
)
def test_text(text: bytes, printed: bytes) -> None:
    assert text == printed


def test_the_first_date_is_the_calendars() -> None:
    assert parse_date(plain_text.date_text(-2_440_588)) == (-4713, 11, 24)


@each_case(
    ("declared", "modifier"),
    [
        ("integer", -1),
        ("text[]", -1),
        ("character varying(255)", 259),
        ("character varying", -1),
        ("character(5)", 9),
        ("character(3)[]", 7),
        ("bpchar", -1),
        ('"char"', -1),
        ("numeric", -1),
        ("numeric(5,2)", (5 << 16 | 2) + 4),
        ("numeric(10,2)[]", (10 << 16 | 2) + 4),
        ("numeric(3,-2)", (3 << 16 | 2046) + 4),
        ("bit(5)", 5),
        ('"bit"', -1),
        ("bit varying(10)", 10),
        ("bit varying", -1),
        ("timestamp without time zone", -1),
        ("timestamp(3) without time zone", 3),
        ("timestamp(0) with time zone", 0),
        ("time(6) without time zone", 6),
        ("time(2) with time zone[]", 2),
        ("interval", -1),
        ("interval[]", -1),
        ("interval day to hour", UNTOLD_MODIFIER),
        ("interval(3)", UNTOLD_MODIFIER),
        ("geometry(Point,4326)", UNTOLD_MODIFIER),
        ("mood", -1),
        (None, UNTOLD_MODIFIER),
    ],
)
def test_modifiers_are_read_from_declared_types(declared: str | None, modifier: int) -> None:
    assert modifier_of(declared) == modifier
