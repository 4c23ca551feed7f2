"""Confluent's JsonSchemaConverter: schemas against those of its library (``tests.support.record_json_schema``), and the bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from connector.configdef.options import OptionError, Options
from connector.converters.confluent_keys import RECORD_NAME
from connector.converters.converter import Converted, Converter, SchemaNeededError
from connector.converters.json_schema.confluent import DEFINITIONS
from connector.converters.json_schema.mapping import JsonSchemaSettings, json_schema
from connector.converters.registry import RegisteredSchema, Registry, SchemaAsk
from connector.record.connect_record import DataError
from connector.record.schema import FLOAT32, FLOAT64, INT32, STRING, Schema
from tests.support.avro_cases import array, decimal, mapping, struct
from tests.support.each_case import each_case
from tests.support.record_json_schema import recorded_cases

RECORDED: Final[dict[str, str]] = json.loads(Path(__file__).with_name("json_schema_recorded.json").read_text(encoding="utf-8"))
CASES: Final = recorded_cases()
ROW: Final = struct("s.t.Value", id=INT32, name=STRING.as_optional())


def comparable(text: str) -> Any:
    """Members in order, but for the two of ``oneOf``; numbers as Jackson's BigDecimal shows them."""

    def pairs(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [(name, sorted(value, key=str, reverse=True) if name == "oneOf" else value) for name, value in found]

    return json.loads(text, object_pairs_hook=pairs, parse_float=lambda number: str(Decimal(number)), parse_int=str)


@each_case("name", list(RECORDED))
def test_schemas_have_the_order_of_the_library(name: str) -> None:
    found = json_schema(CASES[name], JsonSchemaSettings())
    assert comparable(found) == comparable(RECORDED[name])


def test_every_recorded_case_is_replayed() -> None:
    assert list(CASES) == list(RECORDED)


def converted(schema: Schema | None, value: object, answer: RegisteredSchema | None = None, **options: str) -> tuple[Converted, str]:
    """The record, and the schema that was asked for."""
    values = {"schema.registry.url": "http://r"} | {name.replace("_", "."): value for name, value in options.items()}
    converter: Converter = DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, values), "value")
    try:
        return converter.convert("t", schema, value, ()), ""
    except SchemaNeededError as needed:
        registry, request = needed.registry, needed.request
    assert isinstance(registry, Registry)
    assert isinstance(request.ask, SchemaAsk)
    registry.learn(request, answer or RegisteredSchema(7))
    return converter.convert("t", schema, value, ()), request.subject + " " + request.ask.text


def test_a_value_has_the_magic_byte_the_id_and_json() -> None:
    found, asked = converted(ROW, {"id": 1, "name": None})
    assert (found.prefix, found.payload) == (b"\0\0\0\0\7", b'{"id":1,"name":null}')
    assert asked.startswith('t-value {"type":"object","title":"s.t.Value","properties":{')


def test_nulls() -> None:
    assert converted(None, None)[0].payload is None
    assert converted(ROW, None)[0].payload is None
    assert converted(ROW.as_optional(), None)[0].payload == b"null"
    assert converted(STRING.with_default("d"), None)[0].payload == b'"d"'
    assert converted(STRING.with_default("d"), None, ignore_default_for_nullables="true")[0].payload is None


def test_options_of_the_schema() -> None:
    price = struct("p.P", price=decimal(2))
    assert converted(price, {"price": Decimal("1.20")})[0].payload == b'{"price":"eA=="}'
    found, asked = converted(price, {"price": Decimal("1.20")}, decimal_format="numeric", object_additional_properties="false")
    assert found.payload == b'{"price":1.20}'
    assert '"additionalProperties":false' in asked
    assert '"price":{"type":"number","title":"org.apache.kafka.connect.data.Decimal"' in asked


def test_defaults_of_numbers() -> None:
    for schema, shown in (
        (FLOAT64.with_default(1.0), "1"),
        (FLOAT64.with_default(1e7), "1.0E+7"),
        (FLOAT32.with_default(0.1), "0.1"),
        (FLOAT64.with_default(-0.25), "-0.25"),
    ):
        assert f'"default":{shown},' in json_schema(schema, JsonSchemaSettings())
    numeric = JsonSchemaSettings(numeric_decimals=True)
    assert '"default":1.2,' in json_schema(decimal(2).with_default(Decimal("1.20")), numeric)
    with pytest.raises(DataError, match="non-finite"):
        json_schema(FLOAT64.with_default(float("nan")), JsonSchemaSettings())


def test_null_or_default() -> None:
    holder = struct("p.P", a=STRING.with_default("d").as_optional())
    assert converted(holder, {"a": None})[0].payload == b'{"a":"d"}'
    assert converted(holder, {"a": None}, ignore_default_for_nullables="true")[0].payload == b'{"a":null}'


