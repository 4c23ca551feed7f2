"""Geometries that the recordings of the transforms leave out, because the real transforms spoil them."""

from __future__ import annotations

import struct

import pytest

from connector.types.spatial.wkb import has_srid, swapped, with_srid, without_srid
from tests.support.each_case import each_case

ONE_TWO = struct.pack("<dd", 1, 2)
TWO_ONE = struct.pack("<dd", 2, 1)
POINT = bytes.fromhex("0101000000") + ONE_TWO


def test_members_keep_their_own_byte_order_and_srid() -> None:
    big = bytes.fromhex("0000000001")
    marked = bytes.fromhex("0101000020e6100000")
    head = bytes.fromhex("010400000003000000")
    members = POINT + big + struct.pack(">dd", 1, 2) + marked + ONE_TWO
    expected = POINT[:5] + TWO_ONE + big + struct.pack(">dd", 2, 1) + marked + TWO_ONE
    assert swapped(head + members) == head + expected


def test_an_srid_goes_in_and_out() -> None:
    marked = with_srid(POINT, 4326)
    assert has_srid(marked)
    assert not has_srid(POINT)
    assert without_srid(marked) == POINT


@each_case("cut", range(len(POINT)))
def test_a_geometry_that_ends_early_is_an_error(cut: int) -> None:
    with pytest.raises(ValueError, match="Geometry"):
        swapped(POINT[:cut])
