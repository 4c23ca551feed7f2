"""The comparison of two tables: the rows in both, and those in only one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import NumericType

from workers.spark.compare.grid import aligned, cell
from workers.spark.tables.table import Column

EQUAL: Final = "="
ONLY_MIRROR: Final = "mirror"
ONLY_SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``lines`` are (mark, cells) in the order of the rows. ``mirror`` and ``source`` count rows, ``different`` the unmatched ones."""

    columns: Sequence[str]
    lines: Sequence[tuple[str, Sequence[str | None]]]
    mirror: int
    source: int
    different: int


def compare(mirror: DataFrame, source: DataFrame, columns: Sequence[Column], limit: int) -> Comparison:
    """Match rows by value, with their number of occurrences (a table may hold a row twice).

    ``mirror`` has decoded values, ``source`` PostgreSQL's text. At most ``limit`` lines are kept, those that differ first.
    """
    cells = {column.name: F.col(_quoted(column.name)) for column in columns}
    left = mirror.select(*(column.kind.text(cells[column.name]).alias(column.name) for column in columns), F.lit(1).alias("#"))
    right = source.select(*(column.kind.normal(cells[column.name]).alias(column.name) for column in columns), F.lit(-1).alias("#"))
    mark = F.col(_quoted("#"))
    counted = (
        left.union(right)
        .groupBy(*cells.values())
        .agg(F.count_if(mark == 1).alias("#mirror"), F.count_if(mark == -1).alias("#source"))
        .persist()
    )
    both = F.least(_count("mirror"), _count("source"))
    totals = counted.agg(F.sum(_count("mirror")), F.sum(_count("source")), F.sum(_count("mirror") + _count("source") - 2 * both)).first()
    in_all, of_source, different = (int(value or 0) for value in totals)
    order = [part for column in columns for part in _order(column, cells[column.name])]
    if max(in_all, of_source) + different > limit:
        order.insert(0, _count("mirror") == _count("source"))
    lines: list[tuple[str, Sequence[str | None]]] = []
    for row in counted.orderBy(*order).limit(limit).collect():
        values, (in_mirror, in_source) = row[: len(columns)], row[len(columns) :]
        lines += [(EQUAL, values)] * min(in_mirror, in_source)
        lines += [(ONLY_MIRROR, values)] * (in_mirror - in_source) + [(ONLY_SOURCE, values)] * (in_source - in_mirror)
    counted.unpersist()
    return Comparison([column.name for column in columns], lines[:limit], in_all, of_source, different)


def table_text(comparison: Comparison) -> str:
    """The lines as a table for a terminal (see :mod:`workers.spark.compare.grid`)."""
    lines = [["", *comparison.columns], *([mark, *map(cell, values)] for mark, values in comparison.lines)]
    return aligned(lines)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _count(side: str) -> SparkColumn:
    return F.col(f"`#{side}`")


def _order(column: Column, cell: SparkColumn) -> list[SparkColumn]:
    return [cell.try_cast("double"), cell] if isinstance(column.kind.type, NumericType) else [cell]
