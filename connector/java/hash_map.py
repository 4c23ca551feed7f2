"""The order in which a ``java.util.HashMap`` of strings lists its keys.

In the reference, offsets and the counts at the end of a transaction are such maps, so their members have this order. Source: the documented
``String.hashCode`` and the implementation notes of HashMap: the size of the table is a power of two, it doubles when three quarters are
full, and the upper half of the hash is mixed into the lower.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LEAST: Final = 16
"""The size of a new map's table."""


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` over UTF-16 units, as an unsigned 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def grown(capacity: int, size: int) -> int:
    """Return the size of the table after a map with a table of ``capacity`` has got ``size`` keys; it never shrinks."""
    while size * 4 > capacity * 3:
        capacity *= 2
    return capacity


def of_copy(size: int) -> int:
    """Return the size of the table of a copy of a map with ``size`` keys. In Java 17, it has room for one key more."""
    return 1 << (size * 4 // 3).bit_length()


def java_order(keys: Iterable[str], capacity: int = LEAST) -> list[str]:
    """Return ``keys``, given in insertion order, as a map lists them whose table has at least ``capacity`` places."""
    listed = list(keys)
    mask = grown(capacity, len(listed)) - 1

    def bucket(key: str) -> int:
        code = java_hash(key)
        return (code ^ code >> 16) & mask

    # Keys of one bucket keep their insertion order when the table doubles, so a stable sort gives the order.
    return sorted(listed, key=bucket)
