"""Applies batches of records to a sink: cuts the records, determines their layouts, and writes each table's changes.

After a crash Spark repeats the batch with the same records, and the batch begins with the same state
(:mod:`workers.spark.jobs.checkpoint`). Applying the same changes twice leaves the same tables. So the repetition completes the batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final, Protocol

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.compilation import TOPICS, Compilation, compiled
from workers.spark.effects.in_driver import Held, InDriver
from workers.spark.effects.kept import Kept
from workers.spark.effects.known_rows import known_rows
from workers.spark.effects.lineage import Lineage
from workers.spark.effects.moves import filled, fitted, held_columns, images, torn, trails
from workers.spark.jobs.batch_totals import BatchTotals, said_of
from workers.spark.jobs.checkpoint import TURNS, Checkpoint, State
from workers.spark.jobs.expectation import Expectation
from workers.spark.jobs.isolation import Isolation
from workers.spark.jobs.table_ownership import TableOwnership
from workers.spark.jobs.transactions import Split, Transactions
from workers.spark.jobs.turn_records import TurnRecords
from workers.spark.source.missing import Missing
from workers.spark.tables.later import Later
from workers.spark.tables.table import Effects, Sink, Table
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.events import together
from workers.spark.topics.formats import Format
from workers.spark.topics.known import TopicState, Unread, Unreadable
from workers.spark.topics.readings import Readings, of_keys, reading
from workers.spark.topics.survey import Group, survey
from workers.spark.topics.topic import Text, Texts, Topic, is_known, learned, unknown
from workers.spark.topics.turns import Turn, turn

IMAGE_BATCHES: Final = 100
"""After this number of batches the kept values of a row that changed its key are dropped."""
WAITS: Final = 10
"""A row waits at most this number of batches for the other half of its move, which is in another partition. Then it is applied alone."""
PLANNERS: Final = 4
"""The number of topics that are planned in parallel."""
DIVIDED: Final = 20_000
"""Below this number of changes, one task processes a topic: this needs no shuffle, and the other cores process other tables.

