"""Where values are found that a row took along to another key."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.effects.lineage import KeyChange, Lineage, MoveValues, Pick, Source

COLUMNS = ("a", "b")


def step(offset: int, op: str, *lacking: str, came: int | None = None, left: int | None = None, partition: int = 0) -> KeyChange:
    lsn = came or left or 1000 + offset
    lacks = None if op in ("d", "tombstone") else frozenset(lacking)
    return KeyChange(partition, offset, op, came is not None, left is not None, lsn, lacks)


def whole(picks: list[Pick]) -> MoveValues:
    """Nothing waits."""
    return MoveValues(picks, frozenset(), frozenset())


def test_value_is_where_the_old_key_had_it_last() -> None:
    old = [step(0, "c"), step(1, "u", "a"), step(2, "d", left=7)]
    new = [step(3, "c", "a", "b", came=7)]
    assert Lineage([new, old], COLUMNS, ()).found() == whole([Pick(7, "a", Source((0, 0))), Pick(7, "b", Source((0, 1)))])


def test_value_is_the_targets_when_the_batch_has_not_sent_it() -> None:
    old = [step(1, "u", "a"), step(2, "d", left=7), step(3, "tombstone")]
    new = [step(4, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).found() == whole([Pick(7, "a", Source((0, 2), in_target=True))])


def test_row_is_followed_over_several_moves() -> None:
    first = [step(0, "d", left=5)]
    second = [step(1, "c", "a", "b", came=5), step(2, "u", "a"), step(3, "d", left=6)]
    third = [step(4, "c", "a", "b", came=6)]
    found = Lineage([first, second, third], COLUMNS, ()).found()
    assert not found.held
    assert {(pick.lsn, pick.column): pick.source for pick in found.picks} == {
        (5, "a"): Source((0, 0), in_target=True),
        (5, "b"): Source((0, 0), in_target=True),
        (6, "a"): Source((0, 0), in_target=True),
        (6, "b"): Source((0, 2)),
    }


def test_new_life_of_the_old_key_inherits_nothing() -> None:
    old = [step(0, "u"), step(1, "d"), step(2, "c", "a"), step(3, "d", left=7)]
    new = [step(4, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).found() == whole([])
    gone = [step(0, "u"), step(1, "d"), step(3, "d", left=7)]
    assert Lineage([gone, new], COLUMNS, ()).found() == whole([])


def test_row_that_has_not_been_seen_at_its_new_key_keeps_all() -> None:
    old = [step(0, "c", "b"), step(1, "d", left=7)]
    assert Lineage([old], COLUMNS, ()).found() == whole([Pick(7, "a", Source((0, 0)))])
    assert Lineage([old], COLUMNS, {7}).found() == whole([])


def test_row_that_came_whole_needs_nothing() -> None:
    assert Lineage([[step(0, "d", left=7)], [step(1, "c", came=7)]], COLUMNS, ()).found() == whole([])


def test_earlier_batch_has_kept_it() -> None:
    new = [step(9, "c", "a", came=7)]
    assert Lineage([new], COLUMNS, {7}).found() == whole([Pick(7, "a", Source(kept=7))])
    then = [step(9, "c", "a", came=7), step(10, "d", left=8)]
    last = [step(11, "c", "a", came=8)]
    assert Pick(8, "a", Source(kept=7)) in Lineage([then, last], COLUMNS, {7}).found().picks


def test_row_waits_for_a_move_that_is_still_to_be_seen() -> None:
    new = [step(3, "u"), step(4, "d"), step(9, "c", "a", came=7), step(12, "u", "a")]
    assert Lineage([new], COLUMNS, ()).found() == MoveValues([], frozenset({(0, 9), (0, 12)}), frozenset({7}))
    assert Lineage([new], COLUMNS, (), {7}).found() == whole([])


def test_rows_that_went_on_wait_too() -> None:
    then = [step(9, "c", "a", "b", came=7), step(10, "d", left=8)]
    last = [step(11, "c", "a", "b", came=8, partition=1)]
    assert Lineage([then, last], COLUMNS, ()).found() == MoveValues([], frozenset({(0, 9), (0, 10), (1, 11)}), frozenset({7}))


def test_row_that_needs_nothing_of_what_waits_does_not_wait() -> None:
    then = [step(9, "c", "a", came=7), step(10, "u"), step(11, "d", left=8)]
    last = [step(12, "c", "a", came=8, partition=1)]
    found = Lineage([then, last], COLUMNS, ()).found()
    assert found == MoveValues([Pick(8, "a", Source((0, 10)))], frozenset({(0, 9), (0, 10), (0, 11)}), frozenset({7}))


def test_nothing_is_kept_of_a_move_that_is_looked_at_again() -> None:
    # Its other half is still to come, and so is what its row lacks.
    then = [step(9, "c", "a", came=7), step(10, "d", left=8)]
    assert Lineage([then], COLUMNS, ()).found() == MoveValues([], frozenset({(0, 9), (0, 10)}), frozenset({7}))


def test_move_that_was_sent_again_left_its_key_the_first_time() -> None:
    old = [step(0, "c"), step(1, "d", left=7), step(4, "d", left=7)]
    new = [step(2, "c", "a", came=7), step(5, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).found() == whole([Pick(7, "a", Source((0, 0)))])


def test_rows_that_went_round_end_the_search() -> None:
    one = [step(0, "c", "a", came=6), step(1, "d", left=5)]
    other = [step(2, "c", "a", came=5), step(3, "d", left=6)]
    assert Lineage([one, other], COLUMNS, ()).found() == whole([])


def test_change_without_a_position_in_the_log_is_no_move() -> None:
    came = KeyChange(0, 0, "c", came=True, left=False, lsn=None, lacking=frozenset("a"))
    assert Lineage([[came]], COLUMNS, ()).found() == whole([])
