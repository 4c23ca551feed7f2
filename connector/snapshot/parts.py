"""A snapshot that several processes read: the parts of its tables, the order in which they may be read, and the markers of the rows.

Pure: :mod:`connector.runner.snapshot.readers` hands the parts out and sends the marked rows.

Rules, as recorded from Debezium with ``snapshot.max.threads`` above 1
1. A table's first record in its topic is the first row of its first part (``first_in_data_collection``). Its last record is the last row
   of its last part (``last_in_data_collection``). Between the two, the parts may be sent in any order.
2. The first row of the first table has the marker ``first``, and nothing else is sent before Kafka has it. If that table is empty, no
   record has this marker.
3. The last record of the table that ends last has ``last`` instead of ``last_in_data_collection``; no record follows it.
4. With one reader per table (``legacy.snapshot.max.threads``) no record is ``first``.

To obey these rules, a reader sends only rows whose marker is certain. A reader that begins a table of several parts submits its first row
and waits. Every reader submits the last row of each part. :class:`Deal` returns the submitted rows when their markers are known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from connector.snapshot.plan import Extent, marker, page_extents

Row = TypeVar("Row")
"""The type of a submitted row."""

_LEAST_PAGES: Final = 64
"""The least number of pages in a part (half a megabyte, some thousand rows). For smaller parts the overhead exceeds the gain."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table's size. ``pages`` is the heap's number of pages, None if the table cannot be read in ranges of pages.

    ``weight`` is the total size in bytes, including TOAST and partitions. It decides only the order of the tables.
    """

    pages: int | None
    weight: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one reader reads at a time: part ``number`` (from 0) of the ``of`` parts of the table numbered ``table``."""

    table: int
    number: int
    of: int
    extent: Extent


@dataclass(frozen=True, slots=True)
class Handout:
    """A part for a reader. With ``ask``, the reader submits its first row and waits before it sends others, if the part has several rows.

    Without ``ask``, the reader itself marks the first row of a table's only part.
    """

    part: Part
    ask: bool


@dataclass(frozen=True, slots=True)
class Marked(Generic[Row]):
    """A row to send now with ``word`` as its marker."""

    row: Row
    word: str


