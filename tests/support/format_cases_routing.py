"""Cases of PartitionRouting and ComputePartition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import UNTIL_2
from tests.support.format_case import Case, Json, optional, required, struct

ROUTING: Final = "io.debezium.transforms.partitions.PartitionRouting"
FIELDS: Final = "partition.payload.fields"
COUNT: Final = "partition.topic.num"
FUNCTION: Final = "partition.hash.function"
MANY: Final = "2147483647"
CONNECT: Final = "org.apache.kafka.connect.data."

ROW: Final = {
    **struct(
        {
            "id": required("int32"),
            "n": optional("string"),
            "g": {**struct({"x": optional("int32")}, "g"), "optional": True},
            "a": optional("array", items=optional("string")),
            "m": optional("map", keys=required("string"), values=required("int32")),
            "d": optional("bytes", CONNECT + "Decimal", parameters={"scale": "2"}),
            "cd": optional("int32", CONNECT + "Date"),
            "cm": optional("int32", CONNECT + "Time"),
            "ct": optional("int64", CONNECT + "Timestamp"),
            "l": optional("int64"),
            "f": optional("float"),
            "do": optional("double"),
            "s": optional("int16"),
            "y": optional("int8"),
            "b": optional("boolean"),
        },
        "p.public.t.Value",
    ),
    "optional": True,
}
FULL: Final = {
    "id": 1,
    "n": "Ann",
    "g": {"x": 5},
    "a": ["p", None, "q"],
    "m": {"k": 1, "l": 2},
    "d": "AZA=",
    "cd": 17000,
    "cm": 54796945,
    "ct": 1529507596945,
    "l": -1529507596945,
    "f": 1.5,
    "do": -2.25,
    "s": -3,
    "y": 7,
    "b": False,
}
EMPTY: Final = {**dict.fromkeys(FULL), "id": 9}


def event(name: str = "p.public.t.Envelope", **members: Any) -> Json:
    """A change event; ``members`` replace those of its envelope."""
    source = struct({"db": required("string"), "schema": required("string"), "table": required("string")}, "Source")
    schema = struct({"before": ROW, "after": ROW, "source": source, "op": optional("string"), "ts_ms": optional("int64")}, name)
    value = {"before": None, "after": FULL, "source": {"db": "d", "schema": "public", "table": "t"}, "op": "c", "ts_ms": 5}
    return {"topic": "p.public.t", "key": [struct({"id": required("int32")}), {"id": 1}], "value": [schema, {**value, **members}]}


def routed(fields: str, record: Json | None = None, count: str = MANY, function: str | None = None) -> Case:
    options = {FIELDS: fields, COUNT: count} | ({} if function is None else {FUNCTION: function})
    return Case(ROUTING, options, event() if record is None else record)


def _options() -> Iterator[Case]:
    for options in (
        {},
        {FIELDS: "after.id"},
        {COUNT: "7"},
        {FIELDS: "", COUNT: "7"},
        {FIELDS: "after.id,,op", COUNT: "7"},
    ):
        yield Case(ROUTING, options, event())
    for count in ("0", "-1", "abc", " 3 ", "1", "3", "7"):
        yield routed("after.id,after.n", count=count)
    for function in ("java", "murmur", "MURMUR", " murmur ", "", "x"):
        yield routed("after.n", function=function)


def cases() -> Iterator[Case]:
    yield from _options()
    # A struct's hash differs from one JVM to the next.
    for name in [name for name in FULL if name != "g"]:
        yield routed(f"after.{name}")
        yield routed(f"after.{name}", function="murmur")
    for fields in (
        "after.g.x",
        "after.g.nix",
        "after.g.x.z",
        "after.a.x",
        "nix.x",
        "AFTER.id",
        " after.id , op ",
        ",",
        "after..id",
        ".after.id",
        "after.id.",
        "after.id,after.n,source.table,op,ts_ms",
        "ts_ms,op,source.table,after.n,after.id",
        "change",
        "change.g.x",
        "before.nix",
    ):
        yield routed(fields)
        yield routed(fields, function="murmur")
    for operation in ("c", "u", "r", "d", "t", "m", "x", None):
        for before in (None, EMPTY):
            yield routed("change.id", event(op=operation, before=before))
            yield routed("change.n,op", event(op=operation, before=before))
    yield routed("change.id", event(op="d", before=EMPTY, after=None))
    yield routed("after.id", event(op="d", before=EMPTY, after=None))
    yield routed("after.g.x", event(after=EMPTY))
    texts = ("", "x" * 15, "x" * 16, "x" * 17, "é", "日本語日本語日本語", "\U0001f600" * 5, "a\0b", "ß" * 40)
    for text in texts:
        yield routed("after.n", event(after={**FULL, "n": text}))
        yield routed("after.n", event(after={**FULL, "n": text}), function="murmur")
    for decimal in ("AA==", "/w==", "f////////////w==", "gAAAAAAAAAAA", "AQ=="):
        yield routed("after.d", event(after={**FULL, "d": decimal}))
    for number in (0, 2**31 - 1, -(2**31), -1):
        yield routed("after.id", event(after={**FULL, "id": number}))
        yield routed("after.id", event(after={**FULL, "id": number}), function="murmur")
        yield routed("after.id", event(after={**FULL, "id": number}), count="7")
    yield from _others()


def _others() -> Iterator[Case]:
    for name in ("Envelope", "x.EnvelopeX", "xEnvelope", "x.envelope", ".Envelope"):
        yield routed("after.id", event(name))
    for value in ([required("string"), "a"], [None, {"after": {"id": 1}}], [ROW, FULL], None):
        record = {"topic": "x", "partition": 3, "key": [required("int32"), 1]} | ({} if value is None else {"value": value})
        yield routed("after.id", record)
    yield routed("after.id", {**event(), "partition": 3, "timestamp": 8, "headers": [["h", [required("string"), "v"]]]})


COMPUTING: Final = "io.debezium.transforms.partitions.ComputePartition"
COLUMNS: Final = "partition.data-collections.field.mappings"
COUNTS: Final = "partition.data-collections.partition.num.mappings"


def compared(**members: Any) -> Json:
    """A change event from the only name that ComputePartition knows PostgreSQL's connector by."""
    reported = event(**members)
    schema = json.loads(json.dumps(reported["value"][0]))
    schema["fields"][2]["fields"].insert(0, {**required("string"), "field": "connector"})
    return {**reported, "value": [schema, {**reported["value"][1], "source": {"connector": "postgres", **reported["value"][1]["source"]}}]}


