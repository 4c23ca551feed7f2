"""Record the JSON that everit-json-schema writes: ``python -m tests.support.record_json_schema JARS... > FILE``.

Confluent's own converter is not in Maven Central. The library is, and it decides on the order of members and the form of numbers. It is
given the schemas of :mod:`tests.support.avro_cases` as Confluent's documentation and converter build them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from connector.converters.json_schema.entries import entries, with_entries
from connector.java.floats import as_float32
from connector.record.json_converter import ConverterSettings, value_json
from connector.record.schema import NO_DEFAULT, Schema
from tests.support.avro_cases import cases
from tests.support.java_classes import running_java

INTEGERS = {"int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64"}
NUMBERS = {"float": "float32", "double": "float64"}
BASE64 = ConverterSettings()


class Builder:
    """Builds the library's schemas."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self.everit = java.org.everit.json.schema

    def map(self, members: dict[str, Any]) -> Any:
        made = self.java.java.util.HashMap()
        for name, member in members.items():
            made.put(name, member)
        return made

    def build(self, schema: Schema, index: int | None = None) -> Any:
        if schema.optional:
            both = self.everit.CombinedSchema.builder().criterion(self.everit.CombinedSchema.ONE_CRITERION)
            both = both.subschema(self.everit.NullSchema.INSTANCE).subschema(self.build(schema.as_optional(False)))
            return both.unprocessedProperties(self.map({} if index is None else {"connect.index": index})).build()
        builder, own = self.kind(schema)
        if schema.name is not None:
            builder = builder.title(schema.name)
        if schema.version is not None:
            own["connect.version"] = schema.version
        if schema.doc is not None:
            builder = builder.description(schema.doc)
        parameters = {key: value for key, value in schema.parameters if not key.startswith("io.confluent.connect.json")}
        if parameters:
            own["connect.parameters"] = self.map(parameters)
        if schema.default is not NO_DEFAULT:
            builder = builder.defaultValue(self.default(schema))
        if index is not None:
            own["connect.index"] = index
        return builder.unprocessedProperties(self.map(own)).build()

    def default(self, schema: Schema) -> Any:
        change = entries(schema)
        text = value_json(with_entries(schema), schema.default if change is None else change(schema.default), BASE64).decode()
        if schema.type == "float":
            return self.java.java.math.BigDecimal(text) if as_float32(float(text)) == float(text) else text
        if schema.type in ("struct", "map"):
            return self.java.org.json.JSONObject(text) if text.startswith("{") else self.java.org.json.JSONArray(text)
        return self.java.org.json.JSONArray(text) if schema.type == "array" else json.loads(text)

    def kind(self, schema: Schema) -> tuple[Any, dict[str, Any]]:
        everit = self.everit
        if schema.type in INTEGERS:
            return everit.NumberSchema.builder().requiresInteger(True), {"connect.type": INTEGERS[schema.type]}
        if schema.type in NUMBERS:
            return everit.NumberSchema.builder().requiresInteger(False), {"connect.type": NUMBERS[schema.type]}
        match schema.type:
            case "boolean":
                return everit.BooleanSchema.builder(), {}
            case "string":
                return everit.StringSchema.builder(), {}
            case "bytes":
                return everit.StringSchema.builder(), {"connect.type": "bytes"}
            case "array":
                return everit.ArraySchema.builder().allItemSchema(self.build(part(schema.items))), {}
            case "map" if part(schema.keys).type == "string" and not part(schema.keys).optional:
                return everit.ObjectSchema.builder().schemaOfAdditionalProperties(self.build(part(schema.values))), {"connect.type": "map"}
            case "map":
                entry = everit.ObjectSchema.builder().addPropertySchema("key", self.build(part(schema.keys), 0))
                entry = entry.addPropertySchema("value", self.build(part(schema.values), 1))
                return everit.ArraySchema.builder().allItemSchema(entry.build()), {"connect.type": "map"}
        builder = everit.ObjectSchema.builder()
        for place, field in enumerate(schema.fields):
            builder = builder.addPropertySchema(field.name, self.build(field.schema, place))
        return builder, {}


def part(schema: Schema | None) -> Schema:
    assert schema is not None
    return schema


def recorded_cases() -> dict[str, Schema]:
    """Return the cases' schemas, without those of enums and unions, of which Avro has its own."""
    reported = ("enum", "union", "float with", "float without")
    return {case.name: case.schema for case in cases() if not any(word in case.name for word in reported) or "debezium" in case.name}


def main() -> None:
    """Write the answers, one case a line."""
    with running_java(sys.argv[1:]) as java:
        builder = Builder(java)
        lines = [f"{json.dumps(name)}: {json.dumps(builder.build(schema).toString())}" for name, schema in recorded_cases().items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