The same holds if the topic has less than one core's share of the batch's records.
"""
UNLIMITED: Final = 10_000
"""The most partitions of a large batch, which has fewer."""
_WAITING, _HALVES, _LATER = "waiting", "halves", "later"
"""The names of records that are written ahead: they wait for whole transactions, for other halves of moves, or for an earlier key."""
_NEW: Final = TopicState()
_PLACE: Final = ("partition", "offset")


@dataclass(frozen=True, slots=True)
class Work:
    """One topic's part of a turn (:mod:`workers.spark.topics.turns`) of a batch."""

    number: int
    """The turn's number."""
    topic: Topic
    groups: Sequence[Group]
    changes: DataFrame
    unfilled: bool = False
    """The table holds no row of the topic yet, so it is not read."""

    def any(self, flag: str) -> bool:
        """Whether the survey set this flag for at least one group."""
        return any(getattr(group, flag) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan for a topic: its effects on the table if any, the topic's next state, and the cut records that wait for the next batch."""

    effects: Effects | None
    state: TopicState
    held: DataFrame | None


class Job(Protocol):
    """Converts a topic's changes into effects on a table."""

    @property
    def keeps_last(self) -> bool:
        """Whether :meth:`last_counts` is true of most tables."""

    def last_counts(self, table: Table) -> bool:
        """Whether the effect on a row is that of the last change of its key, if all changes have whole rows."""

    def plan(self, work: Work, state: TopicState) -> tuple[Effects, TopicState] | None:
        """The effects on a table, and the topic's next state; None without effects. It writes nothing."""

    def target(self, work: Work) -> DataFrame | None:
        """The known rows of the source's table before the batch."""


class Batches:
    """Applies batches of records to ``sink``. ``behind`` returns whether a topic has records after those of a batch.

    ``counts`` returns the number of records of each topic in a batch, or more; nothing if this is not known. ``direct`` reads a batch's
    records without a Spark job, and cuts them; it returns None if it cannot, or if their payloads and keys have more than so many bytes.
    ``in_arrow`` is the number of Spark's cores if the sink takes rows in Arrow, else 0.
    ``missing`` queries the source for the values that a new column has in older rows. Without it the defaults in the events are used.
    ``isolation`` decides what happens to a table that cannot be applied.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        format_: Format,
        sink: Sink,
        job: Job,
        transactions: Transactions | None = None,
        behind: Callable[[int, str], bool] = lambda _batch, _topic: False,
        counts: Callable[[int], Mapping[str, int]] = lambda _batch: {},
        *,
        direct: Callable[[int, int], ArrowRecords | None] = lambda _batch, _octets: None,
        in_arrow: int = 0,
        missing: Missing | None = None,
        ownership: TableOwnership | None = None,
        isolation: Isolation = Isolation(None),  # noqa: B008 - it has no state
    ) -> None:
        self._checkpoint = checkpoint
        self._format = format_
        self._sink = sink
        self._job = job
        self._transactions = transactions
        self._behind = behind
        self._counts = counts
        self._direct = direct
        self._missing = missing
        self._ownership = ownership or TableOwnership(checkpoint, sink)
        self._isolation = isolation
        self._driver: Final = InDriver(in_arrow)
        self._readings: Final = Readings()
        self._expected: Final = Expectation(format_)
        self._compilation: Final = Compilation()

    def apply(self, records: DataFrame, batch: int) -> BatchTotals:
        """Apply one batch to the tables. ``records`` are Kafka's, ``batch`` is the number. May be repeated.

        Raises JobError when an event does not match its schema.
        """
        began, done = time.monotonic(), BatchTotals(batch)
        number, state = self._checkpoint.begin(batch)
        if number == batch * TURNS:
            written = [(name, frame) for turn, name in state.waiting for frame in self._checkpoint.made([turn], name)]
            joined = [frame for name, frame in written if self._transactions is None or name == _WAITING]
            released = [frame for name, frame in written if self._transactions is not None and name != _WAITING]
            cut = Later(lambda: reduce(DataFrame.unionByName, joined, self._expected.cut(records)))
            counts = self._counts(batch) if self._format.json and self._job.keeps_last and not state.waiting else None
            done, state = self._turn(number, done, replace(state, waiting=()), cut, records, released=released, counts=counts)
            number += 1
        while state.later is not None:
            cut = self._later(state.later)
            done, state = self._turn(number, done, replace(state, later=None), cut, records)
            number += 1
        return replace(done, seconds=time.monotonic() - began)

    def expect(self, unread: Mapping[str, int], first: Callable[[Collection[str]], DataFrame], most: int | None = None) -> None:
        """Prepare for the first batch. This does not change what is applied.

        ``unread`` is the number of records of each topic, and ``first`` reads the first records of topics. ``most`` is the most records of
        a batch, if Python may read them: then nothing needs to be prepared. The first batch of a million events took 8.5 s instead of 11.3
        s, and the later ones no more.
        """
        if most is not None and self._format.json and self._job.keeps_last and self._transactions is None and self._driver.takes(most):
            return
        large = {name for name, count in unread.items() if count >= DIVIDED}
        # The code of topics whose layouts are not known would not be that of the next batch.
        if len(large) <= TOPICS and self._expected.backlog(large, self._checkpoint.last().topics, first) and large:
            self._compilation.expect(unread)

    def again(self, state: State, cut: DataFrame | None, records: DataFrame | None) -> BatchTotals:
        """Rebuild the topics in ``state.rebuilding`` from the ``cut`` records of earlier batches (:mod:`workers.spark.jobs.rebuild`).

        ``records`` are the same records as Kafka has them. Both are None if Kafka no longer has any. The rebuild has separate turns.
        """
        began, number = time.monotonic(), self._checkpoint.last_turn() + 1
        done = BatchTotals(number // TURNS)
        self._checkpoint.after(number, state)
        there = None if cut is None else Later(lambda: cut)
        while there is not None and records is not None:
            number += 1
            done, state = self._turn(number, done, replace(state, later=None), there, records, rebuilt=state.rebuilding)
            there = None if state.later is None else self._later(state.later)
        self._checkpoint.after(number + 1, replace(state, rebuilding=()))
        return replace(done, seconds=time.monotonic() - began)

    def _turn(
        self,
        number: int,
        done: BatchTotals,
        before: State,
        cut: Later,
        records: DataFrame,
        *,
        released: Sequence[DataFrame] = (),
        rebuilt: Collection[str] = (),
        counts: Mapping[str, int] | None = None,
    ) -> tuple[BatchTotals, State]:
        """Apply one turn's records, ``cut``. Return the batch's totals including this turn, and the state after it.

        ``records`` are Kafka's records of the batch. ``released`` are cut records whose transactions an earlier turn found whole. With
        ``rebuilt``, all records belong to these topics: their transactions are known to be whole, and unreadable records are skipped.
        ``counts`` are those of :class:`Batches` if the driver may decode the records.
        """
        kept: list[Kept] = []
        session = records.sparkSession
        try:
            # A turn usually is as large as the previous one. Seven batches of 100,000 took 322 CPU-us for each event if the
            # records were cut by interpreted expressions, and 300 if from the second batch on by compiled code. One batch gains nothing.
            with compiled(session, self._compilation.wanted):
                once, split = Later(lambda: _keep(cut.rows, kept)), None
                if not rebuilt and number % TURNS == 0 and self._transactions is not None:
                    split = self._transactions.split(once.rows, before)
                # The plan of every topic reads the whole transactions.
                ready = once if split is None else Later(partial(_keep, together([split.ready, *released]), kept))
                read = self._read(number, before, ready, records, rebuilt, counts)
            with compiled(session, self._compilation.decide((group.topic, group.records) for group in read.groups)):
                plans = self._plans(number, before, read, kept)
                effects = self._ownership.settled(number, before, _effects(plans))
                ahead = {name: self._ahead(number, name, frames) for name, frames in _deferred(read, plans, split).items()}
                plans = self._applied(number, before, read, plans, effects)
            waits = self._waiting(number, read, ahead)
            after = _advanced(number, before, read, plans, waits, later=ahead[_LATER] > 0 and _LATER not in waits)
            if split is not None:
                done = replace(done, lacking=split.lacking, apart=split.apart)
                after = _reached(after, split, self._unread(split.late, after.topics, before, records))
            elif self._transactions is None:
                after = replace(after, lacking=None, lacking_ms=0)
            if not rebuilt:
                # The dead letters of a rebuilt topic are there already, or Kafka has its records.
                done = replace(done, dead=done.dead + self._dead(number, read, after, records, everything=split is not None))
            self._checkpoint.after(number, after)
            self._expected.after(read.groups, read.states)
        finally:
            for one in kept:
                one.drop()
        first = not done.records if rebuilt else number % TURNS == 0
        waiting, tables, aside = sum(ahead[name] for name in waits), len(_effects(plans)), _newly_aside(before, after)
        return done.with_turn(read.groups, first=first, tables=tables, passed_over=read.passed_over, waiting=waiting, aside=aside), after

    def _applied(
        self, number: int, before: State, read: TurnRecords, plans: dict[str, Planned], effects: Sequence[Effects]
    ) -> dict[str, Planned]:
        """Apply the effects. Return the plans; those of tables that could not be applied only set the topic aside."""
        failed = self._isolation.apply(self._sink, number, effects)
        former = {name: replace(before.topics.get(name, _NEW), table=read.states[name].table) for name in plans}
        return {
            name: one
            if one.effects is None or one.effects.table.full_name not in failed
            else Planned(None, replace(former[name], aside=failed[one.effects.table.full_name]), None)
            for name, one in plans.items()
        }

    def _dead(self, number: int, read: TurnRecords, after: State, records: DataFrame, *, everything: bool) -> int:
        """Store the batch's records of topics that are set aside, before the state says so. Return their number.

        Without ``everything`` only topics with records in this turn can have some in the batch.
        """
        reasons = {name: state.aside for name, state in after.topics.items() if state.aside and (everything or name in read.turns)}
        return self._isolation.store(records, number // TURNS, reasons)

    def _plans(self, number: int, before: State, read: TurnRecords, kept: list[Kept]) -> dict[str, Planned]:
        """The plan of each topic that is a table's and is not set aside. What the plans keep is added to ``kept``."""
        tables = [topic for topic in read.topics if topic.is_table and topic.state.aside is None]
        # A table that has none of a topic's rows yet may have other rows, which are replaced or refused.
        unfilled = {*before.replacing, *(one.name for one in tables if before.topics.get(one.name, _NEW).followed is None)}
        planned = self._all(lambda topic: self._guarded(number, topic, read, kept, unfilled), tables, read.session)
        return {topic.name: one for topic, one in zip(tables, planned, strict=True)}

    def _waiting(self, number: int, read: TurnRecords, ahead: Mapping[str, int]) -> list[str]:
        """The names of the records written ``ahead`` that wait for the next batch.

        Records of a later key are among them if Kafka has more records of their topic: a partition that was read less far may still
        have records of the earlier key. Otherwise the next turn of this batch applies them.
        """
        stays = ahead[_LATER] > 0 and any(self._behind(number // TURNS, name) for name, found in read.turns.items() if found.later)
        return [name for name, count in ahead.items() if count and (name != _LATER or stays)]

    def _read(
        self, number: int, before: State, cut: Later, records: DataFrame, rebuilt: Collection[str], counts: Mapping[str, int] | None
    ) -> TurnRecords:
        """The groups, layouts and topics of the ``cut`` records. ``counts``: see :meth:`_turn`."""
        # Of incomplete transactions, only Spark's jobs know which records wait.
        direct = partial(self._direct, number // TURNS) if self._transactions is None else lambda _: None
        arrow = self._driver.read(cut, counts, direct)
        groups = self._expected.survey(cut.rows) if arrow is None else arrow.groups(self._format.signs)
        self._driver.after(groups)
        cores = records.sparkSession.sparkContext.defaultParallelism
        total = sum(group.records for group in groups)
        # Each topic's jobs read all partitions of the DataFrame. Without this the number of tasks would grow with tables times
        # partitions. Larger batches stay as they are: their partitions may differ much in size. For them this step changes nothing, but
        # with it Spark makes the same code for them.
        ready = Later(lambda: cut.rows.coalesce(2 * cores if total < 2 * cores * DIVIDED else UNLIMITED))
        young = {name: _young(state, number) for name, state in before.topics.items()}
        new = [group for group in groups if not is_known(young, group)]
        texts = {} if arrow is None else self._format.embedded_in(arrow, new)
        texts = {**texts, **self._expected.texts, **_kept(before)}
        states = learned(young, groups, lambda: ready.rows, self._format.schemas, records, texts, rebuilt)
        states = {name: self._checked(name, young.get(name, _NEW), state) for name, state in states.items()}
        if self._missing is not None:
            states = {name: self._filled(name, young.get(name, _NEW), state) for name, state in states.items()}
        turns: dict[str, Turn] = {}
        for name in sorted({group.topic for group in groups}):
            mine, state = [group for group in groups if group.topic == name], states.get(name, _NEW)
            aside = state.aside is not None
            turns[name] = Turn(state, mine, frozenset()) if aside else turn(before.topics.get(name, _NEW), state, mine)
        topics = [Topic(name, found.state, self._format.schemas.layout, before.topics.get(name)) for name, found in turns.items()]
        held = Held(ready, groups, arrow) if any(topic.is_table and self._job.last_counts(topic.table) for topic in topics) else None
        return TurnRecords(records.sparkSession, ready, groups, states, turns, topics, held, max(DIVIDED, total // cores))

    def _checked(self, name: str, before: TopicState, state: TopicState) -> TopicState:
        """A topic's state; it is set aside if its new layouts are not a table's."""
        if state.aside is not None or state.layouts == before.layouts:
            return state
        why = self._isolation.refusal(lambda: Topic(name, state, self._format.schemas.layout))
        # The new layouts are not kept: they could not be read at the next start either.
        return state if why is None else replace(before, aside=why)

    def _filled(self, name: str, before: TopicState, state: TopicState) -> TopicState:
        """A topic's state. Its new layouts have the values that their columns have in older rows of the source."""
        known = {(layout.value, layout.key) for layout in before.layouts}
        new = [layout for layout in state.layouts if layout.value_schema is not None and (layout.value, layout.key) not in known]
        several = sum(layout.value_schema is not None for layout in state.layouts) > 1
        if self._missing is None or not new or not several or state.aside is not None:
            return state
        topic = Topic(name, state, self._format.schemas.layout)
        forms = {one: read.columns for one in new if (read := topic.layout(one.value, one.key))}
        found = {one: self._missing((topic.table.schema, topic.table.name), columns) for one, columns in forms.items()}
        # A later form may show what has become of a column where an earlier one does not.
        shared = {name: text for texts in found.values() for name, text in texts.items()}
        filled = {one: tuple(sorted({**shared, **texts}.items())) for one, texts in found.items()}
        return replace(state, layouts=tuple(replace(one, filled=filled.get(one, one.filled)) for one in state.layouts))

    def _unread(self, late: DataFrame | None, states: Mapping[str, TopicState], before: State, records: DataFrame) -> tuple[Unread, ...]:
        if late is None:
            return ()
        found = unknown(states, survey(late, self._format.signs), self._format.schemas, records, _kept(before))
        return tuple(
            Unread(*place, None, None, text.reason) if isinstance(text, Unreadable) else Unread(*place, text.value, text.key)
            for place, text in found.items()
        )

    def _ahead(self, number: int, name: str, frames: Sequence[DataFrame]) -> int:
        """Store records that this turn does not apply. Return their number."""
        if not frames:
            return 0
        return int(self._checkpoint.ahead(number, name, lambda: reduce(DataFrame.unionByName, frames)).count())

    def _later(self, written: tuple[int, str]) -> Later:
        """The records for the next turn."""
        (cut,) = self._checkpoint.made([written[0]], written[1])
        return Later(lambda: cut)

    @staticmethod
    def _all(work: Callable[[Topic], Planned], topics: Sequence[Topic], spark: SparkSession) -> list[Planned]:
        """The result of ``work`` for each topic, several in parallel. Most of the time is planning, for which Spark uses one thread."""
        # The threads inherit Spark's local properties (the streaming query's job group). So stopping the query stops these jobs.
        inherit = inheritable_thread_target(spark)
        with ThreadPoolExecutor(PLANNERS, thread_name_prefix="plan") as pool:
            running = [pool.submit(inherit(work), topic) for topic in topics]
        return [done.result() for done in running]

    def _guarded(self, number: int, topic: Topic, read: TurnRecords, kept: list[Kept], unfilled: Collection[str]) -> Planned:
        """The plan of one topic; one that sets the topic aside if it cannot be planned for a reason of its table."""
        plan = partial(self._one, number, topic, read, kept, unfilled)
        return self._isolation.planned(plan, topic.table.full_name, lambda why: Planned(None, replace(topic.state, aside=why), None))

    def _one(self, number: int, topic: Topic, read: TurnRecords, kept: list[Kept], unfilled: Collection[str]) -> Planned:
        """The plan of one topic. What it keeps is added to ``kept``. Tables of the topics in ``unfilled`` are not read."""
        groups = read.turns[topic.name].groups
        state = replace(topic.state, awaited=(), followed=topic.newest)
        if read.held is not None and self._job.last_counts(topic.table):
            readings = [(group, *found) for group in groups if (found := reading(topic, group)) is not None]
            effects = self._driver.effects(read.session, read.held, topic, readings)
            if effects is not None:
                return Planned(effects, state, None)
        changes = self._readings.changes(topic, groups, read.ready.rows)
        if changes is None:
            return Planned(None, topic.state, None)
        if sum(group.records for group in groups) < read.divided:
            changes = changes.coalesce(1)
        work, held = Work(number, topic, groups, changes, topic.name in unfilled), None
        if topic.table.key and held_columns(topic.table) and work.any("moves") and torn(changes):
            # Otherwise each later plan would contain this one.
            work = replace(work, changes=_keep(changes, kept))
            work, state, places = self._moved(work, state)
            held = None if places is None else read.ready.rows.where(F.col("topic") == topic.name).join(places, list(_PLACE), "left_semi")
        planned = self._job.plan(work, state)
        if planned is None:
            return Planned(None, state, held)
        effects, state = planned
        if self._job.last_counts(topic.table) and not work.any("placeholders"):
            octets, records = sum(group.octets for group in groups), sum(group.records for group in groups)
            effects = replace(effects, octets=octets, changes=records)
        return Planned(effects, state, held)

    def _moved(self, work: Work, state: TopicState) -> tuple[Work, TopicState, DataFrame | None]:
        """Fill in the values that rows keep under their new keys, and remove the changes that must wait. Return also their places."""
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
            places = F.broadcast(known_rows(changes.sparkSession, sorted(found.held), {"partition": "int", "offset": "bigint"}))
            changes = changes.join(places, list(_PLACE), "left_anti")
        if found.picks:
            target = partial(self._job.target, work)
            new = self._checkpoint.ahead(work.number, file, lambda: images(work.changes, table, found.picks, target, earlier))
            names = {column.name: column.name for column in table.columns}
            changes = filled(changes, fitted(new, table, names), table)
            state = replace(state, moved=(*state.moved, (work.number, work.topic.newest_layout)))
        return replace(work, changes=changes), state, places


def _keep(frame: DataFrame, kept: list[Kept]) -> DataFrame:
    """The same rows. They are kept until those in ``kept`` are dropped."""
    kept.append(Kept(frame))
    return kept[-1].rows


def _effects(plans: Mapping[str, Planned]) -> list[tuple[str, Effects]]:
    return [(name, one.effects) for name, one in plans.items() if one.effects is not None]


def _deferred(read: TurnRecords, plans: Mapping[str, Planned], split: Split | None) -> dict[str, list[DataFrame]]:
    """The records that this turn does not apply, by the name under which they are written ahead."""
    return {
        _WAITING: [] if split is None or split.late is None else [split.late],
        _HALVES: [one.held for one in plans.values() if one.held is not None],
        _LATER: [of_keys(read.ready.rows, name, found.later) for name, found in read.turns.items() if found.later],
    }


def _reached(after: State, split: Split, unread: tuple[Unread, ...]) -> State:
    """Add how far the transactions are applied."""
    after = replace(after, applied=split.applied, applied_ms=split.applied_ms, reached=split.reached, unread=unread)
    return replace(after, lacking=split.lacking, lacking_ms=split.lacking_ms)


def _advanced(number: int, before: State, read: TurnRecords, plans: Mapping[str, Planned], waits: Sequence[str], *, later: bool) -> State:
    """The state after turn ``number``, without what :class:`Split` adds. ``later``: the batch has one more turn."""
    kept_in = {name: effects.table.full_name for name, effects in _effects(plans)}
    states = dict(read.states)
    for name, one in plans.items():
        states[name] = replace(one.state, layouts=states[name].layouts, kept=kept_in.get(name, one.state.kept))
    return replace(
        before,
        topics=states,
        waiting=(*before.waiting, *((number, name) for name in waits)),
        later=(number, _LATER) if later else None,
        replacing=tuple(name for name in before.replacing if name not in kept_in),
    )


def _kept(state: State) -> Texts:
    return {
        (kept.topic, kept.value, kept.key): Text(kept.value_schema, kept.key_schema)
        if kept.unreadable is None
        else Unreadable(kept.unreadable)
        for kept in state.unread
    }


def _newly_aside(before: State, after: State) -> list[str]:
    """Return the messages of the topics that this turn has set aside."""
    aside = {name: state for name, state in after.topics.items() if state.aside}
    return [said_of(name, state) for name, state in aside.items() if before.topics.get(name, _NEW).aside is None]


def _young(state: TopicState, number: int) -> TopicState:
    """A topic's state at the beginning of a turn, without expired images."""
    return replace(state, moved=tuple(kept for kept in state.moved if kept[0] // TURNS > number // TURNS - IMAGE_BATCHES))