def computed(columns: str | None, counts: str | None, record: Json | None = None) -> Case:
    options = {name: value for name, value in ((COLUMNS, columns), (COUNTS, counts)) if value is not None}
    return Case(COMPUTING, options, compared() if record is None else record, UNTIL_2)


def computing() -> Iterator[Case]:
    for columns, counts in (
        (None, None),
        ("a:b", None),
        (None, "a:1"),
        ("", ""),
        ("public.t:n", "public.u:3"),
        ("public.t:n", "public.t:x"),
        ("public.t:n", "public.t:0"),
        ("public.t:n", "public.t:-3"),
        ("public.t", "public.t:2"),
        ("public.t:n:x", "public.t:2"),
        ("public.t:n,public.u:x", "public.t:2"),
        ("public.t:n,", "public.t:2,"),
        ("public.t : n", "public.t : 2"),
        ("t:n", "t:7"),
        ("d.public.t:n", "d.public.t:7"),
    ):
        yield computed(columns, counts)
    for name in ("id", "n", "l", "b", "do", "a", "nix", "after.n"):
        yield computed(f"public.t:{name}", f"public.t:{MANY}")
    for operation in ("c", "u", "r", "d", "t", "m", "x", None):
        for before in (None, {**EMPTY, "n": "Bea"}):
            yield computed("public.t:n", "public.t:7", compared(op=operation, before=before))
    for number in (0, -1, -(2**31), 2**31 - 1, -8, 9):
        yield computed("public.t:id", "public.t:7", compared(after={**FULL, "id": number}))
    yield computed("public.t:n", "public.t:7", compared(after=EMPTY))
    yield computed("public.t:n", "public.t:7", compared(after=None))
    yield computed("public.t:n", "public.t:7", compared(name="p.public.t.Value"))
    for value in ([required("string"), "a"], [None, {"after": {"id": 1}}], None):
        yield computed("public.t:n", "public.t:7", {"topic": "x", "partition": 3} | ({} if value is None else {"value": value}))
