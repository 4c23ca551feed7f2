"""The changes of one table as a DataFrame, batch or stream, with every value in the closest Spark type.

For jobs of users::

    from workers.spark.changes import changes

    orders = changes(spark, "127.0.0.1:9092", "shop.public.orders", streaming=True)
    orders.where("op = 'u' and before.total <> after.total")

Columns: ``op`` (Debezium's c u d r t, ``tombstone`` for a record without a value), ``key``, ``before`` and ``after`` (structs of the
table's columns; null where there is none), ``unavailable`` (names of columns of ``after`` that PostgreSQL did not send again, null
there), ``source`` (struct: ``committed`` timestamp, ``schema``, ``table``, ``tx``, ``lsn``, ``sequence``, ``snapshot``), ``transaction``
(struct: ``id``, ``total_order``, ``data_collection_order``; null without transaction metadata) and ``position`` (struct: ``topic``,
``partition``, ``offset``, ``timestamp``; in a partition the changes are in the order of their offsets).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.tables.table import Column
from workers.spark.topics.events import TOMBSTONE, fitted, key_columns, row_op
from workers.spark.topics.formats import Format, json_format
from workers.spark.topics.known import TopicState, Unreadable
from workers.spark.topics.layouts import SOURCE, TRANSACTION, Form, Layout
from workers.spark.topics.patterns import of_topic
from workers.spark.topics.records import read_records, stream_records
from workers.spark.topics.survey import survey
from workers.spark.topics.topic import Topic, learned
from workers.spark.types import UNAVAILABLE


def changes(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    *,
    streaming: bool = False,
    format_: Format | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The changes in ``topic`` (its name, not a pattern). A first pass over its records finds their layouts.

    ``format_`` is JsonConverter's by default; without embedded schemas the columns have JSON's types. ``options`` are those of Spark's
    Kafka source. All events are converted to the newest layout: renamed and widened columns have their new names and types, and columns
    added later have their defaults in older events. A stream fails with a message at an event with a layout from after its start. Start
    it again from its checkpoint: it continues with the new columns. The session uses Spark's older reader for Kafka's streams from now on.

    Raises JobError when the topic holds no change of a table, or a record that cannot be read.
    """
    pattern, form = of_topic(topic), format_ or json_format(UNAVAILABLE, None)
    found = known_topic(read_records(spark, bootstrap, pattern, options), topic, form)
    if isinstance(found, Unreadable):
        raise JobError(UNREADABLE, f"The topic {topic} cannot be read: {found.reason}. Check format_, and what writes it.")
    if found is None:
        raise JobError(UNREADABLE, f"The topic {topic} on {bootstrap} holds no change of a table yet. Check its name.")
    records = stream_records(spark, bootstrap, pattern, options) if streaming else read_records(spark, bootstrap, pattern, options)
    return typed(form.cut(records), found)


def known_topic(records: DataFrame, name: str, form: Format) -> Topic | Unreadable | None:
    """The table that Kafka's ``records`` of the topic describe; None when they describe none."""
    cut = form.cut(records)
    state = learned({}, survey(cut, form.signs), lambda: cut, form.schemas, records).get(name, TopicState())
    if state.aside is not None:
        return Unreadable(state.aside)
    topic = Topic(name, state, form.schemas.layout)
    return topic if topic.is_table else None


def typed(cut: DataFrame, topic: Topic) -> DataFrame:
    """Cut records of the topic as changes (see the module). Pure."""
    layouts = topic.layouts()
    known = cut
    for number, (value, key, layout) in enumerate(layouts):
        mine = F.col("layout").eqNullSafe(value) & F.col("key_layout").eqNullSafe(key)
        known = known.withColumn(f"e{number}", F.when(mine & F.col("value").isNotNull(), layout.value_of(F.col("value"))))
        # A tombstone has only the layout of its key.
        keyed = F.col("key_layout").eqNullSafe(key) & (F.col("value").isNull() | mine)
        known = known.withColumn(f"k{number}", F.when(keyed, layout.key_of(F.col("key"))) if layout.key else F.lit(None))
    parts = [_Part(topic, number, value, key, layout) for number, (value, key, layout) in enumerate(layouts)]
    strange = F.raise_error(F.lit(f"The events of {topic.name} have a new schema. Start the query again to follow it."))
    read = F.lit(False)
    for number in range(len(parts)):
        read |= F.col(f"e{number}").isNotNull()
    op = F.when(F.col("value").isNull(), F.lit(TOMBSTONE)).when(read, _first(parts, _Part.op)).otherwise(strange.cast("string"))
    place = F.struct("topic", "partition", "offset", "timestamp")
    return known.select(
        op.alias("op"),
        _first(parts, _Part.key).alias("key"),
        _first(parts, lambda part: part.image("before")).alias("before"),
        _first(parts, lambda part: part.image("after")).alias("after"),
        _first(parts, _Part.unavailable).alias("unavailable"),
        _first(parts, _Part.source).alias("source"),
        _first(parts, _Part.transaction).alias("transaction"),
        place.alias("position"),
    )


