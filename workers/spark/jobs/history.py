"""Type-2 history: every state of a row, with the times of its validity.

A history is a mirror of versions: its table is ``<name>_history``, its key the source's key and the LSN of the change that began the
version. So every sink can store it, and a batch may be repeated. Columns before the source's: ``valid_from`` and ``valid_to`` (times
of the source's commits; the latter is null for the present version), ``op`` (Debezium's letter of the change that began it), ``version``
(that change's LSN) and ``ended`` (the LSN of the change that ended it).

Changes of one key have growing LSNs, whichever transactions make them (a row is locked until its transaction ends). So a change that
is not later than the history of its key is a repetition and is skipped. A read (snapshot) of a state that is known
already does not begin a version, nor does one with the LSN of the present version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField, StructType

from workers.spark.effects.reduction import sent
from workers.spark.failure import TableError
from workers.spark.jobs.batches import Work
from workers.spark.jobs.mirror import last_of_partitions, truncates
from workers.spark.jobs.table_ownership import HISTORY
from workers.spark.tables.casts import at_newest
from workers.spark.tables.later import Later
from workers.spark.tables.names import quoted
from workers.spark.tables.table import UPSERT, Again, Column, Effects, Sink, Table
from workers.spark.topics.events import TOMBSTONE, key_columns
from workers.spark.topics.known import TopicState, Truncate
from workers.spark.topics.layouts import Form
from workers.spark.topics.topic import Topic
from workers.spark.types import kind_of

VERSION: Final = "version"
_TIME: Final = kind_of({"type": "string", "name": "io.debezium.time.ZonedTimestamp"})
_OWN: Final = (
    Column("valid_from", _TIME),
    Column("valid_to", _TIME),
    Column("op", kind_of({"type": "string"})),
    Column(VERSION, kind_of({"type": "int64"})),
    Column("ended", kind_of({"type": "int64"})),
)
_NEEDED: Final = ("__op", "__lsn", "__source_ts_ms", "__deleted")
"""The fields of flattened rows that a history needs. A tombstone alone has neither the time nor the place of its delete."""


def history_table(table: Table) -> Table:
    """The history's table for ``table``. A new column has no default, because no earlier version had a value."""
    columns = tuple(replace(column, default=None, filled=None) for column in table.columns)
    return Table(table.schema, f"{table.name}{HISTORY}", (*_OWN, *columns), (*table.key, VERSION))


class History:
    """Stores the histories of tables with a key in ``sink``."""

    keeps_last: Final = False

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def last_counts(self, table: Table) -> bool:
        """No: each change makes a version."""
        del table
        return False

    def target(self, work: Work) -> DataFrame | None:
        """The present versions."""
        known = self._known(work, *_forms(work.topic))
        return None if known is None else known.where(F.col("valid_to").isNull())

    def plan(self, work: Work, state: TopicState) -> tuple[Effects, TopicState] | None:
        """New versions, and known ones that end. A table without a key has no history, because its changes do not identify a row.

        Raises TableError for flattened rows that lack what a history is made of.
        """
        table = work.topic.table
        if not table.key:
            return None
        _check_flat(work.topic)
        *passed, own = _forms(work.topic)
        marks = truncates(work)
        rows = versions(work.changes, table, self._known(work, *passed, own), marks, state.truncates)
        kept = last_of_partitions((*state.truncates, *marks))
        effects = Effects(own, Later.of(rows), passed=tuple(passed), former=_former(work.topic), again=Again.KEPT)
        return effects, replace(state, truncates=kept)

    def _known(self, work: Work, *path: Table) -> DataFrame | None:
        if work.unfilled:
            return None
        return at_newest(self._sink.read(path[-1], work.changes.sparkSession), path, _former(work.topic), Again.KEPT)


