from __future__ import annotations

import json
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.emulation import DEBEZIUM_2_3_4, Emulation, emulation_of
from connector.incremental.java_calendar import java_civil, java_days
from connector.incremental.key_objects import JavaValue, key_from_text, read_array, text_from_key, write_array
from connector.java.object_stream import JavaStreamError, from_modified_utf8, modified_utf8
from connector.types.codec import Column, TypeInfo
from tests.support.each_case import each_case

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("key_objects_recorded.json").read_text(encoding="utf-8"))
TYPES = {
    int(oid): TypeInfo(int(oid), name, schema, kind, category, element, base, modifier, visible=visible)
    for oid, (name, schema, kind, category, element, base, modifier, visible) in DATA["pg_type"].items()
}
RECORDED = [
    pytest.param(
        [Column(f"k{at}", oid, modifier) for at, (oid, modifier) in enumerate(table["columns"])],
        emulation_of(f"{table['version']}.Final"),
        texts,
        stored,
        id=f"{table['version']}-{'+'.join(table['types'])}-{number}",
    )
    for table in DATA["recorded"]
    for number, (texts, stored) in enumerate(table["keys"])
]
START = "aced0005757200135b4c6a6176612e6c616e672e4f626a6563743b90ce589f1073296c020000787000000001"
"""A stream's begin up to the first of one item."""
INTEGER = (
    "7200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565"
    "787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870"
)
"""Integer's description, with Number's."""

SHOWN_OTHERWISE = {
    # Java's calendar does not have this day. The reference uses the same later day.
    "1582-10-10": "1582-10-20",
    "-$1,234.56": "-1234.56",
    "$1.00": "1.00",
    "$2.00": "2.00",
    "$3.00": "3.00",
    "$1,234,567.89": "1234567.89",
    "00:00:01": "0 years 0 mons 0 days 0 hours 0 mins 1 secs 0 microseconds",
    "00:00:01.5": "0 years 0 mons 0 days 0 hours 0 mins 1 secs 500000 microseconds",
    "-1 days": "0 years 0 mons -1 days 0 hours 0 mins 0 secs 0 microseconds",
    "1 day": "0 years 0 mons 1 days 0 hours 0 mins 0 secs 0 microseconds",
    "2 days": "0 years 0 mons 2 days 0 hours 0 mins 0 secs 0 microseconds",
    "3 days": "0 years 0 mons 3 days 0 hours 0 mins 0 secs 0 microseconds",
    "-10 mons -3 days +04:05:06": "0 years -10 mons -3 days 4 hours 5 mins 6 secs 0 microseconds",
    "1 year 2 mons 3 days 04:05:06.789": "1 years 2 mons 3 days 4 hours 5 mins 6 secs 789000 microseconds",
    "178000000 years": "178000000 years 0 mons 0 days 0 hours 0 mins 0 secs 0 microseconds",
    '"a"=>NULL, "q\\""=>"ä", "zeta"=>"1"': '"zeta"=>"1", "a"=>NULL, "q\\""=>"ä"',
}


def test_there_are_recordings() -> None:
    assert len(RECORDED) > 300


@each_case(("columns", "emulation", "texts", "stored"), RECORDED)
def test_recorded_keys_are_read_and_written_byte_by_byte(
    columns: list[Column], emulation: Emulation, texts: list[str | None], stored: str
) -> None:
    read = read_array(stored)
    assert read is not None
    assert write_array(read) == stored
    assert write_array([key_from_text(column, TYPES, text, emulation) for column, text in zip(columns, texts, strict=True)]) == stored


@each_case(("columns", "emulation", "texts", "stored"), RECORDED)
def test_texts_of_recorded_keys(columns: list[Column], emulation: Emulation, texts: list[str | None], stored: str) -> None:
    read = read_array(stored)
    assert read is not None
    for column, wanted, value in zip(columns, texts, read, strict=True):
        found = text_from_key(value)
        if value is None or wanted is None:
            assert found is wanted
        elif TYPES[column.type_oid].name == "float4":
            assert struct.pack(">f", float(found or "")) == struct.pack(">f", float(wanted))
        elif TYPES[column.type_oid].name == "float8":
            assert struct.pack(">d", float(found or "")) == struct.pack(">d", float(wanted))
        elif emulation.stores_keys_as_driver_objects and TYPES[column.type_oid].name == "timestamp":
            assert (found or "").replace("+00", "") == wanted
        else:
            assert found == SHOWN_OTHERWISE.get(wanted, wanted)


def test_no_chunk_yet() -> None:
    assert read_array("aced000570") is None
    assert write_array(None) == "aced000570"


def test_nulls_only() -> None:
    # Of a nullable key (message.key.columns), as recorded.
    assert read_array(START[:-2] + "027070") == (None, None)


@pytest.mark.parametrize("text", ["", "\0", "a\0b", "é€😀", "\U0010ffff", "\ud83d", "xx\ude00"])
def test_modified_utf8(text: str) -> None:
    data = modified_utf8(text)
    assert b"\0" not in data
    assert max(data, default=0) < 0xF0
    assert from_modified_utf8(data) == text


