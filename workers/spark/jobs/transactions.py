"""Whole transactions only, in the order of their commits (``provide.transaction.metadata=true``).

The connector tells of each transaction's end in a topic of its own, with the number of its events in each table; the topics of the
tables are read independently of it. A transaction is *whole* when its end and all its events have been read. Those up to the first
that is not are applied; records from the first unready one of their partition on wait for the next batch.

A record's transaction id is ``<xid>:<LSN>`` with the LSN of the record itself (Debezium documentation, "Transaction metadata"): the xid
alone is the same in all of a transaction, and the LSN of its end is its place in the order of commits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.topics.patterns import matching

_END: Final = "status string, id string, data_collections array<struct<data_collection: string, event_count: bigint>>"
_EVENT: Final = "op string, transaction struct<id: string, total_order: bigint>, source struct<schema: string, table: string>"
_ID: Final = re.compile(r"(\d+):(\d+)")
_MESSAGES: Final = re.compile(r"LOGICAL_DECODING_MESSAGE|io\.debezium\.[\w.$]+@[0-9a-f]+")
"""What logical decoding messages are counted under, which are in no table's topic: Debezium prints a Java object there."""
_CHANGES: Final = ("c", "u", "d", "t")
_ROW: Final = 'Set consistency = "row", or take the transformation out of the connector.'


@dataclass(frozen=True, slots=True)
class End:
    """A transaction's end, at ``offset``. ``lsn`` is that of its commit's end, ``counts`` are its events by table (``schema.name``)."""

    xid: str
    lsn: int
    counts: Mapping[str, int]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """The cut records that can be applied, and those that must wait, None for none.

    ``applied`` is the LSN of the last transaction that is applied then, ``lacking`` tells what the first one waits for that is not whole.
    ``apart`` are changes that name no transaction: they are applied each by itself.
    """

    ready: DataFrame
    late: DataFrame | None
    applied: int
    lacking: str | None
    apart: int


@dataclass(frozen=True, slots=True)
class Span:
    """Where a topic partition has events of a transaction: from the offset ``first`` on."""

    topic: str
    partition: int
    xid: str
    first: int


@dataclass(frozen=True, slots=True)
class _Read:
    """What the tables' topics hold.

    ``events`` is the number of different events of each xid and table, ``spans`` tell where they are; ``apart`` counts changes without
    a transaction, ``flat`` are topics with values that are no events.
    """

    events: Mapping[str, Mapping[str, int]]
    spans: Sequence[Span]
    apart: int
    flat: frozenset[str]


def ended(name: str, counts: Mapping[str, int], offset: int = 0) -> End:
    """The end whose id is ``name``; messages do not count. Raises JobError when it is no id of PostgreSQL's connector."""
    found = _ID.fullmatch(name)
    if found is None:
        raise JobError(UNREADABLE, f"The transaction topic has the id {name!r}, which is not <xid>:<LSN>. Check transaction_topic.")
    return End(found[1], int(found[2]), {table: count for table, count in counts.items() if not _MESSAGES.fullmatch(table)}, offset)


def whole(
    ends: Sequence[End], read: Mapping[str, Mapping[str, int]], mirrored: Collection[str], applied: int
) -> tuple[Sequence[End], str | None]:
    """The ends of the transactions that can be applied, oldest first, and what the next one lacks. Pure.

    ``ends`` are in the order of the transaction topic; ``read`` has the number of different events of each xid and table; tables that are
    not ``mirrored`` do not count; those up to the LSN ``applied`` are in the tables and come again, maybe in part.
    """
    for at, end in enumerate(ends):
        events = read.get(end.xid, {})
        for table, count in end.counts.items():
            if table in mirrored and events.get(table, 0) < count and end.lsn > applied:
                return ends[:at], f"transaction {end.xid} has {count:,} events of {table}, of which {events.get(table, 0):,} are read"
    return ends, None


def held_back(spans: Sequence[Span], ready: Collection[str], new: Collection[str]) -> dict[tuple[str, int], int]:
    """From which offset on each topic partition waits, where it does. Pure.

    ``new`` are those ``ready`` transactions that come for the first time. What begins before one of them and is not ready has no end and
    will get none, since its connector was removed in the middle of it: it waits no longer. One that comes again tells nothing of that.
    """
    newest: dict[tuple[str, int], int] = {}
    for span in spans:
        if span.xid in new:
            place = span.topic, span.partition
            newest[place] = max(newest.get(place, -1), span.first)
    first: dict[tuple[str, int], int] = {}
    for span in spans:
        place = span.topic, span.partition
        if span.xid not in ready and span.first > newest.get(place, -1):
            first[place] = min(first.get(place, span.first), span.first)
    return first


