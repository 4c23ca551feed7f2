"""The figures of a running job, of all tables and of each. Threads may change and read them at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

NEVER_WHOLE: Final = (
    'If Kafka no longer holds the rest, or batches with consistency = "row" have read it, the transaction never becomes whole: '
    "see `understudy docs spark`, Transactions that never become whole."
)


@dataclass(slots=True)
class TableFigures:
    """The figures of one topic and its table. Times are in seconds since 1970, 0 if there is none."""

    table: str = ""
    """The table (``schema.name``); empty as long as it is unknown."""
    records: int = 0
    rows: int = 0
    """Rows that were inserted or updated."""
    deletes: int = 0
    batches: int = 0
    failures: int = 0
    """How often the table was set aside since the start."""
    dead: int = 0
    """Records that were stored as dead letters."""
    aside: bool = False
    unread: int = 0
    """Records in Kafka that are not in the table yet, at the last look."""
    newest: float = 0.0
    """Kafka's time of the newest record that is in the table."""
    last_batch: float = 0.0
    """When the last batch with records of the table ended."""

    def lag_seconds(self, now: float) -> float:
        """How far the table is behind: the age of the newest record in it, 0 if all records are in it."""
        return max(0.0, now - self.newest) if self.unread and self.newest else 0.0


@dataclass(slots=True)
class JobFigures:
    """The figures of the job. Times are in seconds since 1970, 0 if there is none."""

    started: float
    batches: int = 0
    failures: int = 0
    """Batches that failed."""
    records: int = 0
    seconds: float = 0.0
    """The time that all batches took."""
    last_seconds: float = 0.0
    last_batch: float = 0.0
    """When the last batch ended, whatever its result."""
    last_success: float = 0.0
    began: float = 0.0
    """When the present batch began; 0 if none runs."""
    lacking: str | None = None
    """What the first incomplete transaction lacks; None if none waits."""
    lacking_since: float = 0.0
    """Since when this transaction is the first incomplete one."""
    maintaining: float = 0.0
    """When the maintenance of the present table began; 0 if none runs."""
    maintained: float = 0.0
    """When the last maintenance of a table ended."""
    unread: int = 0
    unread_since: float = 0.0
    """Since when there are unread records; 0 if there are none."""
    looked: float = 0.0
    """When the unread records were counted last."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Phase of Spark's last trigger → seconds."""
    triggers: int = 0
    fallbacks: int = 0
    """How often a step of a small batch failed with an error, so that the way of large batches was taken."""


@dataclass(frozen=True, slots=True)
class TopicBatch:
    """One topic in a batch: the number of its records and Kafka's newest time of them (ms since 1970)."""

    records: int
    newest_ms: int


