"""Tables out of hand-made events, without Kafka."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from py4j.protocol import Py4JJavaError

from workers.spark.__main__ import failure_sentence
from workers.spark.catalog import CatalogColumn
from workers.spark.comparison import EQUAL, ONLY_SOURCE, ONLY_TOPIC, compare, table_text
from workers.spark.envelope import Column, changes, columns_of, outlined, survey
from workers.spark.kinds import UNAVAILABLE, kind_of
from workers.spark.rebuild import rebuild
from workers.spark.source import bare_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, object]
Record = tuple[Json | None, Json | None]
"""Key and value of a record."""

RECORDS = "topic string, partition int, offset bigint, timestamp timestamp, key string, value string"
TOPIC = "shop.public.items"
ID: Json = {"type": "int32", "optional": False, "field": "id"}
NAME: Json = {"type": "string", "optional": True, "field": "name"}


def price(scale: int) -> Json:
    parameters = {"scale": str(scale), "connect.decimal.precision": "10"}
    return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters, "field": "price"}


def cents(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(4, "big", signed=True)).decode()


class Log:
    """Writes a topic: envelopes with the schema embedded while ``fields`` is set, bare ones while it is None."""

    def __init__(self, fields: Sequence[Json] | None = (ID, NAME), *, keyed: bool = True) -> None:
        self.fields = fields
        self.keyed = keyed
        self.lsn = 100
        self.rows: list[tuple[str, int, int, datetime, str | None, str | None]] = []

    def change(self, op: str, row: Json | None, key: Json | None = None, *, partition: int = 0) -> None:
        self.lsn += 8
        source = {"schema": "public", "table": "items", "lsn": self.lsn}
        body: Json = {"before": None, "after": None if op in "dt" else row, "source": source, "op": op}
        named = key if key is not None else row
        identity = {"id": named["id"]} if self.keyed and named is not None and op != "t" else None
        self.record(identity, body, partition=partition)
        if op == "d" and self.keyed:
            self.record(identity, None, partition=partition)

    def record(self, key: Json | None, value: Json | None, *, partition: int = 0) -> None:
        offset = sum(1 for row in self.rows if row[1] == partition)
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=len(self.rows))
        self.rows.append((TOPIC, partition, offset, at, self._key(key), self._value(value)))

    def _key(self, key: Json | None) -> str | None:
        if key is None:
            return None
        whole = key if self.fields is None else {"schema": {"type": "struct", "fields": [ID]}, "payload": key}
        return json.dumps(whole, separators=(",", ":"))

    def _value(self, value: Json | None) -> str | None:
        if value is None:
            return None
        if self.fields is None:
            return json.dumps(value)
        images = [{"type": "struct", "fields": self.fields, "optional": True, "field": side} for side in ("before", "after")]
        return json.dumps({"schema": {"type": "struct", "fields": images, "name": "shop.public.items.Envelope"}, "payload": value})


def rebuilt(spark: SparkSession, log: Log, bare: Sequence[Column] = ()) -> tuple[DataFrame, list[Column]]:
    outlines = outlined(spark.createDataFrame(log.rows, RECORDS))
    [topic] = survey(outlines)
    assert topic.table == ("public", "items")
    events, columns = changes(outlines, topic, bare)
    return rebuild(events, [column.name for column in columns]), columns


def rows(spark: SparkSession, log: Log, bare: Sequence[Column] = ()) -> list[tuple[object, ...]]:
    frame, columns = rebuilt(spark, log, bare)
    texts = frame.select(*(column.kind.text(frame[column.name]) for column in columns))
    return sorted((tuple(row) for row in texts.collect()), key=str)


def columns(*schemas: Json) -> list[Column]:
    return [Column(str(schema["field"]), kind_of(schema)) for schema in schemas]


@pytest.mark.parametrize("fields", [(ID, NAME), None], ids=["schemas", "bare"])
def test_last_state_of_each_key(spark: SparkSession, fields: Sequence[Json] | None) -> None:
    log = Log(fields)
    log.change("r", {"id": 1, "name": "one"})
    log.change("c", {"id": 2, "name": "two"})
    log.change("c", {"id": 3, "name": "three"})
    log.change("u", {"id": 1, "name": "uno"})
    log.change("d", {"id": 2, "name": None})
    log.change("u", {"id": 3, "name": None})
    assert rows(spark, log, columns(ID, NAME)) == [("1", "uno"), ("3", None)]


def test_key_that_comes_back_after_its_delete(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "first"})
    log.change("d", {"id": 1})
    log.change("c", {"id": 1, "name": "second"})
    assert rows(spark, log) == [("1", "second")]


def test_row_that_moves_to_another_key(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "mover"})
    log.change("d", {"id": 1})
    log.change("c", {"id": 9, "name": "mover"})
    assert rows(spark, log) == [("9", "mover")]


def test_tombstone_alone_removes_the_row(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "compacted away"})
    log.change("c", {"id": 2, "name": "stays"})
    log.record({"id": 1}, None)
    assert rows(spark, log) == [("2", "stays")]


def test_keys_of_both_converters_are_one_key(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "with schema"})
    log.fields = None
    log.change("u", {"id": 1, "name": "without"})
    assert rows(spark, log, columns(ID, NAME)) == [("1", "without")]


def test_partitions_are_ordered_each_by_itself(spark: SparkSession) -> None:
    log = Log()
    for name in ("a", "b", "c"):
        log.change("u", {"id": 1, "name": name}, partition=1)
    log.change("u", {"id": 2, "name": "z"}, partition=0)
    assert rows(spark, log) == [("1", "c"), ("2", "z")]


def test_value_not_sent_again_is_the_last_one_sent(spark: SparkSession) -> None:
    log = Log((ID, NAME, {**price(2), "optional": True}))
    log.change("c", {"id": 1, "name": "long text", "price": cents(100)})
    log.change("u", {"id": 1, "name": UNAVAILABLE, "price": cents(250)})
    log.change("u", {"id": 1, "name": UNAVAILABLE, "price": None})
    assert rows(spark, log) == [("1", "long text", None)]


def test_value_never_sent_is_null_rather_than_the_placeholder(spark: SparkSession) -> None:
    log = Log()
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    assert rows(spark, log) == [("1", None)]


def test_table_without_a_key_only_grows(spark: SparkSession) -> None:
    log = Log(keyed=False)
    log.change("r", {"id": 1, "name": "twin"})
    log.change("c", {"id": 1, "name": "twin"})
    log.change("u", {"id": 1, "name": "not applied"})
    log.change("d", {"id": 1})
    assert rows(spark, log) == [("1", "twin"), ("1", "twin")]
    [topic] = survey(outlined(spark.createDataFrame(log.rows, RECORDS)))
    assert topic.unordered == 2


def test_truncate_empties_what_was_logged_before_it(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "gone"}, partition=0)
    log.change("c", {"id": 2, "name": "gone too"}, partition=1)
    log.change("t", None, partition=1)
    log.change("c", {"id": 2, "name": "new"}, partition=0)
    assert rows(spark, log) == [("2", "new")]


def test_events_of_an_older_schema_keep_their_scale(spark: SparkSession) -> None:
    log = Log((ID, price(2)))
    log.change("c", {"id": 1, "price": cents(1050)})
    log.fields = (ID, price(4), NAME)
    log.change("c", {"id": 2, "price": cents(10500), "name": "later"})
    assert rows(spark, log) == [("1", "10.5000", None), ("2", "1.0500", "later")]


def test_column_dropped_since_is_left_out(spark: SparkSession) -> None:
    log = Log((ID, NAME))
    log.change("c", {"id": 1, "name": "x"})
    log.fields = (ID,)
    log.change("c", {"id": 2})
    assert rows(spark, log) == [("1",), ("2",)]


def test_names_with_dots_and_quotes(spark: SparkSession) -> None:
    odd: Json = {"type": "string", "field": "a.b`c"}
    log = Log((ID, odd))
    log.change("c", {"id": 1, "a.b`c": "x"})
    frame, _ = rebuilt(spark, log)
    assert [row.asDict() for row in frame.collect()] == [{"id": 1, "a.b`c": "x"}]


def test_value_of_another_shape_than_its_schema_stops_the_job(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": "one", "name": "x"})
    with pytest.raises(Py4JJavaError, match="MALFORMED_RECORD_IN_PARSING") as failure:
        rows(spark, log)
    assert failure_sentence(str(failure.value)).startswith("An event holds a value of another type")


def test_records_that_are_no_change_events_are_counted(spark: SparkSession) -> None:
    log = Log()
    log.record({"id": 1}, {"id": 1, "name": "unwrapped"})
    [topic] = survey(outlined(spark.createDataFrame(log.rows, RECORDS)))
    assert (topic.table, topic.strangers, topic.records) == (None, 1, 1)


def test_bare_columns_come_from_the_catalog(spark: SparkSession) -> None:
    catalog = [
        CatalogColumn("id", "int4", "b", -1, array=False),
        CatalogColumn("price", "numeric", "b", (10 << 16 | 2) + 4, array=False),
        CatalogColumn("pair", "pair", "c", -1, array=False),
    ]
    log = Log(None)
    log.change("c", {"id": 1, "price": cents(-5)})
    assert rows(spark, log, bare_columns(catalog)) == [("1", "-0.05")]


def test_comparison_tells_each_side(spark: SparkSession) -> None:
    log = Log()
    for at, name in enumerate(["same", "changed", "surplus"], 1):
        log.change("c", {"id": at, "name": name})
    frame, known = rebuilt(spark, log)
    source = spark.createDataFrame([("1", "same"), ("2", "other"), ("10", "missing")], "id string, name string")
    found = compare(frame, source, known, limit=10)
    assert (found.topic, found.source, found.different) == (3, 3, 4)
    assert [(mark, *cells) for mark, cells in found.lines] == [
        (EQUAL, "1", "same"),
        (ONLY_TOPIC, "2", "changed"),
        (ONLY_SOURCE, "2", "other"),
        (ONLY_TOPIC, "3", "surplus"),
        (ONLY_SOURCE, "10", "missing"),
    ]


def test_comparison_counts_twins(spark: SparkSession) -> None:
    log = Log(keyed=False)
    log.change("c", {"id": 1, "name": "twin"})
    log.change("c", {"id": 1, "name": "twin"})
    frame, known = rebuilt(spark, log)
    once = spark.createDataFrame([("1", "twin")], "id string, name string")
    assert compare(frame, once, known, limit=10).different == 1
    assert compare(frame, once.union(once), known, limit=10).different == 0


def test_differences_come_first_when_lines_are_few(spark: SparkSession) -> None:
    log = Log()
    for at in range(1, 6):
        log.change("c", {"id": at, "name": "x"})
    frame, known = rebuilt(spark, log)
    source = spark.createDataFrame([(str(at), "x" if at < 5 else "y") for at in range(1, 6)], "id string, name string")
    found = compare(frame, source, known, limit=2)
    assert [(mark, *cells) for mark, cells in found.lines] == [(ONLY_TOPIC, "5", "x"), (ONLY_SOURCE, "5", "y")]


def test_table_is_aligned_and_holds_no_control_characters(spark: SparkSession) -> None:
    log = Log()
    log.change("c", {"id": 1, "name": "漢\n字"})
    log.change("c", {"id": 2, "name": None})
    frame, known = rebuilt(spark, log)
    source = spark.createDataFrame([("1", "漢\n字"), ("2", None)], "id string, name string")
    assert table_text(compare(frame, source, known, limit=5)).splitlines() == ["   id  name", "=  1   漢 字", "=  2   ∅"]


def test_schema_without_an_after_image_is_refused() -> None:
    with pytest.raises(ValueError, match="no field 'after'"):
        columns_of('{"type": "struct", "fields": []}')
