"""Decides which batches the driver decodes itself, without a job for each topic, and in which way.

- Up to :data:`RECORDS` records of JSON are read into the driver, without a job (:mod:`workers.spark.jobs.direct_records`) or by one, which
  takes the place of the survey's, and decoded in Python (:mod:`workers.spark.effects.arrow_batches`).
- Of other batches, and for topics whose records need Spark's functions, up to 2,000 records are read by a second job
  (:mod:`workers.spark.effects.small_batches`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from workers.spark.effects.arrow_batches import ArrowBatches
from workers.spark.effects.small_batches import Few, Reading, SmallBatches, few
from workers.spark.fallback import Fallbacks
from workers.spark.tables.later import Later
from workers.spark.tables.table import Effects
from workers.spark.topics.arrow_records import ArrowRecords, arrow_records
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic

RECORDS: Final = 200_000
"""The most records of a batch that Python decodes. One core does it: an event of 550 bytes takes 13 CPU-us if no later one replaces it."""
OF_A_TOPIC: Final = 50_000
"""The most records of one topic. Spark's tasks decode more of them faster, because they use all cores."""
CORES: Final = 4
"""With so many cores at most, Python is faster with any number of records of a topic if the sink takes rows in Arrow."""
OCTETS: Final = 128 * 1024 * 1024
"""The most bytes of their payloads and keys, as far as earlier batches show how long they are."""
WIDE: Final = 256 * 1024 * 1024
"""The same if the sink takes rows in Arrow: 200,000 records of the default batch may have as many."""
FEW: Final = 2_000
"""The most records of a topic whose length is not known, if a job reads them."""


class Held:
    """Records that the driver has, or can have: those of ``ready``, which ``groups`` describes."""

    def __init__(self, ready: Later, groups: Sequence[Group], arrow: ArrowRecords | None) -> None:
        self.ready: Final = ready
        self.arrow: Final = arrow
        self._groups: Final = groups
        self._few: list[Few | None] = []
        self._lock: Final = threading.Lock()

    def few(self) -> Few | None:
        """The records if they are few. They are read once, when they are first needed."""
        with self._lock:
            if not self._few:
                self._few.append(few(self.ready.rows, self._groups))
        return self._few[0]


class InDriver:
    """Decodes in the driver, batch after batch. ``in_arrow``: the sink takes rows in Arrow, and Spark has so many cores."""

    def __init__(self, in_arrow: int = 0) -> None:
        self._arrow: Final = ArrowBatches(in_arrow=in_arrow > 0)
        self._alone: Final = 0 < in_arrow <= CORES
        self._of_a_topic: Final = RECORDS if self._alone else OF_A_TOPIC
        self._most_octets: Final = WIDE if self._alone else OCTETS
        self._small: Final = SmallBatches()
        self._octets: Final[dict[str, int]] = {}
        """Topic → the bytes of a record's payload and key, on average in its last batch."""
        self._fallbacks: Final = Fallbacks("The reading of a batch with records")

    def takes(self, records: int) -> bool:
        """Whether Python decodes batches of so many records, whatever their topics are."""
        return self._alone and records <= RECORDS

    def read(self, cut: Later, counts: Mapping[str, int] | None, direct: Callable[[int], ArrowRecords | None]) -> ArrowRecords | None:
        """The ``cut`` records, whose values and keys are JSON; None if they are too many.

        ``counts``: topic → records, or more; nothing if this is not known. ``direct`` returns the same records without a Spark job, if
        it can, and if their payloads and keys have at most so many bytes.
        """
        if not counts or sum(counts.values()) > RECORDS or max(counts.values()) > self._of_a_topic:
            return None
        if sum(count * self._octets.get(name, 0) for name, count in counts.items()) > self._most_octets:
            return None
        found = direct(self._most_octets)
        if found is not None:
            return found
        if any(count > FEW for name, count in counts.items() if name not in self._octets):
            return None
        try:
            return arrow_records(cut.rows)
        except (Py4JError, PySparkException) as error:
            # They may be larger than spark.driver.maxResultSize. The usual way tells whether it is something else.
            self._fallbacks.report(min(counts), error)
            return None

    def effects(self, session: SparkSession, held: Held, topic: Topic, readings: Sequence[Reading]) -> Effects | None:
        """A topic's effects, whose rows are in the driver; None if Spark's tasks must decode its records."""
        if held.arrow is not None:
            found = self._arrow.effects(session, held.arrow, topic, readings)
            if found is not None:
                return found
        records = held.few()
        return None if records is None else self._small.effects(records, topic, readings)

    def after(self, groups: Iterable[Group]) -> None:
        """Learn from the groups of a batch how long records are."""
        records: dict[str, int] = {}
        octets: dict[str, int] = {}
        for group in groups:
            records[group.topic] = records.get(group.topic, 0) + group.records
            octets[group.topic] = octets.get(group.topic, 0) + group.octets
        self._octets.update({name: octets[name] // count for name, count in records.items()})