class Figures:
    """Counts what the job does. ``between`` are the seconds that it waits between the beginnings of two batches."""

    def __init__(self, clock: Callable[[], float] = time.time, between: float = 0.0) -> None:
        self._clock = clock
        self._between = between
        self._lock = threading.Lock()
        self._topics: dict[str, TableFigures] = {}
        self._tallies: dict[str, dict[object, tuple[int, int]]] = {}
        self.job = JobFigures(clock())

    def topics(self) -> dict[str, TableFigures]:
        """The figures of each topic."""
        with self._lock:
            return dict(self._topics)

    def resumed(self, tables: Mapping[str, str], aside: Collection[str]) -> None:
        """The job goes on where an earlier run ended. ``tables``: topic → its table. ``aside``: the topics that are set aside already."""
        with self._lock:
            for topic in {*tables, *aside}:
                known = self._topics.setdefault(topic, TableFigures())
                known.table = tables.get(topic, known.table)
                known.aside = topic in aside

    def lacks(self, said: str | None) -> None:
        """What the first incomplete transaction lacks (``transaction <xid> has …``) after the last batch; None if none waits."""
        job = self.job
        if said is None or job.lacking is None or said.split()[:2] != job.lacking.split()[:2]:
            job.lacking_since = self._clock()
        job.lacking = said

    @contextmanager
    def maintenance(self) -> Iterator[None]:
        """A table is maintained in the block. No batch runs meanwhile."""
        self.job.maintaining = self._clock()
        try:
            yield
        finally:
            self.job.maintained, self.job.maintaining = self._clock(), 0.0

    def begun(self) -> None:
        """A batch begins."""
        self._tallies.clear()
        self.job.began = self._clock()

    def tally(self, table: str, rows: int, deletes: int, part: object = None) -> None:
        """The sink has computed the effects on a table of a part of the present batch. A repetition of the part replaces them."""
        self._tallies.setdefault(table, {})[part] = (rows, deletes)

    def failed(self) -> None:
        """The present batch failed."""
        self._end()
        self.job.failures += 1

    def applied(self, seconds: float, topics: Mapping[str, TopicBatch], tables: Mapping[str, str], aside: Mapping[str, int]) -> None:
        """The present batch is in the tables.

        ``topics`` has what it read. ``tables``: topic → its table. ``aside``: topic that is set aside → its dead letters in this batch.
        """
        now = self._end()
        with self._lock:
            self.job.batches += 1
            self.job.last_success = now
            self.job.seconds += seconds
            self.job.last_seconds = seconds
            for topic, part in topics.items():
                self._applied(topic, part, now, apart=topic in aside)
            for topic, table in tables.items():
                self._topics.setdefault(topic, TableFigures()).table = table
            # Several topics may fill one table: its rows count with the first topic that has records.
            for topic, known in sorted(self._topics.items(), key=lambda one: (one[0] not in topics, one[0])):
                known.failures += topic in aside and not known.aside
                known.aside = topic in aside
                known.dead += aside.get(topic, 0)
                for rows, deletes in self._tallies.pop(known.table, {}).values():
                    known.rows += rows
                    known.deletes += deletes
            self._tallies.clear()

    def _applied(self, topic: str, part: TopicBatch, now: float, *, apart: bool) -> None:
        known = self._topics.setdefault(topic, TableFigures())
        self.job.records += part.records
        known.records += part.records
        if not apart:
            known.batches += 1
            known.newest = max(known.newest, part.newest_ms / 1000)
            known.last_batch = now

    def unread(self, topics: Mapping[str, int]) -> None:
        """The number of records of each topic that Kafka has and the tables do not have."""
        now, total = self._clock(), sum(topics.values())
        with self._lock:
            for topic in {*topics, *self._topics}:
                self._topics.setdefault(topic, TableFigures()).unread = topics.get(topic, 0)
            self.job.looked, self.job.unread = now, total
            self.job.unread_since = (self.job.unread_since or now) if total else 0.0

    def triggered(self, phases: Mapping[str, float]) -> None:
        """Spark's query has ended a trigger: phase → seconds."""
        self.job.triggers += 1
        self.job.phases = dict(phases)

    def trouble(self, limit: float) -> str | None:
        """Why the job is not healthy; None if it is. ``limit`` is in seconds."""
        now, job = self._clock(), self.job
        if job.maintaining:
            # Batches wait, and nobody asks Kafka. A restart would begin it again.
            return None
        if job.began and now - job.began > limit:
            return f"a batch has been running for {now - job.began:.0f} s"
        if job.last_batch > job.last_success:
            return "the last batch failed"
        if job.lacking is not None and now - job.lacking_since > limit + self._between:
            return f"since {now - job.lacking_since:.0f} s no transaction can be applied: {job.lacking}. {NEVER_WHOLE}"
        since = max(job.unread_since, job.last_success, job.maintained)
        if not job.began and job.unread and now - since > limit + self._between:
            return f"no batch for {now - since:.0f} s, though {job.unread} records are unread"
        asked = max(job.looked, job.last_batch, job.maintained, job.started)
        if now - max(asked, job.began) > limit:
            return f"Kafka has not been asked for unread records for {now - asked:.0f} s"
        return None

    def _end(self) -> float:
        now = self._clock()
        self.job.began, self.job.last_batch = 0.0, now
        return now
