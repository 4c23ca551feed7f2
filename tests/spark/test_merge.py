"""The MERGE of a mirror in a stream of the user's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.project import ROOT
from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog
from workers.spark.changes import known_topic, typed
from workers.spark.failure import WRONG, JobError
from workers.spark.merge import merge_changes
from workers.spark.topics.formats import json_format
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["broker"]

SHOP: Json = {"type": "int32", "optional": False, "field": "shop"}
FORM = json_format(UNAVAILABLE, None)


def changes_of(spark: SparkSession, log: TopicLog) -> DataFrame:
    records = log.batch(spark)
    topic = known_topic(records, log.topic, FORM)
    assert isinstance(topic, Topic)
    return typed(FORM.cut(records), topic)


@pytest.mark.long
def test_changes_are_merged_as_a_mirror_merges_them(spark: SparkSession) -> None:
    sink, log = MemorySink(spark), TopicLog((ID, SHOP, NAME))
    for number in (1, 2, 3):
        log.change("c", {"id": number, "shop": 5, "name": f"long {number}"})
    merge_changes(changes_of(spark, log), sink, "public.items")
    log.change("u", {"id": 1, "shop": 6, "name": UNAVAILABLE})
    log.change("d", {"id": 2, "shop": 5})
    log.change("u", {"id": 3, "shop": 5, "name": "short"})
    log.change("u", {"id": 3, "shop": 7, "name": UNAVAILABLE})
    changed = changes_of(spark, log).withColumn("more", F.lit(1))
    for batch in (1, 1):
        merge_changes(changed, sink, "public.items", batch=batch)
        assert sink.rows() == [{"id": 1, "shop": 6, "name": "long 1"}, {"id": 3, "shop": 7, "name": "short"}]
    log.change("t")
    log.change("c", {"id": 4, "shop": 5, "name": "new"})
    # The user leaves a column out.
    merge_changes(changes_of(spark, log).withColumn("after", F.col("after").dropFields("name")), sink, "public.items")
    assert sink.rows() == [{"id": 4, "shop": 5}]


def test_wrong_uses_are_named(spark: SparkSession) -> None:
    sink, log = MemorySink(spark), TopicLog()
    log.change("c", {"id": 1, "name": "x"})
    changes = changes_of(spark, log)
    for frame, key, said in (
        (changes.drop("position"), None, "public.items lack the columns position. Keep all columns"),
        (changes, (), "public.items have no key"),
        (changes, ("name",), "name of key is not a column of both the key and the rows of public.items. Known: id"),
    ):
        with pytest.raises(JobError, match=said) as refused:
            merge_changes(frame, sink, "public.items", key=key)
        assert refused.value.code == WRONG
    assert sink.tables == {}


async def test_example_of_the_documentation(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/spark.md").read_text(encoding="utf-8"), re.DOTALL)
    [code] = [block for block in blocks if "merge_changes" in block]
    log = TopicLog((ID, NAME), topic="sparkmerge.public.orders")
    await broker.create(log)
    log.change("r", {"id": 1, "name": "one"})
    log.change("r", {"id": 2, "name": "test"})
    await broker.write(log)
    code = code.replace("127.0.0.1:9092", broker.bootstrap).replace("shop.public.orders", log.topic).replace("/data", str(tmp_path))
    exec(compile(code, "docs/spark.md", "exec"), {"spark": spark})
    found = spark.read.format("delta").load(f"{tmp_path}/mine/public/orders").select("id", "name").collect()
    assert [tuple(row) for row in found] == [(1, "one")]
