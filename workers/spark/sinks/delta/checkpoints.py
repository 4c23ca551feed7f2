"""Writes the checkpoints of the logs of Delta tables that are committed to without Delta."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil
from typing import Final, Protocol

from pyspark import SparkContext

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.small_tables import FAILURES
from workers.spark.tables.table import Table

COMMITS: Final = 50
"""After this number of commits a checkpoint of the table's log is due. One batch makes at most one for this number of tables."""


class Committed(Protocol):
    """A table to whose log this process commits."""

    commits: int
    """The commits since the last checkpoint."""

    @property
    def files(self) -> DeltaTableFiles:
        """The table's files and log."""


class Checkpoints:
    """The checkpoints of one kind of tables. A thread of its own writes them, one after the other.

    A checkpoint only makes the log faster to read, and other commits may be made meanwhile. The first one of a process takes some seconds
    on two cores, for which a batch would wait.
    """

    def __init__(self) -> None:
        self._fallbacks: Final = Fallbacks("The checkpoint of the log", f"the next one is due after {COMMITS} commits")
        self._writer: Final = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._running: Future[None] | None = None

    def write(self, known: Sequence[tuple[Table, Committed]]) -> None:
        """Begin to write those that are due, a few at a time, unless some are still being written."""
        due = sorted(((table, one) for table, one in known if one.commits >= COMMITS), key=lambda pair: -pair[1].commits)
        if not due or (self._running is not None and not self._running.done()):
            return
        now = due[: ceil(len(known) / COMMITS)]
        for _, one in now:
            one.commits = 0
        self._running = self._writer.submit(self._written, [(table, one.files) for table, one in now])

    def _written(self, due: Sequence[tuple[Table, DeltaTableFiles]]) -> None:
        for table, files in due:
            # If one fails, the next one is due after as many commits.
            try:
                files.checkpoint()
            except FAILURES as error:
                # If the session has ended, so has the job.
                if SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark tells it in no other way
                    self._fallbacks.report(table.full_name, error)
