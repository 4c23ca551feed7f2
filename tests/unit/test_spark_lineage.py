"""Where values are found that a row took along to another key."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from workers.spark.jobs.lineage import Lineage, Pick, Source, Step

COLUMNS = ("a", "b")


def step(offset: int, op: str, *lacking: str, came: int | None = None, left: int | None = None, partition: int = 0) -> Step:
    lsn = came or left or 1000 + offset
    lacks = None if op in ("d", "tombstone") else frozenset(lacking)
    return Step(partition, offset, op, came is not None, left is not None, lsn, lacks)


def test_value_is_where_the_old_key_had_it_last() -> None:
    old = [step(0, "c"), step(1, "u", "a"), step(2, "d", left=7)]
    new = [step(3, "c", "a", "b", came=7)]
    assert Lineage([new, old], COLUMNS, ()).picks() == ([Pick(7, "a", Source((0, 0))), Pick(7, "b", Source((0, 1)))], False)


def test_value_is_the_targets_when_the_batch_has_not_sent_it() -> None:
    old = [step(1, "u", "a"), step(2, "d", left=7), step(3, "tombstone")]
    new = [step(4, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).picks() == ([Pick(7, "a", Source((0, 2), in_target=True))], False)


def test_row_is_followed_over_several_moves() -> None:
    first = [step(0, "d", left=5)]
    second = [step(1, "c", "a", "b", came=5), step(2, "u", "a"), step(3, "d", left=6)]
    third = [step(4, "c", "a", "b", came=6)]
    found, unseen = Lineage([first, second, third], COLUMNS, ()).picks()
    assert not unseen
    assert {(pick.lsn, pick.column): pick.source for pick in found} == {
        (5, "a"): Source((0, 0), in_target=True),
        (5, "b"): Source((0, 0), in_target=True),
        (6, "a"): Source((0, 0), in_target=True),
        (6, "b"): Source((0, 2)),
    }


def test_new_life_of_the_old_key_inherits_nothing() -> None:
    old = [step(0, "u"), step(1, "d"), step(2, "c", "a"), step(3, "d", left=7)]
    new = [step(4, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).picks() == ([], False)
    gone = [step(0, "u"), step(1, "d"), step(3, "d", left=7)]
    assert Lineage([gone, new], COLUMNS, ()).picks() == ([], False)


def test_row_that_has_not_been_seen_at_its_new_key_keeps_all() -> None:
    old = [step(0, "c", "b"), step(1, "d", left=7)]
    assert Lineage([old], COLUMNS, ()).picks() == ([Pick(7, "a", Source((0, 0)))], False)
    assert Lineage([old], COLUMNS, {7}).picks() == ([], False)


def test_row_that_came_whole_needs_nothing() -> None:
    assert Lineage([[step(0, "d", left=7)], [step(1, "c", came=7)]], COLUMNS, ()).picks() == ([], False)


def test_earlier_batch_has_kept_it() -> None:
    new = [step(9, "c", "a", came=7)]
    assert Lineage([new], COLUMNS, {7}).picks() == ([Pick(7, "a", Source(kept=7))], False)
    then = [step(9, "c", "a", came=7), step(10, "d", left=8)]
    last = [step(11, "c", "a", came=8)]
    assert Pick(8, "a", Source(kept=7)) in Lineage([then, last], COLUMNS, {7}).picks()[0]


def test_move_is_still_to_be_seen() -> None:
    new = [step(9, "c", "a", came=7)]
    assert Lineage([new], COLUMNS, ()).picks() == ([], True)
    then = [step(9, "c", "a", came=7), step(10, "d", left=8)]
    last = [step(11, "c", "a", came=8)]
    assert Lineage([then, last], COLUMNS, ()).picks() == ([], True)


def test_move_that_was_sent_again_left_its_key_the_first_time() -> None:
    old = [step(0, "c"), step(1, "d", left=7), step(4, "d", left=7)]
    new = [step(2, "c", "a", came=7), step(5, "c", "a", came=7)]
    assert Lineage([old, new], COLUMNS, ()).picks() == ([Pick(7, "a", Source((0, 0)))], False)


def test_rows_that_went_round_end_the_search() -> None:
    one = [step(0, "c", "a", came=6), step(1, "d", left=5)]
    other = [step(2, "c", "a", came=5), step(3, "d", left=6)]
    assert Lineage([one, other], COLUMNS, ()).picks() == ([], False)


def test_change_without_a_position_in_the_log_is_no_move() -> None:
    came = Step(0, 0, "c", came=True, left=False, lsn=None, lacking=frozenset("a"))
    assert Lineage([[came]], COLUMNS, ()).picks() == ([], False)
