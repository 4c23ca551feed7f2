from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from connector.configdef.options import OptionError, Options
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, Emulation
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import STRING, Field, Schema
from connector.transforms.debezium.outbox.event_router import DEFINITIONS, EventRouter
from tests.support.each_case import each_case
from tests.support.java_replay import Recorded, difference, outcomes, recorded

FILES = ("outbox_recorded.json", "empty_arrays_recorded.json")
RECORDED = [case for name in FILES for case in recorded(Path(__file__).with_name(name))]


@each_case("case", RECORDED, ids=lambda case: f"{case.version} {case.options}")
def test_does_what_the_reference_did(case: Recorded) -> None:
    assert difference(case.answers, outcomes(case, DEFINITIONS)) is None


ROW: Final = Schema(
    "struct",
    optional=True,
    name="p.Value",
    fields=tuple(Field(name, STRING.as_optional()) for name in ("id", "aggregatetype", "aggregateid", "payload")),
)
EVENT: Final = Schema("struct", name="p.Envelope", fields=(Field("before", ROW), Field("after", ROW), Field("op", STRING)))


def router(mode: str, emulation: Emulation = DEBEZIUM_3_7_0) -> EventRouter:
    keys = DEFINITIONS[0].keys_in(emulation.version)
    return EventRouter(Options(keys, {"table.expand.json.payload": "true", "field.name.adjustment.mode": mode}, emulation))


def expanded(transform: EventRouter, payload: str) -> tuple[Any, Any]:
    row = {"id": "1", "aggregatetype": "a", "aggregateid": "2", "payload": payload}
    message = transform.apply(ConnectRecord("t", None, None, EVENT, {"before": None, "after": row, "op": "c"}))
    assert message is not None
    return message.value_schema, message.value


@each_case("emulation", [DEBEZIUM_3_6_3, DEBEZIUM_3_7_0])
@each_case(
    ("mode", "payload", "value"),
    [
        ("none", '{"a-b":1}', {"a-b": 1}),
        ("avro", '{"a-b":1,"ok":"x"}', {"a_b": 1, "ok": "x"}),
        (" AVRO ", '{"1a":1,"a.b":3}', {"_1a": 1, "a_b": 3}),
        ("avro", '{"a-b":{"c-d":1,"e":2}}', {"a_b": {"c_d": 1, "e": 2}}),
        ("avro", '{"l":[{"c-d":1},{"c-d":2}]}', {"l": [{"c_d": 1}, {"c_d": 2}]}),
        ("avro", '{"a-b":1,"a_b":2}', {"a_b": 2}),
        ("avro", '{"a_b":2,"a-b":"1"}', {"a_b": 2}),
        ("avro_unicode", '{"a-b":1,"a_b":2}', {"a_u002db": 1, "a_u005fb": 2}),
    ],
)
def test_names_of_an_expanded_payload_are_adjusted(emulation: Emulation, mode: str, payload: str, value: Any) -> None:
    schema, found = expanded(router(mode, emulation), payload)
    assert found == value
    assert [field.name for field in schema.fields] == list(value)


def test_the_schemas_of_inner_structs_have_the_adjusted_names() -> None:
    schema, _ = expanded(router("avro"), '{"a-b":{"c":1}}')
    assert [field.schema.name for field in schema.fields] == ["payload.a_b"]


def test_version_2_does_not_adjust_names() -> None:
    assert expanded(router("avro", DEBEZIUM_2_3_4), '{"a-b":1}')[1] == {"a-b": 1}


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(OptionError, match="avro_unicode"):
        router("x")


@pytest.mark.parametrize(
    ("table", "kind", "name"), [("p.Value", "first", "p.first.Value"), ("p.Value", None, "p.null.Value"), (None, None, None)]
)
def test_a_tombstone_may_give_its_name_to_the_envelopes_after_it(table: str | None, kind: str | None, name: str | None) -> None:
    schema = replace(ROW, name=table)
    event = replace(EVENT, fields=(Field("before", schema), Field("after", schema), Field("op", STRING)))
    options = {"table.fields.additional.placement": "id:envelope", "route.tombstone.on.empty.payload": "true"}
    transform = EventRouter(Options(DEFINITIONS[0].keys_in(DEBEZIUM_3_6_3.version), options, DEBEZIUM_3_6_3))
    names = []
    for routed, payload in ((kind, " "), ("second", "x")):
        row = {"id": "1", "aggregatetype": routed, "aggregateid": "2", "payload": payload}
        with suppress(DataError):
            message = transform.apply(ConnectRecord("t", None, None, event, {"before": None, "after": row, "op": "c"}))
            assert message is not None
            names.append(message.value_schema and message.value_schema.name)
    assert names == ([None] if kind else []) + [name]
