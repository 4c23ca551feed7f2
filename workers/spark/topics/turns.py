"""Divides a batch into turns when a table's key changes: records with one key are applied before those with the next. Pure.

All changes of a row are in one partition, in order, as long as the bytes of its key stay the same. When the table gets another key
(other columns, names or types, or none), the bytes change, so later changes of the row may be in another partition. The new key does not
show the old one. PostgreSQL changes a key under the table's exclusive lock, so every change with the old key is committed before every
change with the new one. So the order of a topic's key layouts by their last commits is the order of the table's keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workers.spark.topics.known import Known, TopicState
from workers.spark.topics.survey import Group


@dataclass(frozen=True, slots=True)
class Turn:
    """The part of a batch that can be applied now.

    ``state`` has only the layouts that the table has after this part. ``groups`` are applied now. The records with the key layouts
    ``later`` must wait until then.
    """

    state: TopicState
    groups: Sequence[Group]
    later: frozenset[int | None]


def turn(before: TopicState, state: TopicState, groups: Sequence[Group]) -> Turn:
    """The first turn of ``groups``, which are one topic's. ``state`` has their layouts; ``before`` is the state before the turn.

    Repeated changes with a key that the table had before are in the first turn too; they do not change the table's key.
    """
    ordered = _ordered(state)
    rank = {known.key: at for at, known in enumerate(ordered) if known.value_schema is not None}
    # The earlier state counts: new changes may make a layout newer than the one that the table follows, which is still in force.
    reached = _reached(before, ordered)
    keys = {group.key_layout for group in groups if group.key_layout in rank}
    if None in keys and len(rank) > 1 and (_only_truncates(ordered, None) or rank[None] < reached):
        # Truncates never have a key.
        keys.discard(None)
    first = min(keys, key=lambda key: rank[key], default=None)
    later = frozenset(keys - {first})
    come = _until(state, ordered, max(reached, rank[first]) if keys else reached)
    return Turn(come, [group for group in groups if group.key_layout not in later], later)


def in_force(state: TopicState) -> TopicState:
    """``state`` with only the layouts that the table has reached; with all of them if it has reached none."""
    ordered = _ordered(state)
    return _until(state, ordered, _reached(state, ordered))


def _ordered(state: TopicState) -> list[Known]:
    return sorted(state.layouts, key=lambda known: known.newest)


def _reached(state: TopicState, ordered: Sequence[Known]) -> int:
    """The index in ``ordered`` of the last layout that the table of ``state`` follows, -1 for none."""
    come = {_layout(known) for known in state.layouts if state.followed is not None and known.newest <= state.followed}
    return max((at for at, known in enumerate(ordered) if _layout(known) in come), default=-1)


def _until(state: TopicState, ordered: Sequence[Known], last: int) -> TopicState:
    come = {_layout(known) for known in ordered[: last + 1]} or {_layout(known) for known in ordered}
    # The list keeps the order of arrival, which decides when no commits are known.
    return replace(state, layouts=tuple(known for known in state.layouts if _layout(known) in come))


def _layout(known: Known) -> tuple[int | None, int | None]:
    return known.value, known.key


def _only_truncates(ordered: Sequence[Known], key: int | None) -> bool:
    return all(not known.shows_rows for known in ordered if known.key == key)
