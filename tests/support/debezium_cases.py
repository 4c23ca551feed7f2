"""Events and options that Debezium's transforms are recorded with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from connector.configdef.key import SINCE_3, SINCE_3_7, UNTIL_2, VERSIONS
from connector.record.connect_record import ConnectRecord
from connector.record.schema import BOOLEAN, BYTES, DECIMAL, FLOAT64, INT16, INT32, INT64, STRING, Field, Schema

UNWRAP: Final = "io.debezium.transforms.ExtractNewRecordState"
CHANGED: Final = "io.debezium.transforms.ExtractChangedRecordState"
ROUTER: Final = "io.debezium.transforms.ByLogicalTableRouter"
OUTBOX: Final = "io.debezium.transforms.outbox.EventRouter"


@dataclass(frozen=True, slots=True)
class Case:
    """One transform with its options, and the records that it gets one after the other."""

    transform: str
    options: dict[str, str]
    records: tuple[ConnectRecord, ...]
    versions: tuple[str, ...] = field(default=VERSIONS)


def struct(name: str | None, *fields: tuple[str, Schema], **more: Any) -> Schema:
    return Schema("struct", name=name, fields=tuple(Field(label, schema) for label, schema in fields), **more)


NAMES: Final = Schema("array", items=STRING)
SOURCE: Final = struct(
    "io.debezium.connector.postgresql.Source",
    ("version", STRING),
    ("ts_ms", INT64),
    (
        "snapshot",
        Schema(
            "string", optional=True, name="io.debezium.data.Enum", version=1, parameters=(("allowed", "true,last,false"),), default="false"
        ),
    ),
    ("db", STRING),
    ("table", STRING),
    ("lsn", INT64.as_optional()),
    version=1,
)
SOURCE_VALUE: Final = {"version": "3.6.3.Final", "ts_ms": 1700000000123, "snapshot": None, "db": "d", "table": "t", "lsn": 9}
BLOCK: Final = struct("event.block", ("id", STRING), ("total_order", INT64), ("data_collection_order", INT64), version=1, optional=True)
TRANSACTION: Final = {"id": "77", "total_order": 1, "data_collection_order": 2}
ROW: Final = struct(
    "p.s.t.Value",
    ("id", INT32),
    ("v", STRING.as_optional()),
    ("n", Schema("int32", default=5)),
    ("q", Schema("int32", optional=True, default=7)),
    ("o", Schema("string", optional=True, default="dd")),
    optional=True,
)
BEFORE: Final = {"id": 1, "v": "a", "n": 5, "q": None, "o": None}
AFTER: Final = {"id": 1, "v": "b", "n": 6, "q": 7, "o": "x"}
KEY: Final = struct("p.s.t.Key", ("id", INT32))
FULL_KEY: Final = struct(
    "K", ("id", INT32.as_optional()), ("z", Schema("int32", optional=True, default=3)), version=4, optional=True, parameters=(("a", "b"),)
)
DOCUMENTED: Final = struct("p.s.t.Value", ("id", INT32), version=3, doc="comment", parameters=(("a", "b"),), optional=True)
NESTED: Final = struct(
    "p.s.n.Value",
    ("id", INT32),
    ("tags", Schema("array", items=STRING.as_optional(), optional=True, default=["x"])),
    ("g", struct("G", ("x", INT32), ("y", BYTES.as_optional()), version=1, doc="dd", optional=True)),
    ("b", Schema("bytes", optional=True, name=DECIMAL, version=1, parameters=(("scale", "2"), ("connect.decimal.precision", "5")))),
    ("f", FLOAT64.as_optional()),
    optional=True,
)
NESTED_VALUE: Final = {"id": 1, "tags": ["p", None], "g": {"x": 1, "y": b"1"}, "b": Decimal("1.50"), "f": 1.5}


def envelope(row: Schema = ROW, name: str = "p.s.t.Envelope", source: Schema = SOURCE) -> Schema:
    return struct(
        name,
        ("before", row),
        ("after", row),
        ("source", source),
        ("transaction", BLOCK),
        ("op", STRING),
        ("ts_ms", INT64.as_optional()),
        ("ts_us", INT64.as_optional()),
        version=2,
    )


def event(op: str, before: Any, after: Any, schema: Schema | None = None, **more: Any) -> ConnectRecord:
    value = {
        "before": before,
        "after": after,
        "source": SOURCE_VALUE,
        "transaction": more.pop("transaction", None),
        "op": op,
        "ts_ms": more.pop("ts_ms", 1700000000456),
        "ts_us": 1700000000456789,
    }
    return ConnectRecord("p.s.t", KEY, {"id": 1}, schema or ENVELOPE, value, **more)


ENVELOPE: Final = envelope()
CREATE: Final = event("c", None, AFTER)
READ: Final = event("r", None, AFTER)
UPDATE: Final = event("u", BEFORE, AFTER, transaction=TRANSACTION)
DELETE: Final = event("d", BEFORE, None)
TRUNCATE: Final = replace(event("t", None, None), key_schema=None, key=None)
TOMBSTONE: Final = ConnectRecord("p.s.t", KEY, {"id": 1})
MESSAGE: Final = ConnectRecord(
    "p.message", None, None, struct("io.debezium.connector.postgresql.MessageValue", ("op", STRING)), {"op": "m"}
)
SCHEMALESS: Final = ConnectRecord("p.s.t", None, None, None, {"op": "c", "after": {"id": 1}})
ALL: Final = (CREATE, READ, UPDATE, DELETE, TOMBSTONE, TRUNCATE, MESSAGE, SCHEMALESS)
ODD: Final = (
    event("u", BEFORE, None),
    event("d", BEFORE, AFTER),
    event("d", None, None),
    event("r", AFTER, None),
    event("c", None, {"id": 1, "v": None, "n": 5, "q": None, "o": None}),
    event("x", BEFORE, AFTER),
    replace(CREATE, key_schema=None, key=None, partition=3, timestamp=99),
)
NULL_EVENT: Final = ConnectRecord("p.s.t", KEY, {"id": 1}, replace(ENVELOPE, optional=True), None)


def with_list(record: ConnectRecord, *names: str) -> ConnectRecord:
    return record.with_header("drop", NAMES, list(names))


def unwrap_cases() -> Iterator[Case]:
    for mode in ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone", "Rewrite", " drop ", "none", ""):
        yield Case(UNWRAP, {"delete.tombstone.handling.mode": mode}, (*ALL, *ODD), SINCE_3)
        if "-" not in mode:
            yield Case(UNWRAP, {"delete.handling.mode": mode}, (*ALL, *ODD), UNTIL_2)
            yield Case(UNWRAP, {"delete.handling.mode": mode, "drop.tombstones": "false"}, (*ALL, *ODD), UNTIL_2)
    yield Case(UNWRAP, {}, (*ALL, *ODD, NULL_EVENT))
    yield Case(UNWRAP, {"drop.tombstones": "x"}, (CREATE, DELETE, TOMBSTONE))
    # Options of the other version, and of versions before both.
    yield Case(UNWRAP, {"delete.tombstone.handling.mode": "rewrite"}, (CREATE, DELETE, TOMBSTONE), UNTIL_2)
    yield Case(UNWRAP, {"delete.handling.mode": "rewrite", "drop.tombstones": "false"}, (CREATE, DELETE, TOMBSTONE), SINCE_3)
    yield Case(UNWRAP, {"operation.header": "true", "add.source.fields": "ts_ms"}, (CREATE, DELETE))
    for rewrite in ("delete.tombstone.handling.mode", "delete.handling.mode"):
        versions = SINCE_3 if "tombstone" in rewrite else UNTIL_2
        for case in _options_cases():
            yield replace(case, versions=versions)
            yield replace(case, options={**case.options, rewrite: "rewrite"}, versions=versions)
        yield from (replace(case, versions=versions) for case in _tombstone_cases(rewrite))


def _tombstone_cases(rewrite: str) -> Iterator[Case]:
    keep = {rewrite: "rewrite-with-tombstone"} if "tombstone" in rewrite else {rewrite: "rewrite", "drop.tombstones": "false"}
    for headers in ("db", "op:OP", "source.op,op", "db,op:OP,op"):
        yield Case(UNWRAP, {**keep, "add.headers": headers}, (TOMBSTONE, with_list(TOMBSTONE, "id")))
    for mode in ("drop", "delete-to-tombstone", "none"):
        options = {
            rewrite: mode,
            "drop.fields.header.name": "drop",
            "drop.fields.from.key": "true",
            "add.headers": "op",
            "route.by.field": "v",
        }
        yield Case(UNWRAP, options, (UPDATE, DELETE, TOMBSTONE))
        options = {**options, "drop.fields.keep.schema.compatible": "false"}
        yield Case(UNWRAP, options, tuple(with_list(each, "id") for each in (UPDATE, DELETE, TOMBSTONE)))
        yield Case(UNWRAP, {rewrite: mode, "route.by.field": "nope"}, (UPDATE, DELETE))


def _options_cases() -> Iterator[Case]:
    names = "op,source.ts_ms,missing,source.missing,transaction.id,table,db:DB,version,source.snapshot"
    names = f"{names},before.v,after.v,after.n,id,total_order,ts_us,ts_ns"
    for entry in (
        names,
        *(
            "op:T,source.db:a",
            "missing:",
            "op:",
            "op,op",
            " op , table ",
            "db : DB",
            "",
            ",",
            "op:a:b",
            ":x",
            "a.b.c",
            ".x",
            "x.",
            "source.db.x",
        ),
        *(
            "op.x",
            "transaction",
            "source",
            "after:t",
            "nope.x",
            "source.ts_us",
            "before.op",
            "transaction.op",
            "source.op",
            "op:id",
            "after.q,before.o",
        ),
    ):
        yield Case(UNWRAP, {"add.fields": entry}, (UPDATE, DELETE, CREATE))
        yield Case(UNWRAP, {"add.headers": entry}, (UPDATE, DELETE, CREATE))
    yield Case(
        UNWRAP, {"add.fields": "op,db:D", "add.fields.prefix": "x-", "add.headers.prefix": "h.", "add.headers": "op,db:D"}, (UPDATE, DELETE)
    )
    yield Case(UNWRAP, {"add.fields": "op:v", "add.fields.prefix": ""}, (UPDATE, DELETE))
    yield Case(
        UNWRAP, {"add.headers": "op:drop", "add.headers.prefix": "", "drop.fields.header.name": "drop"}, (with_list(UPDATE, "v"), UPDATE)
    )
    for column in ("v", "o", "id", "nope", "__op", "__deleted", ""):
        null = replace(UPDATE, value={**UPDATE.value, "after": {**AFTER, "v": None, "o": None}})
        empty = replace(UPDATE, value={**UPDATE.value, "after": {**AFTER, "v": "", "o": ""}})
        yield Case(UNWRAP, {"route.by.field": column, "add.fields": "op"}, (UPDATE, DELETE, TOMBSTONE, null, empty))
    yield from _drop_cases()
    yield from _schema_cases()


def _drop_cases() -> Iterator[Case]:
    lists = (("v", "o"), ("id",), ("n",), ("v", "id", "nope"), (), ("__deleted", "v"), ("__op", "q"))
    base = {"drop.fields.header.name": "drop", "add.fields": "op"}
    for options in ({}, {"drop.fields.keep.schema.compatible": "false"}):
        records = tuple(with_list(record, *names) for names in lists for record in (UPDATE, DELETE))
        nulls = event("u", {**BEFORE, "o": None}, {**AFTER, "q": None, "o": None})
        yield Case(
            UNWRAP,
            {**base, **options},
            (
                *records,
                with_list(nulls, "v"),
                with_list(nulls),
                with_list(nulls, "id"),
                with_list(nulls, "x"),
                with_list(event("d", BEFORE, None), "v"),
            ),
        )
        for replaces in ("true", "false"):
            more = {"replace.null.with.default": replaces, "drop.fields.from.key": "true"}
            yield Case(
                UNWRAP, {**base, **options, **more}, (with_list(replace(nulls, key_schema=FULL_KEY, key={"id": 1, "z": None}), "v"),)
            )
        keys = ((None, None), (STRING, "k"), (FULL_KEY, {"id": 1, "z": None}))
        records = tuple(with_list(replace(DELETE, key_schema=schema, key=key), "id") for schema, key in keys)
        yield Case(UNWRAP, {**base, **options, "drop.fields.from.key": "true"}, (*records, with_list(UPDATE, "id"), with_list(UPDATE, "v")))
    odd = (
        UPDATE.with_header("drop", STRING, "v"),
        with_list(with_list(UPDATE, "v"), "o"),
        UPDATE.with_header("drop", NAMES.as_optional(), None),
        UPDATE,
    )
    yield Case(UNWRAP, base, odd)
    yield Case(UNWRAP, {"drop.fields.header.name": ""}, (UPDATE,))
    yield Case(UNWRAP, {**base, "drop.fields.from.key": "maybe"}, (with_list(UPDATE, "id"),))
    yield Case(UNWRAP, {**base, "drop.fields.keep.schema.compatible": "maybe"}, (with_list(UPDATE, "id"),))
    yield Case(UNWRAP, {"replace.null.with.default": "false", "add.fields": "before.o"}, (UPDATE, DELETE))
    yield Case(UNWRAP, {"replace.null.with.default": "maybe"}, (DELETE,))


def _schema_cases() -> Iterator[Case]:
    for name in ("foo", "a.Envelope2", "Envelope", "x.Envelope", ".Envelope"):
        yield Case(UNWRAP, {}, (event("c", None, AFTER, envelope(name=name)),))
    text = ConnectRecord("p.s.t", KEY, {"id": 1}, STRING, "s")
    yield Case(UNWRAP, {}, (text, replace(text, value_schema=Schema("string", name="x.Envelope")), replace(text, value_schema=None)))
    nested = (
        event("c", None, NESTED_VALUE, envelope(NESTED)),
        event("d", {**NESTED_VALUE, "tags": None, "g": None}, None, envelope(NESTED)),
    )
    yield Case(UNWRAP, {"add.fields": "op"}, nested)
    yield Case(UNWRAP, {"add.fields": "after.tags,after.b,after.f", "add.headers": "after.tags,after.b,after.f"}, nested)
    yield Case(UNWRAP, {"add.fields": "after.g", "add.headers": "before.g"}, nested)
    yield Case(UNWRAP, {"add.headers": "after.g"}, nested)
    mark = event(
        "c", None, {"id": 1, "__deleted": "z"}, envelope(struct("p.s.t.Value", ("id", INT32), ("__deleted", STRING), optional=True))
    )
    yield Case(UNWRAP, {}, (mark,))
    documented = (event("c", None, {"id": 1}, envelope(DOCUMENTED)), event("d", {"id": 1}, None, envelope(DOCUMENTED)))
    yield Case(UNWRAP, {"add.fields": "op"}, (*documented, CREATE, event("c", None, AFTER, envelope(source=replace(SOURCE, name="other")))))
    unnamed = struct(None, ("id", INT32), optional=True)
    yield Case(UNWRAP, {}, (event("c", None, {"id": 1}, envelope(unnamed)),))
    bare = ConnectRecord(
        "p",
        KEY,
        {"id": 1},
        struct("x.Envelope", ("before", ROW), ("after", ROW), ("op", STRING)),
        {"before": None, "after": AFTER, "op": "c"},
    )
    for entry in ("op", "op,table", "transaction.id", "id"):
        yield Case(UNWRAP, {"add.fields": entry}, (bare,))
        yield Case(UNWRAP, {"add.headers": entry}, (bare,))
    lacking = ConnectRecord("p", KEY, {"id": 1}, struct("x.Envelope", ("before", ROW), ("op", STRING)), {"before": BEFORE, "op": "c"})
    yield Case(UNWRAP, {}, (lacking,))
    several = struct("p.s.t.Value", ("id", INT32), ("small", INT16), ("yes", BOOLEAN), ("raw", BYTES.as_optional()), optional=True)
    yield Case(
        UNWRAP,
        {"add.fields": "after.small,after.yes,after.raw"},
        (event("c", None, {"id": 1, "small": 2, "yes": True, "raw": b"x"}, envelope(several)),),
    )


def changed_cases() -> Iterator[Case]:
    both = {"header.changed.name": "ch", "header.unchanged.name": "un"}
    same = event("u", AFTER, AFTER)
    null = event("u", {**AFTER, "v": None, "q": None}, {**AFTER, "v": None, "o": None})
    records = (*ALL, *ODD, same, null, NULL_EVENT, UPDATE.with_header("ch", STRING, "x"))
    for options in (
        {},
        both,
        {"header.changed.name": "ch"},
        {"header.unchanged.name": "un"},
        {"header.changed.name": ""},
        {"header.changed.name": " "},
    ):
        yield Case(CHANGED, options, records)
    yield Case(
        CHANGED,
        both,
        (event("u", BEFORE, AFTER, envelope(name="foo")), replace(UPDATE, value_schema=Schema("string", name="x.Envelope"), value="s")),
    )
    nested = (
        {**NESTED_VALUE, "tags": []},
        {**NESTED_VALUE, "g": {"x": 1, "y": None}},
        {**NESTED_VALUE, "b": Decimal("1.51")},
        {**NESTED_VALUE, "f": -0.0},
    )
    yield Case(
        CHANGED,
        both,
        tuple(event("u", before, after, envelope(NESTED)) for before in (NESTED_VALUE, nested[0]) for after in (*nested, NESTED_VALUE)),
    )


def router_cases() -> Iterator[Case]:
    base = {"topic.regex": "(.*)s\\.t(.*)", "topic.replacement": "$1all"}
    records = (*ALL, *ODD, NULL_EVENT)
    yield Case(ROUTER, base, records)
    for more in (
        {"key.enforce.uniqueness": "false"},
        {"key.field.name": "src"},
        {"key.field.regex": "(.*)\\.(.*)", "key.field.replacement": "$2"},
        {"key.field.regex": "(.*)\\.(.*)", "key.field.replacement": "$2", "key.field.name": "__x", "key.enforce.uniqueness": "false"},
        {"key.field.regex": "nomatch", "key.field.replacement": "z"},
        {"key.field.regex": "(p).*", "key.field.replacement": "$3"},
        {"key.field.regex": "x"},
        {"key.field.replacement": "x"},
        {"key.field.regex": "", "key.field.replacement": ""},
        {"key.field.regex": "p.*", "key.field.replacement": ""},
        {"key.field.regex": "("},
        {"key.field.regex": "(", "key.field.replacement": "x"},
        *({"key.field.name": name} for name in ("", "id", " sp ")),
        {"key.enforce.uniqueness": "x"},
        {"key.enforce.uniqueness": " FALSE "},
        *({"topic.replacement": to} for to in ("", "$9", "${x}", "$2", "$1{x}$2", "$1\u00dc.9 1", " x ", "$1", "\\")),
        *({"logical.table.cache.size": size} for size in ("x", "0", "-1", "1")),
        {"schema.name.adjustment.mode": "zz"},
        *({"schema.name.adjustment.mode": mode, "topic.replacement": "$1a-l l"} for mode in ("none", "avro", "avro_unicode", "AVRO", "")),
        {"schema.name.adjustment.mode": "avro", "key.field.name": "a b-c", "topic.replacement": "9$1"},
        *({"topic.regex": regex} for regex in ("", "(", "zzz", "p", "(?<a>.*)\\.s\\.t")),
        {"topic.regex": "(?<a>.*)\\.s\\.t", "topic.replacement": "${a}x"},
    ):
        yield Case(ROUTER, {**base, **more}, (UPDATE, replace(DELETE, topic="p.s.t2"), replace(CREATE, topic="other")))
    yield Case(ROUTER, {}, (UPDATE,))
    yield Case(ROUTER, {"topic.regex": "x"}, (UPDATE,))
    keys = ((None, None), (STRING, "k"), (FULL_KEY, {"id": 1, "z": None}), (FULL_KEY.as_optional(False), {"id": None, "z": 4}))
    yield Case(ROUTER, base, tuple(replace(record, key_schema=schema, key=key) for schema, key in keys for record in (UPDATE, TOMBSTONE)))
    row = struct("p.s.t.Value", ("id", INT32))
    flat = ConnectRecord("p.s.t", KEY, {"id": 1}, row, {"id": 1})
    yield Case(ROUTER, base, (flat, replace(flat, value_schema=replace(row, name=None)), event("u", BEFORE, AFTER, envelope(name="foo"))))
    rows = (struct(None, ("id", INT32), optional=True), struct("foo", ("id", INT32), optional=True))
    odd = struct(
        "x.y.Envelope",
        ("before", rows[0]),
        ("after", rows[1]),
        ("op", STRING),
        version=3,
        doc="dd",
        parameters=(("a", "b"),),
        optional=True,
    )
    yield Case(ROUTER, base, (ConnectRecord("p.s.t", KEY, {"id": 1}, odd, {"before": None, "after": {"id": 1}, "op": "u"}),))
    half = struct("x.Envelope", ("before", rows[0]), ("op", STRING), ("x", Schema("string", optional=True, default="xx")))
    yield Case(ROUTER, base, (ConnectRecord("p.s.t", KEY, {"id": 1}, half, {"before": {"id": 1}, "op": "u", "x": None}),))
    yield Case(
        ROUTER,
        base,
        (
            event("u", NESTED_VALUE, {**NESTED_VALUE, "tags": None}, envelope(NESTED)),
            UPDATE.with_header("h", STRING, "x"),
            replace(UPDATE, partition=2, timestamp=4),
        ),
    )
    yield Case(ROUTER, base, (event("u", {"id": 1}, {"id": 2}, envelope(DOCUMENTED)),))


def topic_router_cases() -> Iterator[Case]:
    """The cases of the router for both names that it has since 3.7.0, with the present and the former names of options and fields."""
    for name in (ROUTER, "io.debezium.transforms.ToLogicalTopicRouter"):
        for case in router_cases():
            yield replace(case, transform=name, versions=SINCE_3_7)
        base = {"topic.regex": "(.*)s\\.t(.*)", "topic.replacement": "$1all"}
        for former in ({}, {"logical.table.cache.size": "2"}):
            for size in ("x", "0", "-1", "1", "", " 4 "):
                yield Case(name, {**base, **former, "logical.destination.cache.size": size}, (UPDATE,), SINCE_3_7)
