"""From changes to tables. Pure: DataFrame in, DataFrame out, no action.

Rules. All changes of a key are in one partition, so their offsets order them; offsets of different partitions are never
compared. An update that moves a row to another key comes as a delete of the old key and a create of the new one, so it
needs no rule. A value that was not sent again is the last one that was. A truncate empties the table of all that was
logged before it: it holds the table's exclusive lock, so the LSNs of one table's events do tell before from after there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.envelope import TOMBSTONE


def rebuild(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The table after ``changes`` (see :mod:`workers.spark.envelope`), with ``columns`` in their order.

    A change without a key cannot be told from another of the same values: of those every ``c`` and ``r`` is a row, and
    updates and deletes are left out (append-only).
    """
    since = _after_truncates(changes)
    return _latest(since, columns).unionByName(_appended(since, columns))


def _after_truncates(changes: DataFrame) -> DataFrame:
    truncates = changes.where(F.col("op") == "t").select(
        F.col("partition").alias("t_partition"), F.col("offset").alias("t_offset"), F.col("lsn").alias("t_lsn")
    )
    same_partition = F.col("partition") == F.col("t_partition")
    earlier = F.when(same_partition, F.col("offset") < F.col("t_offset")).otherwise(F.col("lsn") < F.col("t_lsn"))
    return changes.where(F.col("op") != "t").join(F.broadcast(truncates), earlier, "left_anti")


def _latest(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    def last(name: str) -> Column:
        sent = F.col("row").isNotNull() & ~F.coalesce(F.array_contains("unavailable", name), F.lit(False))
        return F.max_by(F.col("row").getField(name), F.when(sent, F.col("offset"))).alias(name)

    state = (
        changes.where(F.col("key").isNotNull())
        .groupBy("key")
        .agg(F.max_by("op", "offset").alias("op"), F.struct(*(last(name) for name in columns)).alias("row"))
    )
    return state.where(~F.col("op").isin("d", TOMBSTONE)).select("row.*")


def _appended(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    rows = changes.where(F.col("key").isNull() & F.col("op").isin("c", "r"))
    return rows.select(*(F.col("row").getField(name).alias(name) for name in columns))
