"""A JVM with Kafka Connect's own classes: records go in and come out as the JSON of its JsonConverter."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import GatewayParameters, JavaGateway, JavaObject, get_field, launch_gateway
from py4j.protocol import Py4JJavaError

from workers.quickstart.embedded.java import find_java

STOP_SECONDS: Final = 60
CONNECT: Final = "org.apache.kafka.connect"
_OPENED: Final = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
_KEEP_NULL: Final = {"schemas.enable": "true", "replace.null.with.default": "false", "schemas.cache.size": "1000"}

_LONGEST: Final = 120
_ADDRESS: Final = re.compile(r"@[0-9a-f]{5,8}\b")

RecordSpec = Mapping[str, Any]
"""A record: ``key`` and ``value`` as JSON with schema (absent: null), ``headers`` as pairs of name and such JSON, and ``timestamp``,
``partition`` and ``topic``, which are those of a record of Debezium where they are absent.
"""


@contextmanager
def java(*folders: Path) -> Iterator[JavaGateway]:
    """A JVM whose class path is the jars of these folders. It ends with the block."""
    jars = [str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))]
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(jars),
        javaopts=["-Xmx300m", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", *_OPENED],
        java_path=str(find_java().program),
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(STOP_SECONDS)


class JavaTransforms:
    """Applies the transforms of a JVM."""

    def __init__(self, gateway: JavaGateway) -> None:
        self.jvm = gateway.jvm
        self._gateway = gateway
        self._converter = self._class(f"{CONNECT}.json.JsonConverter")()
        self._converter.configure(_KEEP_NULL, False)
        self._records: dict[int, tuple[RecordSpec, Any]] = {}
        self._handles = _Handles(gateway, self._converter)

    def _class(self, name: str) -> Any:
        # Py4J takes the $ of a nested class as it is only here.
        found = self.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def make(self, name: str, options: Mapping[str, str]) -> Any:
        """Make a transform, or tell why it cannot be made: ``{"refused": class, "because": text}``."""
        step = self.jvm.java.lang.Class.forName(name).getDeclaredConstructor(None).newInstance(None)
        try:
            step.configure(dict(options))
        except Py4JJavaError as error:
            return _problem("refused", error)
        return step

    def options(self, name: str) -> list[list[Any]]:
        """Return the options of a class: name, type, default, importance, width, place and shown name. No default: ``required``."""
        step = self.jvm.java.lang.Class.forName(name).getDeclaredConstructor(None).newInstance(None)
        keys = step.config().configKeys()
        return [_option(keys.get(each)) for each in keys]

    def validate(self, name: str, options: Mapping[str, str]) -> dict[str, list[str]]:
        """Return what is wrong with each option, of those with which something is wrong."""
        step = self.jvm.java.lang.Class.forName(name).getDeclaredConstructor(None).newInstance(None)
        found = {value.name(): list(value.errorMessages()) for value in step.config().validate(dict(options))}
        return {option: errors for option, errors in found.items() if errors}

    def apply(self, step: Any, spec: RecordSpec) -> Any:
        """Return what a transform makes of a record, None if it drops it, or why it fails: ``{"failed": class, "because": text}``."""
        try:
            record = step.apply(self.record(spec))
        except Py4JJavaError as error:
            return _problem("failed", error)
        return None if record is None else self._reported(record)

    def test(self, predicate: Any, spec: RecordSpec) -> bool:
        """Return what a predicate says of a record."""
        return bool(predicate.test(self.record(spec)))

    def record(self, spec: RecordSpec) -> Any:
        """Build the record once."""
        known = self._records.get(id(spec))
        if known is None:
            known = self._records[id(spec)] = (spec, self._build(spec))
        return known[1]

    def _build(self, spec: RecordSpec) -> Any:
        key, value = self._read(spec.get("key")), self._read(spec.get("value"))
        headers = self._class(f"{CONNECT}.header.ConnectHeaders")()
        for name, text in spec.get("headers", ()):
            headers.add(name, self._read(text))
        topic, partition, timestamp = spec.get("topic", "s.public.t"), spec.get("partition"), spec.get("timestamp")
        arguments = [{"server": "s"}, {"lsn": 1}, topic, partition, key, key, value, value, timestamp, headers]
        return self._handles.source_record.invokeWithArguments(arguments)

    def _read(self, text: str | None) -> Any:
        return self._converter.toConnectData("t", None if text is None else text.encode())

    def _reported(self, record: Any) -> dict[str, Any]:
        reported = {
            "topic": record.topic(),
            "partition": record.kafkaPartition(),
            "timestamp": record.timestamp(),
            "key": self._reported_value(record, record.keySchema(), record.key, self._handles.key_json),
            "value": self._reported_value(record, record.valueSchema(), record.value, self._handles.value_json),
            "headers": [[each.key(), *self.reported_header(each)] for each in _each(record.headers())],
        }
        return {name: each for name, each in reported.items() if each is not None and each != []}

    def reported_header(self, header: Any) -> list[Any]:
        """Return the JSON of a header's schema, and of its value: ``[schema, value]``; without a schema, the value as plain JSON.

        A ``SchemaAndValue`` can be described in the same way.
        """
        json_of = self._handles.header_json if header.getClass().getSimpleName() == "ConnectHeader" else self._handles.parsed_json
        return self._reported_value(header, header.schema(), header.value, json_of)

    def text(self, parsed: Any) -> str | None:
        """Return the text of a ``SchemaAndValue``."""
        found: str | None = self._handles.parsed_text.invokeWithArguments([parsed, parsed])
        return found

    def value_text(self, record: Any) -> str | None:
        """Return the text of a record's value."""
        found: str | None = self._handles.value_text.invokeWithArguments([record, record])
        return found

    def _reported_value(self, holder: Any, schema: Any, value: Callable[[], Any], json_of: Any) -> list[Any]:
        if schema is None:
            return [None, self._plain(value())]
        schema_text = self._converter.asJsonSchema(schema).toString()
        try:
            whole = json_of.invokeWithArguments([holder, holder]).decode()
        except Py4JJavaError as error:
            return [schema_text, "null" if value() is None else _problem("unreadable", error)]
        return [schema_text, whole[len('{"schema":') + len(schema_text) + len(',"payload":') : -1]]

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._plain(each) for key, each in value.items()}
        if isinstance(value, bytes | bytearray):
            return {"bytes": value.hex()}
        if isinstance(value, MutableSequence):
            return [self._plain(each) for each in value]
        if not isinstance(value, JavaObject):
            return value
        return {"date": value.getTime()} if value.getClass().getName() == "java.util.Date" else str(value)


