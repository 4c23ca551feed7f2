"""Record what the real ``AvroData`` makes of :mod:`tests.support.avro_cases`: ``python -m tests.support.record_avro JARS... > FILE``.

JARS are folders with the jars of Kafka Connect, its JsonConverter and Apicurio's converter 3.0.9.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

from connector.converters.avro.settings import AvroSettings
from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.schema import NO_DEFAULT, Field, Schema
from tests.support.avro_cases import Case, cases
from tests.support.java_classes import running_java

FIELDS = {
    "enhancedSchemaSupport": "enhanced",
    "generalizedSumTypeSupport": "sum_types",
    "connectMetaData": "meta_data",
    "scrubInvalidNames": "scrub",
    "discardTypeDocDefault": "discard_docs",
    "allowOptionalMapKey": "optional_map_keys",
    "ignoreDefaultForNullables": "ignore_defaults",
}
KEEP_NULLS = ConverterSettings(replace_null_with_default=False)


class Recorder:
    """The real classes."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self.reader = java.org.apache.kafka.connect.json.JsonConverter()
        self.reader.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, False)

    def data(self, settings: AvroSettings) -> Any:
        data = self.java.io.apicurio.registry.utils.converter.avro.AvroData(100)
        for name, ours in FIELDS.items():
            field = data.getClass().getDeclaredField(name)
            field.setAccessible(True)
            field.setBoolean(data, getattr(settings, ours))
        return data

    def connect(self, schema: Schema, value: object) -> Any:
        optional = schema if value is not None else schema.as_optional()
        text = b'{"schema":' + schema_json(optional) + b',"payload":' + value_json(_as_read(optional), value, KEEP_NULLS) + b"}"
        return self.reader.toConnectData("t", bytearray(text))

    def schema(self, schema: Schema) -> Any:
        """The schema alone, read as the only field's, for which there need not be a value."""
        text = b'{"type":"struct","optional":true,"fields":[' + schema_json(schema, "only") + b"]}"
        read = self.reader.toConnectData("t", bytearray(b'{"schema":' + text + b',"payload":null}'))
        return read.schema().field("only").schema()

    def encoded(self, data: Any, schema: Schema, value: object) -> str:
        both = self.connect(schema, value)
        avro = data.fromConnectSchema(both.schema())
        datum = data.fromConnectData(both.schema(), both.value())
        if datum.getClass().getSimpleName() == "NonRecordContainer":
            datum = datum.getValue()
        out = self.java.java.io.ByteArrayOutputStream()
        encoder = self.java.org.apache.avro.io.EncoderFactory.get().directBinaryEncoder(out, None)
        self.java.org.apache.avro.generic.GenericDatumWriter(avro).write(datum, encoder)
        encoder.flush()
        return bytes(out.toByteArray()).hex()

    def record(self, case: Case) -> dict[str, Any]:
        data = self.data(case.settings)
        try:
            found: dict[str, Any] = {"schema": data.fromConnectSchema(self.schema(case.schema)).toString()}
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the answer
            return {"error": reported(problem)}
        found["values"] = [self._value(data, case.schema, value) for value in case.values]
        return found

    def _value(self, data: Any, schema: Schema, value: object) -> str:
        try:
            return self.encoded(data, schema, value)
        except Exception as problem:  # noqa: BLE001 - the same
            return f"error: {reported(problem)}"


def _as_read(schema: Schema) -> Schema:
    """The schema with required keys of maps: JsonConverter writes optional ones in a form that it does not read."""
    inner = tuple(Field(field.name, _as_read(field.schema)) for field in schema.fields)
    keys = schema.keys.as_optional(schema.keys.type != "string" and schema.keys.optional) if schema.keys is not None else None
    return replace(schema, fields=inner, keys=keys, default=NO_DEFAULT)


def reported(problem: Exception) -> str:
    """The class and text of what Java threw."""
    java = getattr(problem, "java_exception", None)
    return str(problem) if java is None else f"{java.getClass().getName()}: {java.getMessage()}"


def main() -> None:
    """Write the answers, one case a line."""
    with running_java(sys.argv[1:]) as java:
        recorder = Recorder(java)
        lines = [f"{json.dumps(case.name)}: {json.dumps(recorder.record(case), ensure_ascii=False)}" for case in cases()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
