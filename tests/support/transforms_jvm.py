"""Real transforms in a JVM: records go in and come out as JSON that Kafka's own JsonConverter reads and writes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

STOP_SECONDS: Final = 30
_CONVERTER: Final = {"schemas.enable": "true", "replace.null.with.default": "false"}

Part = str | None
"""A schema with its value as JsonConverter writes both together; None is null without a schema."""


@contextmanager
def transforms_jvm(folders: Sequence[Path], java: str = "java", memory: str = "300m") -> Iterator[JavaTransforms]:
    """Run a JVM with the jars of these folders, and end it."""
    jars = [str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))]
    words: deque[str] = deque(maxlen=400)
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(jars),
        javaopts=[f"-Xmx{memory}", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.util=ALL-UNNAMED"],
        java_path=java,
        redirect_stdout=words,
        redirect_stderr=words,
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield JavaTransforms(gateway.jvm, words)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(STOP_SECONDS)


class JavaTransforms:
    """Makes transforms and applies them to records."""

    def __init__(self, jvm: Any, words: deque[str]) -> None:
        self.jvm = jvm
        self.words = words
        """What the JVM printed last."""
        self._converter = jvm.org.apache.kafka.connect.json.JsonConverter()
        self._converter.configure(_CONVERTER, False)

    def made(self, name: str, options: Mapping[str, str]) -> Any:
        """Return a transform of this class with these options."""
        made = self.jvm.java.lang.Class.forName(name).getConstructor(None).newInstance(None)
        made.configure(dict(options))
        return made

    def applied(self, transform: Any, record: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what the transform makes of a record: topic, partition, key, value, timestamp, headers; None when it drops it."""
        key_schema, key = self._read(record.get("key"))
        value_schema, value = self._read(record.get("value"))
        headers = self.jvm.org.apache.kafka.connect.header.ConnectHeaders()
        for name, part in record.get("headers", ()):
            schema, reported = self._read(part)
            headers.add(name, reported, schema)
        made = self.jvm.org.apache.kafka.connect.source.SourceRecord(
            {}, {}, record["topic"], record.get("partition"), key_schema, key, value_schema, value, _time(record), headers
        )
        out = transform.apply(made)
        if out is None:
            return None
        return {
            "topic": out.topic(),
            "partition": out.kafkaPartition(),
            "key": self._write(out.keySchema(), out.key()),
            "value": self._write(out.valueSchema(), out.value()),
            "timestamp": out.timestamp(),
            "headers": [[header.key(), self._write(header.schema(), header.value())] for header in _each(out.headers())],
        }

    def _read(self, part: Part) -> tuple[Any, Any]:
        if part is None:
            return None, None
        read = self._converter.toConnectData("t", part.encode())
        return read.schema(), read.value()

    def _write(self, schema: Any, value: Any) -> Part:
        if schema is None and value is None:
            return None
        if isinstance(value, int) and schema is not None and schema.type().name() == "INT64":
            value = _Long(value)
        written: bytes = self._converter.fromConnectData("t", schema, value)
        return written.decode()


class _Long(int):
    """A number that Py4J sends as Java's Long, which it does for those that say they are no Integer."""

    def __le__(self, _other: int) -> bool:
        return False


def _each(several: Any) -> Iterator[Any]:
    iterator = several.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _time(record: Mapping[str, Any]) -> int | None:
    timestamp = record.get("timestamp")
    return None if timestamp is None else _Long(timestamp)


def failure(error: Py4JJavaError) -> str:
    """Return the class and the text of a Java exception."""
    thrown = error.java_exception
    return f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}"