def test_a_string_of_more_than_64_kilobytes() -> None:
    # The recorded stream of repeat('x', 70000).
    stored = START + "7c" + f"{70_000:016x}" + "78" * 70_000
    value = JavaValue("java.lang.String", "x" * 70_000)
    assert read_array(stored) == (value,)
    assert write_array([value]) == stored


def test_the_longest_short_string() -> None:
    stored = write_array([JavaValue("java.lang.String", "x" * 65_535)])
    assert stored[len(START) :].startswith("74ffff78")
    assert write_array([JavaValue("java.lang.String", "x" * 65_536)])[len(START) :].startswith("7c0000000000010000")


def test_a_text_pointed_to_twice_is_read_twice() -> None:
    stored = START[:-2] + "02" + "74000161" + "71007e0002"
    assert read_array(stored) == (JavaValue("java.lang.String", "a"),) * 2


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(st.characters(exclude_categories=[])).map(lambda text: JavaValue("java.lang.String", text)),
            st.integers(-(2**31), 2**31 - 1).map(lambda number: JavaValue("java.lang.Integer", number)),
            st.integers(-(2**63), 2**63 - 1).map(lambda number: JavaValue("java.lang.Long", number)),
            st.booleans().map(lambda truth: JavaValue("java.lang.Boolean", truth)),
            st.binary().map(lambda data: JavaValue("[B", data)),
            st.uuids().map(lambda one: JavaValue("java.util.UUID", one)),
            st.floats(allow_nan=False).map(lambda number: JavaValue("java.lang.Double", number)),
            st.floats(width=32, allow_nan=False).map(lambda number: JavaValue("java.lang.Float", number)),
            st.integers(-(2**62), 2**62).map(lambda millis: JavaValue("java.sql.Date", millis)),
            st.integers(-(2**62), 2**62).map(lambda nanos: JavaValue("java.sql.Timestamp", nanos)),
            st.builds(
                lambda digits, scale: JavaValue("java.math.BigDecimal", Decimal(digits).scaleb(-scale)),
                st.integers(-(10**20), 10**20),
                st.integers(-3, 20),
            ),
            st.builds(lambda name, text: JavaValue("org.postgresql.util.PGobject", text, name), st.text(), st.text()),
            st.lists(st.integers(-(2**31), 2**31 - 1), min_size=7, max_size=7).map(
                lambda units: JavaValue("org.postgresql.util.PGInterval", tuple(units))
            ),
            st.dictionaries(st.text(), st.none() | st.text()).map(lambda pairs: JavaValue("java.util.HashMap", pairs)),
        ),
        max_size=5,
    )
)
def test_every_written_record_is_read(values: list[JavaValue | None]) -> None:
    # Lone surrogates that meet become one character in Java too, so texts are compared as Java has them.
    expected = [
        JavaValue(value.java_class, from_modified_utf8(modified_utf8(value.value)))
        if value and value.java_class == "java.lang.String"
        else value
        for value in values
    ]
    stored = write_array(values)
    assert read_array(stored) == tuple(expected)
    assert write_array(expected) == stored


@each_case(
    ("stored", "reported"),
    [
        ("", "ends at byte 0"),
        ("xy", "hexadecimal"),
        ("aced0006" + "70", "no Java stream"),
        ("aced0005", "ends at byte 4"),
        ("aced00057070", "goes on"),
        ("aced000574000161", "not an array"),
        ("aced0005" + "7572" + "00025b42acf317f8060854e00200007870" + "00000000", "not an array"),
        (START, "longer array"),
        (START[:-8] + "7fffffff", "longer array"),
        (START + "71007e0001", "does not have"),
        (START + "71007e0009", "does not have"),
        (START + "71007e0000", "a class where"),
        (START + "7371007e0000" + "00", "an object of an array's class"),
        (START + "7c7fffffffffffffff", "ends at byte"),
        (START + "7400020061"[:-2], "ends at byte"),
        (START + "740001ff", "modified UTF-8"),
        (START + "740004f09f9880", "modified UTF-8"),
        (START + "76" + INTEGER, "kind 0x76"),
        (START + "7b", "kind 0x7b"),
        (START + "737d00000000", "form 0x7d"),
        (START + "73" + INTEGER.replace("49000576616c7565", "4a000576616c7565") + "0000000000000001", "java.lang.Integer has other fields"),
        (START + "73" + INTEGER.replace("49000576616c7565", "51000576616c7565") + "00", "unknown type 0x51"),
        (START + "7372" + "00106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870", "java.lang.Number is not one"),
        (START + "75" + "71007e0000" + "00000000", "array of objects within"),
        (START + "7571007e000000000001" * 9 + "70", "nests deeper"),
    ],
)
def test_a_broken_stream_ends_in_one_error(stored: str, reported: str) -> None:
    with pytest.raises(JavaStreamError, match=reported):
        read_array(stored)


def test_an_unknown_class_is_named() -> None:
    # As ObjectOutputStream wrote a java.time.OffsetDateTime.
    stored = START + "7372000d6a6176612e74696d652e536572955d84ba1b2248b20c0000787077090a000007e80101ff0078"
    with pytest.raises(JavaStreamError, match=r"Java class java\.time\.Ser is not one that a key can have"):
        read_array(stored)


