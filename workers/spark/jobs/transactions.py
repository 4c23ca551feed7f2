"""Whole transactions only, in the order of their commits (``provide.transaction.metadata=true``).

The connector tells of each transaction's end in a topic of its own, with the number of its events in each table; the topics of the
tables are read independently of it. A transaction is *whole* when its end and all its events have been read. Those up to the first
that is not are applied; records from the first unready one of their partition on wait for the next batch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

_END: Final = "status string, id string, data_collections array<struct<data_collection: string, event_count: bigint>>"
_EVENT: Final = "transaction struct<id: string, total_order: bigint>, source struct<schema: string, table: string>"
REMEMBERED: Final = 10_000
"""Transactions that are known to have been applied: a connector that was killed sends the last ones again, maybe in part."""


@dataclass(frozen=True, slots=True)
class End:
    """A transaction's end. ``counts`` are its events by table (``schema.name``)."""

    id: str
    counts: Mapping[str, int]


def whole(ends: Sequence[End], read: Mapping[str, Mapping[str, int]], mirrored: Iterable[str], applied: Collection[str]) -> list[str]:
    """The transactions that can be applied, oldest first. Pure.

    ``ends`` are in the order of the transaction topic; ``read`` has the number of different events of each transaction and table;
    tables that are not ``mirrored`` do not count; ``applied`` are ready whatever was read of them.
    """
    tables = set(mirrored)
    ready: list[str] = []
    for end in ends:
        events = read.get(end.id, {})
        missing = (table for table, count in end.counts.items() if table in tables and events.get(table, 0) < count)
        if end.id not in applied and next(missing, None) is not None:
            break
        ready.append(end.id)
    return ready


class Transactions:
    """Splits batches. ``topic`` is the transactions', ``pattern`` tells the tables', ``prefix`` is the connector's ``topic.prefix``."""

    def __init__(self, topic: str, pattern: str, prefix: str) -> None:
        self._topic = topic
        self._pattern = pattern
        self._prefix = prefix

    def split(self, cut: DataFrame, applied: Sequence[str]) -> tuple[DataFrame, DataFrame, tuple[str, ...]]:
        """Cut records that can be applied, those that must wait, and the transactions that are applied with these and before."""
        # The tables' records carry bytes in Avro; this is for JSON.
        told = F.from_json(F.col("value").cast("string"), _END)
        ends = [
            End(row["id"], {one["data_collection"]: one["event_count"] for one in row["data_collections"] or ()})
            for row in cut.where((F.col("topic") == self._topic) & F.col("value").isNotNull())
            .select("offset", told.alias("end"))
            .where(F.col("end.status") == "END")
            .select("offset", "end.*")
            .orderBy("offset")
            .collect()
        ]
        event = F.from_json(F.col("value").cast("string"), _EVENT)
        marked = cut.where(F.col("topic") != self._topic).withColumn("event", event)
        counted = (
            marked.where(F.col("event.transaction.id").isNotNull())
            .groupBy(
                F.col("event.transaction.id").alias("id"), F.concat_ws(".", "event.source.schema", "event.source.table").alias("table")
            )
            .agg(F.count_distinct("event.transaction.total_order").alias("events"))
            .collect()
        )
        read: dict[str, dict[str, int]] = {}
        for row in counted:
            read.setdefault(row["id"], {})[row["table"]] = row["events"]
        named = {table for end in ends for table in end.counts}
        mirrored = [table for table in named if re.fullmatch(self._pattern, f"{self._prefix}.{table}")]
        ready = whole(ends, read, mirrored, set(applied))
        known = cut.sparkSession.createDataFrame([(one,) for one in {*ready, *applied}], "ready string")
        id_ = F.col("event.transaction.id")
        unready = (
            marked.where(id_.isNotNull())
            .join(F.broadcast(known), id_ == F.col("ready"), "left_anti")
            .groupBy(F.col("topic").alias("t"), F.col("partition").alias("p"))
            .agg(F.min("offset").alias("first"))
        )
        same = (F.col("topic") == F.col("t")) & (F.col("partition") == F.col("p"))
        placed = cut.join(F.broadcast(unready), same, "left")
        late = F.col("first").isNotNull() & (F.col("offset") >= F.col("first"))
        # Ends of transactions that are not applied yet are asked for again.
        ended = F.col("topic") == self._topic
        open_ = ended & ~told["id"].isin([*ready]) if ready else ended
        waits = F.when(ended, open_ & (told["status"] == "END")).otherwise(late)
        waits = F.coalesce(waits, F.lit(False))
        columns = cut.columns
        return (
            placed.where(~waits).select(*columns),
            placed.where(waits).select(*columns),
            tuple([*(one for one in applied if one not in ready), *ready][-REMEMBERED:]),
        )
