"""Whose turn it is when a table's key becomes another one."""

from __future__ import annotations

import pytest

from tests.support.each_case import each_case

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.topics.known import Known, TopicState
from workers.spark.topics.survey import Group
from workers.spark.topics.turns import Turn, in_force, turn

OLD, NEW = 1, 2


def known(key: int | None, at: int, value: int = 10, schema: str | None = "{}") -> Known:
    return Known(value, key, schema, None if key is None else "{}", (at, at))


def group(key: int | None, value: int | None = 10, *, empty: bool = False) -> Group:
    return Group(
        "shop.public.items",
        value,
        key,
        empty,
        1,
        1,
        placeholders=False,
        truncates=True,
        begins=False,
        moves=False,
        newest_ms=1,
        sample=(0, 0),
    )


def state(*layouts: Known, followed: int | None = None) -> TopicState:
    return TopicState(None, layouts, followed=None if followed is None else (followed, followed))


def keys(found: Turn) -> tuple[list[int | None], list[int | None], set[int | None]]:
    """The keys that the table has come to, those that are applied, and those that wait."""
    return [one.key for one in found.state.layouts], [one.key_layout for one in found.groups], set(found.later)


@each_case(
    ("layouts", "followed", "batch", "come", "applied", "later"),
    [
        pytest.param([(OLD, 5)], None, [OLD], [OLD], [OLD], set(), id="one key"),
        pytest.param([(OLD, 5), (NEW, 9)], None, [NEW, OLD], [OLD], [OLD], {NEW}, id="the older one first"),
        pytest.param([(NEW, 9), (OLD, 5)], None, [NEW, OLD], [OLD], [OLD], {NEW}, id="whichever was read first"),
        pytest.param([(OLD, 5), (NEW, 9)], 5, [NEW], [OLD, NEW], [NEW], set(), id="then the newer one"),
        pytest.param([(OLD, 5), (NEW, 9)], 9, [OLD], [OLD, NEW], [OLD], set(), id="the table does not go back"),
        pytest.param([(OLD, 5), (NEW, 9)], 9, [NEW, OLD], [OLD, NEW], [OLD], {NEW}, id="what comes again stays in order"),
        pytest.param([(None, 5), (NEW, 9)], None, [NEW, None], [None], [None], {NEW}, id="no key is one too"),
        pytest.param([(OLD, 5), (None, 9)], 5, [None, OLD], [OLD], [OLD], {None}, id="even after another"),
        pytest.param([(OLD, 5), (None, 0)], 5, [None, OLD], [OLD, None], [None, OLD], set(), id="a truncate is none"),
        pytest.param([(None, 5), (NEW, 9)], 9, [None, NEW], [None, NEW], [None, NEW], set(), id="nor after there were rows without"),
        pytest.param([(OLD, 0), (NEW, 0)], None, [NEW, OLD], [OLD], [OLD], {NEW}, id="without commits as they were read"),
        pytest.param([(None, 0)], None, [None], [None], [None], set(), id="truncates alone"),
    ],
)
def test_turn(
    layouts: list[tuple[int | None, int]],
    followed: int | None,
    batch: list[int | None],
    come: list[int | None],
    applied: list[int | None],
    later: set[int | None],
) -> None:
    known_so_far = state(*(known(key, at) for key, at in layouts), followed=followed)
    assert keys(turn(known_so_far, known_so_far, [group(key) for key in batch])) == (come, applied, later)


def test_tombstones_are_of_their_key() -> None:
    found = turn(TopicState(), state(known(OLD, 5), known(NEW, 9)), [group(OLD, None, empty=True), group(NEW)])
    assert keys(found) == ([OLD], [OLD], {NEW})


def test_tombstone_of_an_unknown_key_waits_for_nothing() -> None:
    found = turn(TopicState(), state(known(OLD, 5)), [group(7, None, empty=True), group(OLD)])
    assert keys(found) == ([OLD], [7, OLD], set())


def test_table_stays_what_it_is_when_new_changes_come_with_old_ones() -> None:
    before, now = state(known(OLD, 5), known(NEW, 9), followed=9), state(known(OLD, 5), known(NEW, 12), followed=9)
    assert keys(turn(before, now, [group(OLD), group(NEW)])) == ([OLD, NEW], [OLD], {NEW})


def test_table_has_the_layouts_that_it_follows() -> None:
    both = state(known(OLD, 5), known(NEW, 9), followed=5)
    assert [one.key for one in in_force(both).layouts] == [OLD]
    assert in_force(state(known(OLD, 5), known(NEW, 9))).layouts == both.layouts


def test_topic_of_no_table_has_one_turn() -> None:
    found = turn(TopicState(), state(known(OLD, 0, schema=None)), [group(OLD)])
    assert keys(found) == ([OLD], [OLD], set())