def table_parts(table: int, size: TableSize, wanted: int) -> list[Part]:
    """Return the parts of table number ``table``: at most ``wanted`` parts of about the same size, and fewer for small tables."""
    extents = [Extent()] if size.pages is None else page_extents(size.pages, min(wanted, size.pages // _LEAST_PAGES))
    return [Part(table, number, len(extents), extent) for number, extent in enumerate(extents)]


def wanted_parts(table: str, threads: int, multiplier: int, multipliers: Mapping[str, int]) -> int:
    """Return ``snapshot.max.threads`` times ``snapshot.max.threads.multiplier``, or times the table's own multiplier."""
    return threads * multipliers.get(table, multiplier)


@dataclass(slots=True)
class _KeptRow(Generic[Row]):
    """A row that is held until its marker is known, which depends on whether another row follows."""

    table: int
    part: int
    content: Row
    first: bool
    first_of_table: bool

    def marked(self, *, last: bool = False, last_of_table: bool = False) -> Marked[Row]:
        word = marker(first=self.first, last=last, first_of_table=self.first_of_table, last_of_table=last_of_table)
        return Marked(self.content, word)


class _State(Generic[Row]):
    """The progress of one table."""

    __slots__ = ("given", "held", "left", "opened", "out", "parts", "shown")

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.given = 0
        """Parts handed out so far."""
        self.out = 0
        """Parts being read."""
        self.left = len(parts)
        """Parts that are not acknowledged."""
        self.shown = False
        """Whether a row of the table has been submitted."""
        self.opened = False
        """Whether the table's first row is sent, so that its parts may be read in any order."""
        self.held: _KeptRow[Row] | None = None
        """The last row of the furthest part that has been read."""


class Deal(Generic[Row]):
    """Assigns parts to readers, and returns submitted rows with their markers. Its methods must be called one at a time.

    ``parts`` is the result of :func:`table_parts` for each table, in the snapshot's order. With ``weights`` (one for each table) the
    heaviest parts are read first after rule 2 is fulfilled, so that no large part remains at the end. ``opening`` says whether rule 2
    applies; otherwise rule 4 does.

    Kafka must acknowledge the rows that :meth:`opened` and :meth:`read` return before the next call of any method. The rows of
    :meth:`acknowledged` and :meth:`finish` need only be sent in their order.
    """

    def __init__(self, parts: Sequence[Sequence[Part]], weights: Sequence[int] | None, *, opening: bool) -> None:
        self._tables = [_State[Row](own) for own in parts]
        self._order: deque[int] = deque(range(len(parts)))
        self._weights = weights
        self._incomplete = len(parts)
        self._out = 0
        self._opening = opening and bool(parts)
        self._candidate: _KeptRow[Row] | None = None
        """The row that gets the marker ``first`` if another row follows it."""
        self._final: _KeptRow[Row] | None = None
        """The last row of the table that ended last."""
        if not self._opening:
            self._sort()

    def take(self) -> Handout | None:
        """Return the next part to read; None if no part may be read now, or if all parts are assigned."""
        if self._opening and self._out:
            return None
        while self._order and self._exhausted(self._order[0]):
            self._order.popleft()
        for table in self._order:
            state = self._tables[table]
            if not self._exhausted(table) and (state.opened or not state.out):
                part = state.parts[state.given]
                state.given += 1
                state.out += 1
                self._out += 1
                return Handout(part, ask=self._opening or (part.of > 1 and not state.opened))
        return None

    def opened(self, part: Part, row: Row) -> list[Marked[Row]]:
        """Take the first row of a part with ``ask``. Return the rows to send; this row is the last of them.

        When Kafka has the returned rows, the reader may continue.
        """
        state = self._tables[part.table]
        rows = self._not_alone(state)
        word = marker(first=self._opening, last=False, first_of_table=not state.shown, last_of_table=False)
        state.shown = state.opened = True
        self._end_opening()
        return [*rows, Marked(row, word)]

    def read(self, part: Part, last: Row | None) -> list[Marked[Row]]:
        """Take note that a part has been read. ``last`` is its last row, which the reader did not send; None if the part has no row.

        Return the rows to send.
        """
        state = self._tables[part.table]
        state.out -= 1
        self._out -= 1
        rows: list[Marked[Row]] = []
        if last is not None:
            rows = self._not_alone(state)
            held: _KeptRow[Row] = _KeptRow(part.table, part.number, last, self._opening, not state.shown)
            state.shown = True
            if self._opening:
                self._candidate = held
            if state.held is not None:
                held, older = (held, state.held) if held.part > state.held.part else (state.held, held)
                rows.append(older.marked())
            state.held = held
        if self._opening and self._candidate is None and self._exhausted(0):
            self._end_opening()
        return rows

    def acknowledged(self, part: Part) -> list[Marked[Row]]:
        """Take note that Kafka has every row of a part that was read, except its last. Return the rows to send."""
        state = self._tables[part.table]
        state.left -= 1
        if state.left:
            return []
        self._incomplete -= 1
        if state.held is None:
            return []
        before, self._final, state.held = self._final, state.held, None
        return [] if before is None else [before.marked(last_of_table=True)]

    def complete(self, table: int) -> bool:
        """Return whether all parts of the table are read and acknowledged."""
        return not self._tables[table].left

    @property
    def over(self) -> bool:
        """Whether all tables are complete."""
        return not self._incomplete

    def finish(self) -> list[Marked[Row]]:
        """Return the last row of the snapshot, if it has any row. All tables must be complete, and Kafka must have all earlier rows."""
        final, self._final = self._final, None
        return [] if final is None else [final.marked(last=True)]

    def _exhausted(self, table: int) -> bool:
        state = self._tables[table]
        return state.given == len(state.parts)

    def _not_alone(self, state: _State[Row]) -> list[Marked[Row]]:
        """Another row was submitted: return the rows that were held because each might be the only one of the snapshot or of its table."""
        rows: list[Marked[Row]] = []
        if self._candidate is not None:
            rows.append(self._release(self._candidate))
            self._candidate = None
            self._end_opening()
        if state.held is not None and not state.opened:
            rows.append(self._release(state.held))
        return rows

    def _release(self, held: _KeptRow[Row]) -> Marked[Row]:
        state = self._tables[held.table]
        if state.held is held:
            state.held = None
        else:
            self._final = None
        state.opened = True
        return held.marked()

    def _end_opening(self) -> None:
        if self._opening:
            self._opening = False
            self._sort()

    def _sort(self) -> None:
        weights = self._weights
        if weights is not None:
            self._order = deque(sorted(self._order, key=lambda table: -weights[table] / len(self._tables[table].parts)))
