"""Events and options that Neo4jCudConverter is recorded with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any, Final

from connector.configdef.key import SINCE_3_7
from connector.record.schema import BOOLEAN, BYTES, DECIMAL, FLOAT64, INT16, INT32, INT64, STRING, Schema
from tests.support.debezium_cases import ALL, ODD, SOURCE_VALUE, TOMBSTONE, Case, envelope, event, struct

NEO4J: Final = "io.debezium.transforms.Neo4jCudConverter"
_NODE: Final = {"table.t.node.labels": "Thing, Other", "table.t.node.id.properties": "id"}
_TO_OWNER: Final = {"table.t.relationship.n.type": "OWNED_BY", "table.t.relationship.n.target.label": "Owner"}
_ENDS: Final = {
    "table.t.node.mode": "relationship",
    "table.t.relationship.id.type": "BOUGHT",
    "table.t.relationship.id.direction": "outgoing",
    "table.t.relationship.id.target.label": "Person",
    "table.t.relationship.n.type": "IS_BOUGHT",
    "table.t.relationship.n.direction": "Incoming",
    "table.t.relationship.n.target.label": "Product",
    "table.t.relationship.n.target.id": "sku",
}
_TIMES: Final = {
    "io.debezium.time.Date": ("int32", (0, 18263, -719529, 2932897, 7_000_000)),
    "io.debezium.time.Time": ("int32", (0, 1, 86_399_999, 86_400_000, 86_400_001, -1)),
    "io.debezium.time.MicroTime": ("int64", (0, 1_000_001, 86_400_000_000, 3_600_000_000)),
    "io.debezium.time.NanoTime": ("int64", (5, 120_000_000_000, 86_400_000_000_000)),
    "io.debezium.time.Timestamp": ("int64", (0, -1, 1_700_000_000_120, 2**63 - 1)),
    "io.debezium.time.MicroTimestamp": ("int64", (0, -1, 1_700_000_000_123_456, -62_200_000_000_000_000, 2**63 - 1)),
    "io.debezium.time.NanoTimestamp": ("int64", (0, -1, 1_700_000_000_123_456_789)),
    "io.debezium.time.ZonedTimestamp": ("string", ("2020-01-01T00:00:00Z",)),
    "io.debezium.time.MicroDuration": ("int64", (5,)),
    "org.apache.kafka.connect.data.Date": ("int32", (0, -1, 18263)),
    "org.apache.kafka.connect.data.Time": ("int32", (0, 1500)),
    "org.apache.kafka.connect.data.Timestamp": ("int64", (0, -1, 1_700_000_000_120)),
}
_POINT: Final = struct("io.debezium.data.geometry.Point", ("x", FLOAT64), ("wkb", BYTES.as_optional()), ("srid", INT32.as_optional()))
_VARIABLE: Final = struct("io.debezium.data.VariableScaleDecimal", ("scale", INT32), ("value", BYTES), version=1)
_PRICE: Final = Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", "2"),))
_VALUES: Final[tuple[tuple[Schema, tuple[Any, ...]], ...]] = (
    (STRING, ('a"\\/b\n\u0001\u007fé漢😀', "")),
    (BOOLEAN, (True, False)),
    (INT16, (-5,)),
    (INT64, (2**63 - 1,)),
    (FLOAT64, (0.1, 1e21, 1e-5)),
    (Schema("float"), (1.1, 3.0, 1e10)),
    (BYTES, (b"", b"\x00\xff\x10")),
    (_PRICE, (Decimal("1.50"), Decimal("-0.01"), Decimal("12345678901234567890.12"))),
    (_VARIABLE, ({"scale": 3, "value": b"\x04\xd2"}, {"scale": 0, "value": b"\x00"}, {"scale": 12, "value": b"\x01"})),
    (_POINT, ({"x": 1.5, "wkb": b"\x01\x02", "srid": None},)),
    (Schema("array", items=STRING.as_optional()), (["p", None, 'q"'], [])),
    (Schema("array", items=INT32), ([1, 2],)),
    (Schema("array", items=Schema("float")), ([1.1, 2.0],)),
    (Schema("array", items=_PRICE), ([Decimal("1.50")],)),
    (Schema("array", items=BYTES), ([b"\x01"],)),
    (Schema("array", items=_POINT), ([], [{"x": 1.5, "wkb": None, "srid": 4326}])),
    (Schema("map", keys=STRING, values=STRING.as_optional()), ({"b": "1", "a": None, 'q"': "z"}, {})),
)


def _typed(schema: Schema, value: Any, **more: Any) -> Any:
    row = struct("p.s.t.Value", ("id", INT32), ("v", replace(schema, optional=True)), optional=True)
    return event("c", None, {"id": 1, "v": value}, envelope(row), **more)


def neo4j_cases() -> Iterator[Case]:
    """All cases of the transform, which 3.7.0 brought."""
    for name, options, records in (*_mapping_cases(), *_wrong_cases(), *_value_cases()):
        del name
        yield Case(NEO4J, options, tuple(records), SINCE_3_7)


def _mapping_cases() -> Iterator[tuple[str, dict[str, str], Any]]:
    every = (*ALL, *ODD)
    for mode, missing in product(("array", "single", "Single"), ("warn", "fail", "ignore", "Fail")):
        general = {"output.mode": mode, "field.missing.behavior": missing}
        yield "node", {**general, **_NODE}, every
        yield "relationships", {**general, **_NODE, **_TO_OWNER, "table.t.relationship.nope.type": "X", **_label("nope")}, every
        yield "ends", {**general, **_ENDS}, every
        yield "ends with properties", {**general, **_ENDS, "table.t.relationship.id.properties": "v, nope"}, every
        yield "no end", {**general, **_ENDS, "table.t.relationship.z.type": "Z"}, every
        two = {name.replace(".n.", ".nope."): value for name, value in _ENDS.items()}
        yield "absent end", {**general, **two}, every
        yield "null end", {**general, **{name.replace(".n.", ".q."): value for name, value in _ENDS.items()}}, every
        for ids in ("nope", "id,nope", "o, id", "id,id", "q"):
            yield "ids", {**general, **_NODE, "table.t.node.id.properties": ids}, every
    for more in (
        {"node.properties.include": "v, o"},
        {"node.properties.exclude": "v,nope"},
        {"node.properties.include": "id"},
        {"node.delete.detach": "false"},
        {"node.delete.detach": " true"},
        {"node.mode": "NODE"},
        {"node.mode": ""},
        {"node.mode": "other"},
        {"relationship.n.direction": "INCOMING"},
        {"relationship.n.direction": " "},
        {"relationship.n.target.id": "uid"},
        {"relationship.n.target.node.op": "MERGE"},
        {"relationship.n.target.node.op": "delete"},
        {"relationship.n.properties": "v,o,nope,v"},
        {"relationship.o.type": "A", "relationship.o.target.label": 'B"é'},
        {"relationship.v.type": "A", "relationship.v.target.label": "B", "relationship.q.type": "C", "relationship.q.target.label": "D"},
        {"node.labels": "A,,B"},
        {"node.labels": ",A,"},
        {"node.labels": " "},
        {"node.labels": ",,"},
        {"node.labels": " , ,"},
    ):
        yield "more", {**_NODE, **_TO_OWNER, **{f"table.t.{name}": value for name, value in more.items()}}, every
    yield "tombstones", {**_NODE, "tombstones.enabled": "false"}, (TOMBSTONE,)
    other = event("c", None, {"id": 1}, envelope(struct("p.s.u.Value", ("id", INT32), optional=True)))
    yield (
        "tables",
        {**_NODE, "table.u.node.labels": "U", "table.u.node.id.properties": "id"},
        (_of_table(other, "u"), _of_table(other, "v")),
    )
    bare = struct("S", ("schema", STRING))
    yield "source", _NODE, (replace(ALL[0], value_schema=envelope(source=bare), value={**ALL[0].value, "source": {"schema": "s"}}),)


def _label(column: str) -> dict[str, str]:
    return {f"table.t.relationship.{column}.target.label": "L"}


def _of_table(record: Any, table: str) -> Any:
    return replace(record, value={**record.value, "source": {**SOURCE_VALUE, "table": table}})


def _wrong_cases() -> Iterator[tuple[str, dict[str, str], Any]]:
    create = (ALL[0],)
    for options in (
        {},
        {"table.t": "x"},
        {"table.t.node.labels": "A"},
        {"table.t.node.id.properties": "id"},
        {"table.t.node.labels": " , ", "table.t.node.id.properties": "id"},
        {**_NODE, "table.t.nope": "x"},
        {**_NODE, "table.t.relationship.n": "x"},
        {**_NODE, "table.t.relationship..type": "x"},
        {**_NODE, "table.t.relationship.n.type": "A"},
        {**_NODE, "table.t.relationship.n.target.label": "A"},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.nope": "A"},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.type": " "},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.direction": "up"},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.direction": " outgoing"},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.target.node.op": "create"},
        {**_NODE, **_TO_OWNER, "table.t.relationship.n.target.node.op": ""},
        {**_NODE, "table.t.node.properties.include": "a", "table.t.node.properties.exclude": "b"},
        {**_ENDS, "table.t.relationship.n.direction": "outgoing"},
        {name: value for name, value in _ENDS.items() if ".n." not in name},
        {name: value for name, value in _ENDS.items() if not name.endswith("n.direction")},
        {**_NODE, "output.mode": "x"},
        {**_NODE, "output.mode": ""},
        {**_NODE, "field.missing.behavior": "x"},
        {**_NODE, "tombstones.enabled": "x"},
    ):
        yield "wrong", options, create


def _value_cases() -> Iterator[tuple[str, dict[str, str], Any]]:
    for name, (kind, values) in _TIMES.items():
        version = 1
        yield name, _NODE, [_typed(Schema(kind, name=name, version=version), value) for value in values]
        by_time = {**_NODE, "table.t.node.id.properties": "v"}
        yield name, by_time, [_typed(Schema(kind, name=name, version=version), value) for value in values]
    for schema, several in _VALUES:
        yield schema.type, _NODE, [_typed(schema, value) for value in (*several, None)]
