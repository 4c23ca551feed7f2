"""The window of an incremental snapshot's chunk: its rows without those that changed in the stream meanwhile.

The algorithm is that of Debezium's design document DDD-3, after Andreakis and Papapanagiotou, "DBLog: A Watermark Based
Change-Data-Capture Framework" (2020). A chunk is read between two watermarks. If the stream delivers a change of a row between them, the
row is removed from the chunk, because the stream has the row's current values. The remaining rows are sent at the second watermark.

A row's key consists of the texts of its key columns. PostgreSQL prints them identically in COPY and in the stream. If the user chooses the
message key (``message.key.columns``), several rows may share a key. Debezium keeps only the last of them; Understudy keeps all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

Key = tuple[bytes | None, ...]
Row = TypeVar("Row")
"""The type of a row; the window does not inspect rows."""


class Window(Generic[Row]):
    """Collects changed keys from the first watermark on, and the chunk's rows after the read.

    Changes may arrive before the rows, because the stream does not wait for the chunk.
    """

    __slots__ = ("_changed", "_keys", "_present", "_rows", "spoiled")

    def __init__(self) -> None:
        self._changed: set[Key] = set()
        self._keys: Sequence[Key] = ()
        self._rows: Sequence[Row] = ()
        self._present: frozenset[Key] | None = None
        """The keys of the rows; None before the read."""
        self.spoiled = False
        """Whether the rows must not be sent, so that the chunk must be read again."""

    def changed(self, key: Key) -> None:
        """Take note that the stream delivered a change of this key."""
        if self._present is None or key in self._present:
            self._changed.add(key)

    def emptied(self) -> None:
        """Take note that the stream delivered a TRUNCATE of the table."""
        if self._present is None:
            # It is unknown which of the rows to come are older than the TRUNCATE, so they must be read again.
            self.spoiled = True
        else:
            self._keys, self._rows = (), ()

    def spoil(self) -> None:
        """Take note that the table's columns changed, so that the rows cannot be sent."""
        self.spoiled = True

    def fill(self, keys: Sequence[Key], rows: Sequence[Row]) -> None:
        """Take the rows that were read, in the chunk's order, and their keys."""
        self._keys, self._rows = keys, rows
        self._present = frozenset(keys)
        self._changed &= self._present

    def rows(self) -> list[Row]:
        """Return the rows whose keys did not change, in the chunk's order."""
        changed = self._changed
        return [row for key, row in zip(self._keys, self._rows, strict=True) if key not in changed]
