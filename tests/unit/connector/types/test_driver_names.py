from __future__ import annotations

import pytest

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0
from connector.types.codec import Column, TypeInfo
from connector.types.driver_names import UNKNOWN_LENGTH, SourceType, source_type
from tests.support.each_case import each_case

OID = {
    name: oid
    for oid, name in enumerate(
        (
            *("bool", "bytea", "char", "name", "int8", "int2", "int4", "text", "oid", "json", "xml", "float4", "float8", "money", "bpchar"),
            *("varchar", "date", "time", "timestamp", "timestamptz", "interval", "timetz", "bit", "varbit", "numeric", "uuid", "point"),
        ),
        1,
    )
}
TYPES = {oid: TypeInfo(oid, name, "pg_catalog") for name, oid in OID.items()}
TYPES |= {
    info.oid: info
    for info in (
        TypeInfo(101, "_int4", "pg_catalog", category="A", element=OID["int4"]),
        TypeInfo(102, "_varchar", "pg_catalog", category="A", element=OID["varchar"]),
        TypeInfo(103, "_numeric", "pg_catalog", category="A", element=OID["numeric"]),
        TypeInfo(104, "mood", "public", "e"),
        TypeInfo(105, "_mood", "public", category="A", element=104),
        TypeInfo(106, "shorty", "public", "d", base=OID["varchar"], base_modifier=16),
        TypeInfo(107, "nested", "public", "d", base=106),
        TypeInfo(108, "tone", "s2", "e", visible=False),
        TypeInfo(109, "vector", "public"),
        TypeInfo(110, "_timestamp", "pg_catalog", category="A", element=OID["timestamp"]),
        TypeInfo(111, "_interval", "pg_catalog", category="A", element=OID["interval"]),
        TypeInfo(112, "oidvector", "pg_catalog", category="A", element=OID["oid"]),
        TypeInfo(113, "int2vector", "pg_catalog", category="A", element=OID["int2"]),
        TypeInfo(114, "amount", "public", "d", base=OID["numeric"]),
        TypeInfo(115, "_shorty", "public", category="A", element=106),
        TypeInfo(116, "names", "public", "d", base=102, base_modifier=11),
        TypeInfo(117, "amounts", "public", "d", base=103),
    )
}
NUMERIC_8_3 = (8 << 16 | 3) + 4


# Recorded from Debezium 3.6.3 with pgjdbc against PostgreSQL 15.
@each_case(
    ("type_name", "modifier", "expected"),
    [
        ("int2", -1, (5, 0)),
        ("int4", -1, (10, 0)),
        ("int8", -1, (19, 0)),
        ("oid", -1, (10, 0)),
        ("float4", -1, (8, 8)),
        ("float8", -1, (17, 17)),
        ("numeric", NUMERIC_8_3, (8, 3)),
        ("money", -1, (UNKNOWN_LENGTH, 0)),
        ("bool", -1, (1, 0)),
        ("char", -1, (1, 0)),
        ("name", -1, (UNKNOWN_LENGTH, 0)),
        ("bpchar", 9, (5, 0)),
        ("varchar", -1, (UNKNOWN_LENGTH, 0)),
        ("varchar", 13, (9, 0)),
        ("text", -1, (UNKNOWN_LENGTH, 0)),
        ("bytea", -1, (UNKNOWN_LENGTH, 0)),
        ("bit", 1, (1, 0)),
        ("bit", 5, (5, 0)),
        ("varbit", -1, (UNKNOWN_LENGTH, 0)),
        ("varbit", 7, (7, 0)),
        ("date", -1, (13, 0)),
        ("time", -1, (15, 6)),
        ("time", 3, (12, 3)),
        ("timetz", -1, (21, 6)),
        ("timetz", 2, (17, 2)),
        ("timestamp", -1, (29, 6)),
        ("timestamp", 0, (22, 0)),
        ("timestamp", 3, (26, 3)),
        ("timestamptz", -1, (35, 6)),
        ("timestamptz", 4, (33, 4)),
        ("interval", -1, (49, 6)),
        ("interval", (0x7FFF << 16) | 3, (49, 3)),
        ("interval", (8 << 16) | 0xFFFF, (49, 65535)),
        ("uuid", -1, (UNKNOWN_LENGTH, 0)),
    ],
)
def test_lengths_and_scales(type_name: str, modifier: int, expected: tuple[int, int]) -> None:
    column = Column("c", OID[type_name], modifier)
    for streamed in (False, True):
        assert source_type(column, TYPES, DEBEZIUM_3_6_3, streamed=streamed) == SourceType(type_name, *expected)


