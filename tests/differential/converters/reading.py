"""JSON with schemas, read back by this project and by Kafka's JsonConverter: both must find the same schema and value."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import orjson

from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.json_reader import opening_of, read_schema, split_opening, value_reader
from tests.differential.converters.java_form import java_schema, java_value
from tests.differential.converters.numbers import Floats
from tests.differential.converters.schemas import Schemas, Style
from tests.differential.converters.values import Values
from tests.differential.java_program import JavaProgram

KEEP_NULLS: Final = ConverterSettings(replace_null_with_default=False)
_OPTIONS: Final = {"schemas.enable": "true", "replace.null.with.default": "false"}


def make_document(seed: int, number: int, floats: Floats) -> bytes:
    """Return a document as JsonConverter writes it; the same for the same arguments."""
    random = Random(f"reading {seed} {number}")
    # JsonConverter reads NaN and the infinities as 0.
    finite = Floats(tuple(filter(math.isfinite, floats.doubles)), tuple(filter(math.isfinite, floats.singles)))
    values = Values(random, finite)
    # JsonConverter does not read what it writes for maps with optional keys.
    schema = Schemas(random, values, Style(optional_keys=False)).schema()
    before, after = around_payload(schema, KEEP_NULLS)
    return before + value_json(schema, values.value(schema), KEEP_NULLS) + after


def own_reading(document: bytes) -> dict[str, Any]:
    """Return what this project reads, in the Java program's form."""
    opening = opening_of(document)
    schema = read_schema(split_opening(opening))
    value = value_reader(schema)(orjson.loads(document[len(opening) : -1]))
    found = {"schema": _schema(java_schema(schema)), "value": _value(java_value(schema, value, "bytes"))}
    return dict(_sorted(found))


def differences(seed: int, runs: int, floats: Floats, program: JavaProgram) -> Iterator[str]:
    """Yield a text for each document that the two read in different ways."""
    documents = (make_document(seed, number, floats) for number in range(runs))
    for number, (document, answer) in enumerate(program.each(documents, _request)):
        (found,) = answer["answers"]
        try:
            own = own_reading(document)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is a difference
            own = {"error": repr(problem)}
        if own != _sorted(found):
            yield f"--- reading {number}: {document.decode()}\n    own      {own}\n    original {found}"


def _request(document: bytes) -> dict[str, Any]:
    return {"do": "read", "options": _OPTIONS, "documents": [b64encode(document).decode()]}


def _sorted(found: Any) -> Any:
    """The same with the members of maps in one order: JsonConverter reads them into a HashMap."""
    match found:
        case ["map", list(members)]:
            return ["map", sorted((_sorted(each) for each in members), key=repr)]
        case list():
            return [_sorted(each) for each in found]
        case dict():
            return {name: _sorted(each) for name, each in found.items()}
    return found


def _schema(given: Any) -> Any:
    """The form in which the Java program shows a schema."""
    found = {name: given[name] for name in ("type", "optional", "name", "version", "doc")}
    found["type"] = {"float": "float32", "double": "float64"}.get(given["type"], given["type"])
    found["parameters"] = sorted([key, value] for key, value in dict(given["parameters"]).items())
    if "default" in given:
        found["default"] = _value(given["default"])
    if "fields" in given:
        found["fields"] = [[name, _schema(part)] for name, part in given["fields"]]
    for name in ("items", "keys", "values"):
        if name in given:
            found[name] = _schema(given[name])
    return found


def _value(given: Any) -> Any:
    """The form in which the Java program shows a value."""
    if given is None:
        return None
    kind, content = given
    match kind:
        case "int8" | "int16" | "int32" | "int64":
            return ["int", str(content)]
        case "buffer" | "bytes":
            return ["bytes", b64encode(b64decode(content)).decode()]
        case "array" | "struct":
            return [kind, [_value(each) for each in content]]
        case "map":
            return [kind, [[_value(key), _value(each)] for key, each in content]]
    return given
