"""Selects the records of whole transactions, in the order of their commits (``provide.transaction.metadata=true``).

The connector reports the end of each transaction in the transaction topic, with the number of its events in each table. The topics of
the tables are read independently of it. A transaction is *whole* when its end and all its events have been read. All transactions before
the first incomplete one are applied. In each partition, the records from the first one on that cannot be applied wait for the next batch.
Repeated records wait too, until all of them have been read (:mod:`workers.spark.jobs.spans`).

A record's transaction id is ``<xid>:<LSN>`` with the LSN of the record itself (Debezium documentation, "Transaction metadata"). So only
the xid is the same in all records of a transaction. The LSN of its end record gives its place in the order of commits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.effects.known_rows import known_rows
from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.jobs.checkpoint import State
from workers.spark.jobs.spans import Commit, Span, TopicPartition, held_back, repeating
from workers.spark.topics.known import Reached
from workers.spark.topics.patterns import matching

_END: Final = "status string, id string, data_collections array<struct<data_collection: string, event_count: bigint>>, ts_ms bigint"
_EVENT: Final = "op string, transaction struct<id: string, total_order: bigint>, source struct<schema: string, table: string, lsn: bigint>"
_PLACE: Final = {"topic": "string", "partition": "int"}
_ID: Final = re.compile(r"(\d+):(\d+)")
_MESSAGES: Final = re.compile(r"LOGICAL_DECODING_MESSAGE|io\.debezium\.[\w.$]+@[0-9a-f]+")
"""The name under which the end of a transaction counts logical decoding messages. Debezium prints a Java object there."""
_CHANGES: Final = ("c", "u", "d", "t")
_ROW: Final = 'Set consistency = "row", or take the transformation out of the connector.'


@dataclass(frozen=True, slots=True)
class End:
    """The record of a transaction's end, at ``offset``. ``counts`` has the number of its events by table (``schema.name``).

    ``lsn`` is the LSN at which the commit record ends. ``ts_ms`` is the time of the commit by the source's clock (ms since 1970), 0 if
    the record does not have it. ``written_ms`` is Kafka's time of the record.
    """

    xid: str
    lsn: int
    counts: Mapping[str, int]
    offset: int = 0
    ts_ms: int = 0
    written_ms: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """The cut records that can be applied (``ready``), and those that must wait (``late``, None without any).

    ``applied``, ``applied_ms`` and ``reached`` are the values of :class:`workers.spark.jobs.checkpoint.State` after the ready records.
    ``lacking`` says what the first incomplete transaction lacks, ``lacking_ms`` is Kafka's time of its end record. ``apart`` is the
    number of changes without a transaction id, which are applied one by one.
    """

    ready: DataFrame
    late: DataFrame | None
    applied: int
    applied_ms: int
    reached: tuple[Reached, ...]
    lacking: str | None
    apart: int
    lacking_ms: int = 0


@dataclass(frozen=True, slots=True)
class _TableEvents:
    """The events in the tables' topics.

    ``events`` has the number of different events of each xid and table. ``spans`` has their offsets, one span for each xid and partition.
    ``twice`` are the partitions in which a transaction has an event several times. ``apart`` counts changes without a transaction id.
    ``flat`` are the topics with flattened events.
    """

    events: Mapping[str, Mapping[str, int]]
    spans: Sequence[Span]
    twice: frozenset[TopicPartition]
    apart: int
    flat: frozenset[str]


def ended(name: str, counts: Mapping[str, int], offset: int = 0, ts_ms: int | None = None) -> End:
    """The end with the transaction id ``name``, without messages. Raises JobError when the PostgreSQL connector writes no such id."""
    found = _ID.fullmatch(name)
    if found is None:
        raise JobError(UNREADABLE, f"The transaction topic has the id {name!r}, which is not <xid>:<LSN>. Check transaction_topic.")
    tables = {table: count for table, count in counts.items() if not _MESSAGES.fullmatch(table)}
    return End(found[1], int(found[2]), tables, offset, ts_ms or 0)


def whole(
    ends: Sequence[End], read: Mapping[str, Mapping[str, int]], mirrored: Collection[str], applied: int
) -> tuple[Sequence[End], str | None]:
    """The ends of the transactions that can be applied, oldest first, and what the next transaction lacks. Pure.

    ``ends`` are in the order of the transaction topic. ``read`` has the number of different events of each xid and table. Tables that are
    not ``mirrored`` are ignored. Transactions up to the LSN ``applied`` are in the tables: they are repeated, possibly in part.
    """
    for at, end in enumerate(ends):
        events = read.get(end.xid, {})
        for table, count in end.counts.items():
            if table in mirrored and events.get(table, 0) < count and end.lsn > applied:
                return ends[:at], f"transaction {end.xid} has {count:,} events of {table}, of which {events.get(table, 0):,} are read"
    return ends, None


def commits_of(ends: Iterable[End], applied: int, applied_ms: int) -> dict[str, Commit]:
    """The transactions of ``ends``, by xid. Pure.

    ``applied`` and ``applied_ms`` are the highest LSN and time of the transactions in the tables, 0 if unknown. A repeated transaction
    exceeds neither.
    """
    return {end.xid: Commit(end.lsn, end.lsn > applied, lower=end.lsn <= applied and 0 < applied_ms < end.ts_ms) for end in ends}


class Transactions:
    """Splits batches. ``topic`` is the transaction topic. ``pattern`` (Java's) matches the tables' topics, which begin with ``prefix``."""

    def __init__(self, topic: str, pattern: str, prefix: str) -> None:
        self.topic = topic
        self._pattern = pattern
        self.prefix = prefix
        self._mirrored: dict[str, bool] = {}

    def split(self, cut: DataFrame, before: State) -> Split:
        """Split the ``cut`` records. ``before`` is the state after the previous split.

        Raises JobError if whole transactions cannot be recognized: the transaction topic has several partitions, or events are routed to
        other topics or flattened.
        """
        # JSON only: values in Avro are bytes.
        text = F.col("value").cast("string")
        of_ends = F.col("topic") == self.topic
        end, event = F.from_json(F.when(of_ends, text), _END), F.from_json(F.when(~of_ends, text), _EVENT)
        name = F.when(F.col("end.status") == "END", F.col("end.id")).otherwise(F.col("event.transaction.id"))
        marked = cut.withColumns({"end": end, "event": event}).withColumn("xid", F.split_part(name, F.lit(":"), F.lit(1)))
        ends = self._ends(marked.where(of_ends))
        events = marked.where(~of_ends & F.col("value").isNotNull())
        read = self._read(events)
        mirrored = self._mirrored_of(cut.sparkSession, {table for one in ends for table in one.counts})
        flat = read.flat & {self._topic_of(table) for table in mirrored}
        if flat:
            raise _refused(f"the topic {min(flat)} holds flattened events, which name no transaction. {_ROW}")
        found, lacking = whole(ends, read.events, mirrored, before.applied)
        commits = commits_of(found, before.applied, before.applied_ms)
        reached = {(one.topic, one.partition): (one.lsn, one.order) for one in before.reached}
        again = read.twice | repeating(read.spans, commits, reached)
        spans = [*(span for span in read.spans if span.place not in again), *(_runs(events, again) if again else ())]
        held = held_back(spans, commits, reached)
        first = dict(held.first)
        if len(found) < len(ends):
            first[(self.topic, 0)] = ends[len(found)].offset
        # If events of a whole transaction wait, its end must wait with them.
        wait = {span.xid for span in spans if span.first >= held.first.get(span.place, span.first + 1)}
        kept = {end.xid: end.offset for end in found if end.xid in wait}
        ready, late = _parted(cut, first, [(self.topic, 0, offset) for offset in sorted(kept.values())])
        return Split(
            ready,
            late,
            max([before.applied, *(end.lsn for end in found)]),
            max([before.applied_ms, *(end.ts_ms for end in found)]),
            tuple(Reached(*place, *position) for place, position in sorted(held.reached.items())),
            lacking,
            read.apart,
            ends[len(found)].written_ms if len(found) < len(ends) else 0,
        )

    def _ends(self, marked: DataFrame) -> list[End]:
        rows = (
            marked.where(F.col("xid").isNotNull())
            .select("partition", "offset", F.unix_millis("timestamp").alias("written_ms"), "end.*")
            .collect()
        )
        if any(row["partition"] for row in rows):
            remedy = "Give it one (topic.creation.groups in the connector), and start connector and mirror again from the beginning."
            raise _refused(f"the topic {self.topic} has several partitions, which have no order of commits. {remedy}")
        counts = ({one["data_collection"]: one["event_count"] for one in row["data_collections"] or ()} for row in rows)
        found = (
            replace(ended(row["id"], counted, row["offset"], row["ts_ms"]), written_ms=row["written_ms"] or 0)
            for row, counted in zip(rows, counts, strict=True)
        )
        return sorted(found, key=lambda end: end.offset)

    def _read(self, marked: DataFrame) -> _TableEvents:
        rows = (
            marked.groupBy("xid", "topic", "partition", _table(), F.col("event.op").alias("op"), F.col("key").isNull().alias("keyless"))
            .agg(
                F.count_distinct(_order()).alias("events"),
                F.count("*").alias("records"),
                F.min("offset").alias("first"),
                F.max("offset").alias("last"),
                F.max(_order()).alias("order"),
            )
            .collect()
        )
        changed = [row for row in rows if row["op"] in _CHANGES]
        for row in changed:
            expected = self._topic_of(row["table"])
            if row["topic"] != expected:
                raise _refused(f"the topic {row['topic']} holds events of {row['table']}, which are counted for {expected}. {_ROW}")
        groups: dict[tuple[str, int, str], list[Row]] = {}
        for row in rows:
            if row["xid"] is not None:
                groups.setdefault((row["topic"], row["partition"], row["xid"]), []).append(row)
        spans = [
            Span(*name, min(row["first"] for row in of), max(row["last"] for row in of), max(row["order"] or 0 for row in of))
            for name, of in groups.items()
        ]
        twice = frozenset((name[0], name[1]) for name, of in groups.items() if any(row["events"] < row["records"] for row in of))
        apart = sum(row["records"] for row in changed if row["xid"] is None)
        return _TableEvents(_counted(marked, changed), spans, twice, apart, frozenset(row["topic"] for row in rows if row["op"] is None))

    def _mirrored_of(self, spark: SparkSession, tables: Collection[str]) -> set[str]:
        """The tables whose topics are read."""
        new = [(table, self._topic_of(table)) for table in tables if table not in self._mirrored]
        if new:
            found = set(matching(spark, self._pattern, [topic for _, topic in new]))
            self._mirrored.update({table: topic in found for table, topic in new})
        return {table for table in tables if self._mirrored[table]}

    def _topic_of(self, table: str) -> str:
        # A character that is invalid in topic names becomes an underscore, or two if Java has it as a surrogate pair.
        return re.sub(r"[^\w.-]", lambda found: "_" * (len(found[0].encode("utf-16-le")) // 2), f"{self.prefix}.{table}", flags=re.ASCII)


def _counted(marked: DataFrame, changed: Sequence[Row]) -> dict[str, Counter[str]]:
    """The number of different events of each xid and table. ``changed`` has it for each partition.

    Repeated events without a key may be in another partition, so they are counted over all partitions.
    """
    places: dict[tuple[str, str], set[int]] = {}
    for row in changed:
        if row["keyless"] and row["xid"] is not None:
            places.setdefault((row["xid"], row["table"]), set()).add(row["partition"])
    several = {name for name, partitions in places.items() if len(partitions) > 1}
    counted = [row for row in changed if not (row["keyless"] and (row["xid"], row["table"]) in several)]
    if several:
        keyless = marked.where(F.col("key").isNull() & F.col("event.op").isin(*_CHANGES))
        rows = keyless.groupBy("xid", _table()).agg(F.count_distinct(_order()).alias("events")).collect()
        counted += [row for row in rows if (row["xid"], row["table"]) in several]
    events: dict[str, Counter[str]] = {}
    for row in counted:
        events.setdefault(row["xid"], Counter())[row["table"]] += row["events"]
    return events


def _table() -> Column:
    return F.concat_ws(".", "event.source.schema", "event.source.table").alias("table")


def _order() -> Column:
    return F.col("event.transaction.total_order").alias("order")


def _runs(events: DataFrame, places: Collection[TopicPartition]) -> list[Span]:
    """The spans of events in these partitions. A new span begins where events are repeated or another transaction follows."""
    these = known_rows(events.sparkSession, sorted(places), _PLACE)
    along = Window.partitionBy("topic", "partition").orderBy("offset")
    placed = events.join(F.broadcast(these), ["topic", "partition"], "left_semi").select(
        "topic", "partition", "offset", "xid", _order(), F.col("event.source.lsn").alias("lsn")
    )
    goes_on = F.col("xid").eqNullSafe(F.lag("xid").over(along)) & F.coalesce(F.col("order") > F.lag("order").over(along), F.lit(True))
    runs = placed.withColumn("begins", (~goes_on).cast("int")).withColumn("run", F.sum("begins").over(along))
    edges = (F.min("offset").alias("first"), F.max("offset").alias("last"), F.max("order").alias("order"), F.max("lsn").alias("lsn"))
    rows = runs.groupBy("topic", "partition", "xid", "run").agg(*edges).collect()
    return [Span(row["topic"], row["partition"], row["xid"], row["first"], row["last"], row["order"] or 0, row["lsn"] or 0) for row in rows]


def _parted(
    cut: DataFrame, first: Mapping[TopicPartition, int], kept: Collection[tuple[str, int, int]]
) -> tuple[DataFrame, DataFrame | None]:
    """The records that do not wait, and those that do (None without any): from ``first`` of their partition on, and those at ``kept``."""
    if not first:
        return cut, None
    session = cut.sparkSession
    rows = [(*place, offset) for place, offset in sorted(first.items())]
    waits = known_rows(session, rows, {**_PLACE, "first": "bigint"})
    placed = cut.join(F.broadcast(waits), ["topic", "partition"], "left")
    late = F.coalesce(F.col("offset") >= F.col("first"), F.lit(False))
    if kept:
        columns = {**_PLACE, "offset": "bigint", "kept": "boolean"}
        single = known_rows(session, [(*place, True) for place in kept], columns)
        placed = placed.join(F.broadcast(single), ["topic", "partition", "offset"], "left")
        late |= F.col("kept").isNotNull()
    return placed.where(~late).select(*cut.columns), placed.where(late).select(*cut.columns)


def _refused(why: str) -> JobError:
    return JobError(WRONG, f"consistency is transaction: {why}")
