"""Decides whether Spark compiles code for a batch or interprets its expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

COMPILED: Final = 100_000
"""From this number of records of one topic on, compiled code is faster, even if it is used once.

A batch of twenty tables, 200 records of each, took 106 s with code and 84 s without (2 cores, busy); 50,000 records of one table took
11.6 s and 10.5 s.
"""
SMALL: Final = 2_000
"""Batches of at most so many records are not worth it: most are decoded without a job (:mod:`workers.spark.effects.small_batches`)."""
TOPICS: Final = 10
"""The most topics whose code is compiled for later batches. Spark keeps 1,000 classes; a table has about 90."""
WALKED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""The settings of a session whose plans are small and run once."""
_COMPILED: Final = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


class Compilation:
    """Decides for each batch of a mirror. Spark keeps the compiled code, so that later batches of the same tables have it at no cost.

    With 5,000 events of pgbench a second, a batch had about 5,000 records of each of four topics. Spark's tasks took 145 CPU-us for each
    event with interpreted expressions, and 80 with compiled code, once Java had compiled it too.
    """

    def __init__(self) -> None:
        self.wanted = False
        """Whether the code of the last batch is compiled."""
        self._records: Counter[str] = Counter()
        """The records of each topic so far, with those that were unread at the start."""
        self._kept: frozenset[str] = frozenset()
        """The topics whose code is compiled for later batches. Spark would not keep the code of more topics until their next batch."""

    def expect(self, unread: Mapping[str, int]) -> None:
        """Decide for the first batch, by the number of unread records of each topic."""
        self._records.update(unread)
        self.wanted = max(unread.values(), default=0) >= COMPILED

    def decide(self, batch: Iterable[tuple[str, int]]) -> bool:
        """Whether to compile the code of a batch with these topics and numbers of records. A topic may occur several times."""
        records: Counter[str] = Counter()
        for topic, count in batch:
            records[topic] += count
        self._records.update(records)
        kept = self._kept | records.keys()
        if records.total() > SMALL and len(kept) <= TOPICS and max(self._records[topic] for topic in records) >= COMPILED:
            self.wanted, self._kept = True, kept
        else:
            self.wanted = max(records.values(), default=0) >= COMPILED
        return self.wanted


@contextmanager
def compiled(spark: SparkSession, wanted: bool = True) -> Iterator[None]:
    """Let the session compile within the block; if it is not ``wanted``, its settings stay."""
    if not wanted:
        yield
        return
    former = {name: spark.conf.get(name) for name in _COMPILED}
    for name, value in _COMPILED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in former.items():
            spark.conf.set(name, str(known))
