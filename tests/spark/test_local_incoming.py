"""Effects whose rows are in the driver are flattened without a Spark job, as a job does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, Rows, down, effects, few, kind, shown, table, up
from workers.spark.sinks import DeltaPlace, IcebergPlace, SinkPlace, sink_of
from workers.spark.sinks.incoming import incoming
from workers.spark.sinks.local_incoming import LocalIncoming
from workers.spark.sinks.small_tables import SmallTables
from workers.spark.tables.local_rows import Projection
from workers.spark.tables.table import Column, Table

SHORT, FLAG, DAY = kind("int16"), kind("boolean"), kind("int32", "io.debezium.time.Date")
KEYS: Sequence[tuple[str, Table, Rows]] = (
    ("whole numbers", PLAIN, [up(-5, "x", 1), down(100), up(2**31 - 1, None, 2)]),
    ("texts", table(Column("id", TEXT)), [up("Z"), up("ä"), up("\U00010000"), up("\uffff"), up('"\n\\'), down("")]),
    ("long texts", table(Column("id", TEXT)), [up("x" * 300), up("y")]),
    ("several", table(Column("f", FLAG), Column("s", SHORT), Column("t", TEXT), key=("f", "s", "t")),
     [up(True, -7, "a", key=3), up(None, 3, None, key=3)]),
    ("nulls", table(Column("id", LONG), Column("t", TEXT), key=("id", "t")), [up(None, "a", key=2), up(5, "b", key=2)]),
)  # fmt: skip


@pytest.mark.parametrize(("of", "rows"), [pytest.param(of, rows, id=name) for name, of, rows in KEYS])
def test_flat_rows_are_those_of_a_job(spark: SparkSession, of: Table, rows: Rows) -> None:
    seen: list[tuple[int, int]] = []
    by_job = replace(effects(spark, of, rows, 50, lsn=200), seen=lambda *counts: seen.append(counts))
    found = LocalIncoming().batch(by_job.with_rows(few(spark, of, rows).rows))
    with incoming(by_job) as wanted:
        assert found is not None
        for name in ("table", "count", "truncated", "replaced", "kept", "nullable", "bounds", "wide", "ends", "keys"):
            assert getattr(found, name) == getattr(wanted, name), name
        assert found.rows.schema.simpleString() == wanted.rows.schema.simpleString()
        assert sorted(found.rows.collect(), key=repr) == sorted(wanted.rows.collect(), key=repr)
    assert len(seen) == 2
    assert len({*seen}) == 1


def test_other_effects_take_a_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    local = LocalIncoming()
    # Only Spark orders these.
    assert local.batch(few(spark, table(Column("id", DAY)), [up("2024-01-01")])) is None
    assert local.batch(few(spark, table(Column("id", FLAG)), [up(True)])) is None
    assert local.batch(effects(spark, PLAIN, [up(1, "x", 1)])) is None
    assert local.batch(few(spark, PLAIN, [up(1, "x", 1, kept=["a"])])) is None
    assert caplog.messages == []
    # As another version of Spark would.
    monkeypatch.setattr(Projection, "run", lambda self, rows: rows.methodOfAnotherVersion())
    assert local.batch(few(spark, PLAIN, [up(1, "x", 1)])) is None
    assert caplog.messages == ["The flattening of rows of table s.t failed with Py4JError: they take the slower way"]


@pytest.mark.parametrize("lake", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_few_rows_are_merged_into_a_large_table(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str) -> None:
    place: SinkPlace = DeltaPlace(str(tmp_path))
    if lake == "iceberg":
        place = IcebergPlace(
            f"large_{tmp_path.name.translate(str.maketrans('[]-', '___'))}", {"type": "hadoop", "warehouse": str(tmp_path)}
        )
    sink = sink_of(place, spark)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30)])])
    batch, local = LocalIncoming.batch, []

    def noted(self: LocalIncoming, of: Any) -> Any:
        found = batch(self, of)
        local.append(found is not None)
        return found

    monkeypatch.setattr(LocalIncoming, "batch", noted)
    monkeypatch.setattr(SmallTables, "applied", _never)
    for _ in range(2):
        sink.apply(1, [few(spark, PLAIN, [up(1, "x2", 11), down(2), up(4, None, 40), down(9)])])
        assert shown(sink, PLAIN) == [(1, "x2", 11), (3, "z", 30), (4, None, 40)]
    sink.apply(2, [replace(few(spark, PLAIN, [up(None, "n", 1), up(5, "v", 50)], 300), truncated=250)])
    assert shown(sink, PLAIN) == [(5, "v", 50), (None, "n", 1)]
    wide = replace(PLAIN, columns=(*PLAIN.columns, Column("n", INT)))
    sink.apply(3, [few(spark, wide, [down(None), up(6, "w", 60, 6)])])
    assert shown(sink, wide) == [(5, "v", 50, None), (6, "w", 60, 6)]
    assert local == [True] * 4


def _never(*_: object, **__: object) -> bool:
    return False
