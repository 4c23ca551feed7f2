"""Whose turn it is when a table's key becomes another one: the records of one key are applied before those of the next. Pure.

All changes of a row lie in one partition, in order, as long as its key is written the same way. Another key (other columns, other
names, other types, none) is written in other bytes, so that its changes may lie in another partition; and what a row is called by then
says nothing of what it was called before. PostgreSQL changes a key under the table's exclusive lock: every change of the old one was
committed before every change of the new one, and the order of a topic's key layouts by their last commits is the order of its keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workers.spark.topics.known import Known, TopicState
from workers.spark.topics.survey import Group


@dataclass(frozen=True, slots=True)
class Turn:
    """What can be applied now.

    ``state`` has the layouts alone that the table has come to then, ``groups`` are those of the batch that are applied, ``later`` are the
    key layouts whose records have to wait until these are in the table.
    """

    state: TopicState
    groups: Sequence[Group]
    later: frozenset[int | None]


def turn(before: TopicState, state: TopicState, groups: Sequence[Group]) -> Turn:
    """The first turn of ``groups``, which are one topic's; ``state`` knows their layouts, ``before`` is the one that the turn begins with.

    Changes of a key that the table has come to before go first too, if they come again, but the table stays what it is.
    """
    ordered = _ordered(state)
    rank = {known.key: at for at, known in enumerate(ordered) if known.value_schema is not None}
    # As it was before: new changes make a layout newer than what the table follows, and it is in force all the same.
    reached = _reached(before, ordered)
    keys = {group.key_layout for group in groups if group.key_layout in rank}
    if None in keys and len(rank) > 1 and (_only_truncates(ordered, None) or rank[None] < reached):
        # Truncates, which have no key whatever the table has.
        keys.discard(None)
    first = min(keys, key=lambda key: rank[key], default=None)
    later = frozenset(keys - {first})
    come = _until(state, ordered, max(reached, rank[first]) if keys else reached)
    return Turn(come, [group for group in groups if group.key_layout not in later], later)


def in_force(state: TopicState) -> TopicState:
    """``state`` with the layouts alone that the table has come to; all of them before it has come to any."""
    ordered = _ordered(state)
    return _until(state, ordered, _reached(state, ordered))


def _ordered(state: TopicState) -> list[Known]:
    return sorted(state.layouts, key=lambda known: known.newest)


def _reached(state: TopicState, ordered: Sequence[Known]) -> int:
    """The place in ``ordered`` of the last layout that the table of ``state`` follows, -1 for none."""
    come = {_layout(known) for known in state.layouts if state.followed is not None and known.newest <= state.followed}
    return max((at for at, known in enumerate(ordered) if _layout(known) in come), default=-1)


def _until(state: TopicState, ordered: Sequence[Known], last: int) -> TopicState:
    come = {_layout(known) for known in ordered[: last + 1]} or {_layout(known) for known in ordered}
    # In the order they were learned in, which decides where no commits are known.
    return replace(state, layouts=tuple(known for known in state.layouts if _layout(known) in come))


def _layout(known: Known) -> tuple[int | None, int | None]:
    return known.value, known.key


def _only_truncates(ordered: Sequence[Known], key: int | None) -> bool:
    return all(not known.shows_rows for known in ordered if known.key == key)
