"""Mirrors of tables whose key becomes another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.memory_sink import Crash, MemorySink
from tests.support.spark.mirror_rig import Rig
from tests.support.spark.topic_log import ID, NAME, TOPIC, Json, TopicLog, frame
from workers.spark.changes import known_topic, typed
from workers.spark.failure import JobError
from workers.spark.topics.formats import json_format
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.spark.tables.table import Effects

SHOP: Json = {"type": "int32", "optional": False, "field": "shop"}
ORDER: Json = {**ID, "field": "order"}
NUMBER: Json = {**ID, "type": "int64"}


@pytest.fixture
def rig(spark: SparkSession, tmp_path: Path) -> Rig:
    return Rig(spark, tmp_path)


def rows(rig: Rig) -> list[Json]:
    """The mirror's rows, by their first columns' names and values."""
    return sorted(rig.sink.rows(), key=by_columns)


def by_columns(row: Json) -> str:
    return str(sorted(row.items(), reverse=True))


def reordered(spark: SparkSession, log: TopicLog) -> DataFrame:
    """A batch whose later keys' records are in partitions, and so in places, before the others'."""
    return frame(spark, sorted(log.new(), key=lambda record: -record[1]))


def renamed() -> TopicLog:
    """The key's column is renamed. Later changes are in another partition, at smaller offsets."""
    log = TopicLog()
    for key, name in enumerate(("one", "two", "three"), 1):
        log.change("c", {"id": key, "name": name})
    log.change("u", {"id": 1, "name": "eins"})
    log.fields, log.key = (ORDER, NAME), (ORDER,)
    log.change("u", {"order": 1, "name": "uno"}, partition=1)
    log.change("d", {"order": 2}, partition=1)
    return log


RENAMED: list[Json] = [{"order": 1, "name": "uno"}, {"order": 3, "name": "three"}]


def test_key_column_is_renamed(rig: Rig) -> None:
    done = rig.batch(reordered(rig.spark, renamed()))
    assert (done.records, done.tables, done.passed_over, done.waiting) == (7, 1, 0, 0)
    assert rows(rig) == RENAMED


def test_key_gets_another_type(rig: Rig) -> None:
    log = TopicLog()
    for name in ("one", "eins"):
        log.change("u", {"id": 1, "name": name})
    log.fields, log.key = (NUMBER, NAME), (NUMBER,)
    log.change("u", {"id": 1, "name": "uno"}, partition=1)
    rig.batch(log)
    assert rows(rig) == [{"id": 1, "name": "uno"}]


def widened() -> TopicLog:
    """The key gets a second column, which the table had before."""
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 1, "shop": 1, "name": "one"})
    log.change("c", {"id": 2, "shop": 1, "name": "two"})
    log.change("c", {"id": 3, "shop": 1, "name": "gone"})
    log.change("d", {"id": 3, "shop": 1})
    log.key = (SHOP, ID)
    log.change("u", {"id": 1, "shop": 1, "name": "uno"}, partition=1)
    log.change("d", {"id": 2, "shop": 1}, partition=1)
    log.change("c", {"id": 1, "shop": 2, "name": "another"}, partition=1)
    return log


WIDENED: list[Json] = [{"id": 1, "shop": 1, "name": "uno"}, {"id": 1, "shop": 2, "name": "another"}]


def test_key_gets_another_column(rig: Rig) -> None:
    rig.batch(reordered(rig.spark, widened()))
    assert rows(rig) == WIDENED


def replaced() -> TopicLog:
    """The key's column is dropped, and another one is the key."""
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 8, "shop": 8, "name": "left alone"})
    log.change("c", {"id": 7, "shop": 1, "name": "one"})
    log.change("u", {"id": 7, "shop": 1, "name": "uno"})
    log.fields, log.key = (SHOP, NAME), (SHOP,)
    log.change("u", {"shop": 1, "name": UNAVAILABLE}, partition=1)
    log.change("c", {"shop": 2, "name": "two"}, partition=1)
    return log


def test_key_column_goes_for_another(rig: Rig) -> None:
    rig.batch(reordered(rig.spark, replaced()))
    assert rows(rig) == [{"shop": 1, "name": "uno"}, {"shop": 2, "name": "two"}, {"shop": 8, "name": "left alone"}]


def test_table_without_a_key_gets_one(rig: Rig) -> None:
    log = TopicLog(key=())
    log.change("c", {"id": 1, "name": "one"})
    log.change("c", {"id": 2, "name": "two"})
    log.key = (ID,)
    log.change("u", {"id": 2, "name": "zwei"}, partition=1)
    rig.batch(reordered(rig.spark, log))
    assert rows(rig) == [{"id": 1, "name": "one"}, {"id": 2, "name": "zwei"}]


@pytest.mark.long
def test_table_is_without_a_key_for_a_while(rig: Rig) -> None:
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 1, "shop": 1, "name": "one"})
    rig.batch(log)
    log.key = ()
    log.change("c", {"id": 2, "shop": 1, "name": "two"})
    rig.batch(log)
    assert rows(rig) == [{"id": 1, "shop": 1, "name": "one"}, {"id": 2, "shop": 1, "name": "two"}]
    log.change("c", {"id": 3, "shop": 1, "name": "three"})
    log.key = (SHOP, ID)
    log.change("d", {"id": 2, "shop": 1}, partition=1)
    rig.batch(reordered(rig.spark, log))
    assert rows(rig) == [{"id": 1, "shop": 1, "name": "one"}, {"id": 3, "shop": 1, "name": "three"}]