@each_case(
    ("oid", "modifier", "expected"),
    [
        (101, -1, SourceType("_int4", 10, 0)),
        (102, 9, SourceType("_varchar", 5, 0)),
        (103, (7 << 16 | 3) + 4, SourceType("_numeric", 7, 3)),
        (110, 3, SourceType("_timestamp", 26, 3)),
        (104, -1, SourceType("mood", UNKNOWN_LENGTH, 0)),
        (105, -1, SourceType("_mood", UNKNOWN_LENGTH, 0)),
        (106, -1, SourceType("shorty", 12, 0)),
        (107, -1, SourceType("nested", 12, 0)),
        (111, -1, SourceType("_interval", UNKNOWN_LENGTH, 0)),
        (112, -1, SourceType("oidvector", UNKNOWN_LENGTH, 0)),
        (113, -1, SourceType("int2vector", UNKNOWN_LENGTH, 0)),
        (103, -1, SourceType("_numeric", 131_089, 0)),
        (114, -1, SourceType("amount", 131_089, 0)),
        (115, -1, SourceType("_shorty", UNKNOWN_LENGTH, 0)),
        (116, -1, SourceType("names", 7, 0)),
        (117, -1, SourceType("amounts", 131_089, 0)),
        (109, 3, SourceType("vector", 3, 0)),
        (109, -1, SourceType("vector", None, 0)),
    ],
)
def test_arrays_domains_and_types_of_extensions(oid: int, modifier: int, expected: SourceType) -> None:
    for emulation in (DEBEZIUM_3_6_3, DEBEZIUM_3_7_0):
        for streamed in (False, True):
            assert source_type(Column("c", oid, modifier), TYPES, emulation, streamed=streamed) == expected


def test_numeric_without_precision_differs_between_snapshot_and_stream() -> None:
    column = Column("c", OID["numeric"])
    assert source_type(column, TYPES, DEBEZIUM_3_6_3, streamed=False) == SourceType("numeric", 0, None)
    assert source_type(column, TYPES, DEBEZIUM_3_6_3, streamed=True) == SourceType("numeric", 131_089, 0)


@pytest.mark.parametrize(("type_name", "serial"), [("int2", "smallserial"), ("int4", "serial"), ("int8", "bigserial")])
def test_serial_is_only_the_drivers_name(type_name: str, serial: str) -> None:
    column = Column("c", OID[type_name], default="nextval('c_seq'::regclass)")
    assert source_type(column, TYPES, DEBEZIUM_3_6_3, streamed=False).name == serial
    assert source_type(column, TYPES, DEBEZIUM_3_6_3, streamed=True).name == type_name


def test_type_off_the_search_path() -> None:
    assert source_type(Column("c", 108), TYPES, DEBEZIUM_3_6_3, streamed=False).name == '"s2"."tone"'
    assert source_type(Column("c", 108), TYPES, DEBEZIUM_3_6_3, streamed=True).name == "tone"


@pytest.mark.parametrize("streamed", [False, True])
def test_later_names_are_alike_in_snapshot_and_stream(streamed: bool) -> None:
    column = Column("c", OID["int8"], default="nextval('c_seq'::regclass)")
    assert source_type(column, TYPES, DEBEZIUM_3_7_0, streamed=streamed).name == "bigserial"
    assert source_type(Column("c", 108), TYPES, DEBEZIUM_3_7_0, streamed=streamed).name == "tone"


def test_parameters_are_upper_case_and_omit_unknown_values() -> None:
    reported = SourceType("numeric", 0, None)
    assert reported.parameters("Col", DEBEZIUM_3_6_3) == {
        "__debezium.source.column.type": "NUMERIC",
        "__debezium.source.column.length": "0",
        "__debezium.source.column.name": "Col",
    }
    assert SourceType("vector", None, 0).parameters("c", DEBEZIUM_2_3_4) == {
        "__debezium.source.column.type": "VECTOR",
        "__debezium.source.column.scale": "0",
    }
