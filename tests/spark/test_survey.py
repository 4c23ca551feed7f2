"""The survey finds the records that need more than the fast path, whatever the texts that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import TopicLog, frame
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.topics.arrow_records import arrow_records
from workers.spark.topics.formats import json_format
from workers.spark.topics.survey import Group, Signs, Survey, Usual, json_signs, sampled
from workers.spark.types import Sign

pytestmark = pytest.mark.pg_once


def flags(spark: SparkSession, signs: Signs, payloads: Sequence[str | None], usual: Sequence[Usual] = ()) -> list[tuple[bool, bool, bool]]:
    """What the survey says of each payload: placeholders, truncates, begins. All have layout 1, and a topic each: t0, t1 and so on."""
    rows = [(f"t{at}", 1, 1, text, None, False, False, at) for at, text in enumerate(payloads)]
    kinds = "topic string, layout bigint, key_layout bigint, value string, key string, came boolean, left boolean, offset bigint"
    cut = spark.createDataFrame(rows, kinds).withColumns({"timestamp": F.timestamp_millis(F.lit(0)), "partition": F.lit(0)})
    found = Survey(signs, usual).groups(cut.coalesce(1))
    if not usual:
        # The driver finds the same in the records that it has read.
        assert arrow_records(cut).groups(signs) == found
    return [(group.placeholders, group.truncates, group.begins) for group in found]


def test_the_signs_of_json(spark: SparkSession) -> None:
    signs = json_signs("__debezium_unavailable_value")
    payloads = [
        '{"a":"x"}',
        '{"a":"__debezium_unavailable_value"}',
        '{"a":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}',
        '{"op":"t"}',
        '{"source":{"snapshot":"first"}}',
        '{"source":{"snapshot":"first_in_data_collection"},"a":["__debezium_unavailable_value"]}',
        None,
    ]
    none = (False, False, False)
    found = [none, (True, False, False), (True, False, False), (False, True, False), (False, False, True), (True, False, True), none]
    assert flags(spark, signs, payloads) == found


def test_no_character_of_a_sign_has_a_meaning(spark: SparkSession) -> None:
    for sign in (".*", r"a\E.", r"\Q", "\\", "(", "^$", "Ä€😀", "a\nb", ""):
        signs = Signs({Sign.TEXT: sign}, None, None)
        assert flags(spark, signs, [f"<{sign}>", "<none>"]) == [(True, True, True), (sign == "", True, True)], sign


def test_usual_layouts_are_searched_only_for_what_they_may_have(spark: SparkSession) -> None:
    signs = json_signs("__debezium_unavailable_value")
    text, octets = '{"a":"__debezium_unavailable_value"}', '{"a":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}'
    begins = '{"source":{"snapshot":"first"}}'
    payloads = [text, octets, text, begins, text, begins, begins]
    usual = [
        Usual("t0", 1, 1, frozenset({Sign.TEXT}), keyed=True),
        Usual("t1", 1, 1, frozenset({Sign.TEXT, Sign.UUID}), keyed=True),
        Usual("t2", 1, 1, frozenset(), keyed=False),
        Usual("t3", 1, 1, frozenset(Sign), keyed=True),
        # Neither the layouts nor the topic alone count.
        Usual("t4", 2, 1, frozenset(), keyed=True),
        Usual("t5", 1, 1, frozenset(), keyed=False),
        # The table has lost its key, and the schema of its values is the same.
        Usual("t6", 1, None, frozenset(), keyed=True),
    ]
    none, lacking, beginning = (False, False, False), (True, False, False), (False, False, True)
    assert flags(spark, signs, payloads, usual) == [lacking, none, none, none, lacking, beginning, beginning]
    assert flags(spark, signs, payloads) == [lacking, lacking, lacking, beginning, lacking, beginning, beginning]


@pytest.mark.parametrize(
    ("placeholder", "part"),
    [('a/b"cd', "cd"), ("hex:ff01", ""), ("hex:7a7a01", "zz"), ("Ä", ""), ("[x\\yy]", "yy]"), ("__debezium_unavailable_value",) * 2],
)
def test_characters_that_json_escapes_are_not_searched_for(placeholder: str, part: str) -> None:
    signs = json_signs(placeholder).placeholder
    assert signs is not None
    assert signs[Sign.TEXT] == part


def test_a_value_that_was_not_sent_is_kept_whatever_json_escapes(spark: SparkSession, tmp_path: Path) -> None:
    sink, placeholder = MemorySink(spark), 'not "sent" \\ \x01'
    process = Batches(Checkpoint(spark, str(tmp_path)), json_format(placeholder, None), sink, Mirror(sink))
    log = TopicLog()
    for number, (op, name) in enumerate((("c", "x"), ("u", placeholder))):
        log.change(op, {"id": 1, "name": name})
        process.apply(frame(spark, log.new()), number)
    assert [(row["id"], row["name"]) for row in sink.rows()] == [(1, "x")]


def test_samples_are_found_without_a_look_at_all_partitions(spark: SparkSession) -> None:
    group = Group("t", 1, 1, False, 8, 0, False, False, False, False, 0, (0, 1))
    topic = F.when(F.spark_partition_id() >= 2, F.raise_error(F.lit("A later partition is read."))).otherwise(F.lit("t"))
    columns = (topic.alias("topic"), F.lit(0).alias("partition"), F.col("id").alias("offset"))
    assert [row["offset"] for row in sampled(spark.range(0, 8, 1, 4).select(*columns), [group]).collect()] == [1]
    groups = [group, replace(group, layout=2, sample=(0, 3))]
    assert sorted(row["offset"] for row in sampled(spark.range(0, 4, 1, 2).select(*columns), groups).collect()) == [1, 3]