class _Part:
    """Expressions over the events of one layout, null for events of other layouts."""

    def __init__(self, topic: Topic, number: int, value: int | None, key: int | None, layout: Layout) -> None:
        self._table = topic.table
        self._layout = layout
        self._event = F.col(f"e{number}")
        self._known = F.col(f"k{number}")
        former = topic.former(value)
        self._names = topic.key_names(value, key)
        columns = {column.name: column for column in layout.columns}
        self._pairs = [(column, columns.get(former.get(column.name, ""))) for column in self._table.columns]

    @property
    def _enveloped(self) -> bool:
        return self._layout.form is Form.ENVELOPE

    def op(self) -> SparkColumn:
        own = self._event["op"] if self._enveloped else row_op(self._layout, self._event)
        return F.when(self._event.isNotNull(), own)

    def key(self) -> SparkColumn:
        """The columns of the table's key that the event's key has."""
        wanted = key_columns(self._table)
        if not self._names:
            return F.lit(None).cast(StructType([StructField(column.name, column.kind.shown_type) for column in wanted]))
        there = {column.name: column for column in self._layout.key}

        def value(new: Column) -> SparkColumn:
            if new.name not in self._names:
                return F.lit(None).cast(new.kind.shown_type).alias(new.name)
            old = self._names[new.name]
            return _shown(self._known.getField(old), there[old], new)

        return F.when(self._known.isNotNull(), F.struct(*(value(new) for new in wanted)))

    def image(self, side: str) -> SparkColumn:
        kind = StructType([StructField(column.name, column.kind.shown_type) for column in self._table.columns])
        if not self._enveloped and side == "before":
            return F.lit(None).cast(kind)
        image = self._event[side] if self._enveloped else self._event
        there = image.isNotNull() if self._enveloped else self._event.isNotNull() & (self.op() != "d")
        return F.when(there, F.struct(*(_column(image, old, new) for new, old in self._pairs)))

    def unavailable(self) -> SparkColumn:
        image = self._event["after"] if self._enveloped else self._event
        held = [
            F.when(tells(image.getField(old.name)), F.lit(new.name))
            for new, old in self._pairs
            if old is not None and (tells := old.kind.held) is not None
        ]
        names = F.filter(F.array(*held).cast(ArrayType(StringType())), lambda name: name.isNotNull())
        return F.when(image.isNotNull(), names)

    def source(self) -> SparkColumn:
        block = self._event["source"] if self._enveloped else F.lit(None).cast(SOURCE)
        return F.when(
            block.isNotNull(),
            F.struct(
                F.timestamp_millis(block["ts_ms"]).alias("committed"),
                block["schema"].alias("schema"),
                block["table"].alias("table"),
                block["txId"].alias("tx"),
                block["lsn"].alias("lsn"),
                block["sequence"].alias("sequence"),
                block["snapshot"].alias("snapshot"),
            ),
        )

    def transaction(self) -> SparkColumn:
        return self._event["transaction"] if self._enveloped else F.lit(None).cast(TRANSACTION)


def _column(image: SparkColumn, old: Column | None, new: Column) -> SparkColumn:
    raw = None if old is None else image.getField(old.name)
    held = None if old is None or old.kind.held is None or raw is None else old.kind.held(raw)
    shown = _shown(raw, old, new)
    return shown if held is None else F.when(~F.coalesce(held, F.lit(False)), shown).alias(new.name)


def _shown(raw: SparkColumn | None, old: Column | None, new: Column) -> SparkColumn:
    value = fitted(raw, old, new)
    rich = new.kind.rich
    return (value if rich is None else rich.of(value)).alias(new.name)


def _first(parts: Sequence[_Part], of: Callable[[_Part], SparkColumn]) -> SparkColumn:
    return F.coalesce(*(of(part) for part in parts))
