"""Which files of a Delta table may hold the rows of a batch; without Spark."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.delta.known_file import KnownFile


class Add:
    """What Delta's ``AddFile`` says of a file."""

    def __init__(self, **stats: object) -> None:
        self._stats = json.dumps(stats) if stats else None

    def size(self) -> int:
        return 5

    def stats(self) -> str | None:
        return self._stats


def test_a_file_has_the_bounds_of_its_statistics() -> None:
    add = Add(numRecords=7, minValues={"c": 3, "d": "x"}, maxValues={"c": 9})
    assert KnownFile.of(add, "c") == KnownFile(add, 5, 7, 3, 9)
    assert KnownFile.of(add, None) == KnownFile(add, 5, 7, None, None)
    assert KnownFile.of(add, "d") == KnownFile(add, 5, 7, b"x", None)
    cut = Add(numRecords=7, minValues={"c": "a\U0001f600"}, maxValues={"c": "b\ud83d"})
    assert KnownFile.of(cut, "c") == KnownFile(cut, 5, 7, "a\U0001f600".encode(), None), "half a pair of surrogates has no order"
    bare = Add()
    assert KnownFile.of(bare, "c") == KnownFile(bare, 5, None, None, None)


@pytest.mark.parametrize(
    ("keys", "may"),
    [([1, 2], False), ([1, 3], True), ([1, 5, 20], True), ([1, 10], False), ([9], True), ([], False), (None, True)],
)
def test_a_file_is_read_if_a_key_is_within_its_bounds(keys: list[int] | None, may: bool) -> None:
    assert KnownFile(None, 5, 7, 3, 9).may_hold(keys) is may


@pytest.mark.parametrize(
    ("ends", "may"), [((1, 2), False), ((1, 3), True), ((4, 5), True), ((9, 12), True), ((10, 12), False), ((1, 20), True), (None, True)]
)
def test_a_file_is_read_if_its_bounds_and_the_keys_overlap(ends: tuple[int, int] | None, may: bool) -> None:
    assert KnownFile(None, 5, 7, 3, 9).may_hold_between(ends) is may


def test_a_file_without_bounds_is_read() -> None:
    for file in (KnownFile(None, 5, 7, None, 9), KnownFile(None, 5, 7, 3, None)):
        assert file.may_hold([100])
        assert file.may_hold_between((100, 101))
