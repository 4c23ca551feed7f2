"""A chunk of an incremental snapshot with its window: which of its rows may be sent, and when.

Rules
1. A window belongs to one table; the next table gets a new window (:meth:`WindowedChunk.aim`). The window may open before the read. If
   the chunk then holds a newer version of a row than the change that the stream reported, the stream will deliver that version too.
2. The stream may deliver a transaction before other sessions can see it, for instance while its commit waits for a synchronous standby.
   If the stream delivered a transaction before the window opened, and the chunk's read could not see it, the chunk is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Generic

from connector.catalog.visibility import Visibility
from connector.incremental.state import Place
from connector.incremental.window import Key, Row, Window

Verdict = Enum("Verdict", ["COMPLETE", "EMPTY", "UNSEEN", "RESHAPED"])
"""The result of a chunk when its window closes. COMPLETE: the rows may be sent. EMPTY: no rows were read. UNSEEN: the read missed a
transaction, so the chunk must be read again. RESHAPED: the table changed, so the chunk must be read again."""


class WindowedChunk(Generic[Row]):
    """One chunk and its window.

    Call :meth:`aim` before a read and :meth:`fill` after it. Call :meth:`open` when the stream delivers the first watermark, which may be
    before, between or after these calls.
    """

    __slots__ = ("_visible", "id", "last", "opened", "seen", "table", "window")

    def __init__(self, chunk_id: str) -> None:
        self.id = chunk_id
        self.window: Window[Row] = Window()
        self.table: str | None = None
        """schema.table"""
        self.opened = False
        """Whether the stream has delivered the first watermark."""
        self.seen: frozenset[int] = frozenset()
        """The xids of the transactions that the stream had delivered when the window opened."""
        self._visible: Visibility | None = None
        self.last: Place | None = None
        """The last row's place, once the chunk is read."""

    @property
    def listens(self) -> bool:
        """Whether the stream must report the table's changes to the window."""
        return self.opened and self.table is not None

    def open(self) -> None:
        """Take note that the stream has delivered the first watermark."""
        self.opened = True

    def aim(self, table: str) -> bool:
        """Prepare for a read of ``table`` (schema.table). Return True if it is another table than before; it then has a new window."""
        if table == self.table:
            return False
        self.table = table
        self.window = Window()
        return True

    def listening(self, seen: frozenset[int]) -> None:
        """Take note that the stream reports changes to the window from now on, and that it delivered ``seen`` (xids) before."""
        self.seen = seen

    def fill(self, keys: Sequence[Key], rows: Sequence[Row], visible: Visibility, last: Place) -> None:
        """Take the rows that were read, at least one, and their keys. ``last`` is the place of the last row."""
        self.window.fill(keys, rows)
        self._visible = visible
        self.last = last

    def verdict(self) -> Verdict:
        """Return the result of the chunk. Call it when the window closes."""
        if self._visible is None:
            return Verdict.EMPTY
        if self.window.spoiled:
            return Verdict.RESHAPED
        return Verdict.UNSEEN if self._visible.hides_any(self.seen) else Verdict.COMPLETE
