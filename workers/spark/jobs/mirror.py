"""Keeps tables that equal the source's: a :class:`workers.spark.jobs.batches.Job`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.effects.places import SNAPSHOT_BEGINS, appended, replaced
from workers.spark.effects.reduction import after_truncates, folded, last_of_each, softly_deleted
from workers.spark.jobs.batches import Work
from workers.spark.tables.casts import at_newest
from workers.spark.tables.later import Later
from workers.spark.tables.rules import NO_RULES, Rules
from workers.spark.tables.table import Effects, Sink, Table
from workers.spark.topics.known import TopicState, Truncate


class Mirror:
    """Keeps mirrors of the source's tables in ``sink``. ``rules`` say which of them have soft deletes."""

    keeps_last: Final = True

    def __init__(self, sink: Sink, rules: Rules = NO_RULES) -> None:
        self._sink = sink
        self._rules = rules

    def last_counts(self, table: Table) -> bool:
        """Whether deletes remove rows. A row that was deleted softly has the last values from before its delete."""
        return not self._rules.of(table).soft_delete

    def target(self, work: Work) -> DataFrame | None:
        """The mirror."""
        if work.unfilled:
            return None
        there = self._sink.read(work.topic.table, work.changes.sparkSession)
        return at_newest(there, (*work.topic.passed, work.topic.table), work.topic.known)

    def plan(self, work: Work, state: TopicState) -> tuple[Effects, TopicState]:
        """One effect for each key that changed."""
        table = work.topic.table
        marks = truncates(work, begins=not table.key)
        kept = last_of_partitions((*state.truncates, *marks))
        truncated = max((mark.lsn for mark in marks), default=None)
        again = replaced([mark for mark in marks if mark.lsn == truncated])
        # Without a truncate the condition would only make Spark read each event twice.
        live = after_truncates(work.changes, kept) if kept or not table.key else work.changes
        if not table.key:
            rows = appended(live)
        elif self._rules.of(table).soft_delete:
            rows = softly_deleted(live.where(F.col("key").isNotNull()), table)
        elif work.any("placeholders"):
            rows = folded(after_truncates(live, ()).where(F.col("key").isNotNull()), table)
        else:
            rows = last_of_each(live, table)
        effects = Effects(table, Later.of(rows), truncated, again, work.topic.passed, work.topic.known, forms=work.topic.forms)
        return effects, replace(state, truncates=kept)


def truncates(work: Work, *, begins: bool = False) -> list[Truncate]:
    """The truncates in a batch, oldest first. With ``begins`` the beginnings of snapshots count as truncates too.

    For a table without a key only this prevents that a new snapshot duplicates the rows.
    """
    begins = begins and work.any("begins")
    if not begins and not work.any("truncates"):
        return []
    mark = F.col("op") == "t"
    if begins:
        mark |= (F.col("op") == "r") & F.col("snapshot").isin(*SNAPSHOT_BEGINS)
    read = F.when(F.col("op") == "r", F.col("tx")).alias("tx")
    place = ("partition", "offset", F.coalesce("lsn", F.lit(0)).alias("lsn"), F.coalesce("ts_ms", F.lit(0)).alias("ts_ms"), read)
    return [Truncate(**row.asDict()) for row in work.changes.where(mark).select(*place).orderBy("lsn").collect()]


def last_of_partitions(found: Sequence[Truncate]) -> tuple[Truncate, ...]:
    """The last truncate of each partition."""
    last: dict[int, Truncate] = {}
    for truncate in found:
        if truncate.partition not in last or last[truncate.partition].offset <= truncate.offset:
            last[truncate.partition] = truncate
    return tuple(last.values())