def test_maps_without_string_keys_are_entries() -> None:
    holder = struct("p.P", a=mapping(INT32, mapping(INT32, STRING)), b=mapping(INT32, STRING).as_optional())
    found, _ = converted(holder, {"a": {1: {2: "x"}}, "b": None})
    assert found.payload == b'{"a":[{"key":1,"value":[{"key":2,"value":"x"}]}],"b":null}'


def test_defaults_have_the_form_of_values() -> None:
    counts = mapping(INT32, STRING)
    plain = JsonSchemaSettings()
    assert '"default":[{"value":"x","key":1}],' in json_schema(counts.with_default({1: "x"}), plain)
    assert '"default":[[{"value":"x","key":1}]],' in json_schema(array(counts).with_default([{1: "x"}]), plain)
    inner = struct("p.I", a=STRING.with_default("d").as_optional())
    listed = array(inner).with_default([{"a": None}])
    assert '"default":[{"a":"d"}],' in json_schema(listed, plain)
    assert '"default":[{"a":null}],' in json_schema(listed, JsonSchemaSettings(ignore_defaults=True))


def test_a_list_of_maps_with_a_default_is_written() -> None:
    holder = struct("p.P", a=array(mapping(INT32, STRING)).with_default([{1: "x"}]).as_optional())
    assert converted(holder, {"a": None})[0].payload == b'{"a":[[{"key":1,"value":"x"}]]}'
    assert converted(holder, {"a": [{2: "y"}]})[0].payload == b'{"a":[[{"key":2,"value":"y"}]]}'


def test_closed_structs_say_so_before_their_title() -> None:
    closed = JsonSchemaSettings(additional_properties=False)
    assert json_schema(struct("p.P"), closed) == '{"type":"object","additionalProperties":false,"title":"p.P"}'
    assert json_schema(mapping(STRING, STRING), closed) == '{"type":"object","connect.type":"map","additionalProperties":{"type":"string"}}'


def test_enums() -> None:
    colour = replace(STRING, parameters=(("io.confluent.connect.json.Enum", "c"), ("io.confluent.connect.json.Enum.RED", "0")))
    assert json_schema(colour, JsonSchemaSettings()) == '{"enum":["RED"]}'


def test_the_record_name_is_the_title() -> None:
    _, asked = converted(ROW, {"id": 1, "name": None}, value_subject_name_strategy=RECORD_NAME)
    assert asked.startswith("s.t.Value ")
    with pytest.raises(DataError, match="must only be a record schema"):
        converted(STRING, "x", value_subject_name_strategy=RECORD_NAME)


def test_the_newest_schema_must_be_the_own_one_unless_reported_otherwise() -> None:
    off = {"auto_register_schemas": "false", "use_latest_version": "true"}
    row, value = ROW, {"id": 1, "name": None}
    same = RegisteredSchema(3, text=json_schema(row, JsonSchemaSettings()))
    assert converted(row, value, same, **off)[0].prefix == b"\0\0\0\0\3"
    other = RegisteredSchema(3, text="{}")
    with pytest.raises(DataError, match=r"latest\.compatibility\.strict=false"):
        converted(row, value, other, **off)
    assert converted(row, value, other, **off, latest_compatibility_strict="false")[0].prefix == b"\0\0\0\0\3"


def test_order_and_annotations_of_the_newest_schema_do_not_matter() -> None:
    off = {"auto_register_schemas": "false", "use_latest_version": "true"}
    row, value = struct("s.t.Value", id=INT32, name=STRING.as_optional(), title=STRING.as_optional()), {"id": 1, "name": None, "title": "x"}
    own: dict[str, Any] = json.loads(json_schema(row, JsonSchemaSettings()))
    for each in own["properties"].values():
        if "oneOf" in each:
            each["oneOf"].reverse()
    found = {"description": "rows", **own, "properties": dict(reversed(own["properties"].items())), "connect.version": 3}
    assert converted(row, value, RegisteredSchema(3, text=json.dumps(found)), **off)[0].prefix == b"\0\0\0\0\3"
    # A property may have the name of an annotation.
    del found["properties"]["title"]
    with pytest.raises(DataError, match="more than annotations and order"):
        converted(row, value, RegisteredSchema(3, text=json.dumps(found)), **off)


def test_errors() -> None:
    with pytest.raises(DataError, match="null value for field that is required"):
        converted(ROW, {"id": None, "name": None})
    with pytest.raises(DataError, match=r"does not fit the schema s\.t\.Value"):
        converted(ROW, "secret")
    with pytest.raises(DataError, match="needs a schema"):
        converted(None, "x")
    with pytest.raises(OptionError, match=r"decimal\.format"):
        converted(ROW, {}, decimal_format="x")
