"""What all jobs that follow topics do with a batch: cut its records, find out their layouts, and bring each table's changes into a sink.

A batch is the same records whenever it is tried, and begins with the same state (:mod:`workers.spark.jobs.checkpoint`); what it does to
a table is the same however often it is done. So a crash at any point is mended by the batch that Spark repeats.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final, Protocol

from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.compilation import compiled
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jobs.checkpoint import TURNS, Checkpoint, State
from workers.spark.jobs.lineage import Lineage
from workers.spark.jobs.moves import filled, fitted, held_columns, images, torn, trails
from workers.spark.jobs.ownership import Ownership
from workers.spark.jobs.transactions import Transactions
from workers.spark.source.missing import Missing
from workers.spark.tables.casts import rewritten
from workers.spark.tables.evolution import steps_along
from workers.spark.tables.table import LSN, POSITION, Effects, Sink, Table
from workers.spark.topics.events import decoded, together, tombstones
from workers.spark.topics.formats import Format
from workers.spark.topics.known import TopicState, Unread, Unreadable
from workers.spark.topics.layouts import Form, Layout
from workers.spark.topics.survey import Group, survey
from workers.spark.topics.topic import Texts, Topic, learned, unknown
from workers.spark.topics.turns import Turn, turn

IMAGE_BATCHES: Final = 100
"""So many batches later a row that left its key is no longer waited for under its new one."""
WAITS: Final = 10
"""So many batches a row waits for the other half of its move, which another partition holds, before it goes on without."""
PLANNERS: Final = 4
"""Topics that are planned at a time."""
DIVIDED: Final = 20_000
"""Fewer changes of a topic are one task's: no shuffle, and the other cores have the other tables."""
_WAITING, _LATER = "waiting", "later"
_NEW: Final = TopicState()
_PLACE: Final = ("partition", "offset")


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch was.

    ``passed_over`` counts records of topics that hold no table's changes, and of keys that the table had before, which come again;
    ``waiting`` those kept for the next batch.
    """

    batch: int
    records: int = 0
    tables: int = 0
    passed_over: int = 0
    waiting: int = 0
    seconds: float = 0.0
    newest_ms: int | None = None
    """The newest of the records' times (ms since 1970), as Kafka has them; None of no records."""
    lacking: str | None = None
    """What the first transaction waits for that is not whole."""
    apart: int = 0
    """Changes that name no transaction, where whole ones are applied."""
    aside: tuple[str, ...] = ()
    """What is to be said of topics that were set aside in this batch."""

    def with_turn(self, read: Read, *, first: bool, tables: int, waiting: int) -> Done:
        """The batch with one more turn; all have records of the ``first``."""
        passed = sum(group.records for topic in read.topics for group in read.turns[topic.name].groups if reading(topic, group) is None)
        aside = (*self.aside, *(said_of(name, read.states[name]) for name in read.aside))
        found = replace(
            self, tables=max(self.tables, tables), passed_over=self.passed_over + passed, waiting=self.waiting + waiting, aside=aside
        )
        if not first:
            return found
        newest = max((group.newest_ms for group in read.groups), default=None)
        return replace(found, records=sum(group.records for group in read.groups), newest_ms=newest)


@dataclass(frozen=True, slots=True)
class Read:
    """What a turn's records are: ``states`` has all topics that are known then, ``turns`` and ``topics`` those among the records.

    ``aside`` are those that are set aside since this turn.
    """

    ready: DataFrame
    groups: Sequence[Group]
    states: Mapping[str, TopicState]
    turns: Mapping[str, Turn]
    topics: Sequence[Topic]
    aside: Sequence[str]


