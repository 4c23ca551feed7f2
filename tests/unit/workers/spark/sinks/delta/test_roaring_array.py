"""The bytes of deletion vectors are those that Delta's protocol describes; without Spark."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from workers.spark.sinks.delta.roaring_array import Part, decoded, encoded, file_of, section, vector_in

ROWS = [0, 1, 2, 65_535, 65_536, 70_000, 2**32 - 1, 2**32, 2**33 + 5]


def test_vector_has_its_magic_number_and_its_bitmaps() -> None:
    octets = encoded(BitMap64([3, 2**32 + 7]))
    magic, bitmaps, first = struct.unpack_from("<iqi", octets)
    assert (magic, bitmaps, first) == (1681511377, 2, 0)
    # A bitmap of 32 bits without runs: its cookie, one container of key 0 with one value, its place and the value.
    assert struct.unpack_from("<IIHHIH", octets, 16) == (12346, 1, 0, 0, 16, 3)


@given(st.lists(st.integers(0, 2**40), max_size=50), st.lists(st.tuples(st.integers(0, 2**34), st.integers(0, 9000)), max_size=3))
def test_rows_are_read_as_they_were_written(single: list[int], ranges: list[tuple[int, int]]) -> None:
    rows = BitMap64(single)
    for first, many in ranges:
        rows.add_range(first, first + many)
    plain = encoded(rows)
    rows.run_optimize()
    assert decoded(plain) == decoded(encoded(rows)) == rows


@pytest.mark.parametrize(
    "octets",
    [b"", encoded(BitMap64(ROWS))[:4], encoded(BitMap64(ROWS))[:-1], (1681511376).to_bytes(4, "little") + bytes(20), bytes(30)],
    ids=["nothing", "magic only", "cut", "Delta's other form", "zeros"],
)
def test_other_bytes_are_no_vector(octets: bytes) -> None:
    with pytest.raises(ValueError, match=r"another format|Could not deserialize"):
        decoded(octets)


def test_file_has_each_vector_with_size_and_checksum() -> None:
    vectors = [encoded(BitMap64(ROWS[:at])) for at in (1, 5, 9)]
    octets, parts = file_of(vectors)
    assert octets[0] == 1
    assert [part.size for part in parts] == [len(vector) for vector in vectors]
    for part, vector in zip(parts, vectors, strict=True):
        size, found, checksum = struct.unpack_from(f">I{part.size}sI", octets, part.offset)
        assert (size, found, checksum) == (len(vector), vector, crc32(vector))
        place, length = section(part)
        assert vector_in(octets[place : place + length], part.size) == vector
    assert len(octets) == sum(section(parts[-1]))


def test_damaged_vectors_are_not_read() -> None:
    octets, (part,) = file_of([encoded(BitMap64(ROWS))])
    assert part == Part(1, len(octets) - 9)
    found = octets[1:]
    for damaged in (found[:-1], found[:9] + b"\xff" + found[10:], b"\0" + found, b""):
        with pytest.raises(ValueError, match="damaged"):
            vector_in(damaged, part.size)
    with pytest.raises(ValueError, match="damaged"):
        vector_in(found, part.size - 1)
