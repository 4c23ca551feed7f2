"""The fast path of an event to Avro gives the bytes that the way by values gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.converters.avro.binary import long
from connector.converters.converter import ConverterChoice, SchemaNeededError, SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry
from connector.delivery.compiled_avro import AvroPath
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_7_0, DEFAULT, Emulation
from connector.errors import CdcError
from connector.events.envelope import SourceFacts, SourceText, TableSource, event_form
from connector.io.kafka.sink import KafkaSink
from connector.record.batch import encode_headers
from connector.record.json_converter import around_payload, value_json
from connector.record.schema import INT64, STRING, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from tests.support.event_cases import CHAINS, tables
from tests.support.kept_records import KeptRecords
from tests.support.old_key_headers import OLD_KEY_HEADERS

CONFLUENT = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
TOPIC = "p.public.t"
KEY = Schema("struct", name="p.public.t.Key", fields=(Field("id", INT64),))
CHOICES = [
    (CONFLUENT, {"schema.registry.url": "http://127.0.0.1:1"}),
    (CONFLUENT, {"schema.registry.url": "http://127.0.0.1:1", "ignore.default.for.nullables": "true"}),
    (CONFLUENT, {"schema.registry.url": "http://127.0.0.1:1", "enhanced.avro.schema.support": "true"}),
    (APICURIO, {"apicurio.registry.url": "http://127.0.0.1:1"}),
]
HEADERS = [b"\0", encode_headers([("__debezium.context.connectorName", b"p")]), OLD_KEY_HEADERS]
LSNS = st.integers(1, 2**63 - 1) | st.sampled_from([1, 9, 10, 99, 100])


@pytest.fixture(autouse=True, scope="module")
def answers() -> Iterator[None]:
    """A registry that knows every schema."""

    def answer(_registry: Registry, request: SchemaRequest) -> RegisteredSchema:
        number = crc32(repr(request).encode())
        return RegisteredSchema(number, number, "00000000-0000-0000-0000-000000000001")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "schema", answer)
        yield


@st.composite
def plans(draw: st.DrawFn) -> ConversionPlan:
    value, options = draw(st.sampled_from(CHOICES))
    key = draw(st.sampled_from([ConverterChoice(value, options), ConverterChoice(STRINGS), ConverterChoice(JSON)]))
    config = draw(st.sampled_from([{}, *CHAINS]))
    emulation = draw(st.sampled_from([DEFAULT, DEBEZIUM_2_3_4, DEBEZIUM_3_7_0]))
    return ConversionPlan(config, key, ConverterChoice(value, options), ConverterChoice(SIMPLE), emulation)


@st.composite
def ends(draw: st.DrawFn, emulation: Emulation) -> list[bytes]:
    """What follows the rows of some transactions."""
    form = event_form(emulation)
    source = TableSource.of(server="p", database='d"b', schema="public", table="t", defaults=False, form=form)
    found = []
    for _ in range(draw(st.integers(1, 2))):
        txid = draw(st.none() | st.integers(1, 2**32))
        facts = SourceFacts(draw(st.integers(0, 2**50)), txid, draw(st.none() | LSNS), draw(st.none() | st.integers(0, 9)))
        if draw(st.booleans()):
            facts = SourceFacts(facts.ts_us, txid, facts.last_commit, facts.xmin, ("origin", draw(LSNS)))
        text = SourceText(source, facts, draw(st.sampled_from(["false", "true", "last"])))
        before, after = form.around_transaction(draw(st.sampled_from([b"c", b"r", b"u"])), draw(st.integers(0, 2**60)))
        block = draw(st.sampled_from([b"null", b'{"id":"7:1","total_order":1,"data_collection_order":1}']))
        found += [
            b"%b%d%b%d%b%b%b%b" % (text.head, lsn, text.middle, lsn, text.tail, before, block, after)
            for lsn in draw(st.lists(LSNS, min_size=1, max_size=5))
        ]
    return found


def written(
    plan: ConversionPlan, row: Schema, rows: list[dict[str, Any]], tails: list[bytes], headers: bytes, *, short: bool
) -> list[Any] | str:
    """What reaches Kafka, or the error."""
    conversion = RecordConversion(plan, lambda _event, /, **_fields: None)
    if not short:
        conversion._avro = None
    kept = KeptRecords()
    out = ConvertingSink(cast("KafkaSink", kept), conversion, cast("Any", None)).out(TOPIC)
    before, after = around_payload(event_form(plan.emulation).envelope(TOPIC, row), INTERNAL)
    opening, closing = around_payload(KEY, INTERNAL)
    texts = [value_json(row, value, INTERNAL) for value in rows]
    payloads = [b'{"before":null,"after":%b%b%b' % (texts[at % len(texts)], tail, after) for at, tail in enumerate(tails)]
    keys = [b'%b{"id":%d}%b' % (opening, at, closing) for at in range(len(tails))]
    try:
        out.extend(keys[1:], before, payloads[1:], headers, 9)
        out.append(keys[0], before, payloads[0], headers, 9)
    except CdcError as error:
        return str(error)
    return kept.records


@given(plans(), tables(), st.data(), st.sampled_from(HEADERS))
def test_both_ways_give_the_same_bytes(
    plan: ConversionPlan, table: tuple[Schema, list[dict[str, Any]]], data: st.DataObject, headers: bytes
) -> None:
    row, rows = table
    tails = data.draw(ends(plan.emulation))
    assert written(plan, row, rows, tails, headers, short=True) == written(plan, row, rows, tails, headers, short=False)


ROW = Schema("struct", name="p.public.t.Value", fields=(Field("id", INT64), Field("name", STRING.as_optional())))


def path_of(config: dict[str, str], value: dict[str, str], row: Schema = ROW) -> AvroPath | None:
    choice = ConverterChoice(CONFLUENT, {"schema.registry.url": "http://127.0.0.1:1", **value})
    conversion = RecordConversion(ConversionPlan(config, choice, choice, ConverterChoice(SIMPLE)), lambda _event, /, **_fields: None)
    before, _ = around_payload(event_form(DEFAULT).envelope(TOPIC, row), INTERNAL)
    opening, closing = around_payload(KEY, INTERNAL)
    found = conversion.fast_path(TOPIC, before, opening + b'{"id":1}' + closing)
    assert found is None or isinstance(found, AvroPath)
    return found


def event(after: bytes, lsn: int, head: bytes = b'{"before":null,"after":') -> bytes:
    form = event_form(DEFAULT)
    text = SourceText(TableSource.of(server="p", database="d", schema="public", table="t", form=form), SourceFacts(5, 6, 7))
    return b"%b%b%b%d%b%d%b%b}" % (head, after, text.head, lsn, text.middle, lsn, text.tail, form.end(b"u", 8))


def test_the_bytes_around_the_lsn_are_kept_within_a_transaction() -> None:
    path = path_of({}, {})
    assert path is not None
    opening, closing = around_payload(KEY, INTERNAL)
    key = opening + b'{"id":1}' + closing
    found = path.records([key] * 3, [event(b'{"id":1,"name":null}', lsn) for lsn in (10, 11, 12)], b"\0")
    assert found is not None
    first, second, third = found
    assert (first.payload[-1:], len({first.payload, second.payload, third.payload})) == (third.payload[-1:], 3)
    assert third.payload == second.payload.replace(b'"11"]', b'"12"]').replace(b"\2\x16", b"\2\x18")


@pytest.mark.parametrize(
    "payload",
    [
        event(b'{"id":1,"name":"x"}', 5, b'{"before":{"id":1,"name":null},"after":'),
        event(b"null", 5),
        event(b'{"id":"x","name":"x"}', 5),
        event(b'{"name":"x"}', 5),
    ],
)
def test_other_events_go_by_way_of_values(payload: bytes) -> None:
    path = path_of({}, {})
    assert path is not None
    opening, closing = around_payload(KEY, INTERNAL)
    assert path.record(opening + b'{"id":1}' + closing, payload, b"\0") is None


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ({"transforms": "f", "transforms.f.type": "org.apache.kafka.connect.transforms.Flatten$Value"}, {}),
        ({**CHAINS[1], "transforms.u.route.by.field": "name"}, {}),
        ({}, {"value.schema.id.serializer": "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"}),
    ],
)
def test_what_depends_on_more_than_the_event_has_no_fast_path(config: dict[str, str], value: dict[str, str]) -> None:
    assert path_of(config, value) is None


async def test_no_event_overtakes_one_that_waits_for_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    known: set[SchemaRequest] = set()

    def answer(registry: Registry, request: SchemaRequest) -> RegisteredSchema:
        if request not in known:
            raise SchemaNeededError(registry, request)
        return RegisteredSchema(7)

    async def resolve(_registry: object, request: SchemaRequest) -> None:
        known.add(request)

    monkeypatch.setattr(Registry, "schema", answer)
    choice = ConverterChoice(CONFLUENT, {"schema.registry.url": "http://127.0.0.1:1"})
    conversion = RecordConversion(ConversionPlan({}, choice, choice, ConverterChoice(SIMPLE)), lambda _event, /, **_fields: None)
    kept = KeptRecords()
    sink = ConvertingSink(cast("KafkaSink", kept), conversion, resolve)
    before, _ = around_payload(event_form(DEFAULT).envelope(TOPIC, ROW), INTERNAL)
    opening, closing = around_payload(KEY, INTERNAL)

    def append(number: int) -> None:
        payload = event(b'{"id":%d,"name":null}' % number, number)
        sink.out(TOPIC).append(opening + b'{"id":%d}' % number + closing, before, payload, b"\0", 9)

    append(1)
    # The registry answers before the first event is written.
    monkeypatch.setattr(Registry, "schema", lambda _registry, _request: RegisteredSchema(7))
    append(2)
    assert kept.records == []
    await sink.drained()
    append(3)
    assert [key for _, key, *_ in kept.records] == [b"\0\0\0\0\7" + long(number) for number in (1, 2, 3)]


async def test_a_key_whose_newest_schema_was_forgotten_waits_for_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[SchemaRequest, RegisteredSchema] = {}
    keys: list[Registry] = []

    def answer(registry: Registry, request: SchemaRequest) -> RegisteredSchema:
        if request not in known:
            raise SchemaNeededError(registry, request)
        return known[request]

    async def resolve(registry: Registry, request: SchemaRequest) -> None:
        if registry.newest_seconds == 60:
            keys.append(registry)
        known[request] = RegisteredSchema(len(keys))

    monkeypatch.setattr(Registry, "schema", answer)
    url = {"schema.registry.url": "http://127.0.0.1:1"}
    newest = {"auto.register.schemas": "false", "use.latest.version": "true", "latest.cache.ttl.sec": "60"}
    key = ConverterChoice("io.confluent.connect.json.JsonSchemaConverter", url | newest)
    plan = ConversionPlan({}, key, ConverterChoice(CONFLUENT, url), ConverterChoice(SIMPLE))
    kept = KeptRecords()
    sink = ConvertingSink(cast("KafkaSink", kept), RecordConversion(plan, lambda _event, /, **_fields: None), resolve)
    before, _ = around_payload(event_form(DEFAULT).envelope(TOPIC, ROW), INTERNAL)
    opening, closing = around_payload(KEY, INTERNAL)

    def append(number: int) -> None:
        payload = event(b'{"id":%d,"name":null}' % number, number)
        sink.out(TOPIC).append(opening + b'{"id":%d}' % number + closing, before, payload, b"\0", 9)

    append(1)
    await sink.drained()
    append(2)
    assert any(sink.out(TOPIC)._short.values()), "The events have the fast path"
    known.clear()
    keys[0].forget_newest()
    append(3)
    append(4)
    assert len(kept.records) == 2
    await sink.drained()
    append(5)
    assert [key for _, key, *_ in kept.records] == [
        b'\0\0\0\0%c{"id":%d}' % (schema_id, number) for number, schema_id in enumerate((1, 1, 2, 2, 2), 1)
    ]


def test_there_is_no_fast_path_until_the_registry_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def unanswered(registry: Registry, request: SchemaRequest) -> RegisteredSchema:
        raise SchemaNeededError(registry, request)

    monkeypatch.setattr(Registry, "schema", unanswered)
    with pytest.raises(SchemaNeededError):
        path_of({}, {})
