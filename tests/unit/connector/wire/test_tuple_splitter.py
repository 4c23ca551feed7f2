"""A splitter does what :func:`split_tuple` does, for tuples of its number of columns and of any other."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.errors import CdcError
from connector.wire import pgoutput
from connector.wire.tuple_splitter import splitter
from tests.support.wal_script import BINARY, UNCHANGED, Cell, tuple_data

CELLS: st.SearchStrategy[Cell] = st.one_of(st.none(), st.just(UNCHANGED), st.text(max_size=300))


@given(cells=st.lists(CELLS, max_size=12), count=st.integers(0, 12), before=st.binary(max_size=4))
def test_a_tuple_is_split_alike(cells: list[Cell], count: int, before: bytes) -> None:
    frame = before + tuple_data(cells) + b"N"
    expected: list[bytes | None] = []
    end = pgoutput.split_tuple(frame, len(before), expected)
    for number in (count, len(cells)):
        # The cells go behind those that are there.
        found: list[bytes | None] = [b"other"]
        assert splitter(number)(frame, len(before), found) == end
        assert found == [b"other", *expected]
        assert [cell is pgoutput.UNCHANGED for cell in found[1:]] == [cell is pgoutput.UNCHANGED for cell in expected]


@pytest.mark.parametrize("count", [1, 100, 101, 1600])
def test_wide_tables(count: int) -> None:
    found: list[bytes | None] = []
    data = tuple_data(["v"] * count)
    assert splitter(count)(data, 0, found) == len(data) << 2
    assert found == [b"v"] * count


def test_binary_cells_are_refused() -> None:
    with pytest.raises(CdcError, match="0x62"):
        splitter(2)(tuple_data(["x", BINARY]), 0, [])


def test_nothing_is_appended_of_a_tuple_that_is_cut_off() -> None:
    found: list[bytes | None] = []
    with pytest.raises((IndexError, struct.error)):
        splitter(2)(tuple_data(["x", "y"])[:8], 0, found)
    assert found == []
