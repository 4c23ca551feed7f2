"""Record what Debezium's own scripting transforms answer: ``python -m tests.support.record_transforms_scripting JARS...``.

JARS are folders of jars: Kafka Connect, and Debezium with debezium-scripting, Groovy and groovy-jsr223. Each script of
``scripts.txt`` is evaluated for each record of :mod:`tests.support.scripting_records`, and the answers go to ``scripts_recorded.json``
beside it. An answer is the value's Java class and text, ``!`` and the class of the error, or for a transform the topic.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from connector.record.connect_record import ConnectRecord
from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.schema import Schema
from tests.support.scripting_cases import OPTIONS, RECORDED, scripts
from tests.support.scripting_records import RECORDS
from workers.quickstart.embedded.java import find_java

_OPENED: Final = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
# Py4J unboxes what Java hands over, so that the kind of a number would be lost: Groovy describes the answers.
_HELPER: Final = """
class Helper {
    String error(Throwable thrown) {
        while (thrown.cause != null) thrown = thrown.cause
        return '!' + thrown.class.simpleName
    }

    List<String> answers(String script, List records) {
        def engine = new io.debezium.transforms.scripting.Jsr223Engine()
        try { engine.configure('groovy', script) } catch (Throwable thrown) { return [error(thrown)] }
        return records.collect { record ->
            try {
                Object found = engine.eval(record, Object)
                return found == null ? 'null' : found.getClass().simpleName + ':' + String.valueOf(found)
            } catch (Throwable thrown) { return error(thrown) }
        }
    }

    List<String> transformed(String name, Map options, List records) {
        def transform = Class.forName(name).getDeclaredConstructor().newInstance()
        try { transform.configure(options) } catch (Throwable thrown) { return ['!' + thrown.message] }
        return records.collect { record ->
            try { return transform.apply(record)?.topic() } catch (Throwable thrown) { return error(thrown) }
        }
    }
}
return new Helper()
"""
_ADDRESS: Final = re.compile("@[0-9a-f]{6,8}")
_JSON: Final = ConverterSettings(replace_null_with_default=False)


@contextmanager
def java(folders: list[str]) -> Iterator[Any]:
    """Start a JVM with the jars of these folders."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # noqa: PLC0415 -- only the extra 'spark' has it

    jars = [str(jar) for folder in folders for jar in sorted(Path(folder).glob("*.jar"))]
    port, token = launch_gateway(
        classpath=os.pathsep.join(jars),
        javaopts=["-Xmx300m", "-Duser.timezone=UTC", *_OPENED],
        java_path=str(find_java().program),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()


class Reference:
    """The real transforms, and records for them: JsonConverter makes Java's values of the JSON that ours are written as."""

    def __init__(self, jvm: Any) -> None:
        self.jvm = jvm
        self._converters = {schemas: self._converter(schemas) for schemas in (True, False)}
        self.helper = jvm.groovy.lang.GroovyShell().evaluate(_HELPER)

    def _converter(self, schemas: bool) -> Any:
        made = self.jvm.org.apache.kafka.connect.json.JsonConverter()
        made.configure({"schemas.enable": str(schemas).lower(), "replace.null.with.default": "false"}, False)
        return made

    def _value(self, schema: Schema | None, value: Any) -> tuple[Any, Any]:
        if value is None:
            return None, None
        if schema is None:
            text = orjson.dumps(value)
        else:
            before, after = around_payload(schema, _JSON)
            text = before + value_json(schema, value, _JSON) + after
        found = self._converters[schema is not None].toConnectData("t", text)
        return found.schema(), found

    def _record(self, record: ConnectRecord) -> Any:
        none = self.jvm.java.util.HashMap()
        key_schema, key = self._value(record.key_schema, record.key)
        value_schema, value = self._value(record.value_schema, record.value)
        made = self.jvm.org.apache.kafka.connect.source.SourceRecord(
            none,
            none,
            record.topic,
            None,
            key_schema,
            None if key is None else key.value(),
            value_schema,
            None if value is None else value.value(),
        )
        for header in record.headers:
            schema, held = self._value(header.schema, header.value)
            made.headers().add(header.name, None if held is None else held.value(), schema)
        return made

    def _records(self) -> Any:
        """New records, because scripts may change them: ``sort`` does."""
        made = self.jvm.java.util.ArrayList()
        for record in RECORDS.values():
            made.add(self._record(record))
        return made

    def answers(self, script: str) -> list[str]:
        """Return what a script gives for each record; one answer where it does not compile."""
        return [_ADDRESS.sub("@", answer) for answer in self.helper.answers(script, self._records())]

    def transformed(self, name: str, options: Mapping[str, str]) -> list[str]:
        """Return where a transform sends each record; one answer where it refuses its options."""
        return list(self.helper.transformed(f"io.debezium.transforms.{name}", dict(options), self._records()))


def main() -> None:
    """Record all."""
    with java(sys.argv[1:]) as gateway:
        reference = Reference(gateway.jvm)
        answers = {script: reference.answers(script) for script in scripts()}
        transformed = [[name, options, reference.transformed(name, options)] for name, options in OPTIONS]
    lines = ["{", '"scripts": {']
    lines += _lines(f"{json.dumps(script)}: {json.dumps(found)}" for script, found in answers.items())
    lines += ["},", '"transforms": [', *_lines(json.dumps(row) for row in transformed), "]", "}"]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(entries: Iterator[str]) -> list[str]:
    return ",\n".join(entries).split("\n")


if __name__ == "__main__":
    main()
