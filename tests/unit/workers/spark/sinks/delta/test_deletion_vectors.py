"""Which files of a Delta table may hold the rows of a batch; without Spark."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.delta.deletion_vectors import KnownFile


class Add:
    """What Delta's ``AddFile`` says of a file."""

    def __init__(self, **stats: object) -> None:
        self._stats = json.dumps(stats) if stats else None

    def stats(self) -> str | None:
        return self._stats


def test_a_file_has_the_bounds_of_its_statistics() -> None:
    add = Add(numRecords=7, minValues={"c": 3, "d": "x"}, maxValues={"c": 9})
    assert KnownFile.of(add, "c") == KnownFile(add, 7, 3, 9)
    assert KnownFile.of(add, None) == KnownFile(add, 7, None, None)
    assert KnownFile.of(add, "d") == KnownFile(add, 7, "x", None)  # type: ignore[arg-type]
    bare = Add()
    assert KnownFile.of(bare, "c") == KnownFile(bare, None, None, None)


@pytest.mark.parametrize(
    ("keys", "may"),
    [([1, 2], False), ([1, 3], True), ([1, 5, 20], True), ([1, 10], False), ([9], True), ([], False), (None, True)],
)
def test_a_file_is_read_if_a_key_is_within_its_bounds(keys: list[int] | None, may: bool) -> None:
    assert KnownFile(None, 7, 3, 9).may_hold(keys) is may


def test_a_file_without_bounds_is_read() -> None:
    assert KnownFile(None, 7, None, 9).may_hold([100])
    assert KnownFile(None, 7, 3, None).may_hold([1])
