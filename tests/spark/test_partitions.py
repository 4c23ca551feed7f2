"""Mirrors whose files are divided by columns: they change as others do, and stay divided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.sink_rig import INT, LONG, TEXT, effects, shown, table, up
from workers.spark.failure import TableError
from workers.spark.sinks import DeltaPlace, IcebergPlace, sink_of
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.tables.table import Column, Sink, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Lake(NamedTuple):
    sink: Sink
    by: tuple[str, ...]
    """The rule's partitions, of which the second column is one."""
    divided: Callable[[], list[str]]
    """The partitions of the table in the lake."""


@pytest.fixture(params=["delta", *(pytest.param(other, marks=pytest.mark.long) for other in ("delta for all readers", "iceberg"))])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Lake:
    if request.param == "iceberg":
        catalog = f"parts_{tmp_path.name.translate(str.maketrans('[]-', '___'))}"
        sink = sink_of(IcebergPlace(catalog, {"type": "hadoop", "warehouse": str(tmp_path / "ice")}), spark)

        def fields() -> list[str]:
            found = spark.sql(f"SELECT partition FROM {catalog}.s.t.partitions").schema
            return list(found["partition"].dataType.names) if "partition" in found.names else []

        return Lake(sink, ("bucket(4, id)", "region"), fields)
    readers = "spark" if request.param == "delta" else "all"
    sink = sink_of(DeltaPlace(str(tmp_path), readers=readers), spark)

    def columns() -> list[str]:
        [row] = spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/s/t`").select("partitionColumns").collect()
        return list(row[0])

    return Lake(sink, ("region",), columns)


def test_partitioned_table_follows_its_source(lake: Lake, spark: SparkSession) -> None:
    sink, number = lake.sink, 0

    def applied(of: Table, *rows: tuple[object, ...]) -> list[tuple[object, ...]]:
        nonlocal number
        number += 1
        batch = replace(effects(spark, of, [up(*row) for row in rows]), known=number > 1)
        for _ in range(2):
            sink.apply(number, [batch])
        return shown(sink, of)

    first = replace(table(Column("id", INT), Column("region", TEXT), Column("n", INT)), partition_by=lake.by)
    assert applied(first, (1, "north", 10), (2, "south", 20), (3, None, 30)) == [(1, "north", 10), (2, "south", 20), (3, None, 30)]
    by = lake.divided()
    assert len(by) == len(lake.by)
    # A row moves to another partition.
    assert applied(first, (1, "south", 11), (4, "a b/é=", 40)) == [(1, "south", 11), (2, "south", 20), (3, None, 30), (4, "a b/é=", 40)]
    # A default makes Delta and Iceberg write the table again.
    more = replace(first, columns=(*first.columns, Column("extra", LONG, default=7)))
    assert applied(more, (2, "south", 21, 8))[:2] == [(1, "south", 11, 7), (2, "south", 21, 8)]
    assert lake.divided() == by
    without = replace(more, columns=tuple(column for column in more.columns if column.name != "region"))
    if not isinstance(sink, DeltaSink):
        with pytest.raises(TableError, match=r"has dropped region of s.t or changed its type.* start once with --rebuild s\.t"):
            applied(without, (3, 31, 9))
        return
    assert applied(without, (3, 31, 9)) == [(1, 11, 7), (2, 21, 8), (3, 31, 9), (4, 40, 7)]
    assert len(lake.divided()) == len(by) - 1


@pytest.mark.long
def test_renamed_column_divides_the_files_on(lake: Lake, spark: SparkSession) -> None:
    first = replace(table(Column("id", INT), Column("region", TEXT), Column("n", INT)), partition_by=lake.by)
    lake.sink.apply(0, [effects(spark, first, [up(1, "north", 10), up(2, "south", 20)])])
    renamed = replace(first, columns=(first.columns[0], Column("area", TEXT), first.columns[2]))
    lake.sink.apply(1, [replace(effects(spark, renamed, [up(2, "north", 21)]), known=True)])
    assert shown(lake.sink, renamed) == [(1, "north", 10), (2, "north", 21)]
