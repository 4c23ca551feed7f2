"""Small batches that are decoded in the driver have the effects of those that Spark's jobs decode."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog, cents, frame, price
from workers.spark.effects import small_batches
from workers.spark.effects.small_batches import Few, Reading, SmallBatches
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.tables.table import Effects
from workers.spark.topics.formats import json_format
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

NOTE: Json = {"type": "string", "optional": True, "field": "note"}


class Mirrored:
    """One process that mirrors batches. ``taken`` has the topics of each batch whose parts were decoded in the driver."""

    def __init__(self, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sink = MemorySink(spark)
        self.taken: list[list[str]] = []
        self._batches = Batches(Checkpoint(spark, str(folder)), json_format(UNAVAILABLE, None), self.sink, Mirror(self.sink))
        whole = SmallBatches.effects

        def noted(small: SmallBatches, records: Few, topic: Topic, readings: Sequence[Reading]) -> Effects | None:
            found = whole(small, records, topic, readings)
            if found is not None:
                self.taken[-1].append(topic.name.rpartition(".")[2])
            return found

        monkeypatch.setattr(SmallBatches, "effects", noted)

    def batch(self, records: DataFrame) -> list[str]:
        self.taken.append([])
        self._batches.apply(records, len(self.taken) - 1)
        return sorted(self.taken[-1])


def logs() -> list[TopicLog]:
    return [TopicLog((ID, NAME, price(2)), topic=f"shop.public.{name}") for name in ("a", "b")]


def changed(log: TopicLog, seed: int) -> None:
    """Some changes of the rows 1 to 9, in one partition each."""
    chosen = random.Random(seed)
    for number in range(chosen.randint(1, 12)):
        key = chosen.randint(1, 9)
        row: Json = {"id": key, "name": f"{seed} {number}", "price": None if number % 3 == 0 else cents(number * 100 - 300)}
        log.change(chosen.choice("cud"), row, partition=key % 2)


def batches(spark: SparkSession) -> list[DataFrame]:
    """The first fill two tables, the others change them. The columns of one are others in the end."""
    both = logs()
    found = []
    for seed in range(6):
        for log in both:
            changed(log, seed)
        if seed == 4:
            both[1].fields = (ID, NAME, price(2), NOTE)
            both[1].change("c", {"id": 20, "name": "wide", "price": None, "note": "n"})
        found.append(frame(spark, [record for log in both for record in log.new()]))
    return found


def test_effects_are_those_of_large_batches(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        few = Mirrored(spark, tmp_path / "few", patch)
        # New columns are made by the way of large batches.
        assert [few.batch(records) for records in batches(spark)] == [["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"], ["a"], ["a", "b"]]
    with monkeypatch.context() as patch:
        patch.setattr(small_batches, "RECORDS", 0)
        large = Mirrored(spark, tmp_path / "large", patch)
        assert not any(large.batch(records) for records in batches(spark))
    assert few.sink.tables == large.sink.tables
    assert len(few.sink.rows("public.b")) > 1


@pytest.mark.long
def test_changes_without_whole_rows_are_not_decoded_in_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Mirrored(spark, tmp_path, monkeypatch)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "long"})
    few.batch(log.batch(spark))
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    assert few.batch(log.batch(spark)) == []
    log.move({"id": 1}, {"id": 2, "name": UNAVAILABLE})
    assert few.batch(log.batch(spark)) == []
    assert few.sink.rows("public.items") == [{"id": 2, "name": "long"}]
    log.change("t")
    log.change("c", {"id": 3, "name": "new"}, partition=1)
    assert few.batch(log.batch(spark)) == []
    # The truncate counts for what was logged before it and is read later.
    log.change("c", {"id": 4, "name": "older"}, partition=1, lsn=101)
    log.change("c", {"id": 5, "name": "newer"}, partition=1, lsn=10_000)
    assert few.batch(log.batch(spark)) == ["items"]
    assert few.sink.rows("public.items") == [{"id": 3, "name": "new"}, {"id": 5, "name": "newer"}]


def test_effects_of_whole_rows_say_how_large_their_changes_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_batches, "RECORDS", 0)
    large = Mirrored(spark, tmp_path, monkeypatch)
    found: list[int | None] = []
    apply = MemorySink.apply

    def noted(sink: MemorySink, batch: int, effects: Sequence[Effects]) -> None:
        found.extend(one.octets for one in effects)
        apply(sink, batch, effects)

    monkeypatch.setattr(MemorySink, "apply", noted)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "x" * 1_000})
    large.batch(log.batch(spark))
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    large.batch(log.batch(spark))
    whole, part = found
    assert whole is not None
    assert 1_000 < whole < 3_000
    # The value that was not sent again is in the mirror only.
    assert part is None


@pytest.mark.long
def test_a_batch_of_many_bytes_is_not_small(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = Mirrored(spark, tmp_path, monkeypatch)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "first"})
    few.batch(log.batch(spark))
    monkeypatch.setattr(small_batches, "OCTETS", 2_000)
    log.change("c", {"id": 2, "name": "x" * 10_000})
    assert few.batch(log.batch(spark)) == []
    monkeypatch.undo()
    assert [row["id"] for row in few.sink.rows("public.items")] == [1, 2]