class Transactions:
    """Splits batches. ``topic`` is the transactions', ``pattern`` (Java's) tells the tables', ``prefix`` is the connector's."""

    def __init__(self, topic: str, pattern: str, prefix: str) -> None:
        self.topic = topic
        self._pattern = pattern
        self.prefix = prefix
        self._mirrored: dict[str, bool] = {}

    def split(self, cut: DataFrame, applied: int) -> Split:
        """Part ``cut`` records; ``applied`` is what the split before ended with, 0 before the first.

        Raises JobError where whole transactions cannot be told: a transaction topic of several partitions, routed topics, flattened events.
        """
        # The tables' records carry bytes in Avro; this is for JSON.
        text = F.col("value").cast("string")
        of_ends = F.col("topic") == self.topic
        end, event = F.from_json(F.when(of_ends, text), _END), F.from_json(F.when(~of_ends, text), _EVENT)
        name = F.when(F.col("end.status") == "END", F.col("end.id")).otherwise(F.col("event.transaction.id"))
        marked = cut.withColumns({"end": end, "event": event}).withColumn("xid", F.split_part(name, F.lit(":"), F.lit(1)))
        ends = self._ends(marked.where(of_ends))
        read = self._read(marked.where(~of_ends))
        mirrored = self._mirrored_of(cut.sparkSession, {table for one in ends for table in one.counts})
        flat = read.flat & {self._topic_of(table) for table in mirrored}
        if flat:
            raise _refused(f"the topic {min(flat)} holds flattened events, which name no transaction. {_ROW}")
        found, lacking = whole(ends, read.events, mirrored, applied)
        first = held_back(read.spans, {end.xid for end in found}, {end.xid for end in found if end.lsn > applied})
        if len(found) < len(ends):
            first[(self.topic, 0)] = ends[len(found)].offset
        applied = max([applied, *(end.lsn for end in found)])
        if not first:
            return Split(cut, None, applied, lacking, read.apart)
        rows = [(*place, offset) for place, offset in sorted(first.items())]
        waits = cut.sparkSession.createDataFrame(rows, "topic string, partition int, first bigint")
        placed = cut.join(F.broadcast(waits), ["topic", "partition"], "left")
        late = F.coalesce(F.col("offset") >= F.col("first"), F.lit(False))
        return Split(placed.where(~late).select(*cut.columns), placed.where(late).select(*cut.columns), applied, lacking, read.apart)

    def _ends(self, marked: DataFrame) -> list[End]:
        rows = marked.where(F.col("xid").isNotNull()).select("partition", "offset", "end.id", "end.data_collections").collect()
        if any(row["partition"] for row in rows):
            mend = "Give it one (topic.creation.groups in the connector), and let connector and mirror begin anew."
            raise _refused(f"the topic {self.topic} has several partitions, which have no order of commits. {mend}")
        counts = ({one["data_collection"]: one["event_count"] for one in row["data_collections"] or ()} for row in rows)
        found = (ended(row["id"], counted, row["offset"]) for row, counted in zip(rows, counts, strict=True))
        return sorted(found, key=lambda end: end.offset)

    def _read(self, marked: DataFrame) -> _Read:
        table, order = F.concat_ws(".", "event.source.schema", "event.source.table").alias("table"), F.col("event.transaction.total_order")
        rows = (
            marked.where(F.col("value").isNotNull())
            .groupBy("xid", "topic", "partition", table, F.col("event.op").alias("op"))
            .agg(
                F.count_distinct(order).alias("events"),
                # Those without a key may come again in another partition.
                F.collect_set(F.when(F.col("event.op") == "t", order)).alias("truncates"),
                F.count("*").alias("records"),
                F.min("offset").alias("first"),
            )
            .collect()
        )
        changed = [row for row in rows if row["op"] in _CHANGES]
        events: dict[str, Counter[str]] = {}
        truncates: dict[tuple[str, str], set[int]] = {}
        for row in changed:
            expected = self._topic_of(row["table"])
            if row["topic"] != expected:
                raise _refused(f"the topic {row['topic']} holds events of {row['table']}, which are counted for {expected}. {_ROW}")
            if row["op"] == "t":
                truncates.setdefault((row["xid"], row["table"]), set()).update(row["truncates"])
            else:
                events.setdefault(row["xid"], Counter())[row["table"]] += row["events"]
        for (xid, name), orders in truncates.items():
            events.setdefault(xid, Counter())[name] += len(orders)
        spans = [Span(row["topic"], row["partition"], row["xid"], row["first"]) for row in rows if row["xid"] is not None]
        apart = sum(row["records"] for row in changed if row["xid"] is None)
        return _Read(events, spans, apart, frozenset(row["topic"] for row in rows if row["op"] is None))

    def _mirrored_of(self, spark: SparkSession, tables: Collection[str]) -> set[str]:
        """Those of the tables whose topics are read."""
        new = [(table, self._topic_of(table)) for table in tables if table not in self._mirrored]
        if new:
            found = set(matching(spark, self._pattern, [topic for _, topic in new]))
            self._mirrored.update({table: topic in found for table, topic in new})
        return {table for table in tables if self._mirrored[table]}

    def _topic_of(self, table: str) -> str:
        # A letter that no topic may have is an underscore, two of them for what are two in Java.
        return re.sub(r"[^\w.-]", lambda found: "_" * (len(found[0].encode("utf-16-le")) // 2), f"{self.prefix}.{table}", flags=re.ASCII)


def _refused(why: str) -> JobError:
    return JobError(WRONG, f"consistency is transaction: {why}")
