"""Schemas and bytes against those of the real ``AvroData``, recorded by ``tests.support.record_avro``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.writer import value_writer
from connector.record.connect_record import DataError
from connector.record.json_reader import read_schema
from tests.support.avro_cases import Case, cases
from tests.support.each_case import each_case

RECORDED: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("avro_recorded.json").read_text(encoding="utf-8"))


@each_case("case", cases(), ids=lambda case: case.name)
def test_schema_and_bytes_are_the_real_ones(case: Case) -> None:
    recorded = RECORDED[case.name]
    if "error" in recorded:
        with pytest.raises(DataError):
            avro_schema(case.schema, case.settings)
        return
    assert avro_schema(case.schema, case.settings).text() == recorded["schema"]
    for value, expected in zip(case.values, recorded["values"], strict=True):
        if value is None:
            continue
        write = value_writer(case.schema, case.settings)
        if expected.startswith("error"):
            with pytest.raises(DataError):
                write(value)
        else:
            assert write(value).hex() == expected


@pytest.mark.parametrize("kind", ["avro", "without meta data"])
def test_the_schema_of_a_real_debezium_event(kind: str) -> None:
    """Recorded from Debezium 3.6.3: as ExtJsonConverter registered it, and as AvroConverter did."""
    recorded = json.loads(Path(__file__).with_name("debezium_avro_recorded.json").read_text(encoding="utf-8"))
    found = avro_schema(read_schema(recorded["connect"].encode()), AvroSettings(meta_data=kind == "avro"))
    assert found.text() == recorded[kind]


def test_every_recorded_case_is_replayed() -> None:
    assert [case.name for case in cases()] == list(RECORDED)


@each_case(
    ("value", "encoded"),
    [
        (5, "00000000020a00000000"),
        (-1, "00000000020100000000"),
        (1 << 40, "000000000002808080808040000000"),
        (True, "02010000000000000000"),
        ("text", "0000000000000208746578740000"),
        (1.5, "000002000000000000f83f000000000000"),
        ([], "00000000000000020000"),
        ([1, "a", None], "0000000000000002060000000002020000000000000000000002026100000000000000000000000000"),
        ({"a": 1}, "0000000000000000020200000000000002026100000000000002020000000000"),
        ([[1], [None]], "00000000000000020400000000000000020200000000020200000000000000000000000000020200000000000000000000000000"),
    ],
)
def test_values_without_a_schema_are_the_real_ones(value: object, encoded: str) -> None:
    assert value_writer(None, AvroSettings())(value).hex() == encoded