@dataclass(frozen=True, slots=True)
class Work:
    """One topic's part of a turn (:mod:`workers.spark.topics.turns`) of a batch."""

    number: int
    """The turn's."""
    topic: Topic
    groups: Sequence[Group]
    changes: DataFrame
    anew: bool = False
    """None of the topic's rows are in the table yet, so nothing is taken from it."""

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
    """Brings batches of records into ``sink``. ``behind`` tells of a batch and a topic whether records of it lie beyond the batch.

    ``missing`` asks the source what rows show that are older than a column; without it the events' defaults stand for that.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        format_: Format,
        sink: Sink,
        job: Job,
        transactions: Transactions | None = None,
        behind: Callable[[int, str], bool] = lambda _batch, _topic: False,
        *,
        missing: Missing | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._format = format_
        self._sink = sink
        self._job = job
        self._transactions = transactions
        self._behind = behind
        self._missing = missing
        self._ownership = ownership or Ownership(checkpoint, sink)

    def apply(self, records: DataFrame, batch: int) -> Done:
        """Bring one batch into the tables; ``records`` are Kafka's, ``batch`` its number. May be repeated.

        Raises JobError when an event cannot be read for what its schema says.
        """
        began = time.monotonic()
        number, state = self._checkpoint.begin(batch)
        done = Done(batch)
        if number == batch * TURNS:
            cut = self._format.cut(records)
            for written in state.waiting:
                cut = reduce(DataFrame.unionByName, self._checkpoint.made([written[0]], written[1]), cut)
            done, state = self._turn(number, done, replace(state, waiting=()), cut, records)
            number += 1
        while state.later is not None:
            (cut,) = self._checkpoint.made([state.later[0]], state.later[1])
            done, state = self._turn(number, done, replace(state, later=None), cut, records)
            number += 1
        return replace(done, seconds=time.monotonic() - began)

    def again(self, state: State, cut: DataFrame | None, records: DataFrame | None) -> Done:
        """Begin the topics that ``state`` is ``rebuilding`` from nothing, with the ``cut`` records that earlier batches read of them.

        ``records`` are Kafka's of the same; None of either: there are none left. Turns of their own; see
        :mod:`workers.spark.jobs.rebuild`.
        """
        began, number = time.monotonic(), self._checkpoint.last_turn() + 1
        done = Done(number // TURNS)
        self._checkpoint.after(number, state)
        while cut is not None and records is not None:
            number += 1
            done, state = self._turn(number, done, replace(state, later=None), cut, records, rebuilt=state.rebuilding)
            cut = None if state.later is None else self._checkpoint.made([state.later[0]], state.later[1])[0]
        self._checkpoint.after(number + 1, replace(state, rebuilding=()))
        return replace(done, seconds=time.monotonic() - began)

    def _turn(
        self, number: int, done: Done, before: State, cut: DataFrame, records: DataFrame, *, rebuilt: Collection[str] = ()
    ) -> tuple[Done, State]:
        """One turn with the records ``cut``; what the batch was with it, and the state then. ``records`` are Kafka's of the batch.

        All are of the topics that are ``rebuilt``, if any: their transactions were told whole before, and what cannot be read is passed
        over.
        """
        cut = cut.persist()
        persisted = [cut]
        try:
            held: list[DataFrame] = []
            whole = None if rebuilt or number % TURNS else self._transactions
            ready, split = cut, None if whole is None else whole.split(cut, before.applied)
            if split is not None:
                done = replace(done, lacking=split.lacking, apart=split.apart)
                if split.late is not None:
                    # Read by every topic's plan.
                    ready = split.ready.persist()
                    persisted.append(ready)
                    held.append(split.late)
            read = self._read(number, before, ready, records, rebuilt)
            later = [_of_keys(read.ready, name, found.later) for name, found in read.turns.items() if found.later]
            tables = [topic for topic in read.topics if topic.is_table and topic.state.aside is None]
            states = dict(read.states)
            with compiled(cut.sparkSession, largest(read.groups)):
                # A table that has none of a topic's rows yet may have others, which are replaced or refused.
                anew = {*before.anew, *(one.name for one in tables if before.topics.get(one.name, _NEW).followed is None)}
                planned = self._all(lambda topic: self._one(number, topic, read, persisted, anew), tables, cut.sparkSession)
                found = [(topic.name, one.effects) for topic, one in zip(tables, planned, strict=True) if one.effects is not None]
                kept_in = {name: one.table.full_name for name, one in found}
                for topic, one in zip(tables, planned, strict=True):
                    kept = kept_in.get(topic.name, one.state.kept)
                    states[topic.name] = replace(one.state, layouts=states[topic.name].layouts, kept=kept)
                effects = self._ownership.settled(number, before, found)
                held += [one.held for one in planned if one.held is not None]
                waiting, put_off = (self._ahead(number, name, frames) for name, frames in ((_WAITING, held), (_LATER, later)))
                self._sink.apply(number, effects)
            # The next batch has more of the topic, maybe of this key too: of a partition that is read less far than another.
            stays = put_off > 0 and any(self._behind(number // TURNS, name) for name, found in read.turns.items() if found.later)
            waits = [(number, name) for name, there in ((_WAITING, waiting), (_LATER, stays)) if there]
            after = replace(
                before,
                topics=states,
                waiting=(*before.waiting, *waits),
                later=(number, _LATER) if put_off and not stays else None,
                anew=tuple(name for name in before.anew if name not in kept_in),
            )
            if split is not None:
                after = replace(after, applied=split.applied, unread=self._unread(split.late, states, before, records))
            self._checkpoint.after(number, after)
        finally:
            for frame in persisted:
                frame.unpersist()
        first = not done.records if rebuilt else number % TURNS == 0
        return done.with_turn(read, first=first, tables=len(effects), waiting=waiting + (put_off if stays else 0)), after

    def _read(self, number: int, before: State, ready: DataFrame, records: DataFrame, rebuilt: Collection[str]) -> Read:
        """What is in the records of a turn that are ``ready``."""
        groups = survey(ready, self._format.signs)
        parts = 2 * ready.sparkSession.sparkContext.defaultParallelism
        if sum(group.records for group in groups) < parts * DIVIDED:
            # Each topic's jobs look at all parts, so a few for each core: with one for every partition of every topic the tasks would
            # be counted in tables times partitions. Larger ones are left as they are, since some may be full and others nearly empty.
            ready = ready.coalesce(parts)
        young = {name: _young(state, number) for name, state in before.topics.items()}
        states = learned(young, groups, ready, self._format.schemas, records, _kept(before), rebuilt)
        if self._missing is not None:
            states = {name: self._filled(name, young.get(name, _NEW), state) for name, state in states.items()}
        turns: dict[str, Turn] = {}
        for name in sorted({group.topic for group in groups}):
            mine, state = [group for group in groups if group.topic == name], states.get(name, _NEW)
            aside = state.aside is not None
            turns[name] = Turn(state, mine, frozenset()) if aside else turn(before.topics.get(name, _NEW), state, mine)
        topics = [Topic(name, found.state, self._format.schemas.layout) for name, found in turns.items()]
        set_aside = [name for name, state in states.items() if state.aside is not None and young.get(name, _NEW).aside is None]
        return Read(ready, groups, states, turns, topics, set_aside)

    def _filled(self, name: str, before: TopicState, state: TopicState) -> TopicState:
        """A topic's state with what the source says of rows that are older than the columns of layouts which are new now."""
        known = {(layout.value, layout.key) for layout in before.layouts}
        new = [layout for layout in state.layouts if layout.value_schema is not None and (layout.value, layout.key) not in known]
        several = sum(layout.value_schema is not None for layout in state.layouts) > 1
        if self._missing is None or not new or not several or state.aside is not None:
            return state
        topic = Topic(name, state, self._format.schemas.layout)
        columns = {column.name: column for layout in new if (read := topic.layout(layout.value, layout.key)) for column in read.columns}
        texts = self._missing((topic.table.schema, topic.table.name), list(columns.values()))
        filled = tuple(sorted(texts.items()))
        return replace(state, layouts=tuple(replace(one, filled=filled) if one in new else one for one in state.layouts))

    def _unread(self, late: DataFrame | None, states: Mapping[str, TopicState], before: State, records: DataFrame) -> tuple[Unread, ...]:
        if late is None:
            return ()
        found = unknown(states, survey(late, self._format.signs), self._format.schemas, records, _kept(before))
        return tuple(
            Unread(*place, None, None, text.reason) if isinstance(text, Unreadable) else Unread(*place, *text)
            for place, text in found.items()
        )

    def _ahead(self, number: int, name: str, frames: Sequence[DataFrame]) -> int:
        """Write records ahead that are not applied in this turn; how many."""
        if not frames:
            return 0
        records: int = self._checkpoint.ahead(number, name, lambda: reduce(DataFrame.unionByName, frames)).count()
        return records

    @staticmethod
    def _all(work: Callable[[Topic], Planned], topics: Sequence[Topic], spark: SparkSession) -> list[Planned]:
        """``work`` on each, several at a time: most of it is planning, which Spark does in one thread."""
        # Spark's local properties (the streaming query's job group) go along, so that stopping the query stops these jobs.
        inherit = inheritable_thread_target(spark)
        with ThreadPoolExecutor(PLANNERS, thread_name_prefix="plan") as pool:
            running = [pool.submit(inherit(work), topic) for topic in topics]
        return [done.result() for done in running]

    def _one(self, number: int, topic: Topic, read: Read, persisted: list[DataFrame], anew: Collection[str]) -> Planned:
        """A topic's part; ``persisted`` gets what is. The tables of topics that are begun ``anew`` are not looked at."""
        groups, cut = read.turns[topic.name].groups, read.ready
        changes = changes_of(topic, groups, cut)
        if changes is None:
            return Planned(None, topic.state, None)
        if sum(group.records for group in groups) < DIVIDED:
            changes = changes.coalesce(1)
        work, held = Work(number, topic, groups, changes, topic.name in anew), None
        state = replace(topic.state, awaited=(), followed=topic.newest)
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
        batch = work.number // TURNS
        lost = {move for move, since in awaited.items() if batch - since >= WAITS}
        found = Lineage(trails(work.changes), [column.name for column in held_columns(table)], known, lost).found()
        state = replace(state, awaited=tuple((move, awaited.get(move, batch)) for move in sorted(found.unseen)))
        changes, places = work.changes, None
        if found.held:
            places = F.broadcast(changes.sparkSession.createDataFrame(sorted(found.held), "partition int, offset bigint"))
            changes = changes.join(places, list(_PLACE), "left_anti")
        if found.picks:
            target = partial(self._job.target, work)
            new = self._checkpoint.ahead(work.number, file, lambda: images(work.changes, table, found.picks, target, earlier))
            names = {column.name: column.name for column in table.columns}
            changes = filled(changes, fitted(new, table, names), table)
            state = replace(state, moved=(*state.moved, (work.number, work.topic.newest_layout)))
        return replace(work, changes=changes), state, places


