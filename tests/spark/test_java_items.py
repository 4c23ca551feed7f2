"""Java's collections as lists."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession

from workers.spark.java_items import items_of

pytestmark = pytest.mark.pg_once


def test_lists_sets_and_entries_are_read(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm.java.util
    numbers, map_ = java.ArrayList(), java.TreeMap()
    for number in (3, 1, 2):
        numbers.add(number)
        map_.put(f"k{number}", number)
    assert items_of(numbers) == [3, 1, 2]
    assert items_of(map_.keySet()) == ["k1", "k2", "k3"]
    assert [(entry.getKey(), entry.getValue()) for entry in items_of(map_.entrySet())] == [("k1", 1), ("k2", 2), ("k3", 3)]
    assert items_of(java.ArrayList()) == []
