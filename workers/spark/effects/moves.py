"""Reads the values that rows keep when their keys change (:mod:`workers.spark.effects.lineage`), and fills them in where they are missing.

An *image* holds the known values of a move: its ``lsn``, and for each column that can be omitted a struct<v> under :func:`slot`, null if
the value is unknown or not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import LongType, StructField, StructType

from workers.spark.effects.known_rows import known_rows
from workers.spark.effects.lineage import KeyChange, Pick
from workers.spark.tables.table import Column, Table

_PLACED: Final = {"move": "bigint", "number": "int", "p": "int", "o": "bigint"}


def held_columns(table: Table) -> tuple[Column, ...]:
    """The columns whose value PostgreSQL may omit."""
    return tuple(column for column in table.columns if column.kind.held is not None)


def slot(column: Column) -> str:
    """The name of a column in an image, valid in every file format."""
    return _slot_of(column.name)


def _slot_of(name: str) -> str:
    return "v_" + name.encode().hex()


def torn(changes: DataFrame) -> bool:
    """Whether a row lacks values under its new key, or its create has not been read yet. Most moves are complete and need no image."""
    moving = changes.where(F.col("came") | F.col("left"))
    lacks = F.coalesce(F.col("came") & (F.size("unavailable") > 0), F.lit(False))
    halves = moving.groupBy("lsn").agg(F.bool_or("came").alias("came"), F.bool_or("left").alias("left"), F.bool_or(lacks).alias("lacks"))
    return not halves.where(F.col("lacks") | (F.col("left") & ~F.col("came"))).isEmpty()


def trails(changes: DataFrame) -> list[list[KeyChange]]:
    """All changes of each key that is the old or the new key of a move."""
    step = F.struct("partition", "offset", "op", "came", "left", "lsn", F.col("unavailable").alias("lacking"))
    kept = (
        changes.where(F.col("key").isNotNull())
        .groupBy("key")
        .agg(F.bool_or(F.col("came") | F.col("left")).alias("moves"), F.collect_list(step).alias("steps"))
    )
    rows = kept.where("moves").select("steps").collect()
    return [[KeyChange(**{**one.asDict(), "lacking": _names(one["lacking"])}) for one in row["steps"]] for row in rows]


def _names(lacking: Sequence[str] | None) -> frozenset[str] | None:
    return None if lacking is None else frozenset(lacking)


def images(
    changes: DataFrame, table: Table, picks: Sequence[Pick], target: Callable[[], DataFrame | None], earlier: DataFrame | None
) -> DataFrame:
    """The images for ``picks``. ``target`` returns the mirror before the batch; ``earlier`` has the images of earlier batches."""
    held = held_columns(table)
    numbers = {column.name: number for number, column in enumerate(held)}
    session = changes.sparkSession

    def asked(rows: Sequence[tuple[int, ...]], columns: Mapping[str, str]) -> DataFrame:
        return F.broadcast(known_rows(session, rows, columns)).alias("asked")

    def taken(found: DataFrame, value: Callable[[Column], SparkColumn]) -> DataFrame:
        slots = (F.when(F.col("asked.number") == number, value(column)).alias(slot(column)) for number, column in enumerate(held))
        return found.select(F.col("asked.move").alias("lsn"), *slots)

    placed: dict[bool, list[tuple[int, ...]]] = {False: [], True: []}
    kept: list[tuple[int, ...]] = []
    for pick in picks:
        if pick.source.place is not None:
            placed[pick.source.in_target].append((pick.lsn, numbers[pick.column], *pick.source.place))
        elif pick.source.kept is not None:
            kept.append((pick.lsn, numbers[pick.column], pick.source.kept))
    parts: list[DataFrame] = []
    there = target() if placed[True] else None
    at = (F.col("partition") == F.col("p")) & (F.col("offset") == F.col("o"))
    if placed[False]:
        found = changes.join(asked(placed[False], _PLACED), at)
        parts.append(taken(found, lambda column: F.struct(F.col("row").getField(column.name).alias("v"))))
    if there is not None:
        quoted = {column.name: F.col("t.`" + column.name.replace("`", "``") + "`") for column in table.columns}
        keys = changes.join(asked(placed[True], _PLACED), at).select("move", "number", "key").alias("asked")
        same = reduce(SparkColumn.__and__, (quoted[name].eqNullSafe(F.col("asked.key").getField(name)) for name in table.key))
        parts.append(
            taken(keys.join(there.alias("t"), same), lambda column: F.struct(quoted[column.name].cast(column.kind.type).alias("v")))
        )
    if kept and earlier is not None:
        found = earlier.join(asked(kept, {"move": "bigint", "number": "int", "k": "bigint"}), F.col("lsn") == F.col("k"))
        parts.append(taken(found, lambda column: F.col(slot(column))))
    if not parts:
        return session.createDataFrame([], StructType([StructField("lsn", LongType()), *_slots(table)]))
    whole = reduce(DataFrame.unionByName, parts)
    return whole.groupBy("lsn").agg(*(F.first(slot(column), ignorenulls=True).alias(slot(column)) for column in held))


def filled(changes: DataFrame, known: DataFrame, table: Table) -> DataFrame:
    """``changes`` with the values of the images. ``unavailable`` keeps the names of columns that no image holds."""
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


def fitted(found: DataFrame, table: Table, former: Mapping[str, str]) -> DataFrame:
    """Kept images with the table's present columns. Values that they do not hold are unknown.

    ``former``: column → its name when the images were made. Columns added later are absent.
    """
    there = set(found.columns)

    def held(column: Column) -> SparkColumn:
        name = _slot_of(former[column.name]) if column.name in former else ""
        return (F.col(name) if name in there else F.lit(None)).try_cast(_image(column)).alias(slot(column))

    return found.select("lsn", *(held(column) for column in held_columns(table)))


def _slots(table: Table) -> list[StructField]:
    return [StructField(slot(column), _image(column)) for column in held_columns(table)]


def _image(column: Column) -> StructType:
    return StructType([StructField("v", column.kind.type)])
