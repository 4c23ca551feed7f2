"""Rows that stay in Java: which of them are chosen, and the texts of their keys."""

from __future__ import annotations

from itertools import product

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import IntegerType, LongType

from workers.spark.tables.local_rows import chosen, collected, joined_text, key_text, local_frame, local_rows, plain_texts


@pytest.mark.parametrize("places", [[], [0], [4, 0, 0, 3, 2]])
def test_rows_are_chosen_from_all_parts(spark: SparkSession, places: list[int]) -> None:
    frames = [spark.createDataFrame([(name,) for name in names], "name string") for names in (["a", "b"], ["c", "d", "e"])]
    parts = [collected(frame) for frame in frames]
    there = local_frame(spark, frames[0]._jdf.queryExecution().analyzed().output(), chosen(spark, parts, places))
    assert [row.name for row in there.collect()] == ["abcde"[place] for place in places]
    assert (rows := local_rows(there)) is not None
    assert rows.size() == len(places)


def test_keys_without_quoting_have_the_same_texts(spark: SparkSession) -> None:
    rows = spark.createDataFrame([*product([0, -5, 2**31 - 1, None], [2**63 - 1, -(2**63), None])], "a int, b long")
    quoted = joined_text([F.col(name).cast("string") for name in "ab"])
    found = rows.select(key_text([F.col("a"), F.col("b")], [IntegerType(), LongType()]).alias("plain"), quoted.alias("quoted"))
    assert [row.plain for row in found.collect()] == [row.quoted for row in found.collect()]
    positions = spark.createDataFrame([("0000000001A0F210/701/5C3B/1",), ("/r/0/0000000000000000007",)], "p string")
    one = positions.select(plain_texts([F.col("p")]).alias("plain"), joined_text([F.col("p")]).alias("quoted")).collect()
    assert [row.plain for row in one] == [row.quoted for row in one]
