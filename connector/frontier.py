"""How far a task's stream has come: marked, stored, confirmed. The only place where these move, and they only grow.

Invariant: the stored offset's ``start`` is at or after the LSN that the slot is told, at every moment and in every order of calls.
It holds by construction: a mark never leads back behind the one before it (rules 1 and 2), only marks are stored, in their order
(rule 3), and the LSN for the slot is read from what is stored (rule 4).

Rules
1. What was sent before one mark is sent before the next. A position behind the last mark's is therefore raised to it
   (:meth:`connector.offsets.Position.at_least`). Such positions are no fault: between transactions the server's keepalives lead on from
   the last commit, and a transaction that comes after a keepalive may hold changes of long before it.
2. Where two positions let the server begin at the same LSN, the later one holds more: between transactions, then after a message that
   begins there, then inside the transaction that comes next.
3. A mark is stored when Kafka has acknowledged all before it (:mod:`connector.flush`), and only if it is newer than what is stored.
   A store that fails changes nothing here.
4. The slot is told where the stored offset starts, before the first store where the run started: that was stored, or is the slot's own.
5. The state of an incremental snapshot goes with the mark. When it changes and the position does not, that is a new mark.
6. An operator may set the offset back while the task does not run: :meth:`Frontier.begin` takes whatever is stored then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from connector.offsets import Position


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the order of the marks of one task. Made by :meth:`Frontier.mark` alone."""

    number: int
    position: Position


class Frontier:
    """One for each producer. :meth:`begin` before each run of the stream."""

    __slots__ = ("_last", "_number", "_start", "_stored")

    def __init__(self) -> None:
        self._number = 0
        self._start = 0
        self._last: Mark | None = None
        self._stored = Mark(0, Position(0, None))

    def begin(self, start: int, at: Position | None = None) -> None:
        """A run of the stream starts at the LSN ``start``; ``at`` is the stored position if it resumes from one.

        Marks of earlier runs are never due again.
        """
        self._start = start
        self._last = None if at is None else self._next(at.at_least(start))
        self._stored = self._last or Mark(self._number, Position(start, None))

    def mark(self, position: Position) -> Mark:
        """All records before ``position`` were handed to the producer. Returns the last mark again if that is nothing new."""
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
        """``reached``, the last mark before which Kafka has everything, if it must be stored; None if nothing newer is reached."""
        return None if reached is None or reached.number <= self._stored.number else reached

    def stored(self, mark: Mark) -> None:
        """Kafka has acknowledged the offset of ``mark``."""
        if mark.number > self._stored.number:
            self._stored = mark

    @property
    def confirmed(self) -> int:
        """The LSN that the slot may be told."""
        return self._stored.position.confirmable


def _later(last: Position, position: Position) -> Position:
    """``position``, unless ``last`` is ahead of it."""
    raised = position.at_least(last.confirmable)
    if raised.confirmable == last.confirmable and _held(raised) < _held(last):
        return replace(last, incremental=position.incremental)
    return raised


def _held(position: Position) -> int:
    """How much of what comes from its ``confirmable`` on a position holds (rule 2)."""
    return 2 if position.inside else int(position.kind == "MESSAGE")
