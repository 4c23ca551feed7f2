"""Histories out of hand-made topics, without Kafka and without files of tables."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.support.spark.memory_sink import Crash, MemorySink
from tests.support.spark.own_session import own_session
from tests.support.spark.topic_log import EPOCH, ID, NAME, Json, TopicLog
from workers.spark.failure import JobError
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.history import History, history_table
from workers.spark.sinks import IcebergPlace, ParquetPlace, sink_of
from workers.spark.tables.table import Column, Sink, Table
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE, kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Version = tuple[object, object, object, int, int | None]
"""Key, name, op, and the LSNs of the changes that began and ended it."""


class Rig:
    def __init__(self, spark: SparkSession, folder: Path, sink: Sink | None = None) -> None:
        self.spark = spark
        self.sink = MemorySink(spark)
        self._sink = sink or self.sink
        self.next = 0
        self._folder = folder

    def batch(self, log: TopicLog) -> None:
        self.again(log.batch(self.spark))
        self.next += 1

    def again(self, records: DataFrame) -> None:
        checkpoint = Checkpoint(self.spark, str(self._folder))
        Batches(checkpoint, json_format(UNAVAILABLE, None), self._sink, History(self._sink)).apply(records, self.next)

    def versions(self) -> list[Version]:
        """By key and begin; the times of a version are those of its changes."""
        found = []
        for row in self.sink.rows("public.items_history"):
            began, ended = int(str(row["version"])), row["ended"]
            assert row["valid_from"] == _committed(began)
            assert row["valid_to"] == (None if ended is None else _committed(int(str(ended))))
            found.append((row["id"], row["name"], row["op"], began, None if ended is None else int(str(ended))))
        return sorted(found, key=lambda version: (str(version[0]), version[3]))


def _committed(lsn: int) -> datetime:
    return (EPOCH + timedelta(milliseconds=lsn)).replace(tzinfo=None)


@pytest.fixture
def rig(spark: SparkSession, tmp_path: Path) -> Rig:
    return Rig(spark, tmp_path)


def test_every_state_in_one_batch_and_in_several(rig: Rig) -> None:
    log = TopicLog()
    log.change("r", {"id": 1, "name": "a"}, lsn=10)
    log.change("u", {"id": 1, "name": "b"}, lsn=20)
    rig.batch(log)
    assert rig.versions() == [(1, "a", "r", 10, 20), (1, "b", "u", 20, None)]
    log.change("u", {"id": 1, "name": "c"}, lsn=30)
    log.change("d", {"id": 1}, lsn=40)
    log.change("c", {"id": 1, "name": "again"}, lsn=50)
    log.change("c", {"id": 2, "name": "short"}, lsn=60)
    log.change("d", {"id": 2}, lsn=70)
    rig.batch(log)
    first = [(1, "a", "r", 10, 20), (1, "b", "u", 20, 30), (1, "c", "u", 30, 40), (1, "again", "c", 50, None)]
    assert rig.versions() == [*first, (2, "short", "c", 60, 70)]


def test_repeated_changes_begin_no_version(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"}, lsn=10)
    log.change("u", {"id": 1, "name": "b"}, lsn=20)
    log.change("d", {"id": 1}, lsn=30)
    rig.batch(log)
    expected = rig.versions()
    log.repeat(1)
    log.repeat(0, 2)
    rig.batch(log)
    assert rig.versions() == expected == [(1, "a", "c", 10, 20), (1, "b", "u", 20, 30)]


@pytest.mark.long
def test_snapshot_that_says_what_is_known_begins_nothing(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "same"}, lsn=10)
    log.change("c", {"id": 2, "name": "old"}, lsn=11)
    rig.batch(log)
    log.change("r", {"id": 1, "name": "same"}, lsn=20)
    log.change("r", {"id": 2, "name": "new"}, lsn=20)
    rig.batch(log)
    assert rig.versions() == [(1, "same", "c", 10, None), (2, "old", "c", 11, 20), (2, "new", "r", 20, None)]


@pytest.mark.long
@pytest.mark.parametrize("together", [True, False], ids=["one_batch", "batches"])
def test_blocking_snapshot_at_the_last_change_begins_no_version(rig: Rig, *, together: bool) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"}, lsn=10)
    log.change("c", {"id": 2, "name": "b"}, lsn=20)
    if not together:
        rig.batch(log)
    # The snapshot reads row 2 after a change that is streamed later.
    log.change("r", {"id": 1, "name": "a"}, lsn=20)
    log.change("r", {"id": 2, "name": "c"}, lsn=20)
    rig.batch(log)
    assert rig.versions() == [(1, "a", "c", 10, None), (2, "b", "c", 20, None)]
    log.change("u", {"id": 2, "name": "c"}, lsn=30)
    rig.batch(log)
    assert rig.versions() == [(1, "a", "c", 10, None), (2, "b", "c", 20, 30), (2, "c", "u", 30, None)]


def test_values_not_sent_again_are_those_of_the_version_before(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "long"}, lsn=10)
    rig.batch(log)
    log.change("u", {"id": 1, "name": UNAVAILABLE}, lsn=20)
    log.change("u", {"id": 1, "name": "new"}, lsn=30)
    log.change("u", {"id": 1, "name": UNAVAILABLE}, lsn=40)
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE})
    rig.batch(log)
    assert rig.versions() == [
        (1, "long", "c", 10, 20),
        (1, "long", "u", 20, 30),
        (1, "new", "u", 30, 40),
        (1, "new", "u", 40, 48),
        (9, "new", "c", 48, None),
    ]


def test_truncate_ends_what_holds(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "known"}, lsn=10)
    rig.batch(log)
    log.change("c", {"id": 2, "name": "of this batch"}, lsn=20)
    log.change("t", lsn=30)
    log.change("c", {"id": 1, "name": "after"}, lsn=40)
    rig.batch(log)
    assert rig.versions() == [(1, "known", "c", 10, 30), (1, "after", "c", 40, None), (2, "of this batch", "c", 20, 30)]


@pytest.mark.long
def test_change_from_before_a_truncate_of_an_earlier_batch(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "known"}, lsn=10)
    log.change("t", lsn=30)
    rig.batch(log)
    log.change("c", {"id": 2, "name": "late"}, lsn=20, partition=1)
    log.change("c", {"id": 3, "name": "after"}, lsn=40, partition=1)
    rig.batch(log)
    log.change("u", {"id": 3, "name": "still there"}, lsn=50, partition=1)
    rig.batch(log)
    truncated: list[Version] = [(1, "known", "c", 10, 30), (2, "late", "c", 20, 30)]
    assert rig.versions() == [*truncated, (3, "after", "c", 40, 50), (3, "still there", "u", 50, None)]


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "after"])
def test_batch_that_is_repeated_after_a_crash(rig: Rig, moment: str) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"}, lsn=10)
    rig.batch(log)
    log.change("u", {"id": 1, "name": "b"}, lsn=20)
    records = log.batch(rig.spark)
    rig.sink.crash = moment
    with pytest.raises(Crash):
        rig.again(records)
    rig.again(records)
    assert rig.versions() == [(1, "a", "c", 10, 20), (1, "b", "u", 20, None)]


@pytest.mark.long
def test_new_column_and_table_without_a_key(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"}, lsn=10)
    rig.batch(log)
    stock: Json = {"type": "int32", "optional": True, "default": 7, "field": "stock"}
    log.fields = (ID, NAME, stock)
    log.change("u", {"id": 1, "name": "b", "stock": 7}, lsn=20)
    keyless = TopicLog(key=(), topic="shop.public.visits")
    keyless.change("c", {"id": 1, "name": "x"})
    log.records += keyless.records
    rig.batch(log)
    rows = rig.sink.rows("public.items_history")
    assert [(row["name"], row["stock"]) for row in rows if row["op"] == "c"] == [("a", None)]
    assert [(row["name"], row["stock"]) for row in rows if row["op"] == "u"] == [("b", 7)]
    assert "public.visits_history" not in rig.sink.tables


@pytest.mark.long
def test_column_is_renamed_after_another_one_was_dropped(spark: SparkSession, tmp_path: Path) -> None:
    # A history keeps columns that the source drops.
    sink = sink_of(ParquetPlace(str(tmp_path / "tables"), drop_columns=False), spark)
    rig = Rig(spark, tmp_path, sink)
    note, last = {**NAME, "field": "note"}, {**NAME, "field": "last"}
    log = TopicLog((ID, NAME, note, last))
    log.change("c", {"id": 1, "name": "n", "note": "o", "last": "l"}, lsn=10)
    rig.batch(log)
    log.fields = (ID, NAME, last)
    log.change("u", {"id": 1, "name": "n2", "last": "l"}, lsn=20)
    rig.batch(log)
    log.fields = (ID, {**NAME, "field": "title"}, last)
    log.change("u", {"id": 1, "title": "n3", "last": "l"}, lsn=30)
    rig.batch(log)
    found = spark.read.parquet(str(tmp_path / "tables" / "public" / "items_history"))
    assert [name for name in found.columns if name in {"name", "title", "note", "last"}] == ["title", "last", "note"]
    rows = found.select("version", "title", "note").orderBy("version").collect()
    assert [tuple(row) for row in rows] == [(10, "n", "o"), (20, "n2", None), (30, "n3", None)]


@pytest.mark.long
def test_versions_continue_under_another_key(rig: Rig) -> None:
    shop: Json = {"type": "int32", "optional": False, "field": "shop"}
    log = TopicLog((ID, shop, NAME))
    log.change("c", {"id": 1, "shop": 5, "name": "a"}, lsn=10)
    log.change("c", {"id": 2, "shop": 5, "name": "x"}, lsn=20)
    log.key = (shop, ID)
    log.change("u", {"id": 1, "shop": 5, "name": "b"}, lsn=30, partition=1)
    log.change("d", {"id": 2, "shop": 5}, lsn=40, partition=1)
    rig.batch(log)
    expected = [(1, "a", "c", 10, 30), (1, "b", "u", 30, None), (2, "x", "c", 20, 40)]
    assert rig.versions() == expected
    log.repeat(0)
    rig.batch(log)
    assert rig.versions() == expected


def flat(row: Json, op: str, lsn: int, *, lacking: str = "") -> Json:
    """A row after event flattening with ``add.fields=op,lsn,source.ts_ms`` and ``delete.tombstone.handling.mode=rewrite``."""
    at = int(_committed(lsn).replace(tzinfo=UTC).timestamp() * 1000)
    whole = {**row, "__op": op, "__lsn": lsn, "__source_ts_ms": at, "__deleted": "true" if op == "d" else "false"}
    return {name: value for name, value in whole.items() if name != lacking}


def test_flattened_rows_have_a_history(rig: Rig) -> None:
    log = TopicLog(None)
    for name, op, lsn in (("a", "c", 10), ("b", "u", 20), (None, "d", 30)):
        log.record({"id": 1}, flat({"id": 1, "name": name}, op, lsn))
    rig.batch(log)
    expected = [(1, "a", "c", 10, 20), (1, "b", "u", 20, 30)]
    assert rig.versions() == expected
    log.repeat(0)
    rig.batch(log)
    assert rig.versions() == expected


@pytest.mark.parametrize("lacking", ["__op", "__lsn", "__source_ts_ms", "__deleted"])
def test_flattened_rows_without_what_a_history_needs_are_refused(rig: Rig, lacking: str) -> None:
    log = TopicLog(None)
    log.record({"id": 1}, flat({"id": 1, "name": "a"}, "c", 10, lacking=lacking))
    with pytest.raises(JobError, match=rf"rows without {lacking}, .* Set add\.fields=op,lsn,source\.ts_ms and delete\.tombstone"):
        rig.batch(log)


@pytest.mark.long
def test_history_in_iceberg_continues_from_batch_to_batch(spark: SparkSession, tmp_path: Path) -> None:
    # A catalog's settings are read once in a session.
    place = IcebergPlace(f"ice_{uuid.uuid4().hex}", {"type": "hadoop", "warehouse": str(tmp_path / "tables")})
    sink = sink_of(place, spark)
    batches = Batches(Checkpoint(spark, str(tmp_path / "checkpoint")), json_format(UNAVAILABLE, None), sink, History(sink))
    # A streaming query has its own session.
    session = own_session(spark)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"}, lsn=10)
    log.change("c", {"id": 2, "name": "x"}, lsn=20)
    batches.apply(log.batch(session), 0)
    log.change("u", {"id": 1, "name": "b"}, lsn=30)
    log.change("t", lsn=40)
    log.change("c", {"id": 1, "name": "c"}, lsn=50)
    batches.apply(log.batch(session), 1)
    found = sink.read(history_table(Table("public", "items", (Column("id", kind_of(ID)), Column("name", kind_of(NAME))), ("id",))))
    assert found is not None
    rows = found.orderBy("id", "version").select("id", "name", "op", "version", "ended").collect()
    expected = [(1, "a", "c", 10, 30), (1, "b", "u", 30, 40), (1, "c", "c", 50, None), (2, "x", "c", 20, 40)]
    assert [tuple(row) for row in rows] == expected
