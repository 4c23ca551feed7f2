"""Transforms report what they drop or leave as it is: once for each topic and kind, and without values."""

from __future__ import annotations

from typing import Any

import pytest

from connector.converters.converter import ConverterChoice
from connector.delivery.record_conversion import ConversionPlan, RecordConversion
from connector.record.connect_record import ConnectRecord
from connector.record.schema import INT64, STRING, Field, Schema
from connector.transforms.reports import Reports

CHOICE = ConverterChoice("org.apache.kafka.connect.json.JsonConverter")
SIMPLE = ConverterChoice("org.apache.kafka.connect.storage.SimpleHeaderConverter")
ROUTER = "io.debezium.transforms.outbox.EventRouter"


class Log:
    """Keeps what is written: level, words and fields."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def warn(self, event: str, /, **fields: object) -> None:
        self.lines.append(("warn", event, fields))

    def error(self, event: str, /, **fields: object) -> None:
        self.lines.append(("error", event, fields))


def conversion(log: Log, name: str, **options: str) -> RecordConversion:
    named = {f"transforms.t.{option.replace('_', '.')}": value for option, value in options.items()}
    plan = ConversionPlan({"transforms": "t", "transforms.t.type": name, **named}, CHOICE, CHOICE, SIMPLE)
    return RecordConversion(plan, log.warn, log.error)


def event(operation: str, payload: object, schema: Schema = STRING, topic: str = "p.public.outbox") -> ConnectRecord:
    row = Schema(
        "struct",
        name=f"{topic}.Value",
        optional=True,
        fields=(*(Field(name, STRING) for name in ("id", "aggregateid", "aggregatetype")), Field("payload", schema.as_optional())),
    )
    fields = (Field("before", row), Field("after", row), Field("op", STRING), Field("ts_ms", INT64.as_optional()))
    after = {"id": "1", "aggregateid": "a", "aggregatetype": "order", "payload": payload}
    value: dict[str, Any] = {"before": None, "after": after, "op": operation, "ts_ms": 1}
    return ConnectRecord(topic, None, None, Schema("struct", name=f"{topic}.Envelope", fields=fields), value)


@pytest.mark.parametrize("behaviour", ["warn", "error"])
def test_an_update_of_an_outbox_row_is_dropped_and_reported_once_with_the_level_of_the_option(behaviour: str) -> None:
    log = Log()
    made = conversion(log, ROUTER, table_op_invalid_behavior=behaviour)
    assert [made.transform(event("u", "secret", topic=topic)) for topic in ("p.a", "p.a", "p.b")] == [None, None, None]
    assert log.lines == [
        (behaviour, "update of an outbox row dropped", {"transform": "t", "topic": "p.a"}),
        (behaviour, "update of an outbox row dropped", {"transform": "t", "topic": "p.b"}),
    ]


@pytest.mark.parametrize(
    ("payload", "schema", "reported"),
    [
        ('{"a": 1}', STRING, []),
        (None, STRING, []),
        ("secret", STRING, ["outbox payload is not JSON with a schema, it is not expanded"]),
        (7, INT64, ["outbox payload is no text, it is not expanded"]),
    ],
)
def test_a_payload_that_cannot_be_expanded_is_reported(payload: object, schema: Schema, reported: list[str]) -> None:
    log = Log()
    made = conversion(log, ROUTER, table_expand_json_payload="true")
    assert all(made.transform(event("c", payload, schema)) is not None for _ in range(2))
    assert [(words, fields["column"]) for _, words, fields in log.lines] == [(words, "payload") for words in reported]
    assert "secret" not in str(log.lines)


def test_a_topic_that_becomes_empty_is_reported_and_one_that_does_not_match_is_not() -> None:
    log = Log()
    made = conversion(log, "io.debezium.transforms.ByLogicalTableRouter", topic_regex="p\\.x(.*)", topic_replacement="$1")
    kept = [made.transform(ConnectRecord(topic)) for topic in ("p.x", "p.x", "q")]
    assert [record and record.topic for record in kept] == ["p.x", "p.x", "q"]
    assert log.lines == [("warn", "routed topic is empty, the record keeps its topic", {"transform": "t", "topic": "p.x"})]


def test_reports_are_limited_and_need_a_log() -> None:
    log, reports = Log(), Reports()
    reports("dropped", "t")
    reports.bind("a", log.warn, log.error)
    for number in range(2_000):
        reports("dropped", f"t{number}")
    assert len(log.lines) == 1_000
