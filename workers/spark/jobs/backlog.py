"""The records that are unread when a stream starts, so that its first batch can be prepared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from workers.spark.failure import JobError
from workers.spark.jobs.batches import Batches
from workers.spark.topics.broker import Broker, Offsets


@dataclass(frozen=True, slots=True)
class Backlog:
    """The unread records of each partition, from ``begins`` (inclusive) to ``ends`` (exclusive)."""

    begins: Offsets
    ends: Offsets

    def records(self) -> Counter[str]:
        """The number of records of each topic. Offsets without a record count too."""
        found: Counter[str] = Counter()
        for place, end in self.ends.items():
            found[place[0]] += max(end - self.begins.get(place, 0), 0)
        return found

    def first(self, topics: Collection[str]) -> tuple[Offsets, Offsets]:
        """The range of the first record of each of the ``topics``, of one partition that has some."""
        places = {place[0]: place for place in sorted(self.ends, reverse=True) if self.ends[place] > self.begins.get(place, 0)}
        starts = {place: self.begins.get(place, 0) for topic, place in places.items() if topic in topics}
        return starts, {place: start + 1 for place, start in starts.items()}


def expect_unread(
    batches: Batches,
    broker: Broker,
    topics: Collection[str],
    read: Offsets,
    ends: Offsets | None,
    records: Callable[[Offsets, Offsets], DataFrame],
    most: int | None,
) -> None:
    """Let ``batches`` prepare for the unread records of ``topics``.

    ``read`` are the offsets that the stream's checkpoint has, ``ends`` those at which the stream ends, if it does. ``records`` reads a
    range, and ``most`` is the most records of a batch if Python may read them. A failure is left to the stream, which reads the same
    records.
    """
    with suppress(JobError, PySparkException, Py4JJavaError):
        backlog = Backlog({**broker.begins(topics), **read}, broker.ends(topics) if ends is None else ends)
        batches.expect(backlog.records(), lambda names: records(*backlog.first(names)), most)
