"""Chains of usual transforms, and tables whose values are hard to cut out of an event's bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from connector.record.schema import BYTES, FLOAT64, INT64, STRING, Field, Schema

UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
HARD = ',"source":{"version":"'
TEXT = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([HARD, '{"before":null,"after":', "}", '"', "null"]))
MAP = Schema("map", keys=STRING, values=STRING.as_optional(), optional=True)
COLUMNS: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (INT64, st.integers(-(2**63), 2**63 - 1)),
    (STRING.as_optional(), st.none() | TEXT),
    (STRING.as_optional().with_default("d"), st.none() | TEXT),
    (FLOAT64.as_optional(), st.none() | st.floats(allow_nan=False)),
    (BYTES.as_optional(), st.none() | st.binary()),
    (MAP, st.none() | st.dictionaries(TEXT, st.none() | TEXT, max_size=2)),
]
ROUTE = {"transforms.r.type": ROUTER, "transforms.r.regex": "p\\.(.*)\\.(.*)", "transforms.r.replacement": "$2_$1"}
LOGICAL = {
    "transforms.l.type": "io.debezium.transforms.ByLogicalTableRouter",
    "transforms.l.topic.regex": "p\\.(.*)\\.(.*)",
    "transforms.l.topic.replacement": 'all"$1',
}
KEYED = {"transforms.l.key.field.name": "from", "transforms.l.key.field.regex": "p\\.(.*)", "transforms.l.key.field.replacement": '"$1'}
CHAINS: list[dict[str, str]] = [
    {"transforms": "r", **ROUTE},
    {"transforms": "u", "transforms.u.type": UNWRAP},
    {"transforms": "u,r", "transforms.u.type": UNWRAP, **ROUTE},
    {"transforms": "r,u", "transforms.u.type": UNWRAP, "transforms.u.add.fields": "op,source.ts_ms:when,lsn,transaction.id", **ROUTE},
    {
        "transforms": "u",
        "transforms.u.type": UNWRAP,
        "transforms.u.add.fields": "table,op",
        "transforms.u.delete.tombstone.handling.mode": "rewrite",
        "transforms.u.delete.handling.mode": "rewrite",
    },
    {
        "transforms": "r",
        **ROUTE,
        "transforms.r.predicate": "x",
        "transforms.r.negate": "true",
        "predicates": "x",
        "predicates.x.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.x.pattern": "p.*",
    },
    {"transforms": "l", **LOGICAL},
    {"transforms": "l,u", **LOGICAL, **KEYED, "transforms.u.type": UNWRAP, "transforms.u.add.fields": "table"},
    {"transforms": "u,l", **LOGICAL, "transforms.l.key.enforce.uniqueness": "false", "transforms.u.type": UNWRAP},
    {"transforms": "r,l", **LOGICAL, **ROUTE, "transforms.l.topic.regex": "t_(.*)"},
    {"transforms": "l", **LOGICAL, "transforms.l.topic.regex": "other"},
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    """The schema of the rows of ``p.public.t``, and some rows."""
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4))
    names = draw(st.lists(st.sampled_from(["id", "after", "name", "op", "sourc", "été", 'q"x']), min_size=4, max_size=4, unique=True))
    fields = tuple(Field(name, schema) for name, (schema, _) in zip(names, columns, strict=False))
    rows = [{field.name: draw(values) for field, (_, values) in zip(fields, columns, strict=True)} for _ in range(draw(st.integers(1, 3)))]
    return Schema("struct", name="p.public.t.Value", fields=fields), rows