def test_a_hostile_name_is_fit_for_a_log() -> None:
    with pytest.raises(JavaStreamError, match=r"Java class a\?b\? is not"):
        read_array(START + "737200" + "04610a621b" + "0000000000000000")


@each_case("cut", range(0, 300, 7))
def test_every_cut_stream_is_refused(cut: int) -> None:
    whole = write_array([JavaValue("java.math.BigDecimal", Decimal("12.34")), JavaValue("java.sql.Timestamp", 5)])
    with pytest.raises(JavaStreamError):
        read_array(whole[: cut * 2])


def test_a_driver_of_another_version_is_read() -> None:
    stored = START + "73" + INTEGER.replace("12e2a0a4f7818738", "0000000000000001") + "00000005"
    assert read_array(stored) == (JavaValue("java.lang.Integer", 5),)


def test_a_decimal_of_more_digits_than_postgresql_has() -> None:
    stored = write_array([JavaValue("java.math.BigDecimal", Decimal("1.5"))])
    scale = stored.rindex("7870" + "00000001" + "7372") + 4
    hostile = stored[:scale] + "7fffffff" + stored[scale + 8 :]
    with pytest.raises(JavaStreamError, match="more digits"):
        read_array(hostile)


def test_a_class_of_no_key_is_not_written() -> None:
    with pytest.raises(ValueError, match=r"java\.util\.ArrayList"):
        write_array([JavaValue("java.util.ArrayList", ())])


def test_no_error_holds_a_value() -> None:
    with pytest.raises(JavaStreamError) as caught:
        read_array(START[:-2] + "02" + "740006736563726574" + "7c00000000000000ff736563726574")
    assert "secret" not in str(caught.value)
    assert "736563726574" not in str(caught.value)


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (19_783 * 86_400_000, "2024-03-01"),
        (19_783 * 86_400_000 - 11 * 3_600_000, "2024-03-01"),
        (19_783 * 86_400_000 + 11 * 3_600_000, "2024-03-01"),
        (-62_135_769_600_000, "0001-01-01"),
        (-62_135_856_000_000, "0001-12-31 BC"),
    ],
)
def test_dates_of_workers_in_other_zones(millis: int, text: str) -> None:
    assert text_from_key(JavaValue("java.sql.Date", millis)) == text


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(-1_000, "1969-12-31 23:59:59.999999+00"), (0, "1970-01-01 00:00:00+00"), (3_661_500_000_000, "1970-01-01 01:01:01.5+00")],
)
def test_former_timestamps(nanos: int, text: str) -> None:
    value = JavaValue("java.sql.Timestamp", nanos)
    assert text_from_key(value) == text
    assert read_array(write_array([value])) == (value,)
    assert key_from_text(Column("k", 1184), {1184: TypeInfo(1184, "timestamptz", "pg_catalog")}, text, DEBEZIUM_2_3_4) == value


def test_calendar_of_java() -> None:
    # Days as Java 17 counted them; the calendar jumps from 1582-10-04 to 1582-10-15.
    assert java_days(1582, 10, 4) + 1 == java_days(1582, 10, 15) == -141_427
    assert java_days(1500, 2, 29) - java_days(1500, 2, 28) == 1
    assert java_days(-43, 3, 15) == -735_162
    for days in range(-800_000, 100_000, 97):
        assert java_days(*java_civil(days)) == days


def test_arrays_are_kept_as_text() -> None:
    types = {1007: TypeInfo(1007, "_int4", "pg_catalog", category="A", element=23), 23: TypeInfo(23, "int4", "pg_catalog")}
    assert key_from_text(Column("k", 1007), types, "{1,2}") == JavaValue("java.lang.String", "{1,2}")


@each_case(
    ("name", "text"),
    [
        ("int4", "x"),
        ("bool", "true"),
        ("bytea", "abc"),
        ("uuid", "1"),
        ("date", "01/02/2024"),
        ("timestamp", "2024-01-01"),
        ("timestamptz", "2024-01-01 00:00:00+02"),
        ("numeric", "1.2.3"),
        ("interval", "PT1S"),
    ],
)
def test_text_that_the_type_cannot_have(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        key_from_text(Column("k", 1), {1: TypeInfo(1, name, "pg_catalog")}, text, DEBEZIUM_2_3_4)


@pytest.mark.parametrize("digits", [4_000, 6_000])
def test_numbers_longer_than_an_int_may_be_printed(digits: int) -> None:
    text = "7" * digits + ".5"
    value = key_from_text(Column("k", 1), {1: TypeInfo(1, "numeric", "pg_catalog")}, text)
    assert read_array(write_array([value])) == (value,)
    assert text_from_key(value) == text


def test_halves_of_a_uuid_have_signs() -> None:
    value = JavaValue("java.util.UUID", uuid.UUID("ffffffff-ffff-ffff-7fff-ffffffffffff"))
    assert write_array([value]).endswith("7fffffffffffffff" + "ffffffffffffffff")
    assert text_from_key(value) == "ffffffff-ffff-ffff-7fff-ffffffffffff"
