"""Change events and other records that the CloudEvents converter is given, and how it is configured."""

from __future__ import annotations

from typing import Any, Final

NEW: Final = "new"
"""Records of Debezium 3."""
OLD: Final = "2.3.4"
"""Records of Debezium 2.3.4."""


def _struct(name: str | None, *fields: dict[str, Any], optional: bool = False, **more: Any) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    return {"type": "struct", "optional": optional, **named, **more, "fields": list(fields)}


def _f(field: str, kind: str, *, optional: bool = False, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": optional, **more, "field": field}


_SNAPSHOT: Final = _f(
    "snapshot",
    "string",
    optional=True,
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
    default="false",
)
_OLD_SNAPSHOT: Final = {**_SNAPSHOT, "parameters": {"allowed": "true,last,false,incremental"}}
_TAIL: Final = (
    _f("schema", "string"),
    _f("table", "string"),
    _f("txId", "int64", optional=True),
    _f("lsn", "int64", optional=True),
    _f("xmin", "int64", optional=True),
)
_HEAD: Final = (_f("version", "string"), _f("connector", "string"), _f("name", "string"), _f("ts_ms", "int64"))
SOURCE: Final = _struct(
    "io.debezium.connector.postgresql.Source",
    *_HEAD,
    _SNAPSHOT,
    _f("db", "string"),
    _f("sequence", "string", optional=True),
    _f("ts_us", "int64", optional=True),
    _f("ts_ns", "int64", optional=True),
    *_TAIL,
    _f("origin", "string", optional=True),
    _f("origin_lsn", "int64", optional=True),
    version=1,
)
OLD_SOURCE: Final = _struct(
    "io.debezium.connector.postgresql.Source", *_HEAD, _OLD_SNAPSHOT, _f("db", "string"), _f("sequence", "string", optional=True), *_TAIL
)
TRANSACTION: Final = _struct(
    "event.block",
    _f("id", "string"),
    _f("total_order", "int64"),
    _f("data_collection_order", "int64"),
    optional=True,
    version=1,
)
ROW: Final = _struct(
    "server.public.t.Value",
    _f("id", "int32"),
    _f("name", "string", optional=True, default="none"),
    _f("price", "bytes", optional=True, name="org.apache.kafka.connect.data.Decimal", version=1, parameters={"scale": "2"}),
    _f("odd-näme", "double", optional=True),
    optional=True,
)


def _envelope(source: dict[str, Any], *more: dict[str, Any], version: int) -> dict[str, Any]:
    times = [_f(name, "int64", optional=True) for name in (("ts_ms", "ts_us", "ts_ns") if version > 1 else ("ts_ms",))]
    transaction = {**TRANSACTION, "field": "transaction"}
    common = [{**ROW, "field": "before"}, {**ROW, "field": "after"}, {**source, "field": "source"}]
    tail = [transaction, _f("op", "string"), *times] if version > 1 else [_f("op", "string"), *times, transaction]
    return _struct("server.public.t.Envelope", *common, *tail, *more, version=version)


ENVELOPE: Final = _envelope(SOURCE, version=2)
OLD_ENVELOPE: Final = _envelope(OLD_SOURCE, version=1)
TRACED: Final = _envelope(SOURCE, _f("tracingspancontext", "string", optional=True), version=2)

_SOURCE_VALUE: Final = {
    "version": "3.6.3.Final",
    "connector": "postgresql",
    "name": "server",
    "ts_ms": 1_700_000_000_123,
    "snapshot": "false",
    "db": "shop",
    "sequence": '["100","200"]',
    "ts_us": 1_700_000_000_123_456,
    "ts_ns": 1_700_000_000_123_456_000,
    "schema": "public",
    "table": "t",
    "txId": 555,
    "lsn": 24023128,
    "xmin": None,
    "origin": None,
    "origin_lsn": None,
}
_OLD_ONLY: Final = ("ts_us", "ts_ns", "origin", "origin_lsn")
_ONE: Final = {"id": 1, "name": "x", "price": "BOI=", "odd-näme": 1.5}
_TWO: Final = {"id": 1, "name": None, "price": None, "odd-näme": None}
_TX: Final = {"id": "555:24023128", "total_order": 1, "data_collection_order": 2}


def event(op: str, before: Any, after: Any, transaction: Any = None, **source: Any) -> dict[str, Any]:
    return {
        "before": before,
        "after": after,
        "source": {**_SOURCE_VALUE, **source},
        "transaction": transaction,
        "op": op,
        "ts_ms": 1_700_000_000_999,
        "ts_us": 1_700_000_000_999_999,
        "ts_ns": 1_700_000_000_999_999_000,
    }


def old(value: dict[str, Any]) -> dict[str, Any]:
    source = {name: each for name, each in value["source"].items() if name not in _OLD_ONLY}
    return {
        **{name: each for name, each in value.items() if name not in ("ts_us", "ts_ns")},
        "source": {**source, "version": "2.3.4.Final"},
    }


EVENTS: Final = (
    event("c", None, _ONE),
    event("r", None, _ONE, snapshot="first", xmin=700, sequence=None, lsn=1),
    event("u", _TWO, _ONE, _TX, txId=None, lsn=None, ts_ms=1_700_000_000_000),
    event("d", _TWO, None, snapshot=None, ts_ms=0, origin="up", origin_lsn=77),
    event("t", None, None, ts_ms=1_700_000_000_120),
    event("m", None, _TWO, name="my-server é", db="9-db", sequence=None),
    event("m", None, _ONE, lsn=None, schema="s", xmin=1),
)
_BOX: Final = _struct(
    "box", _f("name", "string", optional=True, default="d"), _f("n", "int32"), version=3, doc="words", parameters={"p": "1"}
)
_HEARTBEAT: Final = _struct("io.debezium.connector.common.Heartbeat", _f("ts_ms", "int64"), version=1)
OTHERS: Final[tuple[tuple[Any, Any], ...]] = (
    (None, None),
    ({"type": "string", "optional": True}, None),
    ({**ENVELOPE, "optional": True}, None),
    ({"type": "string", "optional": False}, "text"),
    (None, {"a": 1}),
    (_BOX, {"name": None, "n": 1}),
    (_struct(None, _f("n", "int32")), {"n": 1}),
    (_HEARTBEAT, {"ts_ms": 1}),
    ({**ENVELOPE, "name": "server.CloudEvents.Envelope"}, EVENTS[0]),
    ({**ENVELOPE, "name": "Envelope"}, EVENTS[0]),
    (TRACED, {**EVENTS[0], "tracingspancontext": "#c\ntraceparent=00-aa-bb-01\n"}),
)

_STRING: Final = {"type": "string", "optional": False}
HEADERS: dict[str, list[tuple[str, Any, Any]]] = {
    "none": [],
    "some": [("id", _STRING, "my-id"), ("type", _STRING, "my.type"), ("other", _STRING, "x")],
    "trace": [("traceparent", _STRING, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")],
    "all": [
        ("id", _STRING, "my-id"),
        ("type", _STRING, "my.type"),
        ("traceparent", _STRING, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("dataSchemaName", _STRING, "my.schema"),
        ("op", _STRING, "c"),
        ("source", SOURCE, _SOURCE_VALUE),
        ("transaction", TRANSACTION, _TX),
    ],
}

_ODD_SOURCE: Final = _struct(
    "odd",
    *_HEAD,
    _f("db", "string"),
    _f("flag", "boolean"),
    _f("small", "int32"),
    _f("number", "int32", optional=True, default=5),
    _f("txId", "int64"),
    _f("lsn", "int64"),
    _f("sequence", "string", optional=True, default="s"),
    _f("UPPER_case", "string"),
)
_ODD_VALUE: Final = {
    **{name: _SOURCE_VALUE[name] for name in ("version", "connector", "name", "ts_ms", "txId", "lsn", "sequence", "db")},
    "flag": True,
    "small": 3,
    "number": None,
    "UPPER_case": "U",
}
_OP: Final = ("op", _STRING, "u")
HEADERS |= {
    "source": [("source", SOURCE, _SOURCE_VALUE)],
    "no op": [("source", SOURCE, _SOURCE_VALUE), ("transaction", TRANSACTION, _TX), *HEADERS["some"]],
    "source and op": [("source", SOURCE, _SOURCE_VALUE), _OP],
    "no transaction": [("source", SOURCE, _SOURCE_VALUE), _OP, ("transaction", TRANSACTION, None), *HEADERS["some"]],
    "without transaction": [("source", SOURCE, _SOURCE_VALUE), _OP, *HEADERS["some"]],
    "twice": [
        ("source", SOURCE, _SOURCE_VALUE),
        _OP,
        *HEADERS["some"],
        ("id", _STRING, "second"),
        ("type", {"type": "int32", "optional": False}, 5),
    ],
    "odd": [("source", _ODD_SOURCE, _ODD_VALUE), _OP, ("transaction", TRANSACTION, _TX), *HEADERS["some"]],
    "short": [
        ("source", _struct("odd", *_HEAD, _f("db", "string"), _f("small", "int16")), _ODD_VALUE),
        _OP,
        *HEADERS["some"],
    ],
    "bytes": [
        ("source", _struct("odd", *_HEAD, _f("db", "string"), _f("data", "bytes")), {**_ODD_VALUE, "data": ""}),
        _OP,
        *HEADERS["some"],
    ],
    "other connector": [("source", _ODD_SOURCE, {**_ODD_VALUE, "connector": "mysql"}), _OP, *HEADERS["all"][-1:], *HEADERS["some"]],
}

NARROW: Final = (0, 3, 10, 12, 13)
"""The places of the values that are enough for most configurations, among EVENTS and OTHERS."""

CONFIGURATIONS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"json.schemas.enable": "false"},
    {"json.schemas.enable": "false", "extension.attributes.enable": "false"},
    {"extension.attributes.enable": "false"},
    {"json.decimal.format": "NUMERIC", "json.replace.null.with.default": "false"},
    {"json.schemas.enable": "false", "opentelemetry.tracing.attributes.enable": "true"},
    {"opentelemetry.tracing.attributes.enable": "true", "extension.attributes.enable": "false"},
    {"schema.name.adjustment.mode": "avro"},
    {"schema.name.adjustment.mode": "avro_unicode"},
    {"schema.cloudevents.name": "com.example.Event"},
    {"json.schemas.enable": "false", "metadata.source": "header"},
    {"metadata.source": "header"},
    {"json.schemas.enable": "false", "metadata.source": "value,id:header,type:header"},
    {"json.schemas.enable": "false", "metadata.source": "value,id:header,type:generate"},
    {"metadata.source": "value,id:header,type:header,dataSchemaName:header"},
    {"metadata.source": "header,id:generate,type:generate,dataSchemaName:generate", "opentelemetry.tracing.attributes.enable": "true"},
    {"json.schemas.enable": "false", "metadata.source": "value,traceparent:header", "opentelemetry.tracing.attributes.enable": "true"},
    {"schema.data.name.source.header.enable": "true"},
    {"schema.data.name.source.header.enable": "true", "metadata.source": "value,id:generate,type:generate,dataSchemaName:header"},
    {"metadata.source": "value,id:generate,type:generate,dataSchemaName:header"},
    {"json.replace.null.with.default": "false", "metadata.source": "header"},
    {"json.schemas.enable": "false", "metadata.source": "header,id:generate", "extension.attributes.enable": "false"},
    {"json.schemas.enable": "false", "metadata.source": "HEADER,ID:generate"},
    {"json.schemas.enable": "false", "metadata.source": " header , id:generate "},
    {"serializer.type": "JSON", "data.serializer.type": "Json"},
)
AVRO: Final[tuple[dict[str, str], ...]] = (
    {"data.serializer.type": "avro", "avro.schema.registry.url": "http://registry:8081/x"},
    {"data.serializer.type": "avro", "avro.apicurio.registry.url": "http://apicurio/apis", "json.schemas.enable": "false"},
    {"serializer.type": "avro", "data.serializer.type": "avro", "avro.schema.registry.url": "http://a:1,http://b:2"},
    {
        "data.serializer.type": "avro",
        "avro.schema.registry.url": "http://a:1",
        "metadata.source": "header,dataSchemaName:header",
        "schema.data.name.source.header.enable": "true",
    },
    {
        "serializer.type": "avro",
        "data.serializer.type": "avro",
        "avro.schema.registry.url": "http://a:1",
        "schema.cloudevents.name": "my.Name",
    },
    {"serializer.type": "avro", "data.serializer.type": "avro", "avro.schema.registry.url": "a", "schema.name.adjustment.mode": "avro"},
    {
        "serializer.type": "avro",
        "data.serializer.type": "avro",
        "avro.schema.registry.url": "a",
        "schema.name.adjustment.mode": "avro_unicode",
    },
    {"serializer.type": "avro", "data.serializer.type": "avro", "avro.schema.registry.url": "a", "schema.name.adjustment.mode": "none"},
    {
        "serializer.type": "avro",
        "data.serializer.type": "avro",
        "avro.schema.registry.url": "a",
        "schema.cloudevents.name": "my-Name",
        "schema.name.adjustment.mode": "avro",
        "opentelemetry.tracing.attributes.enable": "true",
    },
)
"""With Avro, for which the recorder puts a JsonConverter."""
WRONG: Final[tuple[dict[str, str], ...]] = (
    {"serializer.type": "xml"},
    {"data.serializer.type": "xml"},
    {"metadata.source": "nowhere"},
    {"metadata.source": "value,id:nowhere"},
    {"metadata.source": "value,color:header"},
    {"metadata.source": ""},
    {"metadata.source": "value,id"},
    {"metadata.source": "header,id:value"},
    {"schema.name.adjustment.mode": "odd"},
    {"extension.attributes.enable": "maybe"},
    {"json.decimal.format": "odd"},
    {"data.serializer.type": "avro"},
    {"serializer.type": ""},
    {"serializer.type": "avro", "avro.schema.registry.url": "http://a:1"},
)
