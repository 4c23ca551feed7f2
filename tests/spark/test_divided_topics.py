"""A topic's changes are divided among tasks if one task for it would leave cores without work."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import TopicLog
from workers.spark.effects import small_batches
from workers.spark.jobs import batches
from workers.spark.jobs.batches import Batches, Work
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.tables.table import Effects
from workers.spark.topics.formats import json_format
from workers.spark.topics.known import TopicState
from workers.spark.types import UNAVAILABLE

pytestmark = pytest.mark.pg_once


class Watched(Mirror):
    """A mirror that shows the number of tasks for the changes of each topic."""

    def __init__(self, sink: MemorySink) -> None:
        super().__init__(sink)
        self.tasks: dict[str, int] = {}

    def plan(self, work: Work, state: TopicState) -> tuple[Effects, TopicState]:
        self.tasks[work.topic.name] = work.changes.rdd.getNumPartitions()
        return super().plan(work, state)


@pytest.mark.parametrize(("least", "tasks"), [(2, [4, 1]), (6, [4, 1]), (7, [1, 1])])
def test_topics_of_less_than_a_core_have_one_task(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int, tasks: list[int]
) -> None:
    monkeypatch.setattr(batches, "DIVIDED", least)
    # Otherwise no task processes so few changes.
    monkeypatch.setattr(small_batches, "RECORDS", 0)
    sink = MemorySink(spark)
    job = Watched(sink)
    large, other = TopicLog(), TopicLog(topic="shop.public.others")
    for number in range(6):
        large.change("c", {"id": number, "name": "x"})
    for number in range(2):
        other.change("c", {"id": number, "name": "y"})
    records = large.batch(spark).unionByName(other.batch(spark)).repartition(4)
    assert spark.sparkContext.defaultParallelism == 2
    Batches(Checkpoint(spark, str(tmp_path)), json_format(UNAVAILABLE, None), sink, job).apply(records, 0)
    # The share of a core is four of the eight records.
    assert [job.tasks[large.topic], job.tasks[other.topic]] == tasks
    assert [len(sink.rows(f"public.{name}")) for name in ("items", "others")] == [6, 2]
