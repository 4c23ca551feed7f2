"""Rebuilds of tables whose topics have a past: changed keys, moves that wait for their other half, histories. Lists stand for Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.memory_sink import Crash, MemorySink
from tests.support.spark.topic_log import ID, NAME, Json, Record, TopicLog, frame
from workers.spark.failure import JobError
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.batches import Batches, Job
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.jobs.history import History
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.rebuild import Rebuild, topics_of
from workers.spark.jobs.table_ownership import HISTORY, TableOwnership
from workers.spark.topics.broker import Broker, Offsets
from workers.spark.topics.formats import json_format
from workers.spark.topics.known import TopicState
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOP: Json = {"type": "int32", "optional": False, "field": "shop"}
FORM = json_format(UNAVAILABLE, None)


class Topics:
    """The records in Kafka: those of all batches, without those before ``removed`` in each partition."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.records: list[Record] = []
        self.removed: dict[int, int] = {}

    def begins(self, topics: Collection[str]) -> Offsets:
        return {place: self.removed.get(place[1], 0) for place in self.ends(topics)}

    def ends(self, topics: Collection[str]) -> Mapping[tuple[str, int], int]:
        ends: dict[tuple[str, int], int] = {}
        for topic, partition, offset, *_ in self.records:
            if topic in topics:
                ends[topic, partition] = max(offset + 1, ends.get((topic, partition), 0))
        return ends

    def read(self, begins: Offsets, ends: Offsets) -> DataFrame:
        some = [one for one in self.records if one[:2] in begins and begins[one[0], one[1]] <= one[2] < ends[one[0], one[1]]]
        return frame(self._spark, some)


class Rig:
    """A job that follows topics into a sink in memory, and rebuilds; each step by a new process."""

    def __init__(self, spark: SparkSession, folder: Path, job: Callable[[MemorySink], Job]) -> None:
        self.spark = spark
        self.sink = MemorySink(spark)
        self.topics = Topics(spark)
        self._folder = folder
        self._job = job
        self._suffix = HISTORY if job is History else ""
        self._next = 0

    def batch(self, *logs: TopicLog) -> None:
        new = [record for log in logs for record in log.new()]
        self.topics.records += new
        checkpoint = Checkpoint(self.spark, str(self._folder))
        self._batches(checkpoint).apply(frame(self.spark, new), self._next)
        ends: dict[str, dict[str, int]] = {}
        for (topic, partition), end in self.topics.ends({record[0] for record in self.topics.records}).items():
            ends.setdefault(topic, {})[str(partition)] = end
        # As Spark writes it.
        for name, text in (("offsets", f"v1\n{{}}\n{json.dumps(ends)}"), ("commits", "v1\n{}")):
            path = self._folder / "stream" / name / str(self._next)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._next += 1

    def begin(self, *logs: TopicLog, rebuild: Collection[str]) -> None:
        """A batch, the first of a new checkpoint, that may replace the rows of the tables named by ``rebuild``."""
        new = [record for log in logs for record in log.new()]
        self._batches(Checkpoint(self.spark, str(self._folder / "new")), rebuild).apply(frame(self.spark, new), 0)

    def rebuild(self, *names: str) -> BatchTotals | None:
        checkpoint, broker = Checkpoint(self.spark, str(self._folder)), cast(Broker, self.topics)
        there = {record[0] for record in self.topics.records}
        rebuild = Rebuild(checkpoint, broker, there, FORM, self.topics.read, self._suffix)
        return rebuild.run(names, self._batches(checkpoint, names))

    def _batches(self, checkpoint: Checkpoint, rebuild: Collection[str] = ()) -> Batches:
        return Batches(
            checkpoint, FORM, self.sink, self._job(self.sink), ownership=TableOwnership(checkpoint, self.sink, rebuild, suffix=self._suffix)
        )


def past() -> TopicLog:
    """A table whose key became another one, in three partitions."""
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 1, "shop": 5, "name": "a"}, lsn=10)
    log.change("c", {"id": 2, "shop": 5, "name": "x"}, lsn=20)
    log.change("u", {"id": 1, "shop": 5, "name": "b"}, lsn=30)
    log.key = (SHOP, ID)
    log.change("u", {"id": 1, "shop": 5, "name": UNAVAILABLE}, lsn=40, partition=1)
    log.change("d", {"id": 2, "shop": 5}, lsn=50, partition=1)
    return log


@pytest.mark.parametrize(
    ("job", "table"),
    [(Mirror, "public.items"), pytest.param(History, "public.items_history", marks=pytest.mark.long)],
    ids=["mirror", "history"],
)
def test_a_rebuilt_table_equals_the_former_one_and_continues(
    spark: SparkSession, tmp_path: Path, job: Callable[[MemorySink], Job], table: str
) -> None:
    rig, log, other = Rig(spark, tmp_path, job), past(), TopicLog(topic="shop.public.others")
    other.change("c", {"id": 1, "name": "o"})
    rig.batch(log, other)
    expected, untouched = rig.sink.rows(table), rig.sink.tables[table.replace("items", "others")]
    rig.sink.tables[table] = {("wrong",): {**next(iter(rig.sink.tables[table].values())), "id": 99}}
    for moment in ("before", "after"):
        rig.sink.crash = moment
        with pytest.raises(Crash):
            rig.rebuild("public.items")
    # It begins again without a request.
    done = rig.rebuild()
    assert done is not None
    assert (done.records, rig.sink.rows(table)) == (6, expected)
    assert rig.rebuild() is None
    assert rig.sink.tables[table.replace("items", "others")] is untouched
    log.change("u", {"id": 1, "shop": 5, "name": "c"}, lsn=60, partition=1)
    rig.batch(log)
    assert [row["name"] for row in rig.sink.rows(table) if row.get("ended") is None] == ["c"]


