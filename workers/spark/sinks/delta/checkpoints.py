"""Writes the checkpoints of the logs of Delta tables that are committed to without Delta."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final, Protocol

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
    """The checkpoints of one kind of tables."""

    def __init__(self) -> None:
        self._fallbacks: Final = Fallbacks("The checkpoint of the log", f"the next one is due after {COMMITS} commits")

    def write(self, known: Sequence[tuple[Table, Committed]]) -> None:
        """Write those that are due, a few at a time, so that no batch waits for those of all tables."""
        due = sorted(((table, one) for table, one in known if one.commits >= COMMITS), key=lambda pair: -pair[1].commits)
        for table, one in due[: ceil(len(known) / COMMITS)]:
            one.commits = 0
            # A checkpoint only makes the log faster to read. The next one is due after as many commits.
            try:
                one.files.checkpoint()
            except FAILURES as error:
                self._fallbacks.report(table.full_name, error)
