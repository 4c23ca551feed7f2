"""What all jobs that follow topics do with a batch: cut its records, find out their layouts, and bring each table's changes into a sink.

A batch is the same records whenever it is tried, and begins with the same state (:mod:`workers.spark.jobs.checkpoint`); what it does to
a table is the same however often it is done. So a crash at any point is mended by the batch that Spark repeats.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final, Protocol

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.compilation import compiled
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.jobs.lineage import Lineage
from workers.spark.jobs.moves import filled, fitted, held_columns, images, torn, trails
from workers.spark.jobs.transactions import Transactions
from workers.spark.tables.casts import rewritten
from workers.spark.tables.evolution import steps_along
from workers.spark.tables.table import LSN, POSITION, Effects, Sink, Table
from workers.spark.topics.events import decoded, together, tombstones
from workers.spark.topics.formats import Format
from workers.spark.topics.known import TopicState
from workers.spark.topics.survey import Group, survey
from workers.spark.topics.topic import Topic, learned

IMAGE_BATCHES: Final = 100
"""So many batches later a row that left its key is no longer waited for under its new one."""
WAITS: Final = 10
"""So many batches a row waits for the other half of its move, which another partition holds, before it goes on without."""
PLANNERS: Final = 4
"""Topics that are planned at a time."""
DIVIDED: Final = 20_000
"""Fewer changes of a topic are one task's: no shuffle, and the other cores have the other tables."""
_WAITING: Final = "waiting"
_PLACE: Final = ("partition", "offset")


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch was. ``passed_over`` counts records of topics that hold no table's changes, ``waiting`` those kept for the next."""

    batch: int
    records: int
    tables: int
    passed_over: int
    waiting: int
    seconds: float
    newest_ms: int | None
    """The newest of the records' times (ms since 1970), as Kafka has them; None of no records."""


