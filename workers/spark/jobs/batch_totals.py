"""What a batch did, and the messages about it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers.spark.meters.figures import TopicBatch
from workers.spark.topics.known import TopicState
from workers.spark.topics.survey import Group


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """The totals of a batch.

    ``passed_over`` counts skipped records: those of topics without a table's changes, and repeated ones with a former key of the table.
    ``waiting`` counts the records kept for the next batch.
    """

    batch: int
    records: int = 0
    tables: int = 0
    passed_over: int = 0
    waiting: int = 0
    seconds: float = 0.0
    newest_ms: int | None = None
    """The newest Kafka timestamp of the records (ms since 1970); None without records."""
    lacking: str | None = None
    """What the first incomplete transaction lacks."""
    apart: int = 0
    """The number of changes without a transaction id, if whole transactions are applied."""
    aside: tuple[str, ...] = ()
    """The messages about topics that were set aside in this batch."""
    dead: int = 0
    """The number of records of topics that are set aside, which were stored as dead letters."""
    topics: Mapping[str, TopicBatch] = field(default_factory=dict)
    """The records of each topic."""

    def with_turn(
        self, groups: Sequence[Group], *, first: bool, tables: int, passed_over: int, waiting: int, aside: Sequence[str]
    ) -> BatchTotals:
        """The totals including one more turn, with the records of ``groups``.

        Only the ``first`` turn counts the records, because later turns apply some of them.
        """
        found = replace(
            self,
            tables=max(self.tables, tables),
            passed_over=self.passed_over + passed_over,
            waiting=self.waiting + waiting,
            aside=(*self.aside, *aside),
        )
        if not first:
            return found
        newest = max((group.newest_ms for group in groups), default=None)
        topics: dict[str, TopicBatch] = {}
        for group in groups:
            known = topics.get(group.topic, TopicBatch(0, group.newest_ms))
            topics[group.topic] = TopicBatch(known.records + group.records, max(known.newest_ms, group.newest_ms))
        return replace(found, records=sum(group.records for group in groups), newest_ms=newest, topics=topics)


def summary(what: str, done: BatchTotals) -> str:
    """One line about a batch."""
    age = "" if done.newest_ms is None else f", newest record {max(0.0, time.time() - done.newest_ms / 1000):.1f} s old"
    aside = f", {done.passed_over:,} passed over" if done.passed_over else ""
    aside += f", {done.dead:,} set aside" if done.dead else ""
    aside += f", {done.waiting:,} wait for what belongs to them" if done.waiting else ""
    aside += f" ({done.lacking})" if done.lacking else ""
    aside += f", {done.apart:,} changes name no transaction" if done.apart else ""
    rate = done.records / max(done.seconds, 0.001)
    return f"{what}: {done.records:,} records of {done.tables} tables in {done.seconds:.1f} s ({rate:,.0f}/s){aside}{age}"


def said_of(name: str, state: TopicState) -> str:
    """The message about a topic that is set aside."""
    stays = "nothing of it is mirrored" if state.kept is None else f"its table {state.kept} stays as it is"
    back = f"--rebuild {state.kept or name}"
    return (
        f"The topic {name} is set aside, {stays}: {state.aside}. When the cause is fixed, start once with {back}; "
        "see `understudy docs spark`."
    )
