"""Batches whose rows Python has in Arrow leave the tables that those leave whose rows Spark computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_arrow_batches import ALL, AT, TAGS, ZONED, workload
from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import ID, NAME, Record, frame, price
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.sinks import DeltaPlace, ParquetPlace, SinkPlace, takes_arrow
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.tables.table import Effects, Sink, Table
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

SCALARS = tuple(field for field in ALL if field is not TAGS)
NAMEABLE = (ID, NAME, price(2), AT, ZONED)


class Watched:
    """A sink that notes the tables whose rows each batch has in Arrow, and those whose rows Spark was asked for."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.tables: dict[str, Table] = {}
        self.arrow: list[list[str]] = []
        self.asked: list[list[str]] = []

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        self.tables |= {one.table.name: one.table for one in effects}
        self.sink.apply(batch, effects)
        self.arrow.append(sorted(one.table.name for one in effects if one.arrow is not None))
        self.asked.append(sorted(one.table.name for one in effects if one.arrow is not None and one.later.made))

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        return self.sink.read(table, session)

    def rows(self) -> Mapping[str, list[str]]:
        """The rows of each table with the mirror's own columns, as text."""
        found = {name: self.read(table) for name, table in self.tables.items()}
        return {name: sorted(str(row) for row in there.collect()) for name, there in found.items() if there is not None}


def mirrored(spark: SparkSession, folder: Path, sink: Sink, batches: Sequence[Sequence[Record]], in_arrow: int) -> Watched:
    watched, counts = Watched(sink), Counter[str]()
    work = Batches(
        Checkpoint(spark, str(folder / "checkpoint")),
        json_format(UNAVAILABLE, None),
        watched,
        Mirror(watched),
        counts=lambda _: counts,
        in_arrow=in_arrow,
    )
    for number, records in enumerate(batches):
        counts = Counter(record[0] for record in records)
        work.apply(frame(spark, records), number)
    return watched


@pytest.mark.parametrize("readers", ["spark", pytest.param("all", marks=pytest.mark.long)])
def test_delta_has_the_same_rows(spark: SparkSession, tmp_path: Path, readers: str) -> None:
    places = [tmp_path / name for name in ("java", "arrow")]
    given = [
        mirrored(spark, place, DeltaSink(spark, str(place / "tables"), readers=readers), workload(NAMEABLE), at)
        for at, place in enumerate(places)
    ]
    java, arrow = given
    assert arrow.rows() == java.rows()
    assert min(map(len, java.rows().values())) > 1
    assert not any(java.arrow)
    every = ["bare", "keyed", "ordered", "other", "text"]
    # Spark decodes a batch in which the columns change.
    without = ["bare", "keyed", "ordered", "text"]
    assert arrow.arrow == [every, every, every, without, every, every]
    assert not any(arrow.asked)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (DeltaPlace("tables"), True),
        (DeltaPlace("file:///tables", "catalog"), True),
        (DeltaPlace("s3a://bucket/tables"), False),
        (DeltaPlace(None, "catalog"), False),
        (ParquetPlace("tables"), False),
    ],
)
def test_only_delta_in_a_local_folder_takes_rows_in_arrow(spark: SparkSession, place: SinkPlace, *, expected: bool) -> None:
    assert takes_arrow(place, spark) == expected


def test_other_sinks_have_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """They ask for Spark's rows, also if the effects have them in Arrow."""
    sinks = [MemorySink(spark) for _ in range(2)]
    arrow, java = (mirrored(spark, tmp_path / str(at), sink, workload(SCALARS), at) for at, sink in zip((1, 0), sinks, strict=True))
    assert sinks[0].tables == sinks[1].tables
    # Only Spark knows the JSON of numbers with a fraction, of which names are made.
    assert arrow.arrow[0] == ["keyed", "ordered", "other", "text"]
    assert arrow.asked == arrow.arrow
    assert not any(java.arrow)