@dataclass(frozen=True, slots=True)
class Work:
    """One topic's part of a batch."""

    batch: int
    topic: Topic
    groups: Sequence[Group]
    changes: DataFrame

    def any(self, flag: str) -> bool:
        """Whether a flag of the survey is set for some of the records."""
        return any(getattr(group, flag) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a batch does to a topic's table, if anything; the topic's state then; and the cut records that wait for the next batch."""

    effects: Effects | None
    state: TopicState
    held: DataFrame | None


class Job(Protocol):
    """What is made of a topic's changes."""

    def plan(self, work: Work, state: TopicState) -> tuple[Effects, TopicState] | None:
        """What they do to which table, and the topic's state then; None when they do nothing. No action that changes anything."""

    def target(self, work: Work) -> DataFrame | None:
        """The rows that the source's table had before the batch, as far as they are known."""


class Batches:
    """Brings batches of records into ``sink``."""

    def __init__(self, checkpoint: Checkpoint, format_: Format, sink: Sink, job: Job, transactions: Transactions | None = None) -> None:
        self._checkpoint = checkpoint
        self._format = format_
        self._sink = sink
        self._job = job
        self._transactions = transactions

    def apply(self, records: DataFrame, batch: int) -> Done:
        """Bring one batch into the tables; ``records`` are Kafka's, ``batch`` its number. May be repeated.

        Raises JobError when an event cannot be read for what its schema says.
        """
        began = time.monotonic()
        before = self._checkpoint.before(batch)
        cut = self._format.cut(records)
        if before.waiting is not None:
            cut = reduce(DataFrame.unionByName, self._checkpoint.made([before.waiting], _WAITING), cut)
        cut = cut.persist()
        persisted = [cut]
        try:
            held: list[DataFrame] = []
            applied = before.applied
            ready = cut
            if self._transactions is not None:
                ready, late, applied = self._transactions.split(cut, applied)
                held.append(late)
            groups = survey(ready, self._format.signs)
            parts = 2 * cut.sparkSession.sparkContext.defaultParallelism
            if sum(group.records for group in groups) < parts * DIVIDED:
                # Each topic's jobs look at all parts, so a few for each core: with one for every partition of every topic the tasks would
                # be counted in tables times partitions. Larger ones are left as they are, since some may be full and others nearly empty.
                ready = ready.coalesce(parts)
            topics = learned(
                {name: _young(state, batch) for name, state in before.topics.items()}, groups, ready, self._format.schemas, records
            )
            named = [Topic(name, topics.get(name, TopicState()), self._format.schemas.layout) for name in sorted({g.topic for g in groups})]
            tables = [topic for topic in named if topic.is_table]
            with compiled(cut.sparkSession, largest(groups)):
                planned = self._all(lambda topic: self._one(batch, topic, groups, ready, persisted), tables, cut.sparkSession)
                topics |= {topic.name: one.state for topic, one in zip(tables, planned, strict=True)}
                effects = [one.effects for one in planned if one.effects is not None]
                held += [one.held for one in planned if one.held is not None]
                waiting = 0
                if held:
                    kept = self._checkpoint.ahead(batch, _WAITING, lambda: reduce(DataFrame.unionByName, held))
                    waiting = kept.count()
                self._sink.apply(batch, effects)
            self._checkpoint.after(batch, State(topics, batch if waiting else None, applied))
        finally:
            for frame in persisted:
                frame.unpersist()
        mirrored = {topic.name for topic in tables}
        return Done(
            batch,
            sum(group.records for group in groups),
            len(effects),
            sum(group.records for group in groups if group.topic not in mirrored),
            waiting,
            time.monotonic() - began,
            max((group.newest_ms for group in groups), default=None),
        )

    @staticmethod
    def _all(work: Callable[[Topic], Planned], topics: Sequence[Topic], spark: SparkSession) -> list[Planned]:
        """``work`` on each, several at a time: most of it is planning, which Spark does in one thread."""
        # Spark's local properties (the streaming query's job group) go along, so that stopping the query stops these jobs.
        inherit = inheritable_thread_target(spark)
        with ThreadPoolExecutor(PLANNERS, thread_name_prefix="plan") as pool:
            running = [pool.submit(inherit(work), topic) for topic in topics]
        return [done.result() for done in running]

    def _one(self, batch: int, topic: Topic, groups: Sequence[Group], cut: DataFrame, persisted: list[DataFrame]) -> Planned:
        """A topic's part; ``persisted`` gets what is."""
        mine = [group for group in groups if group.topic == topic.name]
        changes = changes_of(topic, mine, cut)
        if sum(group.records for group in mine) < DIVIDED:
            changes = changes.coalesce(1)
        work, state, held = Work(batch, topic, mine, changes), replace(topic.state, awaited=(), followed=topic.newest), None
        if topic.table.key and held_columns(topic.table) and work.any("moves") and torn(changes):
            # Read once: the plans of what follows would each grow by it.
            work = replace(work, changes=changes.persist())
            persisted.append(work.changes)
            work, state, places = self._moved(work, state)
            held = None if places is None else cut.where(F.col("topic") == topic.name).join(places, list(_PLACE), "left_semi")
        planned = self._job.plan(work, state)
        return Planned(None, state, held) if planned is None else Planned(*planned, held)

    def _moved(self, work: Work, state: TopicState) -> tuple[Work, TopicState, DataFrame | None]:
        """The work with the values that rows took along to their new keys, and without what waits: the places of that, if any."""
        table, file = work.topic.table, "moved-" + work.topic.name.encode().hex()
        kept: dict[int | None, list[int]] = {}
        for number, layout in state.moved:
            kept.setdefault(layout, []).append(number)
        former = [
            fitted(made, table, work.topic.former(layout))
            for layout, numbers in kept.items()
            for made in self._checkpoint.made(numbers, file)
        ]
        earlier = together(former) if former else None
        known = set() if earlier is None else {row["lsn"] for row in earlier.select("lsn").collect()}
        awaited = dict(work.topic.state.awaited)
        lost = {move for move, since in awaited.items() if work.batch - since >= WAITS}
        found = Lineage(trails(work.changes), [column.name for column in held_columns(table)], known, lost).found()
        state = replace(state, awaited=tuple((move, awaited.get(move, work.batch)) for move in sorted(found.unseen)))
        changes, places = work.changes, None
        if found.held:
            places = F.broadcast(changes.sparkSession.createDataFrame(sorted(found.held), "partition int, offset bigint"))
            changes = changes.join(places, list(_PLACE), "left_anti")
        if found.picks:
            target = partial(self._job.target, work)
            new = self._checkpoint.ahead(work.batch, file, lambda: images(work.changes, table, found.picks, target, earlier))
            names = {column.name: column.name for column in table.columns}
            changes = filled(changes, fitted(new, table, names), table)
            state = replace(state, moved=(*state.moved, (work.batch, work.topic.newest_layout)))
        return replace(work, changes=changes), state, places


def _young(state: TopicState, batch: int) -> TopicState:
    """A topic's state at the beginning of ``batch``, without the images that are too old."""
    return replace(state, moved=tuple(kept for kept in state.moved if kept[0] > batch - IMAGE_BATCHES))


def largest(groups: Sequence[Group]) -> int:
    """The records of the topic that has the most."""
    records: Counter[str] = Counter()
    for group in groups:
        records[group.topic] += group.records
    return max(records.values(), default=0)


def at_newest(there: DataFrame | None, path: Sequence[Table]) -> DataFrame | None:
    """A sink's table as it will be when it has gone the way of ``path``; None when there is none."""
    if there is None:
        return None
    own = [(field.name, field.dataType) for field in there.schema.fields if field.name not in {LSN, POSITION}]
    return rewritten(there, path[-1], steps_along(own, path))


def changes_of(topic: Topic, groups: Sequence[Group], cut: DataFrame) -> DataFrame:
    """All changes of a topic's table in the batch, at its newest layout."""
    parts = []
    for group in groups:
        layout = topic.key_layout(group.key_layout) if group.empty else topic.layout(group.layout, group.key_layout)
        if layout is None:
            continue
        mine = (F.col("topic") == topic.name) & F.col("key_layout").eqNullSafe(group.key_layout)
        if group.empty:
            parts.append(tombstones(cut, mine & F.col("value").isNull(), layout, topic.table))
        else:
            mine &= F.col("value").isNotNull() & F.col("layout").eqNullSafe(group.layout)
            parts.append(decoded(cut, mine, layout, topic.table, topic.former(group.layout)))
    return together(parts)
