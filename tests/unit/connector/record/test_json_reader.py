"""What JsonConverter writes is read again as it was."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.delivery.record_conversion import INTERNAL
from connector.record.json_converter import around_payload, schema_json, value_encoder
from connector.record.json_reader import opening_of, read_schema, split_opening, value_reader
from connector.record.schema import BOOLEAN, BYTES, DECIMAL, FLOAT32, FLOAT64, INT64, STRING, Field, Schema


def decimal(scale: int) -> Schema:
    return Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", str(scale)),))


def as_float(value: float) -> float:
    [found] = struct.unpack("f", struct.pack("f", value))
    return float(found)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SIMPLE: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (BOOLEAN, st.booleans()),
    (INT64, st.integers(-(2**63), 2**63 - 1)),
    (FLOAT64, st.floats(allow_nan=False)),
    (FLOAT32, st.floats(width=32, allow_nan=False)),
    (STRING, TEXT),
    (BYTES, st.binary()),
    (decimal(3), st.integers(-(10**60), 10**60).map(lambda number: Decimal((number < 0, tuple(map(int, str(abs(number)))), -3)))),
]


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Any]:
    kind = draw(st.sampled_from(["simple", "simple", "array", "map", "struct"] if depth else ["simple"]))
    if kind == "simple":
        schema, values = draw(st.sampled_from(SIMPLE))
        value = draw(values)
    elif kind == "array":
        schema, value = draw(typed(depth - 1))
        schema, value = Schema("array", items=schema), [value] * draw(st.integers(0, 2))
    elif kind == "map":
        schema, value = draw(typed(depth - 1))
        keys = draw(st.sampled_from([STRING, INT64]))
        key = draw(TEXT if keys is STRING else st.integers(-9, 9))
        schema, value = Schema("map", keys=keys, values=schema), {key: value}
    else:
        members = draw(st.lists(typed(depth - 1), max_size=3))
        fields = tuple(Field(f"f{at}", each) for at, (each, _) in enumerate(members))
        schema, value = Schema("struct", name="a.Row", version=1, doc=draw(TEXT), fields=fields), {}
        value = {f"f{at}": each for at, (_, each) in enumerate(members)}
    if draw(st.booleans()):
        return schema.as_optional(), draw(st.sampled_from([value, None]))
    return schema, value


@given(typed())
def test_schemas_and_values_are_read_as_they_were(case: tuple[Schema, Any]) -> None:
    schema, value = case
    before, after = around_payload(schema, INTERNAL)
    document = before + value_encoder(schema, INTERNAL)(value) + after
    assert opening_of(document) == before
    read = read_schema(split_opening(before))
    assert read == schema
    assert value_reader(read)(orjson.loads(document[len(before) : -1])) == value


@pytest.mark.parametrize(
    "schema", [STRING.with_default("x"), decimal(2).with_default(Decimal("1.50")), INT64.with_default(7).as_optional()]
)
def test_defaults_are_read_and_take_no_nulls_place(schema: Schema) -> None:
    read = read_schema(schema_json(schema, None, INTERNAL))
    assert read == schema
    assert value_reader(read)(None) is None


def test_a_float_is_the_value_and_not_its_shortest_text() -> None:
    assert value_reader(FLOAT32)(0.1) == as_float(0.1) != 0.1


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_words_of_floats_are_floats(value: str) -> None:
    assert str(value_reader(FLOAT64)(value)) == {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[value]


@pytest.mark.parametrize("text", [b"{}", b'{"schema":{"type":"string"', b'{"schema":{"doc":"\\"}}'])
def test_other_bytes_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="schema"):
        opening_of(text)
