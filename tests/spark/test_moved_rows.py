"""Rows that move to another key in mirrors: a delete and a create, which may come in different batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.mirror_rig import Rig
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog, frame
from workers.spark.jobs import batches
from workers.spark.jobs.checkpoint import KEPT_BATCHES
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def rig(spark: SparkSession, tmp_path: Path) -> Rig:
    return Rig(spark, tmp_path)


def test_row_takes_values_along_to_its_new_keys(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "in the target"})
    rig.batch(log)
    log.change("c", {"id": 2, "name": "in the batch"})
    log.move({"id": 1}, {"id": 11, "name": UNAVAILABLE})
    log.move({"id": 2}, {"id": 12, "name": UNAVAILABLE})
    log.move({"id": 11}, {"id": 111, "name": UNAVAILABLE})
    log.move({"id": 111}, {"id": 1, "name": UNAVAILABLE})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "name": "in the target"}, {"id": 12, "name": "in the batch"}]


def test_move_that_two_batches_share(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "kept meanwhile"})
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE})
    create = log.records.pop()
    rig.batch(log)
    assert rig.sink.rows() == []
    rig.batch(frame(rig.spark, [create]))
    assert rig.sink.rows() == [{"id": 9, "name": "kept meanwhile"}]


@pytest.mark.long
def test_move_whose_other_half_comes_late(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "first"})
    rig.batch(log)
    log.change("u", {"id": 1, "name": "last"})
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE}, to=1)
    *late, create = log.records[1:]
    log.batch(rig.spark)
    assert rig.batch(frame(rig.spark, [create])).waiting == 1
    assert rig.sink.rows() == [{"id": 1, "name": "first"}]
    assert rig.batch(frame(rig.spark, late)).waiting == 0
    assert rig.sink.rows() == [{"id": 9, "name": "last"}]


@pytest.mark.long
def test_column_is_renamed_between_the_halves_of_a_move(rig: Rig) -> None:
    level: Json = {"type": "int32", "optional": True, "field": "level"}
    log = TopicLog((ID, NAME, level))
    log.change("c", {"id": 1, "name": "kept meanwhile", "level": 1})
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE, "level": 1})
    create = log.records.pop()
    rig.batch(log)
    log.fields = (ID, {**NAME, "field": "title"}, level)
    log.change("c", {"id": 2, "title": "renamed", "level": 2}, partition=1)
    log.batch(rig.spark)
    rig.batch(frame(rig.spark, [create, *log.records[-1:]]))
    assert rig.sink.rows() == [{"id": 2, "title": "renamed", "level": 2}, {"id": 9, "title": "kept meanwhile", "level": 1}]


@pytest.mark.long
def test_each_batch_ends_between_the_halves_of_a_move(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WAITS", 2)
    log = TopicLog()
    for key in range(1, 6):
        log.change("c", {"id": key, "name": f"kept {key}"})
    rig.batch(log)
    late = log.records[:0]
    waiting = []
    for key in range(1, 6):
        log.move({"id": key}, {"id": 10 + key, "name": UNAVAILABLE}, to=1)
        *leave, create = log.records
        log.batch(rig.spark)
        waiting.append(rig.batch(frame(rig.spark, [*late, create])).waiting)
        late = leave
    assert waiting == [1] * 5
    assert rig.batch(frame(rig.spark, late)).waiting == 0
    assert rig.sink.rows() == [{"id": 10 + key, "name": f"kept {key}"} for key in range(1, 6)]


@pytest.mark.long
def test_move_whose_other_half_never_comes(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WAITS", 2)
    log = TopicLog()
    log.change("c", {"id": 2, "name": "x"})
    rig.batch(log)
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE}, to=1)
    rig.batch(frame(rig.spark, log.records[-1:]))
    log.batch(rig.spark)
    assert [rig.batch(log).waiting for _ in range(2)] == [1, 0]
    assert rig.sink.rows() == [{"id": 2, "name": "x"}, {"id": 9, "name": None}]


@pytest.mark.long
def test_images_of_moves_are_forgotten_in_time(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "IMAGE_BATCHES", 2)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "long"})
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE})
    log.records.pop()
    rig.batch(log)

    def kept() -> list[str]:
        return sorted(path.name for path in (tmp_path / "understudy" / "ahead").iterdir())

    assert len(kept()) == 1
    # In none of these batches a row moves.
    for number in range(KEPT_BATCHES + 1):
        log.change("c", {"id": 10 + number, "name": "later"})
        rig.batch(log)
    assert kept() == []


def test_move_that_is_repeated_after_a_crash_of_the_connector(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "moved"})
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE})
    log.change("c", {"id": 1, "name": "somebody else"})
    rig.batch(log)
    log.repeat(1)
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "name": "somebody else"}, {"id": 9, "name": "moved"}]
