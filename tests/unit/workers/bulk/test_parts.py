"""Which parts a bulk snapshot's tables are read in, which of them make a task, and what text of a failure comes through Spark."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from connector.errors import CdcError, ErrorKind
from connector.snapshot.parts import Part
from connector.snapshot.plan import Extent
from workers.bulk.disk_layout import _layout
from workers.bulk.executor import _text, failure_in
from workers.bulk.part_result import Arrivals, TaskResult
from workers.bulk.parts import DiskLayout, Member, of_one_heap, part_bytes, parts_of, tasks

PAGE = 8192
MIB = 1024 * 1024


def heap(name: str, pages: int, toast: int = 0) -> Member:
    return Member("public", name, pages, pages * PAGE + toast)


def plain(member: Member) -> DiskLayout:
    return DiskLayout((member,), member.weight, plain=True)


@given(st.integers(0, 100_000), st.integers(0, 10**9), st.integers(512 * 1024, 32 * MIB))
def test_the_parts_of_a_table_hold_each_page_once(pages: int, toast: int, size: int) -> None:
    parts = parts_of(3, plain(heap("a", pages, toast)), size)
    assert [(part.table, part.number, part.of) for part in parts] == [(3, number, len(parts)) for number in range(len(parts))]
    if len(parts) == 1:
        assert parts[0].extent == Extent()
        return
    edges = [(part.extent.first, part.extent.end) for part in parts]
    assert edges[0][0] == 0
    assert edges[-1][1] == pages
    assert all(before[1] == after[0] for before, after in pairwise(edges))
    # Rows that were added after the sizes were asked for are the last part's.
    assert [part.extent.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert len(parts) == min(-(-(pages * PAGE + toast) // size), pages)


def test_a_partitioned_table_is_read_member_by_member() -> None:
    members = (heap("low", 300), heap("high", 2), Member("far", "away", None, 0))
    layout = DiskLayout(members, sum(member.weight for member in members), plain=False)
    parts = parts_of(0, layout, MIB)
    assert [part.extent.member for part in parts] == [("public", "low")] * 3 + [("public", "high"), ("far", "away")]
    assert [of_one_heap(part, layout) for part in parts] == [True] * 4 + [False]
    assert {part.of for part in parts} == {5}


def test_a_table_without_members_is_one_piece() -> None:
    layout = DiskLayout((), 10 * MIB, plain=False)
    assert parts_of(1, layout, MIB) == [Part(1, 0, 1, Extent())]
    assert not of_one_heap(Part(1, 0, 1, Extent()), layout)


def test_members_are_read_for_themselves_only_where_that_gives_the_same_rows() -> None:
    root, low, far = (1, Member("p", "root", None, 0)), (2, heap("low", 9)), (3, Member("p", "far", None, 0))
    tree = [(*root, "p", False), (*far, "f", False), (*low, "r", False)]
    assert [member.table for member in _layout(1, tree).members] == ["low", "far"], "a heap comes first"
    assert _layout(1, [(*root, "p", True), (*low, "r", False)]).members == (), "row security on the parent"
    assert _layout(1, [(*root, "p", False), (*low, "r", True)]).members == (), "a member that the role may not read"
    assert _layout(2, [(*low, "r", True)]) == DiskLayout((low[1],), low[1].weight, plain=True), "a plain table is read as ever"
    assert _layout(7, []) == DiskLayout((), 0, plain=False), "it is gone"


@given(st.lists(st.integers(0, 64 * MIB), max_size=60), st.integers(1, 32 * MIB))
def test_every_part_is_in_one_task(weights: list[int], size: int) -> None:
    made = tasks(weights, size)
    assert sorted(place for places in made for place in places) == list(range(len(weights)))
    assert all(len(places) == 1 or sum(weights[place] for place in places) <= size for places in made)


def test_small_parts_share_a_task_but_not_too_many() -> None:
    assert tasks([10 * MIB, 10, 10, 10 * MIB], MIB) == [[0], [3], [1, 2]]
    assert max(map(len, tasks([0] * 1000, MIB))) == 200


def test_parts_are_small_enough_for_all_readers_and_large_enough_to_be_worth_it() -> None:
    assert part_bytes([plain(heap("a", 10))], 8) == 512 * 1024
    assert part_bytes([plain(heap("a", 10_000_000))], 2) == 32 * MIB
    assert part_bytes([plain(heap("a", 8 * 128 * 4))], 8) == MIB


def test_a_failure_is_found_in_sparks_trace() -> None:
    error = CdcError(ErrorKind.SINK_UNREACHABLE, "Kafka did not answer", "Check the brokers", 'said "no"')
    trace = f"Py4JJavaError: An error\n: Job aborted: x.TaskFailedError: {_text(error, Part(2, 0, 1, Extent()))}\n\n\tat a.b(C.scala:1)"
    found = failure_in(trace)
    assert found is not None
    failed, table = found
    assert (failed.kind, failed.message, failed.remedy, failed.detail) == (error.kind.value, error.message, error.remedy, error.detail)
    assert table == 2
    assert failure_in("ExecutorLostFailure: exit code 137") is None


def test_an_unexpected_error_shows_no_value() -> None:
    try:
        int("4111 1111 1111 1111")
    except ValueError as error:
        text = _text(error, None)
    assert "4111" not in text
    assert "ValueError" in text


def test_results_are_collected_in_executors_and_handed_on_in_the_driver() -> None:
    arrived: list[TaskResult] = []
    driver = Arrivals(arrived.append)
    executor = pickle.loads(pickle.dumps(driver))
    result = TaskResult((), ("t",), ())
    share = executor.addInPlace(executor.zero([]), [result])
    assert share == [result]
    assert driver.addInPlace([], share) == []
    assert arrived == [result]
