"""The Java classes of PySpark's expressions."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.java_names import NAMES, remember

pytestmark = pytest.mark.pg_once


def test_expressions_use_the_classes_that_were_found(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    found = {name: vars(java)[name] for name in NAMES}
    remember(spark)
    assert all(vars(java)[name] is found[name] for name in NAMES)
    [row] = (
        spark.range(1).select(F.struct(F.lit(2).alias("a"), (F.col("id") + 1).alias("b"), F.negative("id").alias("c")).alias("s")).collect()
    )
    assert tuple(row["s"]) == (2, 1, 0)
    # A later version of PySpark may take them from elsewhere. Then the names here are of no use any more.
    used = {name for name in NAMES if len(vars(found[name])) > 1}
    assert used >= {"functions", "org.apache.spark.sql.functions", "PythonUtils"}


def test_an_unknown_function_stays_unknown(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    for _ in range(2):
        with pytest.raises(Py4JError, match="no_such_function does not exist"):
            java.functions.no_such_function(1)
