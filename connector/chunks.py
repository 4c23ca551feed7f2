"""A snapshot read by several processes at once: which parts of which tables there are, who may read what when, and the markers.

Pure: :mod:`connector.runner.snapshot_workers` hands the parts out and sends the marked rows.

Rules, as recorded from the reference with ``snapshot.max.threads`` above 1
1. A table's first record in its topic is the first row of its first part (``first_in_data_collection``), its last record the last
   row of its last part (``last_in_data_collection``), however its parts overtake each other between the two.
2. The first row of the first table is ``first``, and nothing else is sent before Kafka has it. When that table is empty no record is.
3. Of the tables, the one that ends last has ``last`` in place of ``last_in_data_collection``; no record comes after it.
4. With one reader per table (``legacy.snapshot.max.threads``) no record is ``first``.

To keep them, readers only ever send rows whose marker is certain. A reader that opens a table of several parts hands its first row in
and waits; every reader hands in the last row of what it read. Those rows are sent by the one that hands the parts out, once it is
known what they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from connector.snapshot import Chunk, marker, page_chunks

Row = TypeVar("Row")
"""Whatever stands for a row between the reader and the one that sends it."""

_LEAST_PAGES: Final = 64
"""Pages worth a part of its own (half a megabyte, some thousand rows): below it, handing over costs more than it gains."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """``pages`` of a heap that can be read in ranges of pages, None when the table must be read in one piece.

    ``weight`` is all that belongs to the table, in bytes: TOAST and partitions too. It only decides the order.
    """

    pages: int | None
    weight: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one reader reads at a time: part ``number`` (from 0) of the ``of`` that the table numbered ``table`` is read in."""

    table: int
    number: int
    of: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Handout:
    """A part for a reader. With ``ask`` it hands its first row in and waits before it sends others, if there is more than one.

    Without, the first row of a table's only part is the reader's to mark.
    """

    part: Part
    ask: bool


@dataclass(frozen=True, slots=True)
class Marked(Generic[Row]):
    """A row to send now with ``word`` as its marker."""

    row: Row
    word: str


def table_parts(table: int, size: TableSize, wanted: int) -> list[Part]:
    """Table number ``table`` in at most ``wanted`` parts of about the same size; small tables in fewer."""
    chunks = [Chunk()] if size.pages is None else page_chunks(size.pages, min(wanted, size.pages // _LEAST_PAGES))
    return [Part(table, number, len(chunks), chunk) for number, chunk in enumerate(chunks)]


def wanted_parts(table: str, threads: int, multiplier: int, multipliers: Mapping[str, int]) -> int:
    """``snapshot.max.threads`` times ``snapshot.max.threads.multiplier``, or the table's own multiplier."""
    return threads * multipliers.get(table, multiplier)


@dataclass(slots=True)
class _Held(Generic[Row]):
    """A row kept back: what marks it is known only when another one comes, or none."""

    table: int
    part: int
    content: Row
    first: bool
    first_of_table: bool

    def marked(self, *, last: bool = False, last_of_table: bool = False) -> Marked[Row]:
        word = marker(first=self.first, last=last, first_of_table=self.first_of_table, last_of_table=last_of_table)
        return Marked(self.content, word)


class _State(Generic[Row]):
    """One table on its way."""

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
        """A row of the table is known."""
        self.opened = False
        """The table's first row is on its way to Kafka: the parts may overtake each other."""
        self.held: _Held[Row] | None = None
        """The last row of the furthest part that has been read."""


class Deal(Generic[Row]):
    """Hands parts out and tells which rows to send with which marker. Its methods are called one at a time.

    ``parts`` is what :func:`table_parts` gave for each table, in the snapshot's order. With ``weights`` (one a table) the heaviest parts
    are read first once rule 2 is served, so that no large one is left for the end. ``opening`` tells whether rule 2 or rule 4 holds.

    Rows that :meth:`opened` and :meth:`read` answer must be acknowledged by Kafka before the next call of any method; those of
    :meth:`acknowledged` and :meth:`finish` need only be sent in their order.
    """

    def __init__(self, parts: Sequence[Sequence[Part]], weights: Sequence[int] | None, *, opening: bool) -> None:
        self._tables = [_State[Row](own) for own in parts]
        self._order: deque[int] = deque(range(len(parts)))
        self._weights = weights
        self._incomplete = len(parts)
        self._out = 0
        self._opening = opening and bool(parts)
        self._candidate: _Held[Row] | None = None
        """The row that will be ``first`` if it does not stay the only one."""
        self._final: _Held[Row] | None = None
        """The last row of the table that ended last."""
        if not self._opening:
            self._sort()

    def take(self) -> Handout | None:
        """The next part to read; None while none may be read, and when all are handed out."""
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
        """A reader that was to ask hands its first row in, the last of those answered. Once Kafka has them it may go on."""
        state = self._tables[part.table]
        rows = self._not_alone(state)
        word = marker(first=self._opening, last=False, first_of_table=not state.shown, last_of_table=False)
        state.shown = state.opened = True
        self._end_opening()
        return [*rows, Marked(row, word)]

    def read(self, part: Part, last: Row | None) -> list[Marked[Row]]:
        """A part has been read. ``last`` is its last row, which the reader did not send; None when the part had none."""
        state = self._tables[part.table]
        state.out -= 1
        self._out -= 1
        rows: list[Marked[Row]] = []
        if last is not None:
            rows = self._not_alone(state)
            held: _Held[Row] = _Held(part.table, part.number, last, self._opening, not state.shown)
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
        """Kafka has every row of a part that was read, but for its last."""
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
        """Whether all parts of the table are read and acknowledged."""
        return not self._tables[table].left

    @property
    def over(self) -> bool:
        """Whether all tables are complete."""
        return not self._incomplete

    def finish(self) -> list[Marked[Row]]:
        """All tables are complete and Kafka has all rows so far: the last row of all, if there was any row."""
        final, self._final = self._final, None
        return [] if final is None else [final.marked(last=True)]

    def _exhausted(self, table: int) -> bool:
        state = self._tables[table]
        return state.given == len(state.parts)

    def _not_alone(self, state: _State[Row]) -> list[Marked[Row]]:
        """Another row has come: what was kept back as the only one, of the snapshot or of its table, can go."""
        rows: list[Marked[Row]] = []
        if self._candidate is not None:
            rows.append(self._release(self._candidate))
            self._candidate = None
            self._end_opening()
        if state.held is not None and not state.opened:
            rows.append(self._release(state.held))
        return rows

    def _release(self, held: _Held[Row]) -> Marked[Row]:
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
