"""Well-known binary of geometries: OGC's, and PostGIS' extension of it with an SRID (PostGIS documentation, "WKB/EWKB").

A geometry begins with its byte order (1 is little-endian) and its type. PostGIS sets bits of the type: 0x80000000 for Z, 0x40000000 for M,
0x20000000 for an SRID that follows.
"""

from __future__ import annotations

import struct
from typing import Final

SRID_FLAG: Final = 0x20000000
_Z: Final = 0x80000000
_M: Final = 0x40000000
_KIND: Final = 0xFF
_POINT: Final = 1
_LINE: Final = 2
_POLYGON: Final = 3
_COLLECTIONS: Final = (4, 5, 6, 7)
"""Multipoint, multilinestring, multipolygon and geometry collection: their members are geometries."""


def has_srid(wkb: bytes) -> bool:
    """Whether an SRID is written into the geometry. Raises ValueError for less than a header."""
    return bool(_type(wkb, 0)[1] & SRID_FLAG)


def with_srid(wkb: bytes, srid: int) -> bytes:
    """Return a geometry without SRID with this one. Raises ValueError for less than a header."""
    order, kind = _type(wkb, 0)
    return wkb[:1] + struct.pack(order + "Ii", kind | SRID_FLAG, srid) + wkb[5:]


def without_srid(wkb: bytes) -> bytes:
    """Return a geometry that has an SRID without it. Raises ValueError for less than a header."""
    order, kind = _type(wkb, 0)
    return wkb[:1] + struct.pack(order + "I", kind & ~SRID_FLAG) + wkb[9:]


def swapped(wkb: bytes) -> bytes:
    """Return the geometry with its first and second coordinates exchanged, without what follows it.

    Raises ValueError for one that ends early, and for other types than points, lines, polygons and collections of them.
    """
    out = bytearray(wkb)
    try:
        end = _swap(out, 0)
    except struct.error:
        raise ValueError("Geometry ends before its last coordinate") from None
    return bytes(out[:end])


def _type(wkb: bytes | bytearray, at: int) -> tuple[str, int]:
    """The byte order, as :mod:`struct` writes it, and the type with its flags."""
    if len(wkb) < at + 5:
        raise ValueError("Geometry is shorter than a well-known binary header")
    order = "<" if wkb[at] else ">"
    (kind,) = struct.unpack_from(order + "I", wkb, at + 1)
    return order, kind


def _swap(wkb: bytearray, at: int) -> int:
    """Exchange the coordinates of the geometry at ``at``; return the place behind it."""
    order, flags = _type(wkb, at)
    kind = flags & _KIND
    at += 9 if flags & SRID_FLAG else 5
    size = 16 + (8 if flags & _Z else 0) + (8 if flags & _M else 0)
    if kind == _POINT:
        return _swap_points(wkb, at, 1, size)
    if kind not in (_LINE, _POLYGON, *_COLLECTIONS):
        raise ValueError(f"Geometry has the type {kind}, whose coordinates cannot be exchanged")
    (count,) = struct.unpack_from(order + "I", wkb, at)
    at += 4
    if kind == _LINE:
        return _swap_points(wkb, at, count, size)
    for _ in range(count):
        if kind == _POLYGON:
            (points,) = struct.unpack_from(order + "I", wkb, at)
            at = _swap_points(wkb, at + 4, points, size)
        else:
            at = _swap(wkb, at)
    return at


def _swap_points(wkb: bytearray, at: int, count: int, size: int) -> int:
    for _ in range(count):
        x, y = struct.unpack_from("8s8s", wkb, at)
        if len(wkb) < at + size:
            raise ValueError("Geometry ends before its last coordinate")
        struct.pack_into("8s8s", wkb, at, y, x)
        at += size
    return at
