"""A table that cannot be applied is set aside with its records; the others of the batch go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.memory_sink import Crash
from tests.support.spark.topic_log import ID, NAME, TopicLog, frame
from workers.spark.failure import TableError
from workers.spark.jobs import isolation as isolation_module
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.isolation import Isolation
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.rebuild import topics_of
from workers.spark.sinks.parquet import ParquetSink
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

LSN_COLUMN = {**NAME, "field": "__lsn"}


class Rig:
    """A mirror into Parquet whose batches may be repeated; each batch by a new process."""

    def __init__(self, spark: SparkSession, folder: Path, *, stop: bool = False) -> None:
        self.spark = spark
        self.sink = ParquetSink(spark, str(folder / "tables"))
        self.checkpoint = Checkpoint(spark, str(folder))
        self._stop = stop
        self._folder = folder

    def batch(self, number: int, records: DataFrame) -> BatchTotals:
        isolation = Isolation(None if self._stop else self.checkpoint)
        batches = Batches(self.checkpoint, json_format(UNAVAILABLE, None), self.sink, Mirror(self.sink), isolation=isolation)
        return batches.apply(records, number)

    def rows(self, table: str) -> list[tuple[object, ...]]:
        found = self.spark.read.parquet(str(self._folder / "tables" / "public" / table))
        return sorted(tuple(row) for row in found.select("id", "name").collect())

    def letters(self) -> list[Row]:
        read = self.spark.read.parquet(str(self._folder / isolation_module.FOLDER))
        return list(read.orderBy("batch", "topic", "offset").collect())

    def tables(self) -> list[str]:
        folder = self._folder / "tables" / "public"
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_tables_are_set_aside_with_their_records(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(spark, tmp_path)
    items, refused, broken = TopicLog(), TopicLog((ID, LSN_COLUMN), topic="shop.public.refused"), TopicLog(topic="shop.public.broken")
    items.change("c", {"id": 1, "name": "a"})
    broken.change("c", {"id": 1, "name": "kept"})
    rig.batch(0, frame(spark, [*items.new(), *broken.new()]))

    items.change("u", {"id": 1, "name": "b"})
    refused.change("c", {"id": 1, "__lsn": "taken"})
    broken.change("c", {"id": "no number", "name": "secret"})
    records = frame(spark, [*items.new(), *refused.new(), *broken.new()])

    # The process ends when the dead letters are stored, but not the state.
    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(rig.checkpoint, "after", crash)
        with pytest.raises(Crash):
            rig.batch(1, records)
    done = rig.batch(1, records)
    assert (done.records, done.tables, done.passed_over, done.dead) == (3, 1, 0, 2)
    assert sorted(line.partition(", its")[0].partition(", nothing")[0] for line in done.aside) == [
        "The topic shop.public.broken is set aside",
        "The topic shop.public.refused is set aside",
    ]
    assert not any("secret" in line or "no number" in line for line in done.aside)
    assert (rig.tables(), rig.rows("items"), rig.rows("broken")) == (["broken", "items"], [(1, "b")], [(1, "kept")])

    # The later records of their topics follow them, also those that could be applied.
    broken.change("c", {"id": 2, "name": "fine"})
    items.change("d", {"id": 1, "name": None})
    assert rig.batch(2, frame(spark, [*items.new(), *broken.new()])).dead == 1
    assert rig.rows("broken") == [(1, "kept")]
    letters = rig.letters()
    assert [(row["batch"], row["topic"].rpartition(".")[2], row["partition"], row["offset"]) for row in letters] == [
        (1, "broken", 0, 1),
        (1, "refused", 0, 0),
        (2, "broken", 0, 2),
    ]
    assert json.loads(bytes(letters[0]["value"]))["payload"]["after"]["name"] == "secret"
    assert json.loads(bytes(letters[1]["key"]))["payload"] == {"id": 1}
    assert "has a column __lsn, a name that mirrors reserve" in letters[1]["reason"]

    # They are found by the table's name, also if no row was ever written, and their letters go when they are back.
    state = rig.checkpoint.last()
    assert topics_of(["public.refused", "public.broken"], state) == ["shop.public.broken", "shop.public.refused"]
    assert Isolation(rig.checkpoint).clear(state.topics) == []
    assert Isolation(rig.checkpoint).clear({}) == ["shop.public.broken", "shop.public.refused"]
    assert not list((tmp_path / isolation_module.FOLDER).glob("topic=*"))


def test_failure_of_a_table_stops_a_mirror_that_wants_it(spark: SparkSession, tmp_path: Path) -> None:
    refused = TopicLog((ID, LSN_COLUMN))
    refused.change("c", {"id": 1, "__lsn": "taken"})
    with pytest.raises(TableError, match="a name that mirrors reserve"):
        Rig(spark, tmp_path, stop=True).batch(0, refused.batch(spark))
