"""A chunk of an incremental snapshot on its way from its first watermark to its second: what of it may be sent, and when.

Rules
1. A window is of one table: with the next table it begins anew (:meth:`Chunk.aim`). It may begin before the read: where the row is
   newer than the change that the stream told of, the stream brings the newer change too.
2. A transaction may be in the stream before others can see what it wrote: its commit has only just been written, or waits for a
   standby. A chunk that could not see a transaction which the stream had brought before its window was open must be read again.
3. The position moves when the rows have been sent, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic

from connector.incremental import IncrementalSnapshot, Place
from connector.stream import Stream
from connector.window import Key, Row, Window

_XIDS: Final = 2**32


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a read could see. ``open`` transactions had not ended for it, nor had any from ``end`` on; both are xids of 32 bits."""

    end: int
    open: frozenset[int]

    @classmethod
    def parse(cls, snapshot: str) -> Visibility:
        """Of a ``pg_snapshot`` (``xmin:xmax:xid,xid``; PostgreSQL manual, "Transaction ID and Snapshot"), whose xids have 64 bits."""
        _, end, listed = snapshot.split(":")
        return cls(int(end) % _XIDS, frozenset(int(xid) % _XIDS for xid in listed.split(",") if xid))

    def hides_any(self, xids: Iterable[int]) -> bool:
        """Whether the read missed one of these transactions.

        The list holds no transaction from the snapshot's end on, also when one of them is in the WAL already.
        """
        # Xids are compared in a circle, as PostgreSQL does it.
        return any(xid in self.open or (xid - self.end) % _XIDS < _XIDS // 2 for xid in xids)


Closed = Enum("Closed", ["SENT", "EMPTY", "UNSEEN", "RESHAPED"])
"""What became of a chunk: sent; nothing had been read; to be read again as it missed a transaction, or as its table changed."""


class Chunk(Generic[Row]):
    """:meth:`aim` before a read and :meth:`fill` after it; beside them :meth:`open`, and last of all :meth:`close`."""

    __slots__ = ("_last", "_opened", "_seen", "_stream", "_table", "_visible", "_window", "id")

    def __init__(self, chunk_id: str, stream: Stream) -> None:
        self.id = chunk_id
        self._stream = stream
        self._window: Window[Row] = Window()
        self._table: str | None = None
        self._opened = False
        self._seen: frozenset[int] = frozenset()
        """The transactions that the stream had brought when the window opened."""
        self._visible: Visibility | None = None
        self._last: Place | None = None

    def open(self) -> None:
        """The stream has brought the first watermark."""
        self._opened = True
        self._attach()

    def aim(self, table: str) -> None:
        """The next read is of ``table`` (schema.table), which may be told before it begins."""
        if table == self._table:
            return
        self._table = table
        self._window = Window()
        self._attach()

    def _attach(self) -> None:
        """Let the window hear of its table's changes, once both are known."""
        if self._opened and self._table is not None:
            self._seen = frozenset(self._stream.recent)
            self._stream.open_window(self._table, self._window)

    def fill(self, keys: Sequence[Key], rows: Sequence[Row], visible: Visibility, last: Place) -> None:
        """The read brought ``rows``, not none, with their ``keys``; ``last`` is the last one's place."""
        self._window.fill(keys, rows)
        self._visible = visible
        self._last = last

    def close(self, state: IncrementalSnapshot, send: Callable[[list[Row]], None]) -> Closed:
        """The stream has brought the second watermark: ``send`` what is left, unless the chunk must be read again."""
        self._stream.close_window()
        if self._visible is None:
            return Closed.EMPTY
        if self._window.spoiled:
            return Closed.RESHAPED
        if self._visible.hides_any(self._seen):
            return Closed.UNSEEN
        send(self._window.rows())
        state.position = self._last
        return Closed.SENT
