"""Texts stand for the values that Connect's ``Values`` finds in them, and values have its texts: recorded answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from connector.record.schema import Field, Schema
from connector.record.value_parsing import parse_text
from connector.record.values import text_of
from tests.support.each_case import each_case
from tests.support.recorded_transforms import read, reported_value

RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "values_recorded.json").read_text(encoding="utf-8"))
TRANSFORMS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "transforms/kafka/kafka_recorded.json").read_text(encoding="utf-8")
)
_UNTYPED: Final = re.compile(r'"(items|keys|values)":null')


@each_case(("text", "answer", "again"), RECORDED["parsed"], ids=lambda each: repr(each) if isinstance(each, str) else "")
def test_texts_are_parsed_as_connect_parses_them(text: str, answer: Any, again: str | None) -> None:
    parsed = parse_text(text)
    assert text_of(parsed.schema, parsed.value) == again
    if answer is None or answer[0] is None:
        assert parsed == (None, None)
        return
    kind, value = answer
    assert parsed.schema is not None
    if _UNTYPED.search(kind):
        # Members that have nothing in common have no schema.
        assert not _typed(parsed.schema)
        return
    found = reported_value(parsed.schema, parsed.value, {})
    assert found == [kind, found[1] if isinstance(value, dict) else value]


def _typed(schema: Schema) -> bool:
    if schema.type == "array":
        return schema.items is not None and _typed(schema.items)
    return schema.type != "map" or None not in (schema.keys, schema.values)


@each_case(("name", "wanted"), RECORDED["texts"])
def test_values_have_the_texts_of_connect(name: str, wanted: Any) -> None:
    schema, value = read(TRANSFORMS["records"][name].get("value"))
    wrapped = None if schema is None else Schema("struct", fields=(Field("it", schema),))
    found = text_of(wrapped, {"it": value})
    if isinstance(value, dict) and schema is None:
        # A HashMap has an order of its own.
        assert json.loads(found or "") == json.loads(wanted)
    else:
        assert found == wanted
