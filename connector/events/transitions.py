"""The tables of the streaming state machine: the allowed messages, and the answers of :meth:`connector.events.stream.Stream.feed`.

An answer is one frozen value for one call, not for one frame. ``used`` is the number of frames that the call took; the caller feeds the
others next. ``reply_asked`` says that one of these frames was a keepalive that asks for a status update at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connector.events.reselect import Reread
from connector.events.signal_row import SignalRow
from connector.wire.pgoutput import BEGIN, COMMIT, DELETE, INSERT, MESSAGE, ORIGIN, RELATION, TRUNCATE, TYPE, UPDATE, Relation

__all__ = ["ANSWERS", "TRANSITIONS", "Answer", "AtCommit", "NeedRelation", "NeedReread", "Signal", "SignalRow", "State", "Used"]

State = Enum("State", ["BETWEEN", "INSIDE"])
"""The state of the stream: between transactions, or inside one."""

TRANSITIONS: Final[Mapping[State, Mapping[int, State]]] = {
    State.BETWEEN: {
        BEGIN: State.INSIDE,
        RELATION: State.BETWEEN,
        TYPE: State.BETWEEN,
        MESSAGE: State.BETWEEN,
        ORIGIN: State.BETWEEN,
    },
    State.INSIDE: {
        COMMIT: State.BETWEEN,
        ORIGIN: State.INSIDE,
        RELATION: State.INSIDE,
        TYPE: State.INSIDE,
        INSERT: State.INSIDE,
        UPDATE: State.INSIDE,
        DELETE: State.INSIDE,
        TRUNCATE: State.INSIDE,
        MESSAGE: State.INSIDE,
    },
}
"""The allowed messages in each state, and the state after each. Any other message violates the protocol."""


@dataclass(frozen=True, slots=True)
class Used:
    """All frames were used."""

    used: int
    reply_asked: bool


@dataclass(frozen=True, slots=True)
class NeedRelation:
    """A table was described; the machine needs what the catalog knows about it."""

    used: int
    reply_asked: bool
    relation: Relation


@dataclass(frozen=True, slots=True)
class NeedReread:
    """An event lacks values; the machine needs the row as it is now. ``xid`` is the transaction of the event."""

    used: int
    reply_asked: bool
    reread: Reread
    xid: int


@dataclass(frozen=True, slots=True)
class Signal:
    """A row of the signal table changed; its record is made."""

    used: int
    reply_asked: bool
    row: SignalRow


@dataclass(frozen=True, slots=True)
class AtCommit:
    """A transaction ended and ``halt_at_commit`` is set."""

    used: int
    reply_asked: bool


Answer = Used | NeedRelation | NeedReread | Signal | AtCommit


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """The rule of one answer: the ``states`` in which it is given, ``why``, and what the caller does ``then``, before it feeds again.

    ``call`` is the stream's method that must be called before the next ``feed``, which raises RuntimeError otherwise.
    """

    states: tuple[State, ...]
    why: str
    then: str
    call: str | None = None


ANSWERS: Final[Mapping[type[Answer], AnswerRule]] = {
    Used: AnswerRule((State.BETWEEN, State.INSIDE), "all frames were used", "nothing"),
    NeedRelation: AnswerRule(
        (State.BETWEEN, State.INSIDE), "a RELATION message described a table", "read the table from the catalog", "adopt"
    ),
    NeedReread: AnswerRule((State.INSIDE,), "an event lacks values (`post.processors`)", "read the row again", "complete"),
    Signal: AnswerRule((State.INSIDE,), "a row of the signal table changed", "obey the row"),
    AtCommit: AnswerRule((State.BETWEEN,), "a COMMIT came while `halt_at_commit` is set", "do what waits for the end of the transaction"),
}
"""The rule of each answer of :meth:`connector.events.stream.Stream.feed`."""
