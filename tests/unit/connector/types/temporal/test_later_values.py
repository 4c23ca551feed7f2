"""Dates, times and intervals of the stream of 3.7.0.Final, as recorded in five modes of ``time.precision.mode``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector.emulation import DEBEZIUM_3_7_0
from connector.types.codec import Codec, TypeSettings
from connector.types.registry import resolve
from tests.support.type_catalog import TYPES, column

RECORDED: dict[str, list[list[Any]]] = json.loads((Path(__file__).parent / "later_recorded.json").read_text())
SETTINGS = TypeSettings(emulation=DEBEZIUM_3_7_0)


def codec_of(kind: str, modifier: int, mode: str) -> Codec:
    codec = resolve(replace(column(kind), modifier=modifier), TYPES, replace(SETTINGS, time_precision_mode=mode))
    assert codec is not None
    return codec


@pytest.mark.parametrize("mode", RECORDED)
def test_values_are_the_recorded_ones(mode: str) -> None:
    differ = []
    for kind, modifier, text, schema, value in RECORDED[mode]:
        codec = codec_of(kind, modifier, mode)
        named = codec.schema.items or codec.schema
        assert named.name == schema
        try:
            found: object = json.loads(codec.encode(text.encode()))
        except ValueError:
            found = None
        if found != value:
            differ.append((kind, modifier, text, value, found))
        if found is not None:
            assert codec.decode(text.encode()) == found
    assert differ == []


def test_geometry_has_extensions() -> None:
    schema_before = codec_of("geometry", -1, "adaptive").schema
    assert schema_before.version == 2
    assert [field.name for field in schema_before.fields] == ["wkb", "srid", "extensions"]
