"""Columns that the source drops and adds again: existing rows of a mirror lose their former values, versions of a history keep them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.topic_log import ID, NAME, Json, TopicLog
from workers.spark.jobs.batches import Batches, Job
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.history import History, history_table
from workers.spark.jobs.mirror import Mirror
from workers.spark.sinks import DeltaPlace, ParquetPlace, SinkPlace, sink_of
from workers.spark.tables.table import Sink, Table
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTE: Json = {**NAME, "field": "note"}
NUMBER: Json = {"type": "int32", "optional": True, "field": "note"}
LONG_FOR = partial(pytest.param, marks=pytest.mark.long)
ITEMS = Table("public", "items", (), ("id",))


def delta(folder: str) -> SinkPlace:
    return DeltaPlace(folder, None, drop_columns=False)


def parquet(folder: str) -> SinkPlace:
    return ParquetPlace(folder, drop_columns=False)


def apply(spark: SparkSession, folder: Path, place: SinkPlace, job: Callable[[Sink], Job], batches: list[DataFrame]) -> Sink:
    sink = sink_of(place, spark)
    for number, batch in enumerate(batches):
        Batches(Checkpoint(spark, str(folder / "checkpoint")), json_format(UNAVAILABLE, None), sink, job(sink)).apply(batch, number)
    return sink


def changed(spark: SparkSession, again: Json, *, together: bool) -> list[DataFrame]:
    """``note`` goes and comes back. If ``together``, one batch has the events without it and those that follow."""
    log = TopicLog((ID, NAME, NOTE))
    log.change("c", {"id": 1, "name": "a", "note": "former"}, lsn=10)
    found = [log.batch(spark)]
    log.fields = (ID, NAME)
    log.change("c", {"id": 2, "name": "b"}, lsn=20)
    if not together:
        found.append(log.batch(spark))
    log.fields = (ID, NAME, again)
    log.change("c", {"id": 3, "name": "c", "note": "new" if again is NOTE else 3}, lsn=30)
    found.append(log.batch(spark))
    log.change("c", {"id": 4, "name": "d", "note": None}, lsn=40)
    return [*found, log.batch(spark)]


@pytest.mark.parametrize("place", [LONG_FOR(delta), parquet])
@pytest.mark.parametrize(("again", "third"), [LONG_FOR(NOTE, "new", id="same_type"), pytest.param(NUMBER, 3, id="other_type")])
def test_existing_rows_lose_the_values(
    spark: SparkSession, tmp_path: Path, place: Callable[[str], SinkPlace], again: Json, third: object
) -> None:
    sink = apply(spark, tmp_path, place(str(tmp_path / "tables")), Mirror, changed(spark, again, together=False))
    rows = sink.read(ITEMS)
    assert rows is not None
    assert [row["note"] for row in rows.orderBy("id").collect()] == [None, None, third, None]


@pytest.mark.parametrize("place", [LONG_FOR(parquet, id="keep"), pytest.param(ParquetPlace, id="drop")])
def test_existing_rows_lose_the_values_within_a_batch(spark: SparkSession, tmp_path: Path, place: Callable[[str], SinkPlace]) -> None:
    sink = apply(spark, tmp_path, place(str(tmp_path / "tables")), Mirror, changed(spark, NOTE, together=True))
    rows = sink.read(ITEMS)
    assert rows is not None
    assert [row["note"] for row in rows.orderBy("id").collect()] == [None, None, "new", None]


@pytest.mark.parametrize("together", [pytest.param(True, id="one_batch"), LONG_FOR(False, id="batches")])
def test_versions_keep_the_values(spark: SparkSession, tmp_path: Path, *, together: bool) -> None:
    sink = apply(spark, tmp_path, parquet(str(tmp_path / "tables")), History, changed(spark, NOTE, together=together))
    rows = sink.read(history_table(ITEMS))
    assert rows is not None
    assert [row["note"] for row in rows.orderBy("id").collect()] == ["former", None, "new", None]


@pytest.mark.long
def test_topics_that_share_a_table_do_not_clear_each_other_s_values(spark: SparkSession, tmp_path: Path) -> None:
    logs = [TopicLog((ID, NAME), topic=f"shop.{number}.public.items") for number in (1, 2)]
    for number, log in enumerate(logs):
        log.change("c", {"id": number, "name": "before"}, lsn=10)
    batches = [logs[0].batch(spark).unionByName(logs[1].batch(spark))]
    for number, log in enumerate(logs):
        log.fields = (ID, NAME, NOTE)
        log.change("c", {"id": 10 + number, "name": "after", "note": f"of {number}"}, lsn=20)
        batches.append(log.batch(spark))
    rows = apply(spark, tmp_path, parquet(str(tmp_path / "tables")), Mirror, batches).read(ITEMS)
    assert rows is not None
    assert [row["note"] for row in rows.orderBy("id").collect()] == [None, None, "of 0", "of 1"]