def _check_flat(topic: Topic) -> None:
    """Raise TableError for flattened rows without the operation, the place or the time of a change, or without deletes."""
    for _, _, layout in topic.layouts():
        lacking = [name for name in _NEEDED if name not in layout.added] if layout.form is Form.ROW else []
        if lacking:
            raise TableError(
                topic.table.full_name,
                f"The topic {topic.name} holds flattened rows without {', '.join(lacking)}, of which a history is made. "
                "Set add.fields=op,lsn,source.ts_ms and delete.tombstone.handling.mode=rewrite in the transformation that flattens them, "
                "or leave the topic out.",
            )


def _forms(topic: Topic) -> list[Table]:
    """The history's forms since the previous batch, and its present one."""
    return [history_table(table) for table in (*topic.passed, topic.table)]


def _former(topic: Topic) -> Table | None:
    return None if topic.known is None else history_table(topic.known)


def versions(
    changes: DataFrame, table: Table, known: DataFrame | None, emptied: Sequence[Truncate], earlier: Sequence[Truncate] = ()
) -> DataFrame:
    """The effects on ``table``'s history: new versions, and known ones that end.

    ``changes`` are of a table with a key; ``known`` is the history before the batch; ``emptied`` are the truncates in the batch.
    ``earlier`` are those of earlier batches, the last one of each partition: a partition that was read less far may have changes from
    before them.
    """
    keyed = changes.where(~F.col("op").isin(TOMBSTONE, "t") & F.col("key").isNotNull())
    live = keyed.select(
        "key", "op", "row", "unavailable", F.coalesce("lsn", "offset").alias("at"), F.timestamp_millis("ts_ms").alias("when"), "offset"
    )
    past = None if known is None else known.select(_key(table).alias("b_key"), _image(table).alias("b"))
    live = _emptied(live, past, emptied, earlier)
    joined = _with_latest(live, past, table)
    reached = F.coalesce("b.ended", "b.version", F.lit(-1))
    # A blocking snapshot has the LSN of the last streamed change. If it shows another state than that change, a later change follows.
    read = (F.col("op") == "r") & (F.col("at") >= reached) & ~F.col("at").eqNullSafe(F.col("b.version"))
    fresh = joined.where((F.col("at") > reached) | read)
    # The batch may contain a change twice.
    once = fresh.groupBy("key", "at", "op").agg(F.min_by(F.struct("row", "unavailable", "when", "offset", "b"), "offset").alias("one"))
    peers = Window.partitionBy("key").orderBy("at").rangeBetween(Window.currentRow, Window.currentRow)
    changes_too = F.max(F.col("op").isin("c", "u")).over(peers)
    events = once.select("key", "at", "op", "one.*").withColumn("twin", (F.col("op") == "r") & changes_too).where(~F.col("twin"))
    in_order = Window.partitionBy("key").orderBy("at", "offset")
    holds = F.col("b").isNotNull() & F.col("b.valid_to").isNull()
    base = F.when(holds, F.struct(*(F.col("b").getField(column.name).alias(column.name) for column in table.columns)))
    filled = events.withColumn("row", F.when(F.col("row").isNotNull(), F.struct(*(_value(column, base) for column in table.columns))))
    before = F.coalesce(F.when(F.row_number().over(in_order) == 1, base), F.lag("row").over(in_order))
    unchanged = (F.col("op") == "r") & F.to_json(before).eqNullSafe(F.to_json("row"))
    changed = filled.withColumn("same", unchanged).where(~F.col("same"))
    ordered = changed.withColumn("next", F.lead(F.struct("when", "at")).over(in_order)).withColumn("turn", F.row_number().over(in_order))
    begun = ordered.where(F.col("op") != "d").select(_version(table, F.col("row"), "when", "next.when", "next.at").alias("row"))
    over = ordered.where((F.col("turn") == 1) & holds).select(_ended(table).alias("row"))
    found = begun.unionByName(over)
    own = history_table(table)
    return found.select(
        F.lit(UPSERT).alias("op"),
        F.struct(*(F.col("row").getField(name).alias(name) for name in own.key)).alias("key"),
        "row",
        F.array().cast("array<string>").alias("kept"),
        F.col("row.version").alias("lsn"),
    )


