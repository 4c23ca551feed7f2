"""The marked, the stored and the confirmed position of a task's stream. They change only here, and they only grow.

Invariant: at every moment and for every order of calls, the stored offset's ``start`` is at or after the LSN confirmed to the slot.
The rules guarantee it: a mark is never before the previous mark (rules 1 and 2), only marks are stored, in their order (rule 3), and the
LSN for the slot is computed from the stored mark (rule 4).

Rules
1. Everything that was sent before one mark was also sent before the next. A position before the last mark is therefore raised to it
   (:meth:`connector.delivery.offsets.Position.at_least`). Such positions are not errors: keepalives advance the position between
   transactions, and a transaction that follows a keepalive may contain changes that are much older.
2. Several positions may make the server begin at the same LSN. Their order is: between transactions, after a message at this LSN, inside
   the next transaction.
3. A mark is stored when Kafka has acknowledged all records before it (:mod:`connector.delivery.flush`), and only if it is newer than the
   stored mark. If storing fails, nothing changes here.
4. The LSN for the slot is the start of the stored offset. Before the first store, it is the start of the run, which is either a stored
   offset's start or the slot's own position.
5. A mark contains the state of the incremental snapshot. If the state changes and the position does not, there is a new mark.
6. An operator may set the offset back while the task is stopped, so :meth:`Frontier.begin` accepts any stored position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from connector.delivery.offsets import Position


@dataclass(frozen=True, slots=True)
class Mark:
    """A position with its sequence number among the marks of a task. Only :meth:`Frontier.mark` creates marks."""

    number: int
    position: Position


class Frontier:
    """Holds the positions of one producer. Call :meth:`begin` before each run of the stream."""

    __slots__ = ("_last", "_number", "_start", "_stored")

    def __init__(self) -> None:
        self._number = 0
        self._start = 0
        self._last: Mark | None = None
        self._stored = Mark(0, Position(0, None))

    def begin(self, start: int, at: Position | None = None) -> None:
        """Begin a run of the stream at the LSN ``start``; ``at`` is the stored position if the run resumes from one.

        Marks of earlier runs are never stored again.
        """
        self._start = start
        self._last = None if at is None else self._next(at.at_least(start))
        self._stored = self._last or Mark(self._number, Position(start, None))

    def mark(self, position: Position) -> Mark:
        """Take a position before which the producer has all records. Return its mark, or the last mark if the position is not newer."""
        last = self._last
        if last is None:
            position = position.at_least(self._start)
        else:
            position = _later(last.position, position)
            if position == last.position:
                return last
        self._last = self._next(position)
        return self._last

    def _next(self, position: Position) -> Mark:
        self._number += 1
        return Mark(self._number, position)

    def due(self, reached: Mark | None) -> Mark | None:
        """Return ``reached``, the last mark before which Kafka has everything, if it is newer than the stored mark; else None."""
        return None if reached is None or reached.number <= self._stored.number else reached

    def stored(self, mark: Mark) -> None:
        """Take note that Kafka has acknowledged the offset of ``mark``."""
        if mark.number > self._stored.number:
            self._stored = mark

    @property
    def confirmed(self) -> int:
        """The LSN that may be confirmed to the slot."""
        return self._stored.position.confirmable


def _later(last: Position, position: Position) -> Position:
    """Return ``position``, or ``last`` if that is ahead."""
    raised = position.at_least(last.confirmable)
    if raised.confirmable == last.confirmable and _held(raised) < _held(last):
        return replace(last, incremental=position.incremental)
    return raised


def _held(position: Position) -> int:
    """Return a position's rank among the positions with the same ``confirmable`` (rule 2)."""
    return 2 if position.inside else int(position.kind == "MESSAGE")
