"""Records that a transform sends to a topic whose name Kafka does not take."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from connector.config.connector_config import parse
from connector.converters.converter import ConverterChoice
from connector.delivery.offsets import Position
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion
from connector.errors import CdcError, ErrorKind
from connector.record.json_converter import around_payload, value_json
from connector.record.schema import INT64, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from connector.runner.sinks.exactly_once import leaves_out
from connector.runner.sinks.function_sink import FunctionSink

ROW = Schema("struct", name="t.Value", fields=(Field("id", INT64),))
JSON = ConverterChoice("org.apache.kafka.connect.json.JsonConverter")
STRING = ConverterChoice("org.apache.kafka.connect.storage.StringConverter")
HEADERS = ConverterChoice("org.apache.kafka.connect.storage.SimpleHeaderConverter")
CONFIG = {
    "name": "c",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
    "transforms": "route",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "bad",
    "transforms.route.replacement": "a b",
}


async def no_schema(*_: Any) -> None:
    raise AssertionError


def append(sink: ConvertingSink, topic: str) -> None:
    before, after = around_payload(ROW, INTERNAL)
    sink.out(topic).append(None, before, value_json(ROW, {"id": 1}, INTERNAL) + after, b"\0", 5)


# StringConverter has no fast path.
@pytest.mark.parametrize("value", [JSON, STRING])
@pytest.mark.parametrize("tolerant", [False, True])
async def test_the_record_is_left_out_only_where_that_is_tolerated(
    value: ConverterChoice, caplog: pytest.LogCaptureFixture, *, tolerant: bool
) -> None:
    caplog.set_level(logging.WARNING)
    config = CONFIG | {"errors.tolerance": "all" if tolerant else "none"}
    counted: list[dict[str, bool]] = []
    kept: list[str] = []
    leave_out = leaves_out(parse(config)[0], lambda **facts: counted.append(facts))
    inner = FunctionSink(lambda topic, _record: kept.append(topic), leave_out=leave_out)
    inner.frontier.begin(0)
    conversion = RecordConversion(ConversionPlan(config, JSON, value, HEADERS), lambda *_, **__: None)
    sink = ConvertingSink(inner, conversion, no_schema)
    append(sink, "good")
    if tolerant:
        append(sink, "bad")
        append(sink, "good")
        sink.send(Position(1, 1))
        await sink.drained()
        assert kept == ["good", "good"]
        assert counted == [{"left_out": True, "logged": True}]
        assert [record.getMessage() for record in caplog.records] == ["record left out"]
        assert sink.reached is not None
    else:
        with pytest.raises(CdcError, match="Kafka does not accept the name of topic 'a b'") as reported:
            append(sink, "bad")
        assert reported.value.kind is ErrorKind.SINK_REFUSED
        assert not counted
    await sink.stop()
    await inner.stop()
