"""Finds the offset up to which each topic partition can be applied: only whole transactions, and no old state of a row. Pure.

After a crash a connector sends part of its log again: the same events in the same order, at later offsets. While only some of these
repeated events have been read, the last record of a key may be an older change. So repeated records wait until their partition has
reached its newest event again, or a newer one. Then the last record of each key is its newest change.

An event's position in the order of commits shows whether it is repeated. The position is the LSN at which its transaction ended, then its
number in the transaction. In a partition the position of a new event is later than all earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

TopicPartition = tuple[str, int]
"""Topic and partition."""
Position = tuple[int, int]
"""An event's place in the order of commits: the LSN of its transaction's end, and the event's number in the transaction."""

BEGINNING: Final[Position] = (0, 0)


@dataclass(frozen=True, slots=True)
class Span:
    """Records of one transaction in a topic partition, from the offset ``first`` to ``last``, without repetitions.

    ``order`` is the highest number of these events in the transaction. ``xid`` is None for rows of snapshots, and for changes from before
    the transaction metadata was enabled; ``lsn`` is then their highest LSN.
    """

    topic: str
    partition: int
    xid: str | None
    first: int
    last: int
    order: int = 0
    lsn: int = 0

    @property
    def place(self) -> TopicPartition:
        """The topic partition."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction that can be applied. ``lsn`` is the LSN at which it ended.

    ``new``: the LSN is above those in the tables. ``lower``: the LSN is below those in the tables because the source was restored, but
    the tables do not have the transaction.
    """

    lsn: int
    new: bool = True
    lower: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """``first``: the offset from which on a partition waits, absent if none waits. ``reached``: its newest event that does not wait."""

    first: Mapping[TopicPartition, int]
    reached: Mapping[TopicPartition, Position]


def held_back(spans: Iterable[Span], commits: Mapping[str, Commit], reached: Mapping[TopicPartition, Position]) -> Held:
    """The records that wait. ``commits`` has the transactions that can be applied, ``reached`` the newest applied events.

    Events that cannot be applied wait, and so do the later events of their partition. They wait no longer when an event of a new
    transaction follows. A transaction that has no end by then will never have one: its connector was removed while sending it.
    """
    first, newest = {}, {**reached}
    for place, run in groupby(_sorted(spans), key=lambda span: span.place):
        waits, now = _walked(run, commits, reached.get(place))
        if waits is not None:
            first[place] = waits
        if now is not None:
            newest[place] = now
    return Held(first, newest)


def _walked(spans: Iterable[Span], commits: Mapping[str, Commit], reached: Position | None) -> tuple[int | None, Position | None]:
    """The offset from which on a partition waits (None if it does not), and its newest event before it. ``spans`` are in offset order."""
    waits: int | None = None
    unknown = False
    for span in spans:
        if span.xid is None:
            # The row was read or changed after the commit of the newest event.
            if not unknown and span.lsn >= (reached or BEGINNING)[0]:
                waits = None
            continue
        commit = commits.get(span.xid)
        if commit is None:
            waits, unknown = span.first if waits is None else waits, True
            continue
        position, newest = (commit.lsn, span.order), reached or BEGINNING
        if position < newest and not commit.lower:
            waits = span.first if waits is None else waits
        elif not unknown or commit.lower or (commit.new and position > newest):
            reached, waits, unknown = position, None, False
    return waits, reached


def repeating(spans: Iterable[Span], commits: Mapping[str, Commit], reached: Mapping[TopicPartition, Position]) -> set[TopicPartition]:
    """The topic partitions that have, or may have, repeated records. ``spans`` has one span for each transaction and partition."""
    found = set()
    for place, run in groupby(_sorted(spans), key=lambda span: span.place):
        if not _in_order(list(run), commits, reached.get(place, BEGINNING)):
            found.add(place)
    return found


def _in_order(spans: Sequence[Span], commits: Mapping[str, Commit], newest: Position) -> bool:
    if any(one.last >= other.first for one, other in pairwise(spans)):
        return False
    for span in spans:
        commit = None if span.xid is None else commits.get(span.xid)
        if commit is not None:
            position = commit.lsn, span.order
            if position <= newest:
                return False
            newest = position
    return True


def _sorted(spans: Iterable[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.topic, span.partition, span.first))
