"""Outbox rows and options that Debezium's ``EventRouter`` is recorded with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from connector.configdef.key import SINCE_3, SINCE_3_7
from connector.record.connect_record import ConnectRecord
from connector.record.schema import BYTES, INT16, INT32, INT64, STRING, Field, Schema

from .debezium_cases import MESSAGE, NULL_EVENT, OUTBOX, SCHEMALESS, TOMBSTONE, TRUNCATE, Case, envelope, event, struct

UUID: Final = Schema("string", name="io.debezium.data.Uuid", version=1)
JSON: Final = Schema("string", optional=True, name="io.debezium.data.Json", version=1)
EXPAND: Final = {"table.expand.json.payload": "true"}
ENVELOPED: Final = {"table.fields.additional.placement": "type:envelope"}
TEXTS: Final = Path(__file__).with_name("debezium_payloads.txt").read_text().splitlines()
"""Payloads of outbox rows, one a line."""


def row(*extra: tuple[str, Schema], payload: Schema = JSON, aggregate: Schema = STRING, name: str | None = "p.s.t.Value") -> Schema:
    fields = (("id", UUID), ("aggregatetype", aggregate), ("aggregateid", STRING), ("type", STRING), ("payload", payload), *extra)
    return struct(name, *fields, optional=True)


def outbox(payload: Any = '{"a": 1}', schema: Schema | None = None, **more: Any) -> ConnectRecord:
    value = {"id": "u-1", "aggregatetype": "Order", "aggregateid": "k1", "type": "Created", "payload": payload, **more}
    return event("c", None, value, envelope(schema or row()))


INSERT: Final = outbox()
VALUE: Final = INSERT.value["after"]
OTHERS: Final = tuple(
    replace(INSERT, value={**INSERT.value, "op": op, "before": before, "after": after})
    for op, before, after in (("r", None, VALUE), ("u", VALUE, VALUE), ("d", VALUE, None), ("x", None, VALUE), ("t", None, None))
)
EMPTY: Final = (outbox(None), outbox(""), outbox("{}"), outbox("null"), outbox(b"", row(payload=BYTES)), outbox(b"x", row(payload=BYTES)))
VERSIONED: Final = row(("ver", INT32.as_optional()))


def outbox_cases() -> Iterator[Case]:
    yield Case(OUTBOX, {}, (INSERT, *OTHERS, *EMPTY, outbox("not json"), TOMBSTONE, MESSAGE, TRUNCATE, NULL_EVENT))
    odd = (
        INSERT.with_header("h", STRING, "x"),
        replace(INSERT, partition=2, timestamp=7),
        SCHEMALESS,
        event("c", None, VALUE, envelope(row(), name="foo")),
    )
    yield Case(OUTBOX, {}, (*odd, replace(INSERT, value={**INSERT.value, "ts_ms": None}, timestamp=5)))
    for behaviour in ("warn", "error", "fatal", "Fatal", " error ", "zz", ""):
        yield Case(OUTBOX, {"table.op.invalid.behavior": behaviour}, OTHERS)
    for option, value in (
        *(("table.expand.json.payload", text) for text in ("x", " TRUE ", "false")),
        *(("route.tombstone.on.empty.payload", text) for text in ("yes", "true")),
        *(("tracing.with.context.field.only", text) for text in ("x", "true")),
        ("tracing.span.context.field", "type"),
        ("tracing.operation.name", "x"),
        *(("table.json.payload.null.behavior", text) for text in ("zz", "", "IGNORE")),
        *((f"table.field.event.{field}", "nope") for field in ("id", "key", "type", "payload", "timestamp", "schema.version")),
        *((f"table.field.event.{field}", "type") for field in ("id", "key", "type", "payload", "timestamp", "schema.version")),
        *((f"table.field.event.{field}", "") for field in ("id", "key", "payload", "timestamp", "schema.version")),
        ("table.field.payload.id", "type"),
        ("table.field.payload", "type"),
        ("route.by.field", "nope"),
        ("route.by.field", "type"),
        ("route.by.field", ""),
        *(("route.topic.regex", text) for text in ("(", "(.*)der", "p.*", "")),
        *(("route.topic.replacement", text) for text in ("${nope}", "fixed", "", "${routedByValue}-$1", "$7", "x.${routedByValue}.y")),
    ):
        yield Case(OUTBOX, {option: value}, (INSERT, EMPTY[0]))
        yield Case(OUTBOX, {**ENVELOPED, option: value}, (INSERT, EMPTY[0]))
    yield from _field_cases()
    yield from _placement_cases()
    yield from _payload_cases()


def _field_cases() -> Iterator[Case]:
    for name in ("MicroTimestamp", "NanoTimestamp", "Timestamp", "Foo", None):
        schema = Schema("int64", optional=True, name=f"io.debezium.time.{name}" if name else None, version=1 if name else None)
        values = (1700000000123999, 1700000000123456789, None, -1, -1999, -999999, -1000001)
        yield Case(OUTBOX, {"table.field.event.timestamp": "ts"}, tuple(outbox(schema=row(("ts", schema)), ts=value) for value in values))
    zoned = Schema("string", optional=True, name="io.debezium.time.ZonedTimestamp", version=1)
    texts = ("2020-01-01T00:00:00.123456Z", None)
    yield Case(OUTBOX, {"table.field.event.timestamp": "ts"}, tuple(outbox(schema=row(("ts", zoned)), ts=value) for value in texts))
    defaulted = Schema("int64", optional=True, name="io.debezium.time.Timestamp", version=1, default=77)
    yield Case(OUTBOX, {"table.field.event.timestamp": "ts"}, (outbox(schema=row(("ts", defaulted)), ts=None),))
    numbers = (INT32, INT32.as_optional(), Schema("int32", optional=True, default=9), INT64, INT16, STRING.as_optional())
    records = tuple(
        outbox(schema=row(("n", schema)), n=value)
        for schema in numbers
        for value in (("5", None) if schema.type == "string" else (5, -3, None) if schema.optional else (5,))
    )
    # Py4J has no 16-bit numbers, so that these cannot be read back where they stand alone.
    alone = tuple(record for record in records if record.value_schema != envelope(row(("n", INT16))))
    for option in ("table.field.event.key", "route.by.field", "table.field.event.payload", "table.field.event.id"):
        yield Case(OUTBOX, {option: "n"}, alone)
    yield Case(OUTBOX, {**ENVELOPED, "table.field.event.id": "n"}, records[:3])
    for record in records:
        yield Case(OUTBOX, {"table.fields.additional.placement": "n:partition"}, (replace(record, partition=1),))
        yield Case(OUTBOX, {**ENVELOPED, "table.field.event.schema.version": "n"}, (record,))
    for value in (None, "", "A b/c$1", "zz"):
        schemas = (STRING.as_optional(), Schema("string", optional=True, default="dd"))
        for schema in schemas:
            yield Case(OUTBOX, ENVELOPED, (outbox(schema=row(aggregate=schema), aggregatetype=value),))
            yield Case(
                OUTBOX,
                {"route.topic.regex": "(z)z", "route.topic.replacement": "x.$1"},
                (outbox(schema=row(aggregate=schema), aggregatetype=value),),
            )
    defaulted = Schema("string", optional=True, default="pd")
    yield Case(OUTBOX, {"route.tombstone.on.empty.payload": "true"}, (outbox(None, row(payload=defaulted)),))
    yield Case(OUTBOX, {}, (outbox(None, row(payload=defaulted)),))


def _placement_cases() -> Iterator[Case]:
    micro = Schema("int64", optional=True, name="io.debezium.time.MicroTimestamp", version=1)
    tags = Schema("array", items=STRING.as_optional(), optional=True)
    schema = row(("n", INT32), ("ts", micro), ("z", Schema("string", optional=True, default="zd")), ("tags", tags))
    record = outbox(schema=schema, n=5, ts=1700000000123456, z=None, tags=["a"])
    for entry in (
        *(
            "type:header",
            "type:header:eventType",
            "type:envelope",
            "type:envelope:et",
            "type:header:a,type:envelope:b,aggregateid:envelope",
        ),
        *(
            "aggregatetype:header,id:header",
            "n:header,n:envelope:N",
            "n:partition",
            "type:partition",
            "nope:header",
            "nope:envelope",
            "nope:partition",
        ),
        *(
            "type:bogus",
            "type",
            "type:header:a:b",
            ":header",
            "type:",
            "type::",
            "type:HEADER",
            "type: header",
            "type:header ,type:envelope",
            "",
        ),
        *(
            " type:header",
            "type :header",
            "type:header, aggregateid:header , id:envelope",
            "type:header:x , aggregateid:header: y",
            "type:header,",
        ),
        *(
            "n:partition:x",
            "payload:envelope",
            "type:envelope:payload",
            "type:envelope,type:envelope",
            "ts:envelope,ts:header",
            "z:header,z:envelope",
        ),
        *("tags:header,tags:envelope", "type:header:id", "n:partition,n:header", ",", "type:header,,n:header", "type:envelope: "),
    ):
        yield Case(OUTBOX, {"table.fields.additional.placement": entry}, (record,))
    for behaviour in ("error", "ignore", "Ignore", "zz", ""):
        for entry in ("nope:header,type:envelope,nope2:envelope:x,nope3:partition", "nope2:envelope:x", "nope:header", "nope:partition"):
            options = {"table.field.additional.missing": behaviour, "table.fields.additional.placement": entry}
            yield Case(OUTBOX, options, (record, EMPTY[0]), SINCE_3)
    names: tuple[str | None, ...] = ("aa.bb.Value", "aa.bb.Foo", "Value", None)
    for name in names:
        yield Case(OUTBOX, ENVELOPED, (replace(outbox(schema=row(name=name)), topic="other"),))
    for more in ({}, EXPAND, {"route.tombstone.on.empty.payload": "true"}):
        yield Case(
            OUTBOX,
            {**ENVELOPED, **more},
            (INSERT, *EMPTY, *OTHERS, outbox("s", row(payload=STRING)), outbox("[]"), outbox('{"a":1'), outbox("[1]")),
        )
    several = tuple(
        outbox(schema=VERSIONED, ver=ver, aggregatetype=kind) for ver, kind in ((None, "A"), (1, "B"), (None, "C"), (1, "D"), (2, "E"))
    )
    yield Case(OUTBOX, {**ENVELOPED, "table.field.event.schema.version": "ver"}, several)
    yield Case(OUTBOX, ENVELOPED, several)
    texts = ('{"a":1}', '{"b":1}', '{"a":2}', '{"a":"s"}', "x", None, '{"a":1,"b":2}')
    yield Case(OUTBOX, {**ENVELOPED, **EXPAND}, tuple(outbox(text, aggregatetype=text or "null") for text in texts))
    yield Case(OUTBOX, EXPAND, tuple(outbox(text) for text in texts))
    yield Case(
        OUTBOX,
        {**ENVELOPED, "table.field.event.schema.version": "ver"},
        (outbox(schema=VERSIONED, ver=3), outbox(schema=VERSIONED, ver=-1)),
    )


def _payload_cases() -> Iterator[Case]:
    for behaviour in ("ignore", "optional_bytes"):
        options = {**EXPAND, "table.json.payload.null.behavior": behaviour}
        for text in TEXTS:
            yield Case(OUTBOX, options, (outbox(text),))
    for more in ({}, {"route.tombstone.on.empty.payload": "true"}):
        yield Case(OUTBOX, {**EXPAND, **more}, (*EMPTY, outbox('{"a":1}', row(payload=STRING)), outbox(5, row(payload=INT32))))
    data = outbox(schema=row(("data", JSON)), data='{"q":{"w":1}}')
    yield Case(OUTBOX, {**EXPAND, "table.field.event.payload": "data"}, (data,))
    yield Case(OUTBOX, {**EXPAND, **ENVELOPED, "table.field.event.payload": "data"}, (data,))
    renamed = replace(row(), fields=tuple(Field(each.name, each.schema) for each in row().fields), version=4, name="v")
    yield Case(OUTBOX, {}, (outbox(schema=renamed),))


def empty_array_cases() -> Iterator[Case]:
    """Payloads with empty arrays, which 3.7.0 can keep."""
    option = "table.json.payload.empty.array.behavior"
    texts = (
        "[]",
        '{"a": []}',
        '{"a": [], "b": 1}',
        '{"a": {"b": []}}',
        '{"a": [[]]}',
        '{"a": [[], [1]]}',
        '{"a": [[1], []]}',
        '{"a": [{"b": []}]}',
        '{"a": [{"b": [], "c": 1}, {"b": [], "c": 2}]}',
        '{"a": [null]}',
        '{"a": null, "b": []}',
        '[{"a": []}]',
    )
    records = tuple(outbox(text) for text in texts)
    for behaviour in ("ignore", "optional_string"):
        for nulls in ("ignore", "optional_bytes"):
            yield Case(OUTBOX, {**EXPAND, option: behaviour, "table.json.payload.null.behavior": nulls}, records, SINCE_3_7)
    yield Case(OUTBOX, {**EXPAND, **ENVELOPED, option: "optional_string"}, records, SINCE_3_7)
    for behaviour in ("OPTIONAL_STRING", "zz", "", " optional_string ", "optional_bytes"):
        yield Case(OUTBOX, {**EXPAND, option: behaviour}, records[:2], SINCE_3_7)
    yield Case(OUTBOX, {option: "optional_string"}, records[:2], SINCE_3_7)
