"""The bytes of a Delta table's deletion vectors, and of the file that has several of them. Pure.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Deletion Vector Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

from pyroaring import BitMap64

_MAGIC: Final = (1681511377).to_bytes(4, "little")
_VERSION: Final = b"\x01"
_NUMBER: Final = 4
"""The bytes of a vector's size and of its checksum in a file, the highest byte first."""


class Part(NamedTuple):
    """The place of a vector in a file, and the size of its bytes without their own size and checksum."""

    offset: int
    size: int


def encoded(rows: BitMap64) -> bytes:
    """The vector that marks these rows."""
    return _MAGIC + rows.serialize()


def decoded(octets: bytes) -> BitMap64:
    """The rows that a vector marks. Raises ValueError if it is none."""
    if octets[: len(_MAGIC)] != _MAGIC or len(octets) < len(_MAGIC) + 8:
        # Delta reads another form too, but does not write it.
        raise ValueError("deletion vector has another format")
    return BitMap64.deserialize(octets[len(_MAGIC) :])


def file_of(vectors: Sequence[bytes]) -> tuple[bytes, list[Part]]:
    """A file of these vectors, and the place of each."""
    pieces, parts, offset = [_VERSION], [], len(_VERSION)
    for octets in vectors:
        parts.append(Part(offset, len(octets)))
        pieces += [len(octets).to_bytes(_NUMBER, "big"), octets, crc32(octets).to_bytes(_NUMBER, "big")]
        offset += len(octets) + 2 * _NUMBER
    return b"".join(pieces), parts


def vector_in(section: bytes, size: int) -> bytes:
    """The vector of this size in the bytes of its :func:`section`. Raises ValueError if they are damaged."""
    found, octets, checksum = section[:_NUMBER], section[_NUMBER : _NUMBER + size], section[_NUMBER + size :]
    if int.from_bytes(found, "big") != size or crc32(octets).to_bytes(_NUMBER, "big") != checksum:
        raise ValueError("deletion vector is damaged")
    return octets


def section(part: Part) -> tuple[int, int]:
    """The place in its file, and the length, of a vector with its size and checksum."""
    return part.offset, part.size + 2 * _NUMBER
