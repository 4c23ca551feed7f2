"""The code that Spark generates for a batch is kept for the next ones."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.compilation import compiled


def generated(spark: SparkSession) -> int:
    """The number of classes that Spark has generated so far."""
    java: Any = spark.sparkContext._jvm
    return int(java.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.long
def test_code_of_many_plans_is_generated_once(spark: SparkSession) -> None:
    def batch() -> int:
        former = generated(spark)
        with compiled(spark):
            for number in range(120):
                assert spark.range(1, 2, 1, 1).select(F.col("id") * F.lit(number)).collect() == [(number,)]
        return generated(spark) - former

    first, second = batch(), batch()
    assert first >= 120
    assert second == 0
