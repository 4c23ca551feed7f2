"""Cases of ExtractSchemaToNewRecord, SchemaChangeEventFilter and EnforceRecordSize.

EnforceRecordSize has no bytes here: Py4J's JVM hands it arrays, on which it fails, where the connector gives it buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import SINCE_3
from tests.support.format_case import Case, Json, optional, required, struct

EXTRACT: Final = "io.debezium.transforms.ExtractSchemaToNewRecord"
FILTER: Final = "io.debezium.transforms.SchemaChangeEventFilter"
SIZE: Final = "io.debezium.transforms.EnforceRecordSize"
EXCLUDED: Final = "schema.change.event.exclude.list"


def propagated(schema: Json, **reported: str) -> Json:
    return {**schema, "parameters": {f"__debezium.source.column.{name}": value for name, value in reported.items()}}


def event(row: Json, values: Json | None, name: str = "p.public.t.Envelope", **members: Any) -> Json:
    shape = {**struct(row, "p.public.t.Value"), "optional": True}
    source = struct({"db": required("string"), "schema": required("string"), "table": required("string")}, "Source")
    fields = {"before": shape, "after": shape, "source": source, "op": required("string"), "ts_ms": optional("int64")}
    value = {"before": None, "after": values, "source": {"db": "d", "schema": "public", "table": "t"}, "op": "c", "ts_ms": 5}
    key = [struct({"id": required("int32")}), {"id": 1}]
    return {"topic": "p.public.t", "key": key, "value": [struct(fields, name, version=2), {**value, **members}], "partition": 3}


OTHERS: Final[list[Json]] = [
    {"topic": "x", "value": [required("string"), "a"]},
    {"topic": "x"},
    {"topic": "x", "value": [None, {"a": 1}]},
    {"topic": "x", "value": [struct({"id": required("int32")}, "p.public.t.Value"), {"id": 1}]},
]


def _extracting() -> Iterator[Json]:
    full = {
        "id": propagated(required("int32"), type="INT4", name="id"),
        "n": propagated(optional("string"), type="VARCHAR", length="20", name="n"),
        "d": propagated(optional("string"), type="NUMERIC", length="5", scale="2", name="d", comment="a price"),
    }
    values = {"id": 1, "n": "x", "d": None}
    for operation in ("c", "r", "u", "d", "t", "m"):
        yield event(full, values, op=operation)
        yield event(full, None, op=operation, before=values)
    yield event(full, values, "x")
    for reported in (
        {"type": "INT4"},
        {"name": "id"},
        {"type": "INT4", "length": "1", "scale": "0"},
        {"type": "INT4", "name": "other", "length": "-5"},
    ):
        yield event({"id": propagated(required("int32"), **reported)}, {"id": 1})
    yield event({"id": full["id"], "n": optional("string")}, {"id": 1, "n": "x"})
    yield event({"id": required("int32"), "n": full["n"]}, {"id": 1, "n": "x"})
    yield event({"id": required("int32")}, {"id": 1})
    yield from OTHERS


def _filtering() -> Iterator[Case]:
    change = struct({"type": required("string"), "id": required("string")}, "io.debezium.connector.schema.Change")
    fields = {"ddl": optional("string"), "tableChanges": required("array", items=change)}
    for excluded in (None, "", "CREATE", "ALTER,DROP", " TRUNCATE , DATABASE ", "create", "CREATE_TABLE", "CREATE,"):
        options: dict[str, str] = {} if excluded is None else {EXCLUDED: excluded}
        for kinds in (("CREATE",), ("ALTER", "CREATE"), ("CREATE", "ALTER"), ("TRUNCATE",), ()):
            value = {"ddl": "x", "tableChanges": [{"type": kind, "id": "a"} for kind in kinds]}
            for name in ("io.debezium.connector.postgresql.SchemaChangeValue", "SchemaChangeValue", "x"):
                yield Case(FILTER, options, {"topic": "p", "value": [struct(fields, name), value]}, SINCE_3)
    for record in OTHERS:
        yield Case(FILTER, {EXCLUDED: "DROP"}, record, SINCE_3)


def _sized(record: Json, most: str | None, least: str | None = "0", ratio: str | None = None) -> Case:
    reported = {"max.bytes": most, "min.field.size": least, "compression.ratio": ratio}
    return Case(SIZE, {name: value for name, value in reported.items() if value is not None}, record, SINCE_3)


def _cutting() -> Iterator[Case]:
    text = {"s": required("string"), "t": optional("string"), "n": optional("string")}
    long: Json = {"s": "a" * 300, "t": "b" * 100, "n": None}
    for most in (None, "", "x", "0", "-1"):
        yield _sized(event(text, long), most)
    for ratio in ("x", "0", "-1", "0.5", "1.2", "1.5", "3", "0.1"):
        yield _sized(event(text, long), "600", ratio=ratio)
    for least in ("-1", "x", "99", "100", "299", "300", None):
        yield _sized(event(text, long), "600", least)
    for size in range(97, 104):
        uneven: Json = {"s": "a" * 301, "t": "b" * size, "n": "c" * 7}
        for packed in (None, "0.7", "1.3"):
            yield _sized(event(text, uneven, before=uneven), "907", ratio=packed)
            yield _sized(event(text, uneven, before={**uneven, "t": None}), "851", ratio=packed)
    for most in ("2000", "1100", "1000", "900", "800", "700", "600", "500", "1"):
        yield _sized(event(text, long), most)
        yield _sized(event(text, long, before={"s": "c" * 200, "t": None, "n": None}), most)
        yield _sized({**event(text, long), "headers": [["h", [required("string"), "v"]]]}, most)
    for reported in ("é" * 200, "日a" * 100, "a" * 50, ""):
        for most in ("900", "800", "700"):
            yield _sized(event(text, {"s": reported, "t": None, "n": None}), most)
    kinds: Json = {
        "s": required("string"),
        "i": optional("int64"),
        "b": optional("boolean"),
        "g": {**struct({"q": required("string")}, "g"), "optional": True},
        "a": optional("array", items=optional("string")),
        "m": optional("map", keys=required("string"), values=optional("int32")),
        "j": optional("string", "io.debezium.data.Json"),
        "d": optional("string", default="abcd"),
    }
    values: Json = {"s": "a" * 300, "i": 1, "b": None, "g": {"q": "c" * 90}, "a": ["d" * 90, None], "m": {"k": 1}, "j": "{" * 90, "d": None}
    for most in ("2000", "1500", "1300", "1200", "1000"):
        yield _sized(event(kinds, values), most)
        yield _sized(event(kinds, {**dict.fromkeys(kinds), "s": "a" * 300}), most)
    yield _sized(event(text, long, "x"), "600")
    yield _sized({"topic": "x", "value": [struct(text, "p.V"), long]}, "100")
    for record in OTHERS:
        yield _sized(record, "1")


def cases() -> Iterator[Case]:
    for record in _extracting():
        yield Case(EXTRACT, {}, record, SINCE_3)
    yield from _filtering()
    yield from _cutting()
