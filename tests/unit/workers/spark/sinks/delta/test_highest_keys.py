"""A batch of keys above all of a table is known to be new, as long as nobody else commits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.delta.highest_keys import HighestKeys
from workers.spark.sinks.incoming import Ends, Incoming
from workers.spark.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = Table("public", "orders", (), ("id",))


def batch(ends: Ends | None, column: str = "id") -> Incoming:
    bounds = None if ends is None else (column, str(ends[0]), str(ends[1]))
    return Incoming(TABLE, 1, None, (), frozenset(), frozenset(), cast("DataFrame", None), bounds, bounds, ends)


@pytest.fixture
def keys() -> HighestKeys:
    """Those of a table that a batch with the keys 1 to 9 has created and filled."""
    keys = HighestKeys()
    keys.brought("t", -1, 1, batch((1, 9)), commits=2)
    return keys


def test_keys_above_the_highest_are_lacking(keys: HighestKeys) -> None:
    assert keys.lacks("t", 1, batch((10, 12))) is True
    assert keys.lacks("t", 1, batch((9, 12))) is False
    assert keys.lacks("other", 1, batch((10, 12))) is None


def test_each_batch_may_raise_the_highest_key(keys: HighestKeys) -> None:
    keys.brought("t", 1, 2, batch((10, 12)))
    assert keys.lacks("t", 2, batch((12, 12))) is False
    keys.brought("t", 2, 3, batch((3, 4)))
    assert keys.lacks("t", 3, batch((12, 12))) is False
    assert keys.lacks("t", 3, batch((13, 13))) is True


def test_texts_are_compared_by_their_bytes() -> None:
    keys = HighestKeys()
    keys.brought("t", -1, 1, batch((b"a", "\uffff".encode())), commits=2)
    assert keys.lacks("t", 1, batch(("\U0001f600".encode(), b"\xff"))) is True
    assert keys.lacks("t", 1, batch((b"z", b"z"))) is False


@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 3), (None, 2), (1, None)])
def test_a_commit_of_another_process_ends_what_is_known(keys: HighestKeys, before: int | None, after: int | None) -> None:
    keys.brought("t", before, after, batch((10, 12)))
    assert keys.lacks("t", after, batch((20, 21))) is None


def test_another_version_column_or_type_is_not_known(keys: HighestKeys) -> None:
    assert keys.lacks("t", 2, batch((10, 12))) is None
    assert keys.lacks("t", None, batch((10, 12))) is None
    assert keys.lacks("t", 1, batch((10, 12), "number")) is None
    assert keys.lacks("t", 1, batch(None)) is None
    assert keys.lacks("t", 1, batch((b"x", b"y"))) is False
    keys.brought("t", 1, 2, batch((b"x", b"y")))
    assert keys.lacks("t", 2, batch((b"z", b"z"))) is None


def test_a_table_that_has_changed_columns_is_forgotten(keys: HighestKeys) -> None:
    keys.forget("t")
    assert keys.lacks("t", 1, batch((10, 12))) is None


def test_a_truncate_ends_what_is_known(keys: HighestKeys) -> None:
    keys.brought("t", 1, 2, replace(batch((1, 2)), truncated=100))
    # The keys begin at 1 again, so that 3 is new.
    assert keys.lacks("t", 2, batch((3, 4))) is None


def test_a_look_at_the_table_makes_its_keys_known() -> None:
    keys = HighestKeys()
    keys.below("t", 7, batch((10, 12)))
    keys.brought("t", 7, 8, batch((10, 12)))
    assert keys.lacks("t", 8, batch((13, 13))) is True
    assert keys.lacks("t", 8, batch((12, 13))) is False


@pytest.mark.parametrize(("version", "commits", "known"), [(0, 1, True), (1, 2, True), (1, 1, None), (0, 2, None), (2, 2, None)])
def test_a_new_table_is_known_if_nobody_else_has_committed(version: int, commits: int, known: bool | None) -> None:
    keys = HighestKeys()
    keys.brought("t", -1, version, batch((1, 9)), commits)
    assert keys.lacks("t", version, batch((10, 12))) is known
