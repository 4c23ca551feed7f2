"""The progress of an incremental snapshot's reading, and the number of rows in the next chunk. Time is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from connector.delivery.progress import IncrementalProgress, TableProgress
from connector.incremental.chunk_query import next_size

_MOST_FACTOR: Final = 64
"""An adaptive chunk has at most this many times incremental.snapshot.chunk.size rows."""


class ReadingProgress:
    """Counts sent rows and chunks, and adapts the size of a chunk to the time that a chunk should take.

    ``rows`` is incremental.snapshot.chunk.size. ``seconds`` is the time that a chunk should take; with 0 the size never changes.
    """

    def __init__(self, rows: int, seconds: float) -> None:
        self.size = rows
        """Rows of the next chunk."""
        self._least = rows
        self._seconds = seconds
        self._table = TableProgress("")
        self._table_begun = self._read_begun = 0.0
        self._read = 0
        """Rows that the current chunk's read returned."""
        self._chunks = 0

    @property
    def table_rows(self) -> int:
        """Rows of the current table that were sent."""
        return self._table.rows

    def begin_table(self, name: str, estimate: int, now: float) -> None:
        """Begin the table ``name`` at ``now``; ``estimate`` is the planner's number of rows."""
        self._table = TableProgress(name, estimate=estimate)
        self._table_begun = now

    def begin_chunk(self) -> None:
        """Begin a chunk, which has no rows yet."""
        self._read = 0

    def begin_read(self, now: float) -> None:
        """Begin the chunk's read at ``now``."""
        self._read_begun = now

    def read(self, rows: int) -> None:
        """Take note that the chunk's read returned ``rows`` rows."""
        self._read = rows

    def end_read(self, now: float) -> None:
        """End the chunk's read at ``now``, and adapt the size of the next chunk to the time that it took."""
        if self._seconds and self._read:
            seconds = now - self._read_begun
            self.size = next_size(self.size, seconds, target=self._seconds, least=self._least, most=self._least * _MOST_FACTOR)

    def sent(self, now: float) -> None:
        """Take note that the chunk's rows were sent at ``now``."""
        self._table.rows += self._read
        self._table.seconds = now - self._table_begun
        self._chunks += 1

    def end_snapshot(self) -> None:
        """Reset the number of chunks for the next snapshot."""
        self._chunks = 0

    def shown(self, names: Sequence[str], *, paused: bool, known: bool) -> IncrementalProgress:
        """Return the progress for the REST interface. ``names`` are the remaining tables; ``known``: the first was described."""
        table = replace(self._table) if known else TableProgress(names[0])
        return IncrementalProgress(table, self._chunks, self.size, list(names[1:]), paused)
