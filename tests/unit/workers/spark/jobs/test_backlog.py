"""What is unread when a stream starts."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from collections.abc import Collection, Mapping
from typing import Any, cast

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jobs.backlog import Backlog, expect_unread
from workers.spark.topics.broker import Offsets

BEGINS = {("a", 0): 5, ("a", 1): 0, ("b", 0): 7}
ENDS = {("a", 0): 5, ("a", 1): 30, ("a", 2): 4, ("b", 0): 9, ("c", 0): 0}


def test_the_unread_records_of_all_partitions_count() -> None:
    assert Backlog(BEGINS, ENDS).records() == {"a": 34, "b": 2, "c": 0}
    # The topic was made again.
    assert Backlog({("a", 0): 8}, {("a", 0): 3}).records() == {"a": 0}


def test_the_first_record_is_that_of_a_partition_which_has_some() -> None:
    assert Backlog(BEGINS, ENDS).first(["a", "c"]) == ({("a", 1): 0}, {("a", 1): 1})


class Kafka:
    """A broker of these topics. It fails without ends."""

    def __init__(self, ends: Offsets | None) -> None:
        self._ends = ends

    def begins(self, topics: Collection[str]) -> Offsets:
        assert topics == ["a"]
        return {("a", 0): 2}

    def ends(self, topics: Collection[str]) -> Offsets:
        assert topics == ["a"]
        if self._ends is None:
            raise JobError(UNREADABLE, "Kafka does not answer.")
        return self._ends


class Expecting:
    """Takes the numbers of records and what reads the first ones."""

    def __init__(self) -> None:
        self.given: list[tuple[Mapping[str, int], object]] = []

    def expect(self, unread: Mapping[str, int], first: Any, most: int) -> None:
        assert most == 7
        self.given.append((unread, first(["a"])))


def expected(kafka: Kafka, read: Offsets, ends: Offsets | None) -> list[tuple[Mapping[str, int], object]]:
    batches = Expecting()
    expect_unread(cast("Any", batches), cast("Any", kafka), ["a"], read, ends, lambda begins, ends: cast("Any", (begins, ends)), 7)
    return batches.given


def test_batches_expect_what_the_checkpoint_has_not_read() -> None:
    kafka = Kafka({("a", 0): 50})
    assert expected(kafka, {}, None) == [({"a": 48}, ({("a", 0): 2}, {("a", 0): 3}))]
    assert expected(kafka, {("a", 0): 20}, None) == [({"a": 30}, ({("a", 0): 20}, {("a", 0): 21}))]
    assert expected(kafka, {("a", 0): 20}, {("a", 0): 40}) == [({"a": 20}, ({("a", 0): 20}, {("a", 0): 21}))]


def test_a_broker_that_does_not_answer_is_left_to_the_stream() -> None:
    assert expected(Kafka(None), {}, None) == []
