"""Two tables side by side: which rows are in both, which in one only."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import NumericType

from workers.spark.envelope import Column

EQUAL: Final = "="
ONLY_TOPIC: Final = "topic"
ONLY_SOURCE: Final = "source"
WIDEST: Final = 32
"""Characters of a cell that are printed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``lines`` are (mark, cells) with the rows in order; ``topic`` and ``source`` count rows, ``different`` those without a twin."""

    columns: Sequence[str]
    lines: Sequence[tuple[str, Sequence[str | None]]]
    topic: int
    source: int
    different: int


def compare(rebuilt: DataFrame, source: DataFrame, columns: Sequence[Column], limit: int) -> Comparison:
    """Match rows by value, as often as they occur (a table may hold a row twice).

    ``rebuilt`` has decoded values, ``source`` PostgreSQL's text. At most ``limit`` lines are kept, those that differ first.
    """
    cells = {column.name: F.col(_quoted(column.name)) for column in columns}
    left = rebuilt.select(*(column.kind.text(cells[column.name]).alias(column.name) for column in columns), F.lit(1).alias("#"))
    right = source.select(*(column.kind.normal(cells[column.name]).alias(column.name) for column in columns), F.lit(-1).alias("#"))
    mark = F.col(_quoted("#"))
    counted = (
        left.union(right)
        .groupBy(*cells.values())
        .agg(F.count_if(mark == 1).alias("#topic"), F.count_if(mark == -1).alias("#source"))
        .persist()
    )
    both = F.least(_count("topic"), _count("source"))
    totals = counted.agg(F.sum(_count("topic")), F.sum(_count("source")), F.sum(_count("topic") + _count("source") - 2 * both)).first()
    topic, of_source, different = (int(value or 0) for value in totals)
    order = [part for column in columns for part in _order(column, cells[column.name])]
    if max(topic, of_source) + different > limit:
        order.insert(0, _count("topic") == _count("source"))
    lines: list[tuple[str, Sequence[str | None]]] = []
    for row in counted.orderBy(*order).limit(limit).collect():
        values, (in_topic, in_source) = row[: len(columns)], row[len(columns) :]
        lines += [(EQUAL, values)] * min(in_topic, in_source)
        lines += [(ONLY_TOPIC, values)] * (in_topic - in_source) + [(ONLY_SOURCE, values)] * (in_source - in_topic)
    counted.unpersist()
    return Comparison([column.name for column in columns], lines[:limit], topic, of_source, different)


def table_text(comparison: Comparison) -> str:
    """The lines as a table for a terminal. Null is ∅, control characters and anything past :data:`WIDEST` are cut."""
    header = ["", *comparison.columns]
    body = [[mark, *(_cell(value) for value in values)] for mark, values in comparison.lines]
    widths = [max(_width(line[at]) for line in [header, *body]) for at in range(len(header))]

    def padded(line: Sequence[str]) -> str:
        return "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()

    return "\n".join(padded(line) for line in [header, *body])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _count(side: str) -> SparkColumn:
    return F.col(f"`#{side}`")


def _order(column: Column, cell: SparkColumn) -> list[SparkColumn]:
    return [cell.try_cast("double"), cell] if isinstance(column.kind.type, NumericType) else [cell]


def _cell(value: str | None) -> str:
    if value is None:
        return "∅"
    clean = "".join(" " if unicodedata.category(letter).startswith("C") else letter for letter in value)
    return clean if len(clean) <= WIDEST else clean[: WIDEST - 1] + "…"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
