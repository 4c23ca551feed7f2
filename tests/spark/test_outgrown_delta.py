"""A Delta table that has outgrown the small ones: rows with higher keys are not looked for, and small tables do not wait for it."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.spark.test_deletion_vectors import Rig, merged
from tests.support.spark.sink_rig import PLAIN, down, effects, few, shown, up
from workers.spark.sinks import small_tables
from workers.spark.sinks.delta import deletion_vectors, small
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.deletion_vectors import DeletionVectors
from workers.spark.sinks.delta.marked_rows import MarkedRows
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.sinks.small_tables import SmallTables


@pytest.mark.parametrize("again", [False, True], ids=["same process", "next process"])
def test_rows_with_higher_keys_are_only_added(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, again: bool) -> None:
    monkeypatch.setattr(small_tables, "ROWS", 4)
    looked: list[int] = []
    own = MarkedRows.found

    def noted(search: MarkedRows, known: Any, candidates: Any, changes: Any) -> Any:
        looked.append(len(candidates))
        return own(search, known, candidates, changes)

    monkeypatch.setattr(MarkedRows, "found", noted)
    sink = DeltaSink(spark, str(tmp_path))
    sink.apply(0, [effects(spark, PLAIN, [up(1, "a", 1), up(2, "b", 2)])])
    sink.apply(1, [few(spark, PLAIN, [up(2, "c", 3), up(10, "d", 4)])])
    if again:
        sink = DeltaSink(spark, str(tmp_path))
    sink.apply(2, [few(spark, PLAIN, [up(at, "e", at) for at in range(11, 20)])])
    assert looked == []
    # One of the keys may be there.
    sink.apply(3, [few(spark, PLAIN, [up(9, "f", 9), *(up(at, "g", at) for at in range(20, 25))])])
    assert looked == [1]
    rows = [
        (1, "a", 1),
        (2, "c", 3),
        (10, "d", 4),
        (9, "f", 9),
        *((at, "e", at) for at in range(11, 20)),
        *((at, "g", at) for at in range(20, 25)),
    ]
    assert shown(sink, PLAIN) == sorted(rows, key=repr)
    (log,) = tmp_path.glob("*/*/_delta_log")
    (line,) = [line for line in (log / f"{1:020}.json").read_text(encoding="utf-8").splitlines() if '"add"' in line]
    stats = json.loads(json.loads(line)["add"]["stats"])
    assert (stats["numRecords"], list(stats["minValues"].values()), list(stats["maxValues"].values())) == (3, [1], [10])


def test_small_and_large_tables_are_changed_at_the_same_time(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "ROWS", 4)
    sink, large = DeltaSink(spark, str(tmp_path)), replace(PLAIN, name="large")
    sink.apply(0, [effects(spark, table, [up(at, "a", 1) for at in (1, 2)]) for table in (PLAIN, large)])
    sink.apply(1, [few(spark, PLAIN, [up(1, "b", 2)]), few(spark, large, [up(at, "b", 2) for at in range(6)])])
    # Each waits until both have begun.
    both = threading.Barrier(2, timeout=60)
    for owner in (SmallTables, DeletionVectors):

        def waits(self: Any, one: Any, *more: Any, own: Any = owner.applied, **named: Any) -> Any:
            both.wait()
            return own(self, one, *more, **named)

        monkeypatch.setattr(owner, "applied", waits)
    sink.apply(2, [few(spark, PLAIN, [up(1, "c", 3)]), few(spark, large, [up(at, "c", 3) for at in range(1, 7)])])
    assert shown(sink, PLAIN) == [(1, "c", 3), (2, "a", 1)]
    assert shown(sink, large) == [(0, "b", 2), *((at, "c", 3) for at in range(1, 7))]


@pytest.mark.parametrize("by", ["rows of a batch", "bytes of the table"])
def test_a_table_that_has_grown_is_not_looked_at_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    size = 256 * 1024 if by == "rows of a batch" else 4_000
    for module in (small_tables, small, deletion_vectors):
        monkeypatch.setattr(module, "SMALL", size)
    monkeypatch.setattr(small_tables, "ROWS", 49)
    seen: list[str] = []
    for owner, name in ((DeltaTableFiles, "__init__"), (small_tables, "collected")):
        own = getattr(owner, name)

        def counted(*given: Any, own: Callable[..., Any] = own, name: str = name) -> Any:
            seen.append(name)
            return own(*given)

        monkeypatch.setattr(owner, name, counted)
    rig = Rig(spark, tmp_path)
    rig.fill([(at, f"text {at}", at) for at in range(5)])
    chance = random.Random(3)
    rig.few([up(at, chance.randbytes(40).hex(), at) for at in range(45)])
    seen.clear()
    rig.many([up(at, chance.randbytes(40).hex(), at) for at in range(3, 60)])
    assert seen == ["collected"], "one job has computed the rows"
    rig.many([up(at, "z", at) for at in range(2)])
    rig.check()
    assert merged(tmp_path) == [False] * 4
    # Another process finds the table as it is.
    rig.restart()
    rig.few([up(1, "w", 1), down(2)])
    rig.check()


@pytest.mark.parametrize("arrow", [False, True], ids=["java", "arrow"])
def test_a_table_that_has_grown_by_few_rows_is_not_opened_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, arrow: bool
) -> None:
    """To find out its size may take a Spark job: a table of history took 9 s in the first seconds of a load."""
    monkeypatch.setattr(small_tables, "ROWS", 9)
    rig = Rig(spark, tmp_path)
    rig.arrow = arrow
    rig.fill([(at, "a", at) for at in range(5)])
    opened: list[int] = []
    own = DeltaTableFiles.__init__

    def counted(files: DeltaTableFiles, *given: Any) -> None:
        own(files, *given)
        opened.append(files.version)

    monkeypatch.setattr(DeltaTableFiles, "__init__", counted)
    for first in (5, 8, 12, 16):
        rig.few([up(at, "b", at) for at in range(first, first + 4)])
        rig.check()
    assert opened == [0]
    rig.few([up(3, "c", 3), down(4)])
    rig.check()
    assert opened == [0]
    assert merged(tmp_path) == [False] * 6
