"""Measures the CPU time of an event from the frame of the replication stream to the bytes of its record, by chain and converter.

    python -m tests.support.row_bench [--rows 100]

Inserts of ten columns, or of an outbox with a payload of 16 members, in transactions of ``--rows`` rows; neither PostgreSQL nor Kafka takes
part. Prints the least of many runs, in microseconds for each event, because other programs can only add to it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, cast
from unittest import mock
from zlib import crc32

from connector.catalog.table import CatalogTable
from connector.converters.converter import ConverterChoice, SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry
from connector.delivery.record_conversion import ConversionPlan, RecordConversion
from connector.events.encoders import EventColumn, TableEncoder
from connector.events.envelope import TableSource, event_form
from connector.events.live_table import LiveTable
from connector.events.stream import Stream
from connector.events.stream_settings import StreamSettings
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_out import TopicOut
from connector.record.batch import RecordBatch, encode_headers
from connector.runner.sinks.converting_sink import ConvertingSink
from connector.types.codec import Column, TypeSettings
from connector.types.registry import resolve
from tests.support.column_kinds import KINDS
from tests.support.stream_rig import NOW_NS, Failures, relation_of
from tests.support.wal_script import WalScript

_RUNS: Final = 300
_TOPIC: Final = "p.bench.orders"
_HEADERS: Final = encode_headers([("__debezium.context.connectorName", b"p")])
_JSON: Final = ConverterChoice("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"})
_AVRO: Final = ConverterChoice("io.apicurio.registry.utils.converter.AvroConverter", {"apicurio.registry.url": "http://127.0.0.1:1"})
_SIMPLE: Final = ConverterChoice("org.apache.kafka.connect.storage.SimpleHeaderConverter")
_UNWRAP: Final = {"transforms": "t", "transforms.t.type": "io.debezium.transforms.ExtractNewRecordState"}
_ROUTE: Final = {
    "transforms": "t",
    "transforms.t.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.t.regex": "(.*)",
    "transforms.t.replacement": "x.$1",
}
_LOGICAL: Final = {
    "transforms": "t",
    "transforms.t.type": "io.debezium.transforms.ByLogicalTableRouter",
    "transforms.t.topic.regex": "(.*)orders",
    "transforms.t.topic.replacement": "$1all",
}
_HEADER: Final = {
    "transforms": "t",
    "transforms.t.type": "org.apache.kafka.connect.transforms.InsertHeader",
    "transforms.t.header": "h",
    "transforms.t.value.literal": "v",
}
_OUTBOX: Final = {
    "transforms": "t",
    "transforms.t.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.t.table.expand.json.payload": "true",
}

_ORDERS: Final = (
    Column("id", 20, not_null=True),
    Column("customer_id", 23, not_null=True),
    Column("status", 25, not_null=True),
    Column("amount", 1700, (12 << 16 | 2) + 4, not_null=True),
    Column("note", 1043, 204),
    Column("created_at", 1184, not_null=True),
    Column("updated_at", 1114),
    Column("active", 16),
    Column("qty", 21),
    Column("score", 701),
)
_MESSAGES: Final = (
    Column("id", 20, not_null=True),
    Column("aggregatetype", 25, not_null=True),
    Column("aggregateid", 25, not_null=True),
    Column("type", 25, not_null=True),
    Column("payload", 3802, not_null=True),
)


def _order(at: int) -> tuple[str, ...]:
    made = f"2026-11-24 12:00:{at % 60:02}.123456"
    return (str(at), str(at % 10_000), "paid", f"{at % 1000}.25", f"order note number {at}", f"{made}+00", made, "t", str(at % 100), "1.5")


def _message(at: int) -> tuple[str, ...]:
    texts = {name: f"{name} {at}" for name in ("status", "note", "made", "country", "city", "zip", "channel", "coupon")}
    numbers = dict.fromkeys(("id", "customer", "qty", "lines", "tax"), at % 1000)
    payload = {**texts, **numbers, "amount": 10.25, "score": 1.5, "active": True}
    return (str(at), "order", str(at % 100), "placed", json.dumps(payload))


def _table(described: Sequence[Column]) -> tuple[CatalogTable, list[EventColumn]]:
    columns = []
    for index, column in enumerate(described):
        codec = resolve(column, KINDS, TypeSettings())
        if codec is None:
            raise AssertionError(column)
        columns.append(EventColumn(column.name, index, codec, codec.schema.as_optional(not column.not_null), column.not_null))
    return CatalogTable(7, "bench", "orders", tuple(described), ("id",)), columns


class _Topics:
    """A sink's inner side: the topics' real batches, which are never sent."""

    stores_offsets = False

    def __init__(self) -> None:
        self.outs: dict[str, TopicOut] = {}

    def out(self, topic: str, *, apart: bool = False) -> TopicOut:
        if topic not in self.outs:
            self.outs[topic] = TopicOut(topic, {}, apart=apart)
            self.outs[topic].resolve(1)
        return self.outs[topic]

    def emptied(self) -> int:
        count = 0
        for out in self.outs.values():
            count += len(out.partitions[0].batch.records)
            out.partitions[0].batch = RecordBatch()
            out.rest()
        return count


def _least(described: Sequence[Column], rows: Sequence[Sequence[str]], config: dict[str, str] | None, value: ConverterChoice) -> float:
    """Return the microseconds of CPU for each row. ``config`` is None for a connector whose records are not converted at all."""
    plan = ConversionPlan(config or {}, value, value, _SIMPLE)
    table, columns = _table(described)
    form = event_form(plan.emulation)
    encoder = TableEncoder(table, _TOPIC, columns, columns[:1], *plan.core_settings(), form)
    source = TableSource.of(server="p", database="d", schema="bench", table="orders", form=form)
    topics = _Topics()
    stream = Stream(StreamSettings(form=form, headers=_HEADERS), last_commit=None, resume=None, warn=Failures())
    if config is None:
        live = LiveTable(encoder, source, topics.out(_TOPIC))
    else:
        conversion = RecordConversion(plan, lambda _event, /, **_fields: None)
        out = ConvertingSink(cast("KafkaSink", topics), conversion, cast("Any", None)).out(_TOPIC)
        live = LiveTable(encoder, source, out)
        live.direct = out.rows(encoder)
    relation = relation_of(table)
    stream.adopt(relation, live)
    wal = WalScript()
    found = []
    for _ in range(_RUNS):
        wal.begin()
        for row in rows:
            wal.insert(relation, *row)
        wal.commit()
        frames = wal.take()
        begun = time.process_time_ns()
        stream.feed(frames, NOW_NS)
        found.append(time.process_time_ns() - begun)
        if topics.emptied() != len(rows):
            raise AssertionError("Rows and records differ")
    return min(found) / 1000 / len(rows)


def main() -> None:
    """Print a line for each chain."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=100, help="rows of a transaction")
    count = parser.parse_args().rows
    orders, messages = [_order(at) for at in range(count)], [_message(at) for at in range(count)]

    def answer(_registry: Registry, request: SchemaRequest) -> RegisteredSchema:
        number = crc32(repr(request).encode())
        return RegisteredSchema(number, number, "00000000-0000-0000-0000-000000000001")

    cases: list[tuple[str, Sequence[Column], Sequence[Sequence[str]], dict[str, str] | None, ConverterChoice]] = [
        ("no transform, JSON", _ORDERS, orders, None, _JSON),
        ("ExtractNewRecordState, JSON", _ORDERS, orders, _UNWRAP, _JSON),
        ("RegexRouter, JSON", _ORDERS, orders, _ROUTE, _JSON),
        ("ByLogicalTableRouter, JSON", _ORDERS, orders, _LOGICAL, _JSON),
        ("EventRouter with an expanded payload, JSON", _MESSAGES, messages, _OUTBOX, _JSON),
        ("InsertHeader, JSON", _ORDERS, orders, _HEADER, _JSON),
        ("no transform, Avro", _ORDERS, orders, {}, _AVRO),
        ("ExtractNewRecordState, Avro", _ORDERS, orders, _UNWRAP, _AVRO),
        ("InsertHeader, Avro", _ORDERS, orders, _HEADER, _AVRO),
    ]
    with mock.patch.object(Registry, "schema", answer):
        for name, described, rows, config, value in cases:
            sys.stdout.write(f"{_least(described, rows, config, value):6.1f}  {name}\n")


if __name__ == "__main__":
    main()
