"""Values of existing rows after a change of their column's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql.types import DoubleType

from tests.support.spark.local_frame import local_frame
from workers.spark.tables.casts import converted
from workers.spark.tables.table import Column
from workers.spark.types import kind_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMERIC = Column("n", kind_of({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}))


def test_floating_point_number_becomes_numeric_without_an_exponent(spark: SparkSession) -> None:
    values = {
        1e20: "100000000000000000000",
        -1.25e-10: "-0.000000000125",
        1.7976931348623157e308: "17976931348623157" + "0" * 292,
        0.1: "0.1",
        -100.0: "-100",
        0.0: "0",
        123456789.5: "123456789.5",
        float("-inf"): "-Infinity",
    }
    there = local_frame(spark, [(number,) for number in [*values, None]], "d double")
    found = there.select(converted(there["d"], DoubleType(), NUMERIC).alias("n")).collect()
    assert [row["n"] for row in found] == [*values.values(), None]
