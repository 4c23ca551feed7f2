"""Old dates and amounts as 2.3.4.Final read them in snapshots and arrays, from its recordings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.emulation import DEBEZIUM_2_3_4
from connector.record.json_converter import ConverterSettings, value_json
from connector.types.codec import Codec, TypeSettings
from connector.types.registry import resolve
from connector.types.temporal.calendar import days_from_civil, parse_date
from connector.types.temporal.old_dates import date_as_read, timestamp_as_read, zoned_element_as_read
from tests.support.each_case import each_case
from tests.support.type_catalog import TYPES, column, settings


def codec(name: str, modifier: int = -1, *, streamed: bool = False, **changed: str) -> Codec:
    found = resolve(column(name, modifier), TYPES, TypeSettings(emulation=DEBEZIUM_2_3_4, **changed), streamed=streamed)  # type: ignore[arg-type]
    assert found is not None
    return found


DATES = [
    ("2024-02-29", 19782, 19782),
    ("1582-10-15", -141427, -141427),
    ("1582-10-14", -141418, -141428),
    ("1582-10-10", -141422, -141432),
    ("1582-10-05", -141427, -141437),
    ("1582-10-04", -141438, -141438),
    ("0004-02-29", -718008, -718008),
    ("0001-12-31 BC", -718798, -719163),
    ("0044-03-15 BC", -703383, -735160),
    ("4713-01-01 BC", 1001860, -2440550),
    ("5874897-12-31", 2145042905, 2145042905),
    ("infinity", -622191234, -2147472692),
    ("-infinity", -625821272, -2147472691),
]


@each_case(("text", "read", "streamed"), DATES)
def test_dates(text: str, read: int, streamed: int) -> None:
    raw = text.encode()
    assert codec("date").encode(raw) == b"%d" % read
    assert codec("date").decode(raw) == read
    assert codec("date", streamed=True).encode(raw) == b"%d" % streamed
    for way in (True, False):
        assert codec("date[]", streamed=way).encode(b"{%b}" % raw) == b"[%d]" % read


TIMESTAMPS = [
    ("1582-10-15 00:00:00", -12219292800000000, "1582-10-15T00:00:00.000000Z", "1582-10-15T00:00:00.000000Z"),
    ("1582-10-14 23:59:59.999999", -12218428800000001, "1582-10-24T23:59:59.999999Z", "1582-10-24T23:59:59.999999Z"),
    ("1582-10-04 23:59:59", -12219292801000000, "1582-10-14T23:59:59.000000Z", "1582-10-04T23:59:59.000000Z"),
    ("1500-03-01 00:00:00", -14825808000000000, "1500-03-11T00:00:00.000000Z", "1500-03-01T00:00:00.000000Z"),
    ("1500-02-28 23:59:59.999999", -14825894400000001, "1500-03-09T23:59:59.999999Z", "1500-02-28T23:59:59.999999Z"),
    ("0001-01-01 00:00:00", -62135769600000000, "0000-12-30T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"),
    ("0001-02-29 00:00:00 BC", -62162294400000000, "0000-02-27T00:00:00.000000Z", None),
    ("0044-03-15 01:02:03 BC", -63517993077000000, "-0043-03-13T01:02:03.000000Z", "0044-03-15T01:02:03.000000Z"),
    ("4713-01-01 00:00:00 BC", -210866803200000000, "-4713-11-24T00:00:00.000000Z", "4713-01-01T00:00:00.000000Z"),
    ("10000-01-01 00:00:00", 253402300800000000, "+10000-01-01T00:00:00.000000Z", "+10000-01-01T00:00:00.000000Z"),
    ("infinity", 9223372036825200000, "infinity", "infinity"),
    ("-infinity", -9223372036832400000, "-infinity", "+292269055-12-02T23:00:00.000000Z"),
]


@each_case(("text", "micros", "zoned", "element"), TIMESTAMPS)
def test_timestamps(text: str, micros: int, zoned: str, element: str | None) -> None:
    raw = text.encode()
    with_zone = raw if raw.endswith(b"infinity") else raw.removesuffix(b" BC") + b"+00" + (b" BC" if raw.endswith(b" BC") else b"")
    assert codec("timestamp").encode(raw) == b"%d" % micros
    assert codec("timestamp").decode(raw) == micros
    assert codec("timestamptz").encode(with_zone).decode() == f'"{zoned}"'
    for way in (True, False):
        assert codec("timestamp[]", streamed=way).encode(b'{"%b"}' % raw) == b"[%d]" % micros
        array = codec("timestamptz[]", streamed=way)
        if element is None:
            with pytest.raises(ValueError, match="29 February"):
                array.encode(b'{"%b"}' % with_zone)
        else:
            assert array.encode(b'{"%b"}' % with_zone).decode() == f'["{element}"]'
            assert array.decode(b'{"%b"}' % with_zone) == [element]


def test_the_stream_knows_one_calendar() -> None:
    assert codec("timestamp", streamed=True).encode(b"0044-03-15 01:02:03 BC") == b"-63517820277000000"
    assert codec("timestamptz", streamed=True).encode(b"0044-03-15 01:02:03+00 BC") == b'"-0043-03-15T01:02:03.000000Z"'


AMOUNTS = [
    ("$0.00", b'"AA=="', b'"0.0"', b'"0.00"'),
    ("$8.90", b'"A3o="', b'"8.9"', b'"8.90"'),
    ("-$1,234.56", b'"/h3A"', b'"-1234.56"', b'"-1234.56"'),
    ("$12,345,678.90", b'"SZYC0g=="', b'"1.23456789E7"', b'"12345678.90"'),
    ("$90,071,992,547,409.93", b'"IAAAAAAAAg=="', b'"9.007199254740994E13"', b'"90071992547409.93"'),
    ("$92,233,720,368,547,758.07", b'"AIAAAAAAAADA"', b'"9.223372036854776E16"', b'"92233720368547758.07"'),
    ("-$92,233,720,368,547,758.08", b'"/3////////9A"', b'"-9.223372036854776E16"', b'"-92233720368547758.08"'),
]


@pytest.mark.parametrize(("text", "precise", "word", "streamed"), AMOUNTS)
def test_amounts(text: str, precise: bytes, word: bytes, streamed: bytes) -> None:
    raw = text.encode()
    assert codec("money").encode(raw) == precise
    assert value_json(codec("money").schema, codec("money").decode(raw), ConverterSettings()) == precise
    assert codec("money", decimal_handling_mode="string").encode(raw) == word
    assert codec("money", decimal_handling_mode="string", streamed=True).encode(raw) == streamed


@each_case("name", ["date", "date[]", "timestamp", "timestamp[]", "timestamptz", "money"])
@each_case("streamed", [True, False])
def test_the_present_version_reads_the_same_everywhere(name: str, streamed: bool) -> None:
    text = {"money": b"$90,071,992,547,409.93", "timestamptz": b"0044-03-15 01:02:03+00 BC"}.get(name, b"0044-03-15 BC")
    if name.startswith("timestamp") and name != "timestamptz":
        text = b"0044-03-15 01:02:03 BC"
    text = b'{"%b"}' % text if name.endswith("[]") else text
    found = resolve(column(name), TYPES, settings({}), streamed=streamed)
    plain = resolve(column(name), TYPES, settings({}))
    assert found is not None
    assert plain is not None
    assert found.encode(text) == plain.encode(text)
    if name != "timestamptz":
        assert found.encode(text) != codec(name).encode(text)


def julian_text(year: int, month: int, day: int) -> bytes:
    return b"%04d-%02d-%02d%b" % (year if year > 0 else 1 - year, month, day, b" 12:00:00" + (b"" if year > 0 else b" BC"))


@given(st.integers(-4712, 1582), st.integers(1, 12), st.integers(1, 28))
def test_old_days_are_apart_as_in_the_julian_calendar(year: int, month: int, day: int) -> None:
    read = timestamp_as_read(julian_text(year, month, day))
    at, _, era = read.partition(b" 12:00:00")
    shift = days_from_civil(*parse_date(at + era)) - days_from_civil(year, month, day)
    if (year, month, day) >= (1582, 10, 15):
        assert shift == 0
    else:
        # One more for each century year that is no leap year.
        century = (year if (month, day) > (2, 28) else year - 1) // 100
        assert shift == century - century // 4 - 2


@given(st.dates().map(lambda date: date.isoformat().encode()).filter(lambda text: text >= b"1582-10-15"))
def test_newer_days_are_not_changed(text: bytes) -> None:
    assert date_as_read(text) == timestamp_as_read(text) == zoned_element_as_read(text) == text


def test_a_domain_is_read_like_its_type() -> None:
    assert codec("dmoney").encode(b"$92,233,720,368,547,758.07") == b'"AIAAAAAAAADA"'


@pytest.mark.parametrize("text", ["0001-02-29 BC", "0005-02-29 BC"])
def test_a_29_february_that_no_year_after_christ_has_is_no_date(text: str) -> None:
    # Recorded as null.
    with pytest.raises(ValueError, match=r"^Date before Christ"):
        codec("date").encode(text.encode())
    assert codec("date", streamed=True).encode(text.encode())
