"""Each plain converter against what the real classes of Connect 4.3 and Debezium 3.6.3 made of the same values.

Connect 3.9.1 with Debezium 2.3.4 gave the same answers. :mod:`tests.support.record_converters` records them.
"""

from __future__ import annotations

import json
from base64 import b64decode
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from connector.converters.catalog import make_converter, make_header_converter
from connector.converters.converter import ConverterChoice
from connector.emulation import DEFAULT
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import DataError
from connector.record.java_date import JavaDate
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import BYTES, FLOAT64, STRING, Field, Schema
from tests.support.each_case import each_case

RECORDED: Final = json.loads(Path(__file__).with_name("converters_recorded.json").read_text())
TOPIC: Final = "server.public.t"
DATA: Final = b"\x00ab\xff"
SPECIAL: Final[dict[str, tuple[Schema | None, object]]] = {
    "bytes": (None, DATA),
    "buffer": (None, DATA),
    "decimal": (None, Decimal("12.50")),
    "date": (None, JavaDate(1_700_000_000_123)),
    "buffer of bytes": (BYTES, DATA),
    "struct of buffers": (Schema("struct", fields=(Field("a", BYTES), Field("b", BYTES.as_optional()))), {"a": DATA, "b": None}),
    "array of buffers": (Schema("array", items=BYTES), [DATA]),
    "map of optional keys": (Schema("map", keys=STRING.as_optional(), values=STRING), {"k": "x"}),
    "NaN": (FLOAT64, float("nan")),
    "Infinity": (FLOAT64, float("inf")),
    "-Infinity": (FLOAT64, float("-inf")),
}
ONLY_BUFFERS: Final = ("io.debezium.converters.ByteArrayConverter", "buffer")
"""The class takes a byte array, but no ByteBuffer. Both are bytes here."""


def _given(kind: str, schema: Any, value: Any) -> tuple[Schema | None, Any]:
    if kind == "typed":
        made = read_schema(json.dumps(schema).encode())
        return made, value_reader(made)(json.loads(json.dumps(value)))
    return (None, value) if kind == "plain" else SPECIAL[value]


def _wanted(answer: Any) -> Any:
    return b64decode(answer["base64"]) if isinstance(answer, dict) and "base64" in answer else answer


@each_case("answers", RECORDED["answers"], ids=lambda answers: "-".join((answers[0].rpartition(".")[2], *map(str, answers[1:3]))))
def test_values_become_the_recorded_bytes(answers: Any) -> None:
    name, options, side, recorded = answers
    choice = ConverterChoice(name, options)
    header = make_header_converter(choice, DEFAULT, NO_PLUGINS) if side == "header" else None
    converter = make_converter(choice, side, DEFAULT, NO_PLUGINS) if side != "header" else None
    differences = []
    for case, answer in zip(RECORDED["cases"], recorded, strict=True):
        kind, _, reported = case
        if (isinstance(answer, dict) and "hash" in answer) or (
            name == ONLY_BUFFERS[0] and kind == "special" and ONLY_BUFFERS[1] in reported
        ):
            continue
        schema, value = _given(*case)
        found: Any
        try:
            if header is not None:
                found = header.convert(TOPIC, "name", schema, value)
            else:
                assert converter is not None
                converted = converter.convert(TOPIC, schema, value, ())
                found = None if converted.payload is None else converted.prefix + converted.payload
        except DataError:
            found = {"error": "DataException"}
        wanted = _wanted(answer)
        if found != (wanted.encode() if isinstance(wanted, str) else wanted):
            differences.append((case, found, wanted))
    assert differences == []
