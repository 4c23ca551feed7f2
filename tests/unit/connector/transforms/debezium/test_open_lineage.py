"""OpenLineage: which records it reports. Their forms are in the replay of recorded events."""

from __future__ import annotations

from dataclasses import replace

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.record.schema import INT32, INT64, STRING, Field, Schema
from connector.transforms.debezium.open_lineage import OpenLineage

FIRST = Schema("struct", fields=(Field("id", INT32),))
SECOND = Schema("struct", fields=(Field("id", INT32), Field("more", INT32)))
RECORD = ConnectRecord("orders", STRING, "k", FIRST, {"id": 1}, 0, (), 1)


def seen(*records: ConnectRecord) -> list[tuple[str, Schema]]:
    found: list[tuple[str, Schema]] = []
    transform = OpenLineage.of(Options((), {})).reporting(lambda topic, schema: found.append((topic, schema)))
    assert [transform.apply(record) for record in records] == list(records)
    return found


def test_each_topic_and_schema_is_reported_once() -> None:
    other = replace(RECORD, topic="items")
    changed = replace(RECORD, value_schema=SECOND)
    same = replace(RECORD, value_schema=replace(FIRST))
    assert seen(RECORD, RECORD, other, changed, RECORD, same, other) == [("orders", FIRST), ("items", FIRST), ("orders", SECOND)]


def test_tombstones_heartbeats_and_plain_values_are_not_reported() -> None:
    heartbeat = Schema("struct", name="io.debezium.connector.common.Heartbeat", fields=(Field("ts_ms", INT64),))
    assert (
        seen(
            replace(RECORD, value_schema=None, value=None),
            replace(RECORD, value=None),
            replace(RECORD, value_schema=heartbeat),
            replace(RECORD, value_schema=STRING, value="x"),
        )
        == []
    )


def test_without_what_reports_it_leaves_records_as_they_are() -> None:
    assert OpenLineage.of(Options((), {})).apply(RECORD) is RECORD


def test_many_topics_do_not_fill_the_memory() -> None:
    records = [replace(RECORD, topic=f"t{number}") for number in range(65)]
    found = seen(*records, records[64], records[0])
    assert [topic for topic, _ in found] == [f"t{number}" for number in range(65)] + ["t0"]
