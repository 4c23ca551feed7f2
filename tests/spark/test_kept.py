"""Rows that several queries of a batch read."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.effects.kept import Kept

pytestmark = pytest.mark.pg_once


def test_rows_are_kept_whole_by_the_first_query_and_freed(spark: SparkSession) -> None:
    context: Any = spark.sparkContext._jsc.sc()

    def partitions() -> dict[int, tuple[int, int]]:
        """The kept DataFrames: their partitions, and those in memory."""
        return {each.id(): (each.numPartitions(), each.numCachedPartitions()) for each in context.getRDDStorageInfo()}

    before = partitions()
    kept = Kept(spark.range(0, 100, 1, 4))
    assert partitions() == before
    assert kept.rows.agg(F.sum("id")).first() == (4950,)
    [mine] = partitions().keys() - before.keys()
    assert partitions()[mine] == (4, 4)
    assert kept.rows.where("id > 90").count() == 9
    kept.drop()
    assert partitions() == before