def _emptied(live: DataFrame, past: DataFrame | None, emptied: Sequence[Truncate], earlier: Sequence[Truncate]) -> DataFrame:
    """Add the deletes that truncates make of the rows before them."""
    for truncate in emptied:
        live = live.unionByName(_deletes(live, past, truncate))
    for truncate in earlier:
        # The versions that it ended have ended. After a failover or a restore, later changes may have lower LSNs.
        late = live.where(F.col("when") <= F.timestamp_millis(F.lit(truncate.ts_ms)))
        live = live.unionByName(_deletes(late, None, truncate))
    return live


def _with_latest(live: DataFrame, past: DataFrame | None, table: Table) -> DataFrame:
    """Add the latest known version of each key as ``b``."""
    if past is None:
        return live.withColumn("b", F.lit(None).cast(_image_type(table)))
    keys = live.select(F.col("key").alias("k")).distinct()
    known = past.join(keys, F.col("b_key").eqNullSafe(F.col("k")), "left_semi")
    latest = known.groupBy("b_key").agg(F.max_by("b", "b.version").alias("b"))
    return live.join(latest, F.col("key").eqNullSafe(F.col("b_key")), "left")


def _deletes(live: DataFrame, past: DataFrame | None, truncate: Truncate) -> DataFrame:
    """A truncate as deletes of all rows that it removed."""
    keys = live.where(F.col("at") < truncate.lsn).select("key")
    if past is not None:
        keys = keys.union(past.where(F.col("b.valid_to").isNull() & (F.col("b.version") < truncate.lsn)).select("b_key"))
    return keys.distinct().select(
        "key",
        F.lit("d").alias("op"),
        F.lit(None).cast(live.schema["row"].dataType).alias("row"),
        F.lit(None).cast("array<string>").alias("unavailable"),
        F.lit(truncate.lsn).cast("bigint").alias("at"),
        F.timestamp_millis(F.lit(truncate.ts_ms)).alias("when"),
        F.lit(truncate.offset).cast("bigint").alias("offset"),
    )


def _value(column: Column, base: SparkColumn) -> SparkColumn:
    """A column's value; that of the previous version if PostgreSQL did not send it again."""
    own = F.col("row").getField(column.name)
    if column.kind.held is None:
        return own.alias(column.name)
    so_far = Window.partitionBy("key").orderBy("at", "offset").rowsBetween(Window.unboundedPreceding, 0)
    last = F.last(F.when(sent(column), F.struct(own.alias("v"))), ignorenulls=True).over(so_far)
    return F.coalesce(last, F.struct(base.getField(column.name).alias("v")))["v"].alias(column.name)


def _version(table: Table, row: SparkColumn, start: str, end: str, ended: str) -> SparkColumn:
    own = (
        F.col(start).alias("valid_from"),
        F.col(end).alias("valid_to"),
        F.col("op"),
        F.col("at").alias(VERSION),
        F.col(ended).alias("ended"),
    )
    return F.struct(*own, *(row.getField(column.name).alias(column.name) for column in table.columns))


def _ended(table: Table) -> SparkColumn:
    """The version that was present before the batch, ended by the first change of its key."""
    b = F.col("b")
    own = (b["valid_from"], F.col("when").alias("valid_to"), b["op"], b[VERSION], F.col("at").alias("ended"))
    return F.struct(*own, *(b.getField(column.name).alias(column.name) for column in table.columns))


def _key(table: Table) -> SparkColumn:
    return F.struct(*(F.col(quoted(column.name)).cast(column.kind.type).alias(column.name) for column in key_columns(table)))


def _image(table: Table) -> SparkColumn:
    return F.struct(*(F.col(quoted(column.name)).cast(column.kind.type).alias(column.name) for column in history_table(table).columns))


def _image_type(table: Table) -> StructType:
    return StructType([StructField(column.name, column.kind.type) for column in history_table(table).columns])
