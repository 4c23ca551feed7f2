"""JSON's values that Python reads are those that Spark's ``from_json`` reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from tests.spark.test_types import CASES
from workers.spark.types import kind_of
from workers.spark.types.arrow_columns import OtherJson, arrow_rows

PAIR = StructType([StructField("x", DoubleType()), StructField("y", FloatType())])
VALUES: list[tuple[DataType, list[Any]]] = [
    (ShortType(), [32767, -32768, 0]),
    (IntegerType(), [2**31 - 1, -(2**31)]),
    (LongType(), [2**63 - 1, -(2**63)]),
    (BooleanType(), [True, False]),
    (StringType(), ["", "null", "é漢😀", '"\\\n\u0001']),
    (BinaryType(), ["", "AA==", "/+8="]),
    (DoubleType(), [0.1, -0.0, 1, 5e-324, 1.7976931348623157e308, "NaN", "Infinity", "-Infinity", 123456789012345680]),
    (FloatType(), [0.1, -0.0, 3, 3.4028235e38, 1.2e-38, "NaN", "-Infinity", 16777216, 0.30000001]),
    (ArrayType(StringType()), [[], ["a", None]]),
    (ArrayType(ArrayType(IntegerType())), [[[1, None], None, []]]),
    (ArrayType(BinaryType()), [["AP8="]]),
    (MapType(StringType(), StringType()), [{}, {"b": "2", "a": None}]),
    (PAIR, [{"x": 1.5, "y": 0.1}, {"y": None}, {"x": 1, "z": "more"}]),
]
OTHERS: list[tuple[DataType, Any]] = [
    (ShortType(), 32768),
    (IntegerType(), "1"),
    (IntegerType(), 1.0),
    (IntegerType(), True),
    (LongType(), 2**63),
    (BooleanType(), 1),
    (StringType(), 1),
    (StringType(), {"a": 1}),
    (BinaryType(), "*"),
    (BinaryType(), 1),
    (DoubleType(), "1.5"),
    (DoubleType(), True),
    # The middle of two numbers of 32 bits, one that is too large for them, and one with fewer digits than the others.
    (FloatType(), 16777217),
    (FloatType(), 1e39),
    (FloatType(), 1e-40),
    (ArrayType(IntegerType()), {"0": 1}),
    (ArrayType(IntegerType()), ["1"]),
    (MapType(StringType(), StringType()), {"a": 1}),
    (MapType(IntegerType(), StringType()), {"1": "a"}),
    (PAIR, {"x": "1"}),
    (PAIR, [1, 2]),
    (DateType(), 1),
]


def same_as_spark(spark: SparkSession, of: DataType, values: list[Any]) -> None:
    kind = StructType([StructField("v", of)])
    rows = [None if at % 5 == 4 else {"v": value} for at, value in enumerate([*values, None])]
    of_made = StructType([StructField("at", LongType()), StructField("found", kind)])
    made = spark.createDataFrame(pa.table({"at": list(range(len(rows))), "found": arrow_rows(rows, kind)}), of_made)
    written = [None if row is None else json.dumps(row) for row in rows]
    texts = spark.createDataFrame(pa.table({"at": list(range(len(rows))), "text": written}))
    read = texts.withColumn("read", F.from_json("text", kind, {"mode": "FAILFAST"}))
    # The text shows the sign of zero, and that a number is none.
    shown = [F.col(name).cast("string").alias(name) for name in ("found", "read")]
    for row in made.join(read, "at").select(*shown, F.to_json("found").alias("f"), F.to_json("read").alias("r")).collect():
        assert (row["found"], row["f"]) == (row["read"], row["r"])


def test_values_are_those_that_spark_reads(spark: SparkSession) -> None:
    for of, values in VALUES:
        same_as_spark(spark, of, values)


def test_values_of_every_kind_are_those_that_spark_reads(spark: SparkSession) -> None:
    for case in CASES:
        same_as_spark(spark, kind_of(case.schema).raw, [case.sent])


@pytest.mark.parametrize(("of", "value"), OTHERS, ids=[f"{of.simpleString()} {value}" for of, value in OTHERS])
def test_other_forms_are_left_to_spark(of: DataType, value: object) -> None:
    with pytest.raises(OtherJson):
        arrow_rows([{"v": value}], StructType([StructField("v", of)]))


def test_a_field_that_is_not_there_is_null() -> None:
    kind = StructType([StructField("a", IntegerType()), StructField("b", StringType())])
    assert arrow_rows([{"a": 1}, None, {"b": "x"}], kind).to_pylist() == [{"a": 1, "b": None}, None, {"a": None, "b": "x"}]