@pytest.mark.long
def test_truncate_says_nothing_of_the_key(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "gone"})
    log.change("t")
    log.change("c", {"id": 2, "name": "two"})
    rig.batch(log)
    log.fields = (ID, NAME, SHOP)
    log.change("t")
    rig.batch(log)
    log.change("c", {"id": 2, "name": "zwei", "shop": 1})
    log.change("u", {"id": 2, "name": "due", "shop": 1})
    done = rig.batch(log)
    assert (done.passed_over, done.waiting) == (0, 0)
    assert rows(rig) == [{"id": 2, "name": "due", "shop": 1}]


@pytest.mark.long
def test_truncate_between_two_keys(rig: Rig) -> None:
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 1, "shop": 1, "name": "gone"})
    log.change("t", partition=2)
    log.key = (SHOP, ID)
    log.change("c", {"id": 1, "shop": 1, "name": "new"}, partition=1)
    rig.batch(reordered(rig.spark, log))
    assert rows(rig) == [{"id": 1, "shop": 1, "name": "new"}]


@pytest.mark.parametrize("make", [renamed, *(pytest.param(made, marks=pytest.mark.long) for made in (widened, replaced))])
def test_repeated_changes_of_the_former_key(rig: Rig, make: Callable[[], TopicLog]) -> None:
    log = make()
    rig.batch(log)
    expected = rows(rig)
    log.repeat(1)
    new: Json = {str(field["field"]): 9 for field in log.key} | {"name": "new"}
    log.change("c", new, partition=1)
    rig.batch(log)
    assert rows(rig) == sorted([*expected, new], key=by_columns)


@pytest.mark.long
def test_changes_with_only_a_former_key_are_skipped(rig: Rig) -> None:
    log = widened()
    rig.batch(log)
    log.repeat(1, 3)
    done = rig.batch(log)
    assert (done.tables, done.passed_over) == (0, 2)
    assert rows(rig) == WIDENED


@pytest.mark.long
def test_new_key_waits_for_partitions_that_are_read_less_far(rig: Rig) -> None:
    log = widened()
    records = log.new()
    late, early = records[2:5], [*records[:2], *records[5:]]
    rig.behind = True
    done = rig.batch(frame(rig.spark, early))
    assert done.waiting == 4
    assert rows(rig) == [{"id": 1, "shop": 1, "name": "one"}, {"id": 2, "shop": 1, "name": "two"}]
    assert rig.batch(frame(rig.spark, late)).waiting == 4
    assert rig.batch(frame(rig.spark, [])).waiting == 0
    assert rows(rig) == WIDENED


class CrashingSink(MemorySink):
    """Fails once, before or after what it does in the call that is ``left`` calls away; never while that is 0."""

    def __init__(self, spark: SparkSession, moment: str) -> None:
        super().__init__(spark)
        self.left = 0
        self._moment = moment

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        self.left -= 1
        self.crash = self._moment if self.left == 0 else None
        super().apply(batch, effects)


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "after"])
@pytest.mark.parametrize("at", [1, pytest.param(2, marks=pytest.mark.long)])
def test_crash_in_any_turn_is_repaired(spark: SparkSession, tmp_path: Path, at: int, moment: str) -> None:
    rig = Rig(spark, tmp_path)
    rig.sink = sink = CrashingSink(spark, moment)
    log = TopicLog((ID, SHOP, NAME))
    log.change("c", {"id": 9, "shop": 9, "name": "left alone"})
    rig.batch(log)
    log.change("c", {"id": 1, "shop": 1, "name": "one"})
    log.change("c", {"id": 2, "shop": 2, "name": "two"})
    log.fields, log.key = (SHOP, NAME, ORDER), (SHOP, ORDER)
    log.change("c", {"shop": 1, "name": "new", "order": 5}, partition=1)
    records = log.batch(spark)
    sink.left = at
    with pytest.raises(Crash):
        rig.again(records)
    rig.batch(records)
    expected: list[Json] = [
        {"shop": 1, "name": "new", "order": 5},
        {"shop": 1, "name": "one", "order": None},
        {"shop": 2, "name": "two", "order": None},
        {"shop": 9, "name": "left alone", "order": None},
    ]
    assert rows(rig) == sorted(expected, key=by_columns)


def test_batch_that_was_finished_is_not_done_again(rig: Rig) -> None:
    records = widened().batch(rig.spark)
    rig.again(records)
    rig.sink.crash = "before"
    done = rig.again(records)
    assert (done.records, done.tables) == (0, 0)
    assert rows(rig) == WIDENED


@pytest.mark.long
def test_changes_of_several_keys(rig: Rig) -> None:
    log = widened()
    log.key = (ORDER, SHOP)
    log.fields = (ORDER, SHOP, NAME)
    log.change("u", {"order": 1, "shop": 1, "name": "un"})
    records, form = log.batch(rig.spark), json_format(UNAVAILABLE, None)
    topic = known_topic(records, TOPIC, form)
    assert isinstance(topic, Topic)
    found = typed(form.cut(records), topic).select("op", "key").collect()
    keys = [None if row["key"] is None else tuple(row["key"].asDict().items()) for row in found]
    assert keys[0] == (("order", 1), ("shop", None))
    assert keys[4] == (("order", 3), ("shop", None))
    assert keys[6] == (("order", 2), ("shop", 1))
    assert keys[-1] == (("order", 1), ("shop", 1))


def test_key_that_the_values_lack_is_refused(rig: Rig) -> None:
    log = TopicLog(key=(ID, SHOP))
    log.change("c", {"id": 1, "shop": 1, "name": "one"})
    with pytest.raises(JobError, match=r"^The key of shop\.public\.items has shop, which its values lack\. Keep the table's own key"):
        rig.batch(log)
