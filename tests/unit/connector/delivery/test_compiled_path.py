"""The fast path of an event gives the bytes that the way by values gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.converters.converter import ConverterChoice
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT
from connector.events.envelope import event_form
from connector.io.kafka.sink import KafkaSink
from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.schema import BYTES, FLOAT64, INT64, STRING, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from tests.support.envelopes import source_of
from tests.support.kept_records import KeptRecords

JSON = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
KEY = Schema("struct", name="p.public.t.Key", fields=(Field("id", INT64),))
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
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[ConversionPlan, Schema, list[dict[str, Any]]]:
    emulation = draw(st.sampled_from([DEFAULT, DEBEZIUM_2_3_4]))
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4))
    names = draw(st.lists(st.sampled_from(["id", "after", "name", "op", "sourc", "été", 'q"x']), min_size=4, max_size=4, unique=True))
    fields = tuple(Field(name, schema) for name, (schema, _) in zip(names, columns, strict=False))
    row = Schema("struct", name="p.public.t.Value", fields=fields)
    rows = [{field.name: draw(values) for field, (_, values) in zip(fields, columns, strict=True)} for _ in range(draw(st.integers(1, 3)))]
    options = {
        "schemas.enable": draw(st.sampled_from(["true", "false"])),
        "replace.null.with.default": draw(st.sampled_from(["true", "false"])),
    }
    converter = ConverterChoice(JSON, options)
    plan = ConversionPlan(draw(st.sampled_from(CHAINS)), converter, converter, ConverterChoice(SIMPLE), emulation)
    return plan, event_form(emulation).envelope("p.public.t", row), rows


def run(plan: ConversionPlan, schema: Schema, values: list[dict[str, Any]], settings: ConverterSettings, *, short: bool) -> list[Any]:
    conversion = RecordConversion(plan, lambda _event, /, **_fields: None)
    if not short:
        conversion._short = None
    inner = KeptRecords()
    sink = ConvertingSink(cast("KafkaSink", inner), conversion, cast("Any", None))
    before, after = around_payload(schema, settings)
    opening, closing = around_payload(KEY, settings)
    keys = [opening + b'{"id":%d}' % number + closing for number in range(len(values))]
    sink.out("p.public.t").extend(keys, before, [value_json(schema, value, settings) + after for value in values], b"\0", 9)
    return inner.records


@given(cases(), st.sampled_from("cru"))
def test_both_ways_give_the_same_bytes(case: tuple[ConversionPlan, Schema, list[dict[str, Any]]], op: str) -> None:
    plan, schema, rows = case
    common = {"before": None, "source": source_of(plan.emulation), "transaction": None, "op": op, "ts_ms": 1}
    names = {field.name for field in schema.fields}
    values = [{**dict.fromkeys(names), **common, "after": row} for row in rows]
    _, settings = plan.core_settings()
    assert plan.fast_path() is not None
    assert run(plan, schema, values, settings, short=True) == run(plan, schema, values, INTERNAL, short=False)


def test_events_with_an_old_row_go_by_way_of_values() -> None:
    plan = ConversionPlan(CHAINS[1], ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(SIMPLE))
    row = Schema("struct", name="v", fields=(Field("id", INT64),))
    schema = event_form(DEFAULT).envelope("p.public.t", row)
    value = {
        **dict.fromkeys(field.name for field in schema.fields),
        "source": source_of(DEFAULT),
        "op": "u",
        "before": {"id": 1},
        "after": {"id": 2},
    }
    [(topic, _, written, *_)] = run(plan, schema, [value], plan.core_settings()[1], short=True)
    assert topic == "p.public.t"
    assert written.endswith(b'"payload":{"id":2}}')


@pytest.mark.parametrize(
    "changes",
    [
        {"transforms.u.add.headers": "op"},
        {"transforms.u.route.by.field": "name"},
        {"transforms.u.drop.fields.header.name": "h"},
        {"transforms.u.predicate": "x", "predicates": "x", "predicates.x.type": "RecordIsTombstone"},
    ],
)
def test_what_depends_on_more_than_the_row_has_no_fast_path(changes: dict[str, str]) -> None:
    plan = ConversionPlan({**CHAINS[1], **changes}, ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(SIMPLE))
    row = Schema("struct", name="v", fields=(Field("id", INT64),))
    prefix, _ = around_payload(event_form(DEFAULT).envelope("t", row), INTERNAL)
    assert RecordConversion(plan, lambda _event, /, **_fields: None).fast_path("t", prefix, None) is None


def test_a_row_that_may_hold_a_source_has_no_fast_path() -> None:
    plan = ConversionPlan(CHAINS[1], ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(SIMPLE))
    inner = Schema("struct", fields=(Field("source", STRING),))
    row = Schema("struct", name="v", fields=(Field("a", Schema("array", items=inner)),))
    prefix, _ = around_payload(event_form(DEFAULT).envelope("t", row), INTERNAL)
    assert RecordConversion(plan, lambda _event, /, **_fields: None).fast_path("t", prefix, None) is None


@pytest.mark.parametrize("choice", ["key", "value"])
def test_other_converters_have_no_fast_path(choice: str) -> None:
    other = ConverterChoice("org.apache.kafka.connect.storage.StringConverter")
    plan = ConversionPlan(CHAINS[0], ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(SIMPLE))
    changed = replace(plan, key=other) if choice == "key" else replace(plan, value=other)
    assert changed.fast_path() is None
    assert changed.core_settings() == (INTERNAL, INTERNAL)
