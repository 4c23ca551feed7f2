"""Record what Debezium's CloudEventsConverter makes of records: ``python -m tests.support.record_cloud_events VERSION JARS... > FILE``.

VERSION is ``new`` or ``2.3.4``: which records are converted. JARS are folders with the jars of Kafka Connect and Debezium. The class of
Debezium 3.6.3 does not load beside Connect 4.3, that of 2.3.4 not beside 3.9, so take an older Connect for these.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from tests.support.cloud_event_cases import AVRO, CONFIGURATIONS, ENVELOPE, EVENTS, HEADERS, NARROW, OLD, OLD_ENVELOPE, OTHERS, WRONG, old
from tests.support.java_classes import running_java
from tests.support.record_converters import TOPIC, shown

WIDE: Final[tuple[dict[str, str], ...]] = ({}, {"json.schemas.enable": "false"})
"""The configurations for which all values are converted."""
READS_HEADERS: Final = re.compile("header|tracing")
"""Occurs in configurations that read headers."""


class Recorder:
    """The real class."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self.reader = java.org.apache.kafka.connect.json.JsonConverter()
        self.reader.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, False)

    def read(self, schema: Any, value: Any) -> Any:
        return self.reader.toConnectData(TOPIC, bytearray(json.dumps({"schema": schema, "payload": value}).encode()))

    def headers(self, message: list[tuple[str, Any, Any]]) -> Any:
        made = self.java.org.apache.kafka.common.header.internals.RecordHeaders()
        for name, schema, value in message:
            made.add(name, bytearray(json.dumps({"schema": schema, "payload": value}).encode()))
        return made

    def converter(self, options: dict[str, str], *, avro: bool = False) -> Any:
        made = self.java.io.debezium.converters.CloudEventsConverter
        if avro:
            other = self.java.org.apache.kafka.connect.json.JsonConverter()
            other.configure({"schemas.enable": "true"}, False)
            converter = made(other)
        else:
            converter = made()
        converter.configure(options, False)
        return converter

    def answer(self, converter: Any, headers: Any, both: Any) -> Any:
        method = next(
            each
            for each in converter.getClass().getMethods()
            if each.getName() == "fromConnectData" and each.getParameterCount() == (3 if headers is None else 4)
        )
        arguments = self.java.java.util.ArrayList()
        for each in (TOPIC, *([] if headers is None else [headers]), both.schema(), both.value()):
            arguments.add(each)
        try:
            found = method.invoke(converter, arguments.toArray())
        except Py4JJavaError as error:
            return {"error": error.java_exception.getCause().toString()}
        return None if found is None else shown(bytes(found))

    def refused(self, options: dict[str, str]) -> str | None:
        try:
            self.converter(options)
        except Py4JJavaError as error:
            return str(error.java_exception.toString())
        return None


def record(version: str, folders: list[str]) -> dict[str, Any]:
    with running_java(folders) as java:
        recorder = Recorder(java)
        values: list[tuple[Any, Any]] = (
            [(OLD_ENVELOPE, old(each)) for each in EVENTS] if version == OLD else [(ENVELOPE, each) for each in EVENTS]
        )
        values += [each for each in OTHERS if version != OLD or each[0] is None or "Envelope" not in each[0].get("name", "")]
        made = [recorder.read(*each) for each in values]
        headers = {name: None if version == OLD and not message else recorder.headers(message) for name, message in HEADERS.items()}
        texts: dict[str, int] = {}
        answers: list[list[Any]] = []
        for options in (*CONFIGURATIONS, *AVRO):
            if version == OLD and "json.replace.null.with.default" in options:
                # The JsonConverter of the older Connect does not know the option.
                continue
            try:
                converter = recorder.converter(options, avro=options in AVRO)
            except Py4JJavaError as error:
                answers.append([options, [], {"error": str(error.java_exception.toString())}])
                continue
            places = [
                place
                for place in (range(len(made)) if options in WIDE else sorted({*NARROW, 5} if options in AVRO else NARROW))
                if place < len(made)
            ]
            message = {name: given for name, given in headers.items() if name == "none" or READS_HEADERS.search(str(options))}
            found = {name: [recorder.answer(converter, given, made[place]) for place in places] for name, given in message.items()}
            numbered = {name: [texts.setdefault(json.dumps(each), len(texts)) for each in all_of] for name, all_of in found.items()}
            answers.append([options, places, {name: each for name, each in numbered.items() if name == "none" or each != numbered["none"]}])
        wrong = [[options, recorder.refused(options)] for options in WRONG]
    return {"values": values, "texts": [json.loads(text) for text in texts], "answers": answers, "wrong": wrong}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(record(sys.argv[1], sys.argv[2:]), ensure_ascii=False, separators=(",", ":")).replace('],["', '],\n["'))
