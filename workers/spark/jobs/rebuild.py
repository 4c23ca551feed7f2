"""Replaces the rows of tables by those from the start of their topics (``--rebuild``). Other tables are not changed.

The records of earlier batches are read again, up to the end of the last turn, without the records that wait for a later turn:
these are applied with it. The turns are numbered like all others. The first one replaces all rows in the commit that adds
the new ones. After a crash a rebuild begins again at the next start, before any other batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.effects.places import SNAPSHOT_BEGINS
from workers.spark.failure import WRONG, JobError
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import TURNS, Checkpoint, State
from workers.spark.jobs.table_ownership import HISTORY, check_whole
from workers.spark.topics.broker import Broker, Offsets
from workers.spark.topics.formats import Format
from workers.spark.topics.known import TopicState
from workers.spark.topics.readings import Readings
from workers.spark.topics.survey import survey
from workers.spark.topics.topic import Topic, learned, table_of

SNAPSHOT_ENDS: Final = ("last", "last_in_data_collection")
"""The markers of a table's last row in a snapshot (``source.snapshot``)."""

ReadRange = Callable[[Offsets, Offsets], DataFrame]
"""Reads Kafka's records from the first offsets (inclusive) to the second (exclusive), which have the same partitions."""


class Rebuild:
    """Rebuilds tables before the stream starts.

    ``there`` are the topics that the stream reads. ``suffix`` follows the source's names in those of the tables (:data:`HISTORY`).
    """

    def __init__(
        self, checkpoint: Checkpoint, broker: Broker, there: Collection[str], format_: Format, read: ReadRange, suffix: str = ""
    ) -> None:
        self._checkpoint = checkpoint
        self._broker = broker
        self._there = there
        self._format = format_
        self._read = read
        self._suffix = suffix

    def run(self, names: Collection[str], batches: Batches) -> BatchTotals | None:
        """Rebuild the tables (or topics) with these names, and those that a crash left unfinished; None if there are none.

        Names of topics, or of their tables, that have not been read yet are skipped: their rows are replaced when they are read. Raises
        JobError for other names, when a topic no longer holds all records of its table, and when several topics fill one table.
        """
        state = self._checkpoint.last()
        self._check_names(names, state)
        topics = sorted({*state.rebuilding, *topics_of(names, state)})
        if not topics:
            return None
        tables = [kept for name in topics if (kept := state.topics[name].kept) is not None]
        for kept in tables:
            filled_by = [name for name, other in state.topics.items() if other.kept == kept]
            if len(filled_by) > 1:
                raise JobError(WRONG, f"{kept} cannot be rebuilt: the topics {', '.join(filled_by)} fill it together. Rebuild the mirror.")
        for name in topics:
            check_whole(self.lacks, name, state.topics[name].kept or name)
        # The next batch has the records that the present one deferred. An interrupted rebuild reads its own deferred records again.
        put_off = () if state.rebuilding or state.later is None else (state.later,)
        began = replace(
            state,
            waiting=(*state.waiting, *put_off),
            later=None,
            topics={**state.topics, **{name: _emptied(state.topics[name]) for name in topics}},
            replacing=tuple(sorted({*state.replacing, *topics})),
            rebuilding=tuple(topics),
        )
        records = self._records(topics)
        return batches.again(began, None if records is None else self._cut(records, began), records)

    def lacks(self, topic: str) -> str | None:
        """What the topic lacks of its table; None if it holds all records, or a whole snapshot and all later records."""
        gone = {place: first for place, first in self._broker.begins([topic]).items() if first > 0}
        if not gone or self._whole_snapshot(topic):
            return None
        named = ", ".join(f"offset {first} of partition {partition}" for (_, partition), first in sorted(gone.items()))
        return f"its topic {topic} no longer holds the records before {named} (retention), nor a whole snapshot after them"

    def _whole_snapshot(self, topic: str) -> bool:
        """Whether the topic holds a snapshot that certainly lost no row.

        The partition of its first row has all its later records. Another partition whose first records were removed may have had rows of
        the snapshot among them, unless it still has a record from before the snapshot.
        """
        first = self._broker.begins([topic])
        records = self._read(first, self._broker.ends([topic]))
        cut = self._format.cut(records)
        groups = survey(cut, self._format.signs)
        states = learned({}, groups, lambda: cut, self._format.schemas, records, passing=[topic])
        found = Topic(topic, states.get(topic, TopicState()), self._format.schemas.layout)
        changes = Readings().changes(found, groups, cut) if found.is_table else None
        if changes is None:
            return False
        # All rows of a snapshot have its LSN. A snapshot of a single row has only the last marker.
        begins, ends = F.col("snapshot").isin(*SNAPSHOT_BEGINS), F.col("snapshot").isin(*SNAPSHOT_ENDS)
        rows = changes.where("op = 'r'").withColumn("only", F.count("*").over(Window.partitionBy("lsn")) == 1)
        found = rows.groupBy("lsn").agg(
            F.max(F.when(begins | F.col("only"), F.struct("timestamp", "partition"))).alias("begin"),
            F.max(F.when(ends, F.col("timestamp"))).alias("end"),
        )
        whole = found.where("end >= begin.timestamp").select("begin.*").collect()
        oldest = records.groupBy("partition").agg(F.min_by("timestamp", "offset").alias("timestamp")).collect()
        since = {row["partition"]: row["timestamp"] for row in oldest}
        cut_off = [partition for (_, partition), offset in first.items() if offset > 0]
        return any(
            all(one == begin["partition"] or (one in since and since[one] < begin["timestamp"]) for one in cut_off) for begin in whole
        )

    def _check_names(self, names: Collection[str], state: State) -> None:
        for name in names:
            coming = (topic == name or topic.endswith(f".{name.removesuffix(self._suffix)}") for topic in self._there)
            if not topics_of([name], state) and not any(coming):
                kept = sorted(other.kept or topic for topic, other in state.topics.items() if other.kept or other.aside)
                raise JobError(WRONG, f"--rebuild {name}: no such table is mirrored. Known are {', '.join(kept or self._there)}.")

    def _records(self, topics: Sequence[str]) -> DataFrame | None:
        """The records that earlier turns read of the topics, as far as Kafka holds them; None without any."""
        there = [name for name in topics if name in {place[0] for place in self._read_to()}]
        begins, held = self._broker.begins(there), self._broker.ends(there)
        ends = {place: min(end, held[place]) for place, end in self._read_to().items() if place in held}
        ranges = {place: end for place, end in ends.items() if begins[place] < end}
        return self._read({place: begins[place] for place in ranges}, ranges) if ranges else None

    def _read_to(self) -> Mapping[tuple[str, int], int]:
        return self._checkpoint.offsets(self._checkpoint.last_turn() // TURNS)

    def _cut(self, records: DataFrame, state: State) -> DataFrame:
        """The cut records, without those that wait for a later turn."""
        cut = self._format.cut(records)
        frames = [frame for turn, name in state.waiting for frame in self._checkpoint.made([turn], name)]
        if not frames:
            return cut
        places = ["topic", "partition", "offset"]
        return cut.join(reduce(DataFrame.unionByName, frames).select(*places).distinct(), places, "left_anti").select(*cut.columns)


def _emptied(state: TopicState) -> TopicState:
    """The state of a topic of which nothing has been read, but whose table has a name."""
    return TopicState(table=state.table, kept=state.kept)


def topics_of(names: Collection[str], state: State) -> list[str]:
    """The topics for ``names``, each of which is a topic, a table that a topic fills, or the source's table of a history. Pure.

    If a table is filled under a name, the name does not also mean a history: a source may have both ``orders`` and ``orders_history``.
    """
    filled = {known.kept for known in state.topics.values()}
    of_history = {*names} - filled
    return [
        topic
        for topic, known in state.topics.items()
        if {topic, known.kept, _never_filled(known)} & {*names} or _source_of_history(topic, known) in of_history
    ]


def _source_of_history(topic: str, state: TopicState) -> str | None:
    """The source's table, if the topic fills a history of it."""
    sources = (".".join(table) for table in (state.table, table_of(topic)) if table is not None)
    return next((name for name in sources if state.kept == f"{name}{HISTORY}"), None)


def _never_filled(state: TopicState) -> str | None:
    """The table of a topic that was set aside before any row of it was written; None for other topics."""
    return None if state.aside is None or state.kept is not None or state.table is None else ".".join(state.table)
