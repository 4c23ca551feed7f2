"""Asks the real transforms what they make of the cases of :mod:`tests.support.format_cases`, and stores the answers for the unit tests.

    python -m tests.support.record_transforms_formats 3.6.3.Final JARS [JARS ...]
    python -m tests.support.record_transforms_formats 2.3.4.Final JARS [JARS ...]

Each JARS is a folder of Kafka Connect's or Debezium's jars; Py4J calls their classes in a JVM. The answers of the other version are kept.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.format_case import RECORDED, Case, Shared, changed
from tests.support.format_cases import CASES
from workers.quickstart.embedded.java import find_java

_OPENED = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Xmx300m")


class Reference:
    """The classes of a running JVM, called with records written as JSON."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self._java = gateway.jvm.java
        self._connect = gateway.jvm.org.apache.kafka.connect
        self._converter = self._connect.json.JsonConverter()
        self._converter.configure(self._map({"schemas.enable": "true", "replace.null.with.default": "false"}), False)

    def answer(self, case: Case) -> Any:
        """What a new transform of the case does with its record: some remember schemas of earlier records."""
        try:
            made = self._class(case.transform)()
            made.configure(self._map(case.options))
        except Exception as error:  # noqa: BLE001 - whatever Java throws is an answer
            return {"wrong": _text(error)}
        try:
            return self._read(made.apply(self._record(case.record)))
        except Exception as error:  # noqa: BLE001 - whatever Java throws is an answer
            return {"error": _text(error)}

    def _class(self, name: str) -> Any:
        found = self._gateway.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _map(self, members: dict[str, str]) -> Any:
        made = self._java.util.HashMap()
        for name, value in members.items():
            made.put(name, value)
        return made

    def _data(self, pair: Any) -> tuple[Any, Any]:
        data = self._parsed(pair)
        return data.schema(), data.value()

    def _parsed(self, pair: Any) -> Any:
        if pair is None:
            return self._connect.data.SchemaAndValue.NULL
        return self._converter.toConnectData("t", json.dumps({"schema": pair[0], "payload": pair[1]}).encode())

    def _record(self, record: dict[str, Any]) -> Any:
        key, value = self._data(record.get("key")), self._data(record.get("value"))
        headers = self._connect.header.ConnectHeaders()
        for name, pair in record.get("headers", []):
            # As one object: Py4J would make an Integer of a Long.
            headers.add(name, self._parsed(pair))
        nothing = self._java.util.HashMap()
        time = record.get("timestamp")
        return self._connect.source.SourceRecord(
            nothing,
            nothing,
            record["topic"],
            record.get("partition"),
            *key,
            *value,
            None if time is None else self._java.lang.Long(time),
            headers,
        )

    def _pair(self, schema: Any, value: Any) -> Any:
        if schema is None and value is None:
            return None
        written = json.loads(bytes(self._converter.fromConnectData("t", schema, value)))
        return [written["schema"], written["payload"]]

    def _read(self, record: Any) -> Any:
        if record is None:
            return None
        headers, each = [], record.headers().iterator()
        while each.hasNext():
            header = each.next()
            headers.append([header.key(), self._pair(header.schema(), header.value())])
        found = {
            "topic": record.topic(),
            "partition": record.kafkaPartition(),
            "key": self._pair(record.keySchema(), record.key()),
            "value": self._pair(record.valueSchema(), record.value()),
            "timestamp": record.timestamp(),
            "headers": headers,
        }
        return {name: value for name, value in found.items() if value not in (None, [])}


def _text(error: Exception) -> str:
    exception = getattr(error, "java_exception", None)
    if exception is None:
        raise error
    return f"{exception.getClass().getName()}: {exception.getMessage()}"


@contextmanager
def reference(folders: list[Path]) -> Iterator[Reference]:
    """Start a JVM with the jars of these folders."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # noqa: PLC0415 - only the recorder needs Py4J

    words: deque[str] = deque(maxlen=50)
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))),
        javaopts=list(_OPENED),
        java_path=str(find_java().program),
        redirect_stdout=words,
        redirect_stderr=words,
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield Reference(gateway)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(60)


def record(version: str, asked: Reference, name: str) -> None:
    """Ask every case of this version, and store the answers beside those of the other version."""
    stored = RECORDED / f"{name}.json"
    before = json.loads(stored.read_text()) if stored.exists() else {"schemas": [], "cases": []}
    known = Shared(before["schemas"])
    kept = {json.dumps(known.case(reported), sort_keys=True): reported[3] for reported in before["cases"]}
    shared = Shared([])
    cases = []
    for case in CASES[name]:
        reported = shared.reported(case)
        former = kept.get(json.dumps(case.plain(), sort_keys=True), {})
        answers = {at: known.opened(former[at] if at in former else former["all"]) for at in case.versions if {at, "all"} & former.keys()}
        if version in case.versions:
            answers[version] = changed(case.record, asked.answer(case))
        if len(answers) == len(case.versions) > 1 and len({json.dumps(answer, sort_keys=True) for answer in answers.values()}) == 1:
            answers = {"all": answers[version]}
        cases.append([*reported, {at: shared.closed(answers[at]) for at in sorted(answers)}])
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in cases)
    schemas = ",\n".join(json.dumps(schema, ensure_ascii=False, separators=(",", ":")) for schema in shared.schemas)
    stored.write_text(f'{{"schemas":[\n{schemas}\n],"cases":[\n{rows}\n]}}\n')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("jars", type=Path, nargs="+")
    parser.add_argument("--only", action="append", choices=sorted(CASES))
    options = parser.parse_args()
    with reference(options.jars) as asked:
        for name in options.only or CASES:
            record(options.version, asked, name)


if __name__ == "__main__":
    main()
