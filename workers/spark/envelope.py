"""From Kafka records to changes: Debezium's envelope, with its schema embedded or without.

A *record* has ``topic, partition, offset`` and ``key, value`` as text. A *change* has ``partition, offset``, ``key`` (the key's
payload as text, null for a table without one), ``op`` (Debezium's c u d r t m, or :data:`TOMBSTONE`), ``lsn``, ``row`` (the
after image, decoded; null where there is none) and ``unavailable`` (names of the columns PostgreSQL did not send again).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from workers.spark.kinds import Kind, kind_of

TOMBSTONE: Final = "tombstone"
"""The ``op`` of a record without a value: compaction's mark, which follows a delete."""

_SOURCE: Final = "source struct<schema: string, table: string, lsn: bigint>"
_OUTLINE: Final = f"schema string, op string, {_SOURCE}, payload struct<op: string, {_SOURCE}>"


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column as its topic carries it."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Version:
    """Events of one topic that share one embedded schema; ``schema`` is null for those that embed none."""

    fingerprint: int | None
    schema: str | None


@dataclass(frozen=True, slots=True)
class Topic:
    """What a look at a topic's records tells. ``table`` is schema and name, None when the topic holds no changes of a table."""

    name: str
    table: tuple[str, str] | None
    records: int
    strangers: int
    """Records with a value that is no change event."""
    unordered: int
    """Updates and deletes of a table without a key."""
    versions: Sequence[Version]


def outlined(records: DataFrame) -> DataFrame:
    """``records`` (topic, partition, offset, timestamp, key, value) plus what is known before the columns are.

    Adds ``fingerprint`` (of the embedded schema, null without one), ``op``, ``lsn``, ``source``, and reduces ``key`` to its payload.
    """
    outline = F.from_json("value", _OUTLINE)
    key = F.from_json("key", "schema struct<type: string>, payload string")
    whole = records.withColumn("outline", outline).withColumn("wrapped", key)
    embedded = F.col("outline.payload.op").isNotNull() & F.col("outline.op").isNull()
    op = F.when(F.col("value").isNull(), F.lit(TOMBSTONE)).otherwise(F.coalesce("outline.op", "outline.payload.op"))
    return whole.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        F.when(F.col("wrapped.schema.type") == "struct", F.col("wrapped.payload")).otherwise(F.col("key")).alias("key"),
        "value",
        op.alias("op"),
        F.coalesce("outline.source", "outline.payload.source").alias("source"),
        F.when(embedded, F.xxhash64("outline.schema")).alias("fingerprint"),
    )


def survey(outlines: DataFrame) -> list[Topic]:
    """One look at all records: each topic's table and the versions of its schema, oldest first. Topics by name."""
    schema = F.when(F.col("fingerprint").isNotNull(), F.from_json("value", "schema string")["schema"])
    change = F.col("op").isin("c", "u", "d", "r", "t")
    found = (
        outlines.groupBy("topic", "fingerprint", change.alias("change"))
        .agg(
            F.any_value(schema, ignoreNulls=True).alias("schema"),
            F.count("*").alias("records"),
            F.count_if(F.col("op").isNull()).alias("strangers"),
            F.count_if(F.col("key").isNull() & F.col("op").isin("u", "d")).alias("unordered"),
            F.max(F.unix_millis("timestamp")).alias("newest"),
            F.max_by("source", "timestamp").alias("source"),
        )
        .collect()
    )
    topics = []
    for name in sorted({row["topic"] for row in found}):
        rows = [row for row in found if row["topic"] == name]
        changes = sorted((row for row in rows if row["change"]), key=lambda row: (row["newest"], row["schema"] is not None))
        source = changes[-1]["source"] if changes else None
        topics.append(
            Topic(
                name,
                None if source is None else (source["schema"], source["table"]),
                sum(row["records"] for row in rows),
                sum(row["strangers"] for row in rows),
                sum(row["unordered"] for row in rows),
                [Version(row["fingerprint"], row["schema"]) for row in changes],
            )
        )
    return topics


def columns_of(schema: str) -> list[Column]:
    """The columns of ``after`` in an envelope's embedded schema. Raises ValueError when the text is no envelope's schema."""
    document = json.loads(schema)
    for field in document.get("fields", ()):
        if field.get("field") == "after":
            return [Column(str(column["field"]), kind_of(column)) for column in field["fields"]]
    raise ValueError("the schema has no field 'after'")


def changes(outlines: DataFrame, topic: Topic, bare: Sequence[Column]) -> tuple[DataFrame, list[Column]]:
    """The changes of one topic and the columns of its newest version.

    ``bare`` are the columns of events without a schema. Events of older versions are fitted to the newest: a column that was
    dropped since is left out, one that came later is null (PostgreSQL fills in its default without an event), one of another
    type is read again from its text. Events without a schema are all read by ``bare``, the table as it is now.
    """
    read = [(version, columns_of(version.schema) if version.schema else list(bare)) for version in topic.versions]
    newest = read[-1][1]
    parts = [_decoded(outlines, topic.name, version, columns, newest) for version, columns in read]
    return reduce(DataFrame.unionByName, [*parts, _tombstones(outlines, topic.name, newest)]), newest


def _decoded(outlines: DataFrame, topic: str, version: Version, columns: Sequence[Column], newest: Sequence[Column]) -> DataFrame:
    envelope = StructType([StructField("after", StructType([StructField(column.name, column.kind.raw) for column in columns]))])
    body: DataType = envelope if version.fingerprint is None else StructType([StructField("payload", envelope)])
    mine = (F.col("topic") == topic) & F.col("op").isin("c", "u", "d", "r", "t") & F.col("fingerprint").eqNullSafe(version.fingerprint)
    # FAILFAST: a value of another shape than its schema says must stop the job, not turn into a null.
    parsed = F.from_json("value", body, {"mode": "FAILFAST"})
    after = F.col("parsed.after" if version.fingerprint is None else "parsed.payload.after")
    rows = outlines.where(mine).withColumn("parsed", parsed).withColumn("after", after)
    raw = {column.name: F.col("after").getField(column.name) for column in columns}
    known = {column.name: column for column in columns}
    fitted = [_fitted(raw.get(column.name), known.get(column.name), column).alias(column.name) for column in newest]
    held = [F.when(column.kind.held(raw[column.name]), F.lit(column.name)) for column in columns if column.kind.held is not None]
    return rows.select(
        "partition",
        "offset",
        "key",
        "op",
        F.col("source.lsn").alias("lsn"),
        F.when(F.col("after").isNotNull(), F.struct(*fitted)).alias("row"),
        F.filter(F.array(*held), lambda name: name.isNotNull()).cast(ArrayType(StringType())).alias("unavailable"),
    )


def _fitted(raw: SparkColumn | None, old: Column | None, new: Column) -> SparkColumn:
    if raw is None or old is None:
        return F.lit(None).cast(new.kind.type)
    value = old.kind.decode(raw)
    same = old.kind.type == new.kind.type
    return value if same else new.kind.read(old.kind.text(value))


def _tombstones(outlines: DataFrame, topic: str, columns: Sequence[Column]) -> DataFrame:
    row = StructType([StructField(column.name, column.kind.type) for column in columns])
    return outlines.where((F.col("topic") == topic) & (F.col("op") == TOMBSTONE)).select(
        "partition",
        "offset",
        "key",
        "op",
        F.lit(None).cast(LongType()).alias("lsn"),
        F.lit(None).cast(row).alias("row"),
        F.lit(None).cast(ArrayType(StringType())).alias("unavailable"),
    )