@pytest.mark.long
def test_rebuilt_table_of_several_tables_of_the_source_keeps_its_name(spark: SparkSession, tmp_path: Path) -> None:
    rig, log = Rig(spark, tmp_path, Mirror), TopicLog()
    for key, table in ((1, "items_b"), (2, "items_a")):
        log.table = table
        log.change("c", {"id": key, "name": table})
        rig.batch(log)
    assert rig.rebuild("public.items_b") is not None
    assert list(rig.sink.tables) == ["public.items_b"]
    assert rig.sink.rows("public.items_b") == [{"id": 1, "name": "items_b"}, {"id": 2, "name": "items_a"}]


@pytest.mark.long
def test_new_checkpoint_replaces_the_rows_of_a_table_of_two_topics_once(spark: SparkSession, tmp_path: Path) -> None:
    rig, log, other = Rig(spark, tmp_path, Mirror), TopicLog(), TopicLog(topic="eu.public.items")
    log.change("c", {"id": 9, "name": "former"})
    rig.batch(log)
    log.change("c", {"id": 1, "name": "a"})
    other.change("c", {"id": 2, "name": "b"})
    rig.begin(log, other, rebuild=["public.items"])
    assert rig.sink.rows() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


@pytest.mark.parametrize(
    ("removed", "whole"),
    [
        ({}, True),
        ({0: 1}, True),
        # Partition 1 still has its record from before the snapshot.
        ({0: 1, 1: 1}, True),
        # It may have lost a row of the snapshot, or has.
        ({0: 1, 1: 2}, False),
        ({0: 1, 1: 3}, False),
        ({1: 4}, False),
        ({0: 2}, False),
    ],
)
def test_snapshot_is_whole_only_if_no_partition_can_have_lost_rows(
    spark: SparkSession, tmp_path: Path, removed: dict[int, int], *, whole: bool
) -> None:
    topics, log = Topics(spark), TopicLog()
    log.change("c", {"id": 1, "name": "a"})
    for key in (2, 3):
        log.change("c", {"id": key, "name": "b"}, partition=1)
    log.change("r", {"id": 1, "name": "a"}, snapshot="first")
    log.change("r", {"id": 2, "name": "b"}, snapshot="true", partition=1, lsn=log.lsn)
    log.change("r", {"id": 3, "name": "b"}, snapshot="last", partition=1, lsn=log.lsn)
    log.change("u", {"id": 1, "name": "a2"})
    topics.records, topics.removed = log.new(), removed
    rebuild = Rebuild(Checkpoint(spark, str(tmp_path)), cast(Broker, topics), {log.topic}, FORM, topics.read)
    found = rebuild.lacks(log.topic)
    assert (found is None) is whole, found


@pytest.mark.long
def test_half_of_a_move_that_waits_is_not_read_twice(spark: SparkSession, tmp_path: Path) -> None:
    rig, log = Rig(spark, tmp_path, Mirror), TopicLog()
    log.change("c", {"id": 1, "name": "kept"})
    rig.batch(log)
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE}, to=1)
    # The create comes first: it waits for the delete, which has the value.
    *left, come = log.new()
    create, delete = TopicLog(), TopicLog()
    create.records, delete.records = [come], left
    rig.batch(create)
    assert rig.sink.rows() == [{"id": 1, "name": "kept"}]
    rig.rebuild("public.items")
    assert rig.sink.rows() == [{"id": 1, "name": "kept"}]
    rig.batch(delete)
    assert rig.sink.rows() == [{"id": 9, "name": "kept"}]


@pytest.mark.long
def test_table_whose_name_ends_like_a_history_is_not_rebuilt_with_the_other(spark: SparkSession, tmp_path: Path) -> None:
    rig, log, other = Rig(spark, tmp_path, Mirror), TopicLog(), TopicLog(topic="shop.public.items_history")
    log.change("c", {"id": 1, "name": "a"})
    other.change("c", {"id": 2, "name": "b"})
    rig.batch(log, other)
    state = Checkpoint(spark, str(tmp_path)).last()
    assert topics_of(["public.items"], state) == [log.topic]
    assert topics_of(["public.items_history"], state) == [other.topic]
    # Nor are its rows replaced by a new checkpoint.
    log.change("u", {"id": 1, "name": "c"})
    other.change("u", {"id": 2, "name": "d"})
    with pytest.raises(JobError, match=r"The table of public\.items_history holds rows already"):
        rig.begin(log, other, rebuild=["public.items"])
    with pytest.raises(JobError, match=r"--rebuild public\.items_histories: no such table is mirrored"):
        rig.rebuild("public.items_histories")


def test_history_is_named_by_itself_or_by_its_source() -> None:
    state = State(
        topics={
            "shop.public.items": TopicState(("public", "items"), kept="public.items_history"),
            "shop.public.items_history": TopicState(("public", "items_history"), kept="public.items_history_history"),
            "flat.public.others": TopicState(kept="public.others_history"),
        }
    )
    assert topics_of(["public.items"], state) == ["shop.public.items"]
    assert topics_of(["public.items_history"], state) == ["shop.public.items"]
    assert topics_of(["public.items_history_history"], state) == ["shop.public.items_history"]
    assert topics_of(["public.others"], state) == ["flat.public.others"]
