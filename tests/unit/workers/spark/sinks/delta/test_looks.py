"""When the sink of Delta tables asks the statistics in a log whether a batch's keys are new. Files are ranges of keys here."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.delta.sink import UNASKED, DeltaSink
from workers.spark.sinks.delta.version import DeltaVersion
from workers.spark.sinks.incoming import Incoming
from workers.spark.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = Table("s", "t", (), ("id",))
NAME = "a table"


class Log:
    """A session with one table: the lowest and highest key of each file, and the number of looks at them."""

    def __init__(self, *files: tuple[int, int]) -> None:
        self.files = list(files)
        self.looks = 0
        self.conf = SimpleNamespace(set=lambda _name, _value: None)

    def table(self, _name: str) -> Log:
        return self

    def where(self, condition: str) -> SimpleNamespace:
        low, *high = map(int, re.findall(r"-?\d+", condition))
        there = [one for one in self.files if one[1] >= low and (not high or one[0] <= high[0])]

        def look() -> list[tuple[int, int]]:
            self.looks += 1
            return there

        return SimpleNamespace(inputFiles=look)


class Sink:
    """Batches of keys from one to another, of which each is a commit."""

    def __init__(self, log: Log, folder: Path) -> None:
        self.log = log
        self.session = cast("SparkSession", log)
        self.sink = DeltaSink(self.session, str(folder))
        self.version = 0

    def adds(self, low: int, high: int) -> bool:
        """Whether the batch is known to be new."""
        bounds = ("id", str(low), str(high))
        batch = Incoming(TABLE, 1, None, (), frozenset(), frozenset(), cast("DataFrame", None), bounds, bounds, (low, high))
        self.sink._versions[NAME] = DeltaVersion("id", self.version, 0)
        found = self.sink.lacks(self.session, NAME, batch)
        self.sink._highest.brought("id", self.version, self.version + 1, batch)
        self.version += 1
        self.log.files.append((low, high))
        return found


def test_keys_above_all_others_need_one_look(tmp_path: Path) -> None:
    sink = Sink(Log((1, 10)), tmp_path)
    assert [sink.adds(low, low + 9) for low in (11, 21, 31)] == [True] * 3
    # Whether the keys are new, and whether they are above all others.
    assert sink.log.looks == 2


def test_keys_below_those_that_are_there_may_be_new(tmp_path: Path) -> None:
    sink = Sink(Log((1, 10)), tmp_path)
    assert sink.adds(1_000, 1_009)
    looks = sink.log.looks
    assert [sink.adds(low, low + 9) for low in (11, 21, 31)] == [True] * 3
    assert sink.log.looks == looks + 3
    # What is known of the highest key stays.
    assert sink.adds(1_010, 1_019)
    assert sink.log.looks == looks + 3


def test_changes_are_seldom_looked_for(tmp_path: Path) -> None:
    sink = Sink(Log((1, 10)), tmp_path)
    assert not any(sink.adds(5, 6) for _ in range(2 * (UNASKED + 1)))
    assert sink.log.looks == 2
