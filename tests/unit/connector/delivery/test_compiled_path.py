"""The fast path of an event gives the bytes that the way by values gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.converters.converter import ConverterChoice
from connector.delivery.moved_key_headers import OLD_KEY
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT, Emulation
from connector.events.envelope import event_form
from connector.io.kafka.sink import KafkaSink
from connector.record.batch import encode_headers
from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.schema import INT64, STRING, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from tests.support.each_case import each_case
from tests.support.envelopes import event_of, source_of
from tests.support.event_cases import CHAINS, tables
from tests.support.kept_records import KeptRecords
from tests.support.old_key_headers import OLD_KEY_HEADERS, OLD_KEY_TEXT

JSON = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
KEY = Schema("struct", name="p.public.t.Key", fields=(Field("id", INT64),))


@st.composite
def cases(draw: st.DrawFn) -> tuple[ConversionPlan, Schema, list[dict[str, Any]]]:
    emulation = draw(st.sampled_from([DEFAULT, DEBEZIUM_2_3_4]))
    row, rows = draw(tables())
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


def test_the_header_of_a_changed_key_is_converted() -> None:
    """Such a create has no old row either, but the key in its header is a struct for transforms and converters."""
    plan = ConversionPlan(CHAINS[0], ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(SIMPLE))
    row = Schema("struct", name="p.public.t.Value", fields=(Field("id", INT64),))
    schema = event_form(DEFAULT).envelope("p.public.t", row)
    inner = KeptRecords()
    sink = ConvertingSink(cast("KafkaSink", inner), RecordConversion(plan, lambda _event, /, **_fields: None), cast("Any", None))
    before, after = around_payload(schema, INTERNAL)
    opening, closing = around_payload(KEY, INTERNAL)
    payload = value_json(schema, event_of(schema, DEFAULT, after={"id": 1}, op="c", ts_ms=1), INTERNAL) + after
    sink.out("p.public.t").append(opening + b'{"id":1}' + closing, before, payload, OLD_KEY_HEADERS, 9)
    assert encode_headers([(OLD_KEY, OLD_KEY_TEXT)]) in inner.records[0]


@each_case("chain", CHAINS)
@each_case("emulation", [DEFAULT, DEBEZIUM_2_3_4])
@each_case("replace_nulls", ["true", "false"])
def test_a_null_that_has_a_default_is_written_alike(chain: dict[str, str], emulation: Emulation, replace_nulls: str) -> None:
    row = Schema("struct", name="p.public.t.Value", fields=(Field("id", INT64), Field("a", STRING.as_optional().with_default("d"))))
    schema = event_form(emulation).envelope("p.public.t", row)
    converter = ConverterChoice(JSON, {"replace.null.with.default": replace_nulls})
    plan = ConversionPlan(chain, converter, converter, ConverterChoice(SIMPLE), emulation)
    value = event_of(schema, emulation, after={"id": 1, "a": None}, op="c", ts_ms=1)
    assert run(plan, schema, [value], plan.core_settings()[1], short=True) == run(plan, schema, [value], INTERNAL, short=False)


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
