"""Values that a row takes along to another key without their being sent.

An update of the primary key comes as a delete of the old key and a create of the new one, both with the LSN of the one change.
PostgreSQL sends no large value that the update left alone, so the create may lack values which only the old key's row has: in the
batch, in the target as it is before the batch, or, where the row moved twice, in the row it moved from before.

An *image* is what a row that left its key held: ``lsn`` of the move, ``origin`` (the LSN of an earlier move that holds what is not known
yet; null when there is none) and for each column that can be left out a struct<v> under :func:`slot`, null when it is not known.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField, StructType

from workers.spark.events import GONE, WHOLE
from workers.spark.reduction import sent
from workers.spark.table import Column, Table


def held_columns(table: Table) -> tuple[Column, ...]:
    """The columns whose value PostgreSQL may leave out."""
    return tuple(column for column in table.columns if column.kind.held is not None)


def slot(column: Column) -> str:
    """What an image calls a column: a name that any file format takes."""
    return "v_" + column.name.encode().hex()


def torn(changes: DataFrame) -> bool:
    """Whether a row that went to another key lacks values there, or has not been seen there yet. Most moves are whole and need nothing."""
    moving = changes.where(F.col("came") | F.col("left"))
    lacks = F.coalesce(F.col("came") & (F.size("unavailable") > 0), F.lit(False))
    halves = moving.groupBy("lsn").agg(F.bool_or("came").alias("came"), F.bool_or("left").alias("left"), F.bool_or(lacks).alias("lacks"))
    return not halves.where(F.col("lacks") | (F.col("left") & ~F.col("came"))).isEmpty()


def images(changes: DataFrame, table: Table, target: DataFrame | None) -> DataFrame:
    """The images of the rows that left their keys in ``changes``, not yet joined to earlier moves.

    ``target`` is the mirror before the batch.
    """
    held = held_columns(table)
    leaving = changes.where((F.col("op") == "d") & F.col("left"))
    moved = changes.join(leaving.select(F.col("key").alias("k")).distinct(), F.col("key").eqNullSafe(F.col("k")), "left_semi")
    before, through = Window.partitionBy("key").orderBy("offset"), Window.unboundedPreceding
    whole, gone = F.col("op").isin(*WHOLE), F.col("op").isin(*GONE)
    # A life of a key begins with a whole image and ends with the delete.
    life = F.coalesce(F.sum(whole.cast("int")).over(before.rowsBetween(through, 0)), F.lit(0)) + F.coalesce(
        F.sum(gone.cast("int")).over(before.rowsBetween(through, -1)), F.lit(0)
    )
    lived = moved.withColumn("life", life)
    so_far = Window.partitionBy("key", "life").orderBy("offset").rowsBetween(through, 0)
    seen = lived.select(
        "key",
        "op",
        "left",
        "lsn",
        "offset",
        "life",
        F.max(F.when(whole & F.col("came"), F.col("lsn"))).over(so_far).alias("origin"),
        *(
            F.last(F.when(sent(c), F.struct(F.col("row").getField(c.name).alias("v"))), ignorenulls=True).over(so_far).alias(slot(c))
            for c in held
        ),
    ).where((F.col("op") == "d") & F.col("left"))
    # A change that was sent again after a crash left its key the first time.
    names = ("key", "life", "origin", *(slot(column) for column in held))
    seen = seen.groupBy("lsn").agg(F.min_by(F.struct(*names), "offset").alias("first")).select("lsn", "first.*")
    if target is None:
        return seen.select("lsn", "origin", *(slot(column) for column in held))
    quoted = {column.name: F.col("t.`" + column.name.replace("`", "``") + "`") for column in table.columns}
    same = reduce(SparkColumn.__and__, (quoted[name].eqNullSafe(F.col("key").getField(name)) for name in table.key))
    there = seen.join(target.alias("t"), same & (F.col("life") == 0), "left")
    mine = F.col("life") == 0
    found = reduce(SparkColumn.__or__, (quoted[name].isNotNull() for name in table.key))
    return there.select(
        "lsn",
        "origin",
        *(
            F.coalesce(F.col(slot(c)), F.when(mine & found, F.struct(quoted[c.name].cast(c.kind.type).alias("v")))).alias(slot(c))
            for c in held
        ),
    )


def linked(found: DataFrame, earlier: DataFrame | None, table: Table) -> DataFrame:
    """``found`` with what earlier moves hold: of this batch and, in ``earlier``, of those before it.

    A row that moved n times is followed in log2(n) joins.
    """
    names = [slot(column) for column in held_columns(table)]
    known = found
    while True:
        known = known.localCheckpoint()
        open_ends = known.where(F.col("origin").isNotNull())
        if open_ends.isEmpty():
            return known
        all_ = known if earlier is None else known.unionByName(earlier)
        others = all_.select(F.col("lsn").alias("o_lsn"), F.col("origin").alias("o_origin"), *(F.col(n).alias(f"o_{n}") for n in names))
        if open_ends.join(others, F.col("origin") == F.col("o_lsn"), "left_semi").isEmpty():
            return known
        known = known.join(others, F.col("origin") == F.col("o_lsn"), "left").select(
            "lsn",
            F.when(F.col("o_lsn").isNotNull(), F.col("o_origin")).otherwise(F.col("origin")).alias("origin"),
            *(F.coalesce(n, f"o_{n}").alias(n) for n in names),
        )


def filled(changes: DataFrame, known: DataFrame, table: Table) -> DataFrame:
    """``changes`` with the values that rows took along; ``unavailable`` keeps the names of those that no image holds."""
    held = held_columns(table)
    slots = {column.name: slot(column) for column in held}
    pictures = known.select(F.col("lsn").alias("i_lsn"), *slots.values())
    asks = F.col("came") & (F.size("unavailable") > 0)
    joined = changes.join(pictures, asks & (F.col("lsn") == F.col("i_lsn")), "left")

    def found(name: str) -> SparkColumn:
        return F.array_contains("unavailable", name) & F.col(slots[name]).isNotNull()

    def value(column: Column) -> SparkColumn:
        own = F.col("row").getField(column.name)
        taken = F.when(asks & found(column.name), F.col(slots[column.name])["v"]).otherwise(own) if column.name in slots else own
        return taken.alias(column.name)

    still = F.filter(
        F.array(*(F.when(F.array_contains("unavailable", name) & ~found(name), F.lit(name)) for name in slots)),
        lambda name: name.isNotNull(),
    )
    row = F.when(F.col("row").isNotNull(), F.struct(*(value(column) for column in table.columns)))
    others = [name for name in changes.columns if name not in ("row", "unavailable")]
    return joined.select(*others, row.alias("row"), F.when(asks, still).otherwise(F.col("unavailable")).alias("unavailable"))


def fitted(found: DataFrame, table: Table) -> DataFrame:
    """Images that were kept, with the columns that the table has now; what they do not hold is not known."""
    there = set(found.columns)

    def value(column: Column) -> SparkColumn:
        kind = StructType([StructField("v", column.kind.type)])
        held = F.col(slot(column)) if slot(column) in there else F.lit(None)
        return held.try_cast(kind).alias(slot(column))

    return found.select("lsn", "origin", *(value(column) for column in held_columns(table)))
