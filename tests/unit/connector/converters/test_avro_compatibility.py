"""Compatibility of Avro schemas against the answers of Avro's Java library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from connector.converters.avro.compatibility import unreadable
from tests.support.avro_compatibility_cases import PAIRS, field, record
from tests.support.each_case import each_case

RECORDED: Final[list[bool]] = json.loads(Path(__file__).with_name("avro_compatibility_recorded.json").read_text(encoding="utf-8"))


@each_case(("reader", "writer", "readable"), [(*pair, answer) for pair, answer in zip(PAIRS, RECORDED, strict=True)])
def test_the_answer_is_that_of_the_library(reader: Any, writer: Any, readable: bool) -> None:
    assert (unreadable(reader, writer) is None) == readable


def test_the_reason_names_field_and_types() -> None:
    reader = record(field("x", record(field("y", "string"), name="I")))
    assert unreadable(reader, record(field("x", record(field("y", "int"), name="I")))) == "string cannot read int in the field x.y"
    assert unreadable(record(field("b", "int")), record()) == "its field b has no default, and the record lacks it"
