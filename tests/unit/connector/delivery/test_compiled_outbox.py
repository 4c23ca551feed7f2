"""The fast path of an outbox row gives the message that the way by values gives."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.converters.converter import ConverterChoice
from connector.converters.json import JsonConverter
from connector.delivery.compiled_outbox import OutboxPath
from connector.delivery.outbox_message import Expansion
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT, Emulation
from connector.errors import CdcError
from connector.events.envelope import event_form
from connector.io.kafka.sink import KafkaSink
from connector.record.batch import encode_headers
from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.schema import INT32, STRING, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from tests.support.each_case import each_case
from tests.support.envelopes import event_of
from tests.support.kept_records import KeptRecords
from tests.support.old_key_headers import OLD_KEY_HEADERS

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
OUTBOX = "io.debezium.transforms.outbox.EventRouter"
TOPIC = "p.public.outbox"
KEY = Schema("struct", name="p.public.outbox.Key", fields=(Field("id", STRING),))
MICROS = Schema("int64", name="io.debezium.time.MicroTimestamp", version=1, optional=True)
ROW = Schema(
    "struct",
    name="p.public.outbox.Value",
    fields=(
        Field("id", Schema("string", name="io.debezium.data.Uuid", version=1)),
        Field("aggregatetype", STRING),
        Field("aggregateid", STRING.as_optional()),
        Field("type", STRING.as_optional()),
        Field("payload", Schema("string", name="io.debezium.data.Json", version=1, optional=True)),
        Field("number", INT32.as_optional()),
        Field("at", MICROS),
    ),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(['"op":"d","ts_ms":1,', "é", "\x01", "😀", ""])
NUMBERS = st.integers(-3, 3) | st.sampled_from([2**31, -(2**63), 2**63, 2**70]) | st.sampled_from([0.0, -0.0, 1.5, 1e-4, 1e7, 39.98])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["a", "b"]), inner, max_size=3),
    max_leaves=8,
)
PAYLOADS = st.one_of(
    st.none(),
    TEXT,
    DOCUMENTS.map(json.dumps),
    DOCUMENTS.map(lambda document: json.dumps(document, ensure_ascii=False)),
    st.sampled_from(
        [
            '{"a":1} and more',
            '{"a":1,"a":"x"}',
            '{"a":NaN}',
            '{"a":"\\ud800"}',
            "{",
            "[]",
            "{}",
            '{"a":-0,"b":1E3}',
            " {}",
            " ",
            "\t\r\n\x01",
            "\u2003",
        ]
    ),
)
ROUTER = {
    "type": "org.apache.kafka.connect.transforms.RegexRouter",
    "regex": "(.*)",
    "replacement": "x.$1",
}
OPTIONS = [
    ("table.expand.json.payload", ["true", "false"]),
    ("table.json.payload.null.behavior", ["ignore", "optional_bytes"]),
    ("field.name.adjustment.mode", ["none", "avro"]),
    ("route.tombstone.on.empty.payload", ["true", "false"]),
    ("table.fields.additional.placement", ["type:header:kind", "type:header,number:header:n", "number:partition", "type:envelope"]),
    ("table.field.event.key", ["id", "number", "none"]),
    ("table.field.event.timestamp", ["at", "number"]),
    ("route.by.field", ["type"]),
    ("route.topic.replacement", ["${routedByValue}-events", "fixed"]),
]


@st.composite
def plans(draw: st.DrawFn) -> ConversionPlan:
    config = {"transforms.o.type": OUTBOX}
    config |= {f"transforms.o.{name}": draw(st.sampled_from(values)) for name, values in OPTIONS if draw(st.booleans())}
    chain = draw(st.sampled_from(["o", "o,r", "r,o"]))
    config |= {"transforms": chain, **{f"transforms.r.{name}": value for name, value in ROUTER.items()}}
    if draw(st.booleans()):
        pattern = draw(st.sampled_from(["p.*", "x.*", "outbox.*"]))
        config |= {"transforms.r.predicate": "x", "predicates": "x", "predicates.x.pattern": pattern}
        config |= {"predicates.x.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"}
    choices = [
        ConverterChoice(JSON, {"schemas.enable": "true"}),
        ConverterChoice(JSON, {"schemas.enable": "false"}),
        ConverterChoice(STRINGS),
    ]
    key, value = draw(st.sampled_from(choices)), draw(st.sampled_from(choices))
    return ConversionPlan(config, key, value, ConverterChoice(SIMPLE), draw(st.sampled_from([DEFAULT, DEBEZIUM_2_3_4])))


ROWS = st.fixed_dictionaries(
    {
        "id": TEXT,
        "aggregatetype": st.sampled_from(["order", "customer"]) | TEXT,
        "aggregateid": st.none() | TEXT,
        "type": st.none() | TEXT,
        "payload": PAYLOADS,
        "number": st.none() | st.integers(-5, 5),
        "at": st.none() | st.integers(-2_000_000, 2_000_000),
    }
)


def event(emulation: Emulation, row: dict[str, Any], op: str) -> tuple[bytes, bytes]:
    """The prefix, and the rest of an event as the core writes it."""
    schema = event_form(emulation).envelope(TOPIC, ROW)
    before, after = around_payload(schema, INTERNAL)
    return before, value_json(schema, event_of(schema, emulation, after=row, op=op, ts_ms=1_700_000_000_123), INTERNAL) + after


def sent(plan: ConversionPlan, events: list[tuple[bytes, bytes]], headers: bytes, *, short: bool) -> list[Any] | str:
    """What reaches Kafka, or the error."""
    conversion = RecordConversion(plan, lambda _event, /, **_fields: None)
    if not short:
        conversion._outbox = None
    kept = KeptRecords()
    out = ConvertingSink(cast("KafkaSink", kept), conversion, cast("Any", None)).out(TOPIC)
    opening, closing = around_payload(KEY, INTERNAL)
    try:
        for prefix, payload in events:
            out.append(opening + b'{"id":"1"}' + closing, prefix, payload, headers, 9)
    except CdcError as error:
        return str(error)
    return kept.records


HEADERS = [b"\0", encode_headers([("__debezium.context.connectorName", b"p")]), OLD_KEY_HEADERS]


@given(plans(), st.lists(ROWS, min_size=1, max_size=3), st.sampled_from("crud"), st.sampled_from(HEADERS))
def test_both_ways_give_the_same_message(plan: ConversionPlan, rows: list[dict[str, Any]], op: str, headers: bytes) -> None:
    events = [event(plan.emulation, row, op) for row in rows]
    assert sent(plan, events, headers, short=True) == sent(plan, events, headers, short=False)


ROW_OF_AN_ORDER = {
    "id": "7",
    "aggregatetype": "order",
    "aggregateid": "4711",
    "type": "created",
    "payload": '{"id": 1, "lines": [{"item": "é", "price": 39.98}, {"item": "b", "price": 1.0}], "none": null}',
    "number": 3,
    "at": 5_000_999,
}


def path_of(config: dict[str, str], key: str = STRINGS, value: str = JSON) -> OutboxPath | None:
    plan = ConversionPlan(
        {"transforms": "o", "transforms.o.type": OUTBOX, **config}, ConverterChoice(key), ConverterChoice(value), ConverterChoice(SIMPLE)
    )
    conversion = RecordConversion(plan, lambda _event, /, **_fields: None)
    found = conversion.fast_path(TOPIC, event(DEFAULT, ROW_OF_AN_ORDER, "c")[0], None)
    assert found is None or isinstance(found, OutboxPath)
    return found


def test_a_json_payload_becomes_a_document_without_its_nulls() -> None:
    path = path_of({"transforms.o.table.expand.json.payload": "true", "transforms.o.table.field.event.timestamp": "at"})
    assert path is not None
    for text in ("é", "è"):
        row = ROW_OF_AN_ORDER | {"payload": str(ROW_OF_AN_ORDER["payload"]).replace("é", text)}
        message = path.message(event(DEFAULT, row, "c")[1], b"\0")
        assert message is not None
        topic, (key, prefix, payload, headers, timestamp) = message
        assert (topic, key, timestamp) == ("outbox.event.order", b"4711", 5_000)
        assert headers == encode_headers([("id", b"7")])
        written = (prefix + (payload or b"")).decode()
        assert '"name":"payload.lines"' in written
        lines = f'[{{"item":"{text}","price":39.98}},{{"item":"b","price":1.0}}]'
        assert written.endswith(f'"payload":{{"id":1,"lines":{lines}}}}}')


@each_case(("payload", "tombstone"), [(None, True), ("", True), (" \n\x01", True), ("\u2003", False), (" x", False)])
@each_case("expands", ["true", "false"])
def test_a_payload_of_blanks_becomes_a_tombstone(payload: str | None, tombstone: bool, expands: str) -> None:
    config = {"transforms.o.route.tombstone.on.empty.payload": "true", "transforms.o.table.expand.json.payload": expands}
    path = path_of(config, value=STRINGS if expands == "false" else JSON)
    assert path is not None
    message = path.message(event(DEFAULT, ROW_OF_AN_ORDER | {"payload": payload}, "c")[1], b"\0")
    # Without a message here, the row goes by way of values.
    assert message is None or (message[1][2] is None) is tombstone
    assert message is not None or not tombstone


@each_case(
    ("config", "key", "value"),
    [
        ({"transforms.o.table.fields.additional.placement": "type:envelope"}, STRINGS, JSON),
        ({"transforms.o.table.fields.additional.placement": "number:partition"}, STRINGS, JSON),
        ({"transforms.o.table.field.event.key": "missing"}, STRINGS, JSON),
        ({"transforms.o.table.field.event.timestamp": "number"}, STRINGS, JSON),
        ({"transforms.o.table.expand.json.payload": "true"}, STRINGS, STRINGS),
        ({"transforms.o.table.expand.json.payload": "true", "transforms.o.field.name.adjustment.mode": "avro"}, STRINGS, JSON),
        ({"transforms.o.tracing.span.context.field": "type"}, STRINGS, JSON),
        ({"transforms.o.tracing.with.context.field.only": "false"}, STRINGS, JSON),
        ({}, "io.debezium.converters.BinaryDataConverter", JSON),
        (
            {"transforms": "o,m", "transforms.m.type": "org.apache.kafka.connect.transforms.DropHeaders", "transforms.m.headers": "id"},
            STRINGS,
            JSON,
        ),
    ],
)
def test_what_depends_on_more_has_no_fast_path(config: dict[str, str], key: str, value: str) -> None:
    assert path_of(config, key, value) is None


@pytest.mark.parametrize(
    "payload",
    ['{"a": 1e400}', '{"a": "\\u0001"}', '{"a": 9223372036854775808}', '{"a": 18446744073709551616}', '{"a": [1, "x"]}', "[1]", "{"],
)
def test_a_payload_that_depends_on_more_than_its_shape_goes_by_way_of_values(payload: str) -> None:
    path = path_of({"transforms.o.table.expand.json.payload": "true"})
    assert path is not None
    assert path.message(event(DEFAULT, ROW_OF_AN_ORDER | {"payload": payload}, "c")[1], b"\0") is None


def test_a_double_with_an_exponent_is_written_as_java_writes_it() -> None:
    path = path_of({"transforms.o.table.expand.json.payload": "true"})
    assert path is not None
    payload = '{"a": 15000000.5, "b": 1.5, "c": 0.0001}'
    message = path.message(event(DEFAULT, ROW_OF_AN_ORDER | {"payload": payload}, "c")[1], b"\0")
    assert message is not None
    _, (_, _, value, _, _) = message
    assert value is not None
    assert b'{"a":1.50000005E7,"b":1.5,"c":1.0E-4}' in value


WITHOUT_SCHEMAS = JsonConverter(ConverterSettings(schemas_enable=False))


@pytest.mark.parametrize(
    "write",
    [
        lambda: Expansion(b"", b"", None, bytes).written({"a": "an order"}),
        lambda: WITHOUT_SCHEMAS.convert(TOPIC, STRING, "an order", ()).payload,
        lambda: WITHOUT_SCHEMAS.convert(TOPIC, None, "an order", ()).payload,
    ],
)
def test_what_waits_to_be_sent_takes_no_more_memory_than_its_bytes(write: Callable[[], bytes]) -> None:
    tracemalloc.start()
    try:
        waiting = [write() for _ in range(1_000)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 200 * len(waiting)


@pytest.mark.parametrize("op", ["u", "d", "t"])
def test_only_inserted_and_read_rows_become_messages(op: str) -> None:
    path = path_of({})
    assert path is not None
    assert path.message(event(DEFAULT, ROW_OF_AN_ORDER, op)[1], b"\0") is None
