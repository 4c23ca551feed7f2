"""Decodes cut records of one table into its changes, fitted to the newest layout.

A *change* has ``partition, offset, timestamp``; ``key`` (struct of the key's columns, null without one); ``op`` (Debezium's c u d r t,
or :data:`TOMBSTONE`); ``row`` (struct: the after image); ``unavailable`` (names of the columns PostgreSQL did not send again);
``lsn``, ``ts_ms`` (the source's commit), ``made_ms`` (when the connector made the event), ``tx`` (the source's txId), ``snapshot``,
``transaction`` (the event's block), ``came`` and ``left`` (see :mod:`workers.spark.topics.records`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from workers.spark.tables.casts import converted, default_of
from workers.spark.tables.table import Column, Table
from workers.spark.topics.layouts import ADDED, TRANSACTION, Form, Layout

TOMBSTONE: Final = "tombstone"
"""The ``op`` of a record without a value, which follows a delete and serves compaction."""
GONE: Final = ("d", TOMBSTONE)
WHOLE: Final = ("c", "r")
"""The operations whose image is a whole row, independent of earlier changes."""
_PLACE: Final = ("partition", "offset", "timestamp")


class Decoding:
    """Decodes the records that fulfil ``mine`` into changes, as rows of ``table``. ``layout`` is their layout; the table's may be newer.

    ``former`` maps the names of the table's columns to their names in ``layout``, ``key`` those of its key to names in the layout's key.
    A column that is not in ``former`` gets its default, as it did in PostgreSQL's existing rows.
    """

    def __init__(self, mine: SparkColumn, layout: Layout, table: Table, former: Mapping[str, str], key: Mapping[str, str]) -> None:
        self._mine = mine
        # The condition is repeated, because Spark may evaluate later conditions on an event before it filters the other events out.
        known = layout.key_of(F.when(mine, F.col("key"))) if layout.key else F.lit(None)
        self._read = {"event": layout.change_of(F.when(mine, F.col("value"))), "known": known}
        self._made = _change(layout, table, former, key)

    def changes(self, records: DataFrame) -> DataFrame:
        """The changes in the ``records``."""
        return records.where(self._mine).withColumns(self._read).select(*self._made)


def _change(layout: Layout, table: Table, former: Mapping[str, str], key: Mapping[str, str]) -> Sequence[SparkColumn | str]:
    """The columns of a change, made of ``event`` and ``known``, its key."""
    envelope = layout.form is Form.ENVELOPE
    event = F.col("event")
    image = event["after"] if envelope else event
    columns = {column.name: column for column in layout.columns}
    was = {column.name: former.get(column.name, "") for column in table.columns}
    row = fitted_row(image, layout, table, former)
    held = [
        F.when(tells(image.getField(old)), F.lit(new))
        for new, old in was.items()
        if old in columns and (tells := columns[old].kind.held) is not None
    ]
    op = event["op"] if envelope else row_op(layout, event)
    lsn, ts_ms = (
        (event["source"]["lsn"], event["source"]["ts_ms"])
        if envelope
        else (_added(layout, event, "__lsn"), _added(layout, event, "__source_ts_ms"))
    )
    there = image.isNotNull() & ~op.isin(*GONE)
    # Rewritten deletes of event flattening can be recognized. Otherwise only a tombstone remains, which cannot be half of a move.
    moves = envelope or {"__deleted", "__lsn"} <= {*layout.added}
    return (
        *_PLACE,
        *((F.col(name) if moves else F.lit(False)).alias(name) for name in ("came", "left")),
        fitted_key(layout, table, key).alias("key"),
        op.alias("op"),
        F.when(there, F.struct(*row)).alias("row"),
        F.when(there, F.filter(F.array(*held), lambda name: name.isNotNull())).cast(ArrayType(StringType())).alias("unavailable"),
        lsn.alias("lsn"),
        ts_ms.alias("ts_ms"),
        (event["ts_ms"] if envelope else _added(layout, event, "__ts_ms")).alias("made_ms"),
        (event["source"]["txId"] if envelope else F.lit(None).cast("bigint")).alias("tx"),
        (event["source"]["snapshot"] if envelope else F.lit(None).cast("string")).alias("snapshot"),
        (event["transaction"] if envelope else F.lit(None).cast(TRANSACTION)).alias("transaction"),
    )


def tombstones(records: DataFrame, mine: SparkColumn, layout: Layout, table: Table, key: Mapping[str, str]) -> DataFrame:
    """The changes in records without a value. ``layout`` is that of their keys."""
    nothing = {
        "row": StructType([StructField(column.name, column.kind.type) for column in table.columns]),
        "unavailable": ArrayType(StringType()),
        "lsn": LongType(),
        "ts_ms": LongType(),
        "made_ms": LongType(),
        "tx": LongType(),
        "snapshot": StringType(),
        "transaction": TRANSACTION,
    }
    known = records.where(mine).withColumn("known", layout.key_of(F.when(mine, F.col("key"))))
    return known.select(
        *_PLACE,
        # The delete before the tombstone has these values.
        *(F.lit(False).alias(name) for name in ("came", "left")),
        fitted_key(layout, table, key).alias("key"),
        F.lit(TOMBSTONE).alias("op"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in nothing.items()),
    )


def together(parts: Sequence[DataFrame]) -> DataFrame:
    """The union of the parts."""
    return reduce(DataFrame.unionByName, parts)


def fitted_row(image: SparkColumn, layout: Layout, table: Table, former: Mapping[str, str]) -> list[SparkColumn]:
    """The table's columns of an image of ``layout``. ``former``: see :class:`Decoding`."""
    there = {column.name: column for column in layout.columns}
    was = ((column, former.get(column.name, "")) for column in table.columns)
    return [fitted(image.getField(old) if old in there else None, there.get(old), new).alias(new.name) for new, old in was]


def fitted_key(layout: Layout, table: Table, names: Mapping[str, str]) -> SparkColumn:
    """The key ``known`` in the types of the table's columns; null without one."""
    if not layout.key or not table.key:
        return F.lit(None).cast(StructType([StructField(column.name, column.kind.type) for column in key_columns(table)]))
    known, there = F.col("known"), {column.name: column for column in layout.key}
    fields = [fitted(known.getField(names[new.name]), there[names[new.name]], new).alias(new.name) for new in key_columns(table)]
    return F.when(known.isNotNull(), F.struct(*fields))


def key_columns(table: Table) -> tuple[Column, ...]:
    """The columns of ``table``'s key, in the key's order."""
    columns = {column.name: column for column in table.columns}
    return tuple(columns[name] for name in table.key)


def row_op(layout: Layout, event: SparkColumn) -> SparkColumn:
    """The operation of a flattened ``event``: from the added fields if there are any, else ``u`` for every row."""
    deleted = F.coalesce(_added(layout, event, "__deleted") == "true", F.lit(False))
    return F.when(deleted, F.lit("d")).otherwise(F.coalesce(_added(layout, event, "__op"), F.lit("u")))


def _added(layout: Layout, event: SparkColumn, name: str) -> SparkColumn:
    return event.getField(name) if name in layout.added else F.lit(None).cast(ADDED[name])


def fitted(raw: SparkColumn | None, old: Column | None, new: Column) -> SparkColumn:
    """A column's raw value in the newest layout; the default if the event's layout does not have the column."""
    if raw is None or old is None:
        return default_of(new)
    value = old.kind.decode(raw)
    return value if old.kind.type == new.kind.type else converted(value, old.kind.type, new)
