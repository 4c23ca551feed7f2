"""A few rows that this process knows, as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def known_rows(session: SparkSession, rows: Iterable[Sequence[str | int | bool]], columns: Mapping[str, str]) -> DataFrame:
    """The rows, with the columns' names and types in Spark's words.

    Spark makes them from one literal. :meth:`SparkSession.createDataFrame` would send them through a Python process of its own each time
    that they are read.
    """
    text = json.dumps([dict(zip(columns, row, strict=True)) for row in rows])
    kind = ", ".join(f"{name}: {kind}" for name, kind in columns.items())
    return session.range(0, 1, 1, 1).select(F.inline(F.from_json(F.lit(text), f"array<struct<{kind}>>")))
