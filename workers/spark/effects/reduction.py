"""Reduces a batch of changes to one effect for each key. Pure: DataFrame in, DataFrame out, no action.

Rules. All changes of a key are in one partition, so their offsets order them. An update that moves a row to another key arrives as a
delete of the old key and a create of the new one. A value that was not sent again is the last one sent, in the batch or in the
target. After a whole image (create, read) earlier values do not count. A truncate removes all rows
logged before it: it holds the table's exclusive lock, so the LSNs of one table's events show the order across partitions.
A table without a key only grows: the name of a row is the place of its change (:mod:`workers.spark.effects.places`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.tables.table import DELETE, UPSERT, Column, Table
from workers.spark.topics.events import GONE, WHOLE, key_columns
from workers.spark.topics.known import Truncate


def after_truncates(changes: DataFrame, truncates: Sequence[Truncate]) -> DataFrame:
    """``changes`` without those that a truncate has removed, and without the truncates themselves.

    In a truncate's own partition the offset decides; elsewhere the LSN, for events not committed later than it by the source's clock
    (after a failover or a restore LSNs may start lower).
    """
    left = changes.where(F.col("op") != "t")
    for truncate in truncates:
        elsewhere = (F.col("lsn") < truncate.lsn) & (F.col("ts_ms") <= truncate.ts_ms)
        own = F.col("offset") < truncate.offset
        if truncate.tx is not None:
            # The last change before a blocking snapshot. The snapshot has its row, at the same LSN. The condition must stay within the
            # case below: Spark would evaluate one of its own on events that the conditions before it exclude.
            last = F.coalesce((F.col("lsn") == truncate.lsn) & (F.col("tx") == truncate.tx) & (F.col("op") != "r"), F.lit(False))
            elsewhere, own = elsewhere | last, own | last
        gone = F.when(F.col("partition") == truncate.partition, own).otherwise(F.coalesce(elsewhere, F.lit(False)))
        left = left.where(~gone)
    return left


def removed(truncates: Sequence[Truncate], partition: int, offset: int, source: Mapping[str, Any], op: str | None = None) -> bool:
    """Whether :func:`after_truncates` would leave out the change at this place. ``source`` is its source block. Pure."""
    lsn, ts_ms = source.get("lsn"), source.get("ts_ms")
    for truncate in truncates:
        if truncate.tx is not None and lsn == truncate.lsn and source.get("txId") == truncate.tx and op != "r":
            return True
        if partition == truncate.partition:
            if offset < truncate.offset:
                return True
        elif lsn is not None and lsn < truncate.lsn and ts_ms is not None and ts_ms <= truncate.ts_ms:
            return True
    return False


def last_of_each(changes: DataFrame, table: Table) -> DataFrame:
    """The effects of changes that all have whole rows: the last one of each key. Changes without a key are ignored."""
    names = [column.name for column in key_columns(table)]
    parts = [f"k{at}" for at in range(len(names))]
    key = F.col("key")
    # Spark sorts by the key's columns faster than by a struct, and the sink's MERGE finds the rows divided by them.
    flat = changes.select(
        "op",
        "row",
        "lsn",
        "offset",
        key.isNotNull().alias("keyed"),
        *(key.getField(name).alias(k) for name, k in zip(names, parts, strict=True)),
    )
    newest = Window.partitionBy(*parts).orderBy(F.col("keyed").desc(), F.col("offset").desc())
    # Both conditions are checked here, because below the window Spark would read each event once for them, and again for its row.
    last = flat.withColumn("turn", F.row_number().over(newest)).where((F.col("turn") == 1) & F.col("keyed") & (F.col("op") != "t"))
    return last.select(
        F.when(F.col("op").isin(*GONE), F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias("op"),
        F.struct(*(F.col(k).alias(name) for name, k in zip(names, parts, strict=True))).alias("key"),
        "row",
        F.array().cast("array<string>").alias("kept"),
        "lsn",
    )


def folded(changes: DataFrame, table: Table) -> DataFrame:
    """The effects of changes of which some lack values that PostgreSQL did not send again.

    A column without a value in the batch since the row's last whole image is in ``kept``: the target's value stays, if it has the row.
    """
    held = [column for column in table.columns if column.kind.held is not None]
    resets = F.col("op").isin(*WHOLE, *GONE)
    offset = F.col("offset")
    fold = changes.groupBy("key").agg(
        F.max_by(F.struct("op", "row", "lsn"), "offset").alias("last"),
        F.max(F.when(resets, offset)).alias("reset"),
        *(F.max_by(F.struct(F.col("row").getField(c.name).alias("v")), F.when(sent(c), offset)).alias(f"v{i}") for i, c in enumerate(held)),
        *(F.max(F.when(sent(c), offset)).alias(f"o{i}") for i, c in enumerate(held)),
    )
    at = {column.name: i for i, column in enumerate(held)}
    known = [F.coalesce(F.col(f"o{i}") >= F.coalesce("reset", F.lit(-1)), F.lit(False)) for i in range(len(held))]
    last = F.col("last")

    def value(column: Column) -> SparkColumn:
        i = at.get(column.name)
        own = last["row"].getField(column.name) if i is None else F.when(known[i], F.col(f"v{i}")["v"])
        return own.alias(column.name)

    unknown = F.filter(F.array(*(F.when(~known[i], F.lit(c.name)) for i, c in enumerate(held))), lambda name: name.isNotNull())
    removed = last["op"].isin(*GONE)
    return fold.select(
        F.when(removed, F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias("op"),
        "key",
        F.when(~removed, F.struct(*(value(column) for column in table.columns))).alias("row"),
        F.when(~removed, unknown).otherwise(F.array().cast("array<string>")).alias("kept"),
        last["lsn"].alias("lsn"),
    )


def softly_deleted(changes: DataFrame, table: Table) -> DataFrame:
    """The effects of changes of a table with soft deletes: as :func:`folded`, but a deleted row has its last values of the batch.

    It is null without any. The column ``at`` has the time of the delete's commit, null if the batch has only a tombstone.
    """
    gone = F.col("op").isin(*GONE)
    rows = folded(changes.where(~gone), table).select(F.col("key").alias("known"), "row", "kept", "lsn")
    ends = changes.groupBy("key").agg(
        F.max_by(gone, "offset").alias("gone"),
        F.max_by(F.struct("lsn", "ts_ms"), F.when(F.col("op") == "d", F.col("offset"))).alias("end"),
    )
    found = ends.join(rows, F.col("key").eqNullSafe(F.col("known")), "left")
    return found.select(
        F.when(F.col("gone"), F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias("op"),
        "key",
        "row",
        F.coalesce("kept", F.array().cast("array<string>")).alias("kept"),
        F.when(F.col("gone"), F.coalesce("end.lsn", "lsn")).otherwise(F.col("lsn")).alias("lsn"),
        F.when(F.col("gone"), F.timestamp_millis("end.ts_ms")).alias("at"),
    )


def sent(column: Column) -> SparkColumn:
    """Whether a change has the column's value."""
    return F.col("row").isNotNull() & ~F.coalesce(F.array_contains("unavailable", column.name), F.lit(False))
