"""The bounds of keys in a file's statistics; without Spark."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from workers.spark.sinks.delta.key_bounds import BoundedColumn, bounded_column
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of


def keys(*values: str | None) -> list[str]:
    return [json.dumps([value, "more"]) for value in values]


def test_whole_numbers_are_ordered_as_numbers() -> None:
    found = BoundedColumn("c", LongType()).stats_of(keys("10", "9", "-2"))
    assert found == {"minValues": {"c": -2}, "maxValues": {"c": 10}, "nullCount": {"c": 0}, "tightBounds": True}


def test_texts_are_ordered_by_their_bytes() -> None:
    # By code units, as Java and JavaScript compare, the last would be before the second.
    found = BoundedColumn("c", StringType()).stats_of(keys("a", "\uffee", "😀"))
    assert (found["minValues"], found["maxValues"]) == ({"c": "a"}, {"c": "😀"})


@pytest.mark.parametrize("texts", [(), ("1", None), ("1", "x" * 201)], ids=["no rows", "null", "long"])
def test_other_files_have_no_bounds(texts: tuple[str | None, ...]) -> None:
    assert BoundedColumn("c", StringType()).stats_of(keys(*texts)) == {}


def test_the_column_has_its_name_in_the_files() -> None:
    table = Table("s", "t", (Column("id", kind_of({"type": "int64"})), Column("d", kind_of({"type": "double"}))), ("id",))
    fields = [StructField("d", DoubleType()), StructField("id", LongType(), metadata={"delta.columnMapping.physicalName": "col-1"})]
    assert bounded_column(StructType(fields), table) == BoundedColumn("col-1", LongType())
    floating = Table("s", "t", table.columns, ("d",))
    assert bounded_column(StructType(fields), floating) is None