class _Handles:
    """Calls that keep a value within the JVM: Py4J makes one Python number of a Long, an Integer and a Short."""

    def __init__(self, gateway: JavaGateway, converter: Any) -> None:
        self._gateway = gateway
        self._invoke = gateway.jvm.java.lang.invoke
        self._lookup = self._invoke.MethodHandles.publicLookup()
        text, schema, value = self._class("java.lang.String"), self._class(f"{CONNECT}.data.Schema"), self._class("java.lang.Object")
        to_json = self._lookup.findVirtual(converter.getClass(), "fromConnectData", self._type(self._class("[B"), text, schema, value))
        to_json = self._invoke.MethodHandles.insertArguments(to_json, 0, self._array("java.lang.Object", converter, "t"))
        record, header, parsed = f"{CONNECT}.connector.ConnectRecord", f"{CONNECT}.header.Header", f"{CONNECT}.data.SchemaAndValue"
        self.key_json = self._filtered(to_json, 0, self._getter(record, "keySchema", schema), self._getter(record, "key", value))
        self.value_json = self._filtered(to_json, 0, self._getter(record, "valueSchema", schema), self._getter(record, "value", value))
        self.header_json = self._filtered(to_json, 0, self._getter(header, "schema", schema), self._getter(header, "value", value))
        read = (self._getter(parsed, "schema", schema), self._getter(parsed, "value", value))
        self.parsed_json = self._filtered(to_json, 0, *read)
        values = self._class(f"{CONNECT}.data.Values")
        to_text = self._lookup.findStatic(values, "convertToString", self._type(text, schema, value))
        self.parsed_text = self._filtered(to_text, 0, *read)
        self.value_text = self._filtered(to_text, 0, self._getter(record, "valueSchema", schema), self._getter(record, "value", value))
        table, number, long = self._class("java.util.Map"), self._class("java.lang.Integer"), self._class("java.lang.Long")
        headers = self._class("java.lang.Iterable")
        made = self._type(self._class("void"), table, table, text, number, schema, value, schema, value, long, headers)
        constructor = self._lookup.findConstructor(self._class(f"{CONNECT}.source.SourceRecord"), made)
        self.source_record = self._filtered(constructor, 4, *read, *read)

    def _class(self, name: str) -> Any:
        if name == "void":
            return self._gateway.jvm.java.lang.Void.TYPE
        return self._gateway.jvm.java.lang.Class.forName(name)

    def _array(self, kind: str, *values: Any) -> Any:
        parts = kind.split(".")
        found = self._gateway.jvm
        for part in parts:
            found = getattr(found, part)
        array = self._gateway.new_array(found, len(values))
        for at, each in enumerate(values):
            array[at] = each
        return array

    def _type(self, result: Any, *arguments: Any) -> Any:
        return self._invoke.MethodType.methodType(result, self._array("java.lang.Class", *arguments))

    def _getter(self, owner: str, name: str, result: Any) -> Any:
        return self._lookup.findVirtual(self._class(owner), name, self._invoke.MethodType.methodType(result))

    def _filtered(self, handle: Any, at: int, *filters: Any) -> Any:
        return self._invoke.MethodHandles.filterArguments(handle, at, self._array("java.lang.invoke.MethodHandle", *filters))


def _option(key: Any) -> list[Any]:
    default = get_field(key, "defaultValue") if key.hasDefault() else "required"
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, MutableSequence):
        default = ",".join(default)
    kind, importance, width = (get_field(key, each).name() for each in ("type", "importance", "width"))
    return [get_field(key, "name"), kind, default, importance, width, get_field(key, "orderInGroup"), get_field(key, "displayName")]


def _problem(what: str, error: Py4JJavaError) -> dict[str, str]:
    thrown = error.java_exception
    return {what: thrown.getClass().getSimpleName(), "because": _ADDRESS.sub("", str(thrown.getMessage()))[:_LONGEST]}


def _each(iterable: Any) -> Iterator[Any]:
    found = iterable.iterator()
    while found.hasNext():
        yield found.next()
