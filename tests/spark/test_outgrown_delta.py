"""A Delta table that was small and grows by rows with higher keys: nothing is looked for in its first file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import PLAIN, effects, few, shown, up
from workers.spark.sinks import small_tables
from workers.spark.sinks.delta.marked_rows import MarkedRows
from workers.spark.sinks.delta.sink import DeltaSink


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
