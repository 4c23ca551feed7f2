"""Record what Kafka's and Debezium's plain converters make of values: ``python -m tests.support.record_converters JARS... > FILE``.

JARS are folders with the jars of Kafka Connect, its JsonConverter and Debezium's connector.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from tests.support.converter_cases import BUFFERS, CONVERTERS, PLAIN, TYPED
from tests.support.java_classes import running_java

TOPIC: Final = "server.public.t"
HASH: Final = b"[B@"
"""How the text of a byte array begins; the rest changes with each run."""


class Recorder:
    """The real classes. Values are kept in Java lists, because Py4J would make plain numbers of Java's boxed ones."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self.reader = java.org.apache.kafka.connect.json.JsonConverter()
        self.reader.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, False)

    def typed(self, schema: Any, value: Any) -> Any:
        """The arguments (topic, schema, value) of a conversion, from JSON."""
        outer = {"schema": {"type": "array", "optional": False, "items": schema}, "payload": [value]}
        both = self.reader.toConnectData(TOPIC, bytearray(json.dumps(outer).encode()))
        return self._arguments(both.schema().valueSchema(), both.value())

    def plain(self, value: Any) -> Any:
        """The same without a schema."""
        outer = {"schema": None, "payload": [value]}
        return self._arguments(None, self.reader.toConnectData(TOPIC, bytearray(json.dumps(outer).encode())).value())

    def special(self, name: str) -> Any:
        """The same for values that JSON cannot express."""
        schemas = self.java.org.apache.kafka.connect.data
        builder = schemas.SchemaBuilder
        buffer = self.java.java.nio.ByteBuffer.wrap(bytearray(b"\x00ab\xff"))
        values = self.java.java.util.ArrayList()
        schema = None
        match name:
            case "bytes":
                values.add(bytearray(b"\x00ab\xff"))
            case "buffer":
                values.add(buffer)
            case "decimal":
                values.add(self.java.java.math.BigDecimal("12.50"))
            case "date":
                values.add(self.java.java.util.Date(1_700_000_000_123))
            case "buffer of bytes":
                schema = schemas.Schema.BYTES_SCHEMA
                values.add(buffer)
            case "struct of buffers":
                schema = builder.struct().field("a", schemas.Schema.BYTES_SCHEMA).field("b", schemas.Schema.OPTIONAL_BYTES_SCHEMA).build()
                values.add(schemas.Struct(schema).put("a", buffer))
            case "array of buffers":
                schema = builder.array(schemas.Schema.BYTES_SCHEMA).build()
                values.add([buffer])
            case "map of optional keys":
                schema = builder.map(schemas.Schema.OPTIONAL_STRING_SCHEMA, schemas.Schema.STRING_SCHEMA).build()
                values.add({"k": "x"})
            case "NaN" | "Infinity" | "-Infinity":
                schema = schemas.Schema.FLOAT64_SCHEMA
                values.add(float(name))
        return self._arguments(schema, values)

    @staticmethod
    def _arguments(schema: Any, values: Any) -> Any:
        values.add(0, schema)
        values.add(0, TOPIC)
        return values

    def method(self, name: str, options: dict[str, str], side: str) -> tuple[Any, Any]:
        """The converter, and the method that converts."""
        made = self.java
        for part in name.split("."):
            made = getattr(made, part)
        converter = made()
        header = side == "header"
        if header:
            converter.configure({**options, "converter.type": "header"})
        else:
            converter.configure(options, side == "key")
        wanted = "fromConnectHeader" if header else "fromConnectData"
        count = 4 if header else 3
        found = [each for each in converter.getClass().getMethods() if each.getName() == wanted and each.getParameterCount() == count]
        return converter, found[0]

    def answer(self, converter: Any, method: Any, arguments: Any) -> Any:
        given = self.java.java.util.ArrayList(arguments)
        if method.getParameterCount() == 4:
            given.add(1, "name")
        try:
            found = method.invoke(converter, given.toArray())
        except Py4JJavaError as error:
            return {"error": error.java_exception.getCause().getClass().getSimpleName()}
        if found is not None and HASH in bytes(found).replace(b"\0", b""):
            return {"hash": True}
        return None if found is None else shown(bytes(found))


def shown(found: bytes) -> Any:
    """Text where the bytes are UTF-8, else base64."""
    try:
        return found.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(found).decode()}


def record(folders: list[str]) -> dict[str, Any]:
    with running_java(folders) as java:
        recorder = Recorder(java)
        cases: list[tuple[str, Any, Any]] = [("typed", schema, value) for schema, value in TYPED]
        cases += [("plain", None, value) for value in PLAIN]
        cases += [("special", None, name) for name in BUFFERS]
        made = [recorder.typed(schema, value) if kind == "typed" else getattr(recorder, kind)(value) for kind, schema, value in cases]
        answers = []
        for name, options, side in CONVERTERS:
            converter, method = recorder.method(name, options, side)
            answers.append([name, options, side, [recorder.answer(converter, method, arguments) for arguments in made]])
    return {"cases": cases, "answers": answers}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(record(sys.argv[1:]), ensure_ascii=False, separators=(",", ":")).replace('],["', '],\n["'))
