"""Typed changes out of hand-made topics; and topics in Avro, mirrored like those in JSON."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import to_avro

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.own_session import own_session
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog, cents, price
from workers.spark.changes import known_topic, typed
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.topics.formats import avro_format, json_format
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

DAY: Json = {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "field": "day"}
HELD: Json = {"type": "int64", "optional": True, "name": "io.debezium.time.MicroDuration", "field": "held"}
WORD: Json = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
VALUE: Json = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"], "default": None}],
}
SOURCE: Json = {
    "type": "record",
    "name": "Source",
    "fields": [{"name": name, "type": ["null", kind], "default": None} for name, kind in [("schema", "string"), ("table", "string")]]
    + [{"name": name, "type": ["null", kind], "default": None} for name, kind in [("lsn", "long"), ("ts_ms", "long")]],
}
ENVELOPE: Json = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
    ],
}
IMAGE = "struct<id: int, name: string>"
EVENT = f"struct<before: {IMAGE}, after: {IMAGE}, source: struct<schema: string, table: string, lsn: bigint, ts_ms: bigint>, op: string>"


def rows(spark: SparkSession, log: TopicLog) -> list[Row]:
    records = log.batch(spark)
    form = json_format(UNAVAILABLE, None)
    topic = known_topic(records, log.topic, form)
    assert isinstance(topic, Topic)
    found: list[Row] = typed(form.cut(records), topic).orderBy("position.offset").collect()
    return found


def test_values_in_sparks_own_types(spark: SparkSession) -> None:
    log = TopicLog((ID, NAME, price(2), DAY, HELD))
    row: Json = {"id": 1, "name": "x", "price": cents(1250), "day": 18321, "held": 90_000_000}
    log.change("c", row, lsn=10)
    log.change("u", {**row, "name": UNAVAILABLE}, lsn=20)
    log.change("d", row, lsn=30)
    created, updated, deleted, tombstone = rows(spark, log)
    values = {"id": 1, "name": "x", "price": Decimal("12.50"), "day": date(2020, 2, 29), "held": timedelta(seconds=90)}
    assert (created["op"], created["key"].asDict(), created["after"].asDict(), created["before"]) == ("c", {"id": 1}, values, None)
    assert (updated["after"]["name"], updated["unavailable"], created["unavailable"]) == (None, ["name"], [])
    assert (deleted["op"], deleted["before"].asDict(), deleted["after"]) == ("d", values, None)
    assert (tombstone["op"], tombstone["key"].asDict(), tombstone["source"]) == ("tombstone", {"id": 1}, None)
    assert (updated["source"]["lsn"], updated["source"]["schema"], updated["position"]["offset"]) == (20, "public", 1)


def test_names_that_look_like_references_in_a_session_of_the_users(spark: SparkSession) -> None:
    session = own_session(spark)
    session.conf.set("spark.sql.variable.substitute", "true")
    name, key = "${env:HOME}", '`${env:PATH}`."x"'
    log = TopicLog(({**NAME, "field": key}, {**NAME, "field": name}), key=({**NAME, "field": key},))
    log.change("c", {key: "${env:USER}", name: "${env:HOME}"})
    [row] = rows(session, log)
    assert row["key"].asDict() == {key: "${env:USER}"}
    assert row["after"].asDict() == {key: "${env:USER}", name: "${env:HOME}"}


def test_older_layouts_fit_the_newest(spark: SparkSession) -> None:
    log = TopicLog((ID, price(2)))
    log.change("c", {"id": 1, "price": cents(1050)})
    stock: Json = {"type": "int64", "optional": True, "default": 7, "field": "stock"}
    log.fields = ({**ID, "type": "int64"}, price(4), stock)
    log.change("c", {"id": 2, "price": cents(10500), "stock": None})
    first, second = rows(spark, log)
    assert first["after"].asDict() == {"id": 1, "price": Decimal("10.5000"), "stock": 7}
    assert second["after"].asDict() == {"id": 2, "price": Decimal("1.0500"), "stock": None}


def test_layout_that_came_after_the_start_stops_the_query(spark: SparkSession) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "x"})
    form = json_format(UNAVAILABLE, None)
    topic = known_topic(log.batch(spark), log.topic, form)
    assert isinstance(topic, Topic)
    log.fields = (ID,)
    log.change("c", {"id": 2})
    with pytest.raises((PySparkException, Py4JJavaError), match="Start the query again"):
        typed(form.cut(log.batch(spark)), topic).collect()


def test_topic_without_changes_is_no_table(spark: SparkSession) -> None:
    log = TopicLog(topic="shop.heartbeat")
    log.record({"id": 1}, None)
    assert known_topic(log.batch(spark), log.topic, json_format(UNAVAILABLE, None)) is None


class Known(SchemaRegistry):
    """A registry of two schemas."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")

    def schema(self, number: int | str) -> str:
        known: dict[int | str, object] = {1: WORD, 2: ENVELOPE}
        return json.dumps(known[number])


def test_avro_is_mirrored_as_json_is(spark: SparkSession, tmp_path: Path) -> None:
    log = TopicLog(None)
    log.change("c", {"id": 1, "name": "kept"})
    log.change("c", {"id": 2, "name": "gone"})
    log.change("c", {"id": 3, "name": "moved"})
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    log.change("d", {"id": 2, "name": None})
    log.move({"id": 3, "name": None}, {"id": 4, "name": UNAVAILABLE})
    records = _avro(log.batch(spark))
    sink = MemorySink(spark)
    with Known() as registry:
        Batches(Checkpoint(spark, str(tmp_path)), avro_format(UNAVAILABLE, registry), sink, Mirror(sink)).apply(records, 0)
    assert sink.rows() == [{"id": 1, "name": "kept"}, {"id": 4, "name": "moved"}]


def _avro(records: DataFrame) -> DataFrame:
    """Bare JSON as AvroConverter would write it."""

    def written(name: str, kind: str, schema: Json, number: int) -> Column:
        value = F.from_json(F.col(name).cast("string"), kind, {"mode": "FAILFAST"})
        return F.when(F.col(name).isNotNull(), F.concat(F.lit(b"\0" + number.to_bytes(4, "big")), to_avro(value, json.dumps(schema))))

    key, value = written("key", "struct<id: int>", WORD, 1), written("value", EVENT, ENVELOPE, 2)
    return records.withColumn("key", key).withColumn("value", value)
