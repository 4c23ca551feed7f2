"""Maintenance of the tables of a running mirror, one table at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from workers.spark.failure import JobError, failure_sentence
from workers.spark.maintenance.report import Report
from workers.spark.tables.table import Table


class Schedule:
    """Every ``seconds`` a round begins: each of ``tables()`` is maintained once. The first round begins ``seconds`` after the start.

    The caller calls :meth:`step` between two batches, so that a batch may run between two tables.
    """

    def __init__(
        self,
        seconds: float,
        tables: Callable[[], Sequence[Table]],
        maintain: Callable[[Table], Report],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._tables = tables
        self._maintain = maintain
        self._say = say
        self._clock = clock
        self._left: list[Table] = []
        self._next = clock() + seconds

    def due(self) -> bool:
        """Whether :meth:`step` has something to do."""
        return bool(self._left) or self._clock() >= self._next

    def step(self) -> None:
        """Maintain the round's next table, and report it."""
        if not self._left:
            self._next = self._clock() + self._seconds
            try:
                self._left = list(self._tables())
            except (JobError, PySparkException, Py4JJavaError) as error:
                # The next round looks again. What concerns the mirror too, its next batch reports.
                why = str(error) if isinstance(error, JobError) else failure_sentence(str(error))
                self._say(f"maintenance skipped: {why}")
        if self._left:
            self._say(self._maintain(self._left.pop(0)).text())
