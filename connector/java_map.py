"""The order in which a ``java.util.HashMap`` of strings lists its keys.

Offsets and the counts at the end of a transaction are such maps in the reference: their members come in this order, and not
in that of the tables or the alphabet. Source: the documented ``String.hashCode`` and the implementation notes of HashMap (table of a
power of two, doubled when three quarters full, the hash's upper half mixed into the lower).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LEAST: Final = 16
"""A new map's table."""


def java_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned number of 32 bits; it runs over UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def grown(capacity: int, size: int) -> int:
    """The table of a map that had room for ``capacity`` and now holds ``size`` keys; it never shrinks."""
    while size * 4 > capacity * 3:
        capacity *= 2
    return capacity


def java_order(keys: Iterable[str], capacity: int = LEAST) -> list[str]:
    """``keys``, in the order they were put in, as a map lists them whose table is at least ``capacity``."""
    listed = list(keys)
    mask = grown(capacity, len(listed)) - 1

    def bucket(key: str) -> int:
        code = java_hash(key)
        return (code ^ code >> 16) & mask

    # Keys of one bucket stay in the order they came in, through every doubling: a stable sort.
    return sorted(listed, key=bucket)
