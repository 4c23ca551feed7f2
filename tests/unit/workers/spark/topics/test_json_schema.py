"""Schemas of JsonSchemaConverter as Connect's: those that the connector writes, and what is refused. No Spark is started."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from connector.converters.json_schema.mapping import JsonSchemaSettings, json_schema
from connector.record.json_converter import ConverterSettings, schema_json
from connector.record.json_reader import read_schema
from tests.support.spark.converted_topic import envelope, flat, key_schema
from workers.spark.failure import JobError
from workers.spark.topics.json_schema import connect_schema

SETTINGS: Final = ConverterSettings()


def reported(schema: object) -> Any:
    """A schema as JsonConverter embeds it, without documentation and without the name of a field beside its own."""
    if isinstance(schema, dict):
        return {name: reported(value) for name, value in schema.items() if name != "doc"}
    return [reported(member) for member in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("schema", [envelope(), flat(), key_schema()], ids=["envelope", "row", "key"])
def test_schema_is_as_json_converter_embeds_it(schema: dict[str, Any]) -> None:
    known = read_schema(json.dumps(schema).encode())
    expected = reported(json.loads(schema_json(known, None, SETTINGS)))
    assert reported(connect_schema(json_schema(known, JsonSchemaSettings()))) == expected


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "boolean"}]}, "a sum of several types"),
        ({"type": "object", "properties": {"a": {"$ref": "other.json"}}}, "refers to other schemas"),
        ({"type": "number", "title": "org.apache.kafka.connect.data.Decimal"}, "decimal.format=BASE64"),
    ],
)
def test_schema_that_is_not_read_is_named(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(JobError, match=said):
        connect_schema(json.dumps(schema))


@pytest.mark.parametrize("schema", [[], {"type": "tuple"}, {"type": "number", "connect.type": "float16"}, {"type": "array"}])
def test_other_schema_is_an_error(schema: object) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        connect_schema(json.dumps(schema))