def _kept(state: State) -> Texts:
    return {
        (kept.topic, kept.value, kept.key): (kept.value_schema, kept.key_schema) if kept.unreadable is None else Unreadable(kept.unreadable)
        for kept in state.unread
    }


def said_of(name: str, state: TopicState) -> str:
    """What is said of a topic that is set aside."""
    stays = "nothing of it is mirrored" if state.kept is None else f"its table {state.kept} stays as it is"
    back = f"--rebuild {state.kept or name}"
    return f"The topic {name} is set aside, {stays}: {state.aside}. When it can be read, start once with {back}; see docs/spark.md."


def _young(state: TopicState, number: int) -> TopicState:
    """A topic's state at the beginning of a turn, without the images that are too old."""
    return replace(state, moved=tuple(kept for kept in state.moved if kept[0] // TURNS > number // TURNS - IMAGE_BATCHES))


def _of_keys(records: DataFrame, topic: str, keys: Iterable[int | None]) -> DataFrame:
    """A topic's records that have one of the key layouts ``keys``."""
    among = reduce(Column.__or__, (F.col("key_layout").eqNullSafe(key) for key in keys))
    return records.where((F.col("topic") == topic) & among)


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


def reading(topic: Topic, group: Group) -> tuple[Layout, Mapping[str, str]] | None:
    """A group's layout, and what its key calls the columns of the table's key; None when its records are passed over.

    Those of a key that the table had before come again, from a connector that was killed: all of them were applied before the table
    went over to its present key.
    """
    if topic.state.aside is not None:
        return None
    value = topic.value_of(group.key_layout) if group.empty else group.layout
    layout = topic.layout(value, group.key_layout)
    # Records without a key may be truncates.
    if layout is None or not (topic.has_key(value, group.key_layout) or (group.key_layout is None and not group.empty)):
        return None
    return layout, topic.key_names(value, group.key_layout)


def changes_of(topic: Topic, groups: Sequence[Group], cut: DataFrame) -> DataFrame | None:
    """All changes of a topic's table that are applied, at its newest layout; None when there are none.

    Raises JobError where nothing tells which rows of a table without a key are new.
    """
    parts = []
    for group in groups:
        found = reading(topic, group)
        if found is None:
            continue
        layout, key = found
        if layout.form is Form.ROW and not topic.table.key and not {"__op", "__lsn", "__ts_ms"} <= {*layout.added}:
            raise JobError(
                UNREADABLE,
                f"The topic {topic.name} holds flattened rows of a table without a key, and nothing tells new ones from changed or repeated"
                " ones. Set add.fields=op,lsn,ts_ms,source.ts_ms in the transformation that flattens them, or leave the topic out.",
            )
        mine = (F.col("topic") == topic.name) & F.col("key_layout").eqNullSafe(group.key_layout)
        if group.empty:
            parts.append(tombstones(cut, mine & F.col("value").isNull(), layout, topic.table, key))
        else:
            mine &= F.col("value").isNotNull() & F.col("layout").eqNullSafe(group.layout)
            parts.append(decoded(cut, mine, layout, topic.table, topic.former(group.layout), key))
    return together(parts) if parts else None
