"""The MERGE of a mirror, for streams of users: :func:`merge_changes` in a function for ``foreachBatch``.

The changes are those of :func:`workers.spark.changes.changes`, which the user may have filtered or changed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from workers.spark.effects.reduction import after_truncates, folded
from workers.spark.failure import WRONG, JobError
from workers.spark.tables.later import Later
from workers.spark.tables.table import Column, Effects, Sink, Table
from workers.spark.topics.known import Truncate
from workers.spark.types import Kind

_NEEDED: Final = ("op", "key", "after", "unavailable", "source", "position")
_LARGE: Final = (StringType, BinaryType, ArrayType, MapType, StructType)
"""The types of values that PostgreSQL may not send again (TOAST)."""


def merge_changes(changes: DataFrame, sink: Sink, table: str, *, key: Sequence[str] | None = None, batch: int = 0) -> None:
    """Apply ``changes`` to ``table`` (``schema.name``) in ``sink``, which creates the table and changes its columns as needed.

    ``key`` are the columns that identify a row, by default those of the changes' key. ``changes`` has the columns of
    :func:`workers.spark.changes.changes`; more are ignored. The columns of ``after`` become those of the table, in this order, and
    :data:`~workers.spark.tables.table.LSN` is added. ``batch`` is the number that ``foreachBatch`` passes.

    The last change of each key counts, by the place in the topic. A value that PostgreSQL did not send again stays as it is in the table.
    A truncate removes the rows that were logged before it. Applying the same changes again leaves the same table, so a batch may be
    repeated.

    Unlike a mirror it keeps no state between batches: a value that was not sent again is lost when its row moves to another key, and a
    change that was logged before a truncate and is in a later batch is applied. Raises JobError when the changes have no key or not the
    needed columns, and the sink's errors.
    """
    shape = _shape(changes, table, key)
    flat = _flat(changes, shape).persist()
    try:
        place = ("partition", "offset", F.coalesce("lsn", F.lit(0)).alias("lsn"), F.coalesce("ts_ms", F.lit(0)).alias("ts_ms"))
        marks = [Truncate(**row.asDict()) for row in flat.where("op = 't'").select(*place).collect()]
        live = after_truncates(flat, marks).where(F.col("key").isNotNull())
        sink.apply(batch, [Effects(shape, Later.of(folded(live, shape)), max((mark.lsn for mark in marks), default=None))])
    finally:
        flat.unpersist()


def _shape(changes: DataFrame, table: str, key: Sequence[str] | None) -> Table:
    """The table that the changes describe."""
    lacking = [name for name in _NEEDED if name not in changes.columns]
    if lacking:
        raise JobError(WRONG, f"The changes of {table} lack the columns {', '.join(lacking)}. Keep all columns of changes().")
    there, known = changes.schema["after"].dataType, changes.schema["key"].dataType
    of_key = known.names if isinstance(known, StructType) else []
    names = tuple(of_key if key is None else key)
    if not names:
        raise JobError(WRONG, f"The changes of {table} have no key, so that they identify no row. Name key columns, or mirror the table.")
    columns = {field.name: field.dataType for field in there.fields} if isinstance(there, StructType) else {}
    odd = [name for name in names if name not in of_key or name not in columns]
    if odd:
        raise JobError(
            WRONG, f"{', '.join(odd)} of key is not a column of both the key and the rows of {table}. Known: {', '.join(of_key)}."
        )
    schema, _, name = table.rpartition(".")
    return Table(schema or "public", name, tuple(Column(each, _kind(of)) for each, of in columns.items()), names)


def _kind(of: DataType) -> Kind:
    return Kind(of, of, held=_never if isinstance(of, _LARGE) else None)


def _never(_value: SparkColumn) -> SparkColumn:
    """The column ``unavailable`` names what was not sent again, not the value."""
    return F.lit(False)


def _flat(changes: DataFrame, table: Table) -> DataFrame:
    """The changes in the form of :mod:`workers.spark.topics.events`."""
    keys = [F.col("key").getField(name).alias(name) for name in table.key]
    after, source, position = F.col("after"), F.col("source"), F.col("position")
    row = F.struct(*(after.getField(column.name).alias(column.name) for column in table.columns))
    return changes.select(
        "op",
        F.when(F.col("key").isNotNull(), F.struct(*keys)).alias("key"),
        F.when(after.isNotNull(), row).alias("row"),
        F.col("unavailable").cast("array<string>").alias("unavailable"),
        source.getField("lsn").alias("lsn"),
        F.unix_millis(source.getField("committed")).alias("ts_ms"),
        position.getField("partition").alias("partition"),
        position.getField("offset").alias("offset"),
    )
