"""The mapping to Avro of Apicurio's converter, which has a class of its own for it, against this project's."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.writer import value_writer
from connector.record.connect_record import DataError
from connector.record.schema import Schema
from tests.differential.converters.comparison import first_difference, is_known
from tests.differential.converters.java_form import java_schema, java_value, short
from tests.differential.converters.numbers import Floats
from tests.differential.converters.schemas import Schemas, Style
from tests.differential.converters.values import Values
from tests.differential.java_program import JavaProgram

FLAGS: Final = {
    "enhancedSchemaSupport": "enhanced",
    "generalizedSumTypeSupport": "sum_types",
    "connectMetaData": "meta_data",
    "discardTypeDocDefault": "discard_docs",
    "allowOptionalMapKey": "optional_map_keys",
    "ignoreDefaultForNullables": "ignore_defaults",
}
"""Fields of the class, and the options here. Nothing sets its ``scrubInvalidNames``."""
_Case = tuple[dict[str, bool], Schema, Any]


def make_mapping(seed: int, number: int, floats: Floats) -> _Case:
    """Return flags, a schema and a value; the same for the same arguments."""
    random = Random(f"apicurio {seed} {number}")
    flags = {name: random.random() < 0.5 for name in FLAGS if random.random() < 0.4}
    values = Values(random, floats)
    odd = random.choice((0, 0, 0.1))
    schema = Schemas(random, values, Style(odd=odd, sums=random.random() < 0.4)).schema().as_optional(False)
    return flags, schema, values.value(schema)


def differences(seed: int, runs: int, floats: Floats, program: JavaProgram) -> Iterator[str]:
    """Yield a text for each case in which schema or bytes differ, or in which one side alone fails."""
    made = (make_mapping(seed, number, floats) for number in range(runs))
    for number, (case, answer) in enumerate(program.each(made, _request)):
        if (different := _difference(case, answer["answers"][0])) is not None:
            yield f"--- apicurio {number}: {case[0]}\n  schema {short(case[1])}\n  value {case[2]!r}\n  {different}"


def _request(case: _Case) -> dict[str, Any]:
    flags, schema, value = case
    return {"do": "avro data", "options": flags, "records": [{"schema": java_schema(schema), "value": java_value(schema, value)}]}


def _difference(case: _Case, original: dict[str, Any]) -> str | None:
    flags, schema, value = case
    settings = AvroSettings(**{FLAGS[name]: flag for name, flag in flags.items()})
    own: dict[str, Any]
    try:
        own = {"schema": avro_schema(schema, settings).text(), "bytes": value_writer(schema, settings)(value)}
    except DataError as problem:
        own = {"error": str(problem)}
    if "error" in own or "error" in original:
        if ("error" in own) == ("error" in original) or is_known(value, own, original):
            return None
        return f"one fails: own {own}, original {original.get('text', original)}"
    if own["schema"] != original["schema"]:
        return f"schema: {first_difference(own['schema'], original['schema'])}"
    written = b64decode(original["bytes"])
    return None if own["bytes"] == written else f"bytes: {first_difference(own['bytes'], written)}"
