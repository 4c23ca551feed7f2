from __future__ import annotations

from typing import Any

import pytest

from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.schema import NO_DEFAULT
from connector.types.codec import Codec
from connector.types.defaults import default_value
from connector.types.registry import resolve
from tests.support.each_case import each_case
from tests.support.type_catalog import RECORDINGS, TYPES, column, compiled_inline, settings


def name(row: dict[str, Any]) -> str:
    changed = ",".join(f"{key}={value}" for key, value in row["settings"].items())
    return f"{row['type']}({row['modifier']}) {changed}" + (f" {row['expression']}" if "expression" in row else "")


def codec_of(row: dict[str, Any]) -> Codec:
    codec = resolve(column(row["type"], row["modifier"]), TYPES, settings(row["settings"]))
    assert codec is not None
    return codec


def converter(row: dict[str, Any]) -> ConverterSettings:
    return ConverterSettings(decimal_format=row["settings"].get("decimal_format", "BASE64"))


@each_case("row", RECORDINGS["values"], ids=name)
def test_schema_and_values_are_the_recorded_ones(row: dict[str, Any]) -> None:
    codec = codec_of(row)
    assert schema_json(codec.schema).decode() == row["schema"]
    inline = compiled_inline(codec)
    for text, wanted in row["cases"]:
        raw = text.encode()
        if wanted == "null":
            with pytest.raises(ValueError, match=r"^[A-Z]"):
                codec.encode(raw)
            with pytest.raises(ValueError, match=r"^[A-Z]"):
                codec.decode(raw)
            continue
        assert codec.encode(raw).decode() == wanted
        assert value_json(codec.schema, codec.decode(raw), converter(row)).decode() == wanted
        if inline is not None:
            assert inline(raw).decode() == wanted


@each_case(("type_name", "include_unknown"), [(row[0], row[1]) for row in RECORDINGS["absent"]])
def test_types_without_a_mapping_are_left_out(type_name: str, include_unknown: bool) -> None:
    changed = {"include_unknown_datatypes": "true"} if include_unknown else {}
    assert resolve(column(type_name), TYPES, settings(changed)) is None


@each_case("row", RECORDINGS["defaults"], ids=name)
def test_defaults_are_the_recorded_ones(row: dict[str, Any]) -> None:
    codec = codec_of(row)
    value = default_value(column(row["type"], row["modifier"], row["expression"]), codec, TYPES, settings(row["settings"]))
    shown = None if value is NO_DEFAULT else value_json(codec.schema, value, converter(row)).decode()
    assert shown == row["default"]


@each_case("row", RECORDINGS["fallbacks"], ids=name)
def test_nulls_of_required_columns_have_the_recorded_fallback(row: dict[str, Any]) -> None:
    codec = codec_of(row)
    assert value_json(codec.schema, codec.fallback, converter(row)).decode() == row["json"]


@each_case("row", RECORDINGS["unavailable"], ids=name)
def test_unchanged_toast_values_have_the_recorded_placeholder(row: dict[str, Any]) -> None:
    codec = codec_of(row)
    shown = value_json(codec.schema.as_optional(), codec.unavailable, converter(row)).decode()
    assert shown == row["json"]
