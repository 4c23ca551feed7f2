"""box, circle, line, lseg, path and polygon (PostgreSQL manual, 8.8), as Debezium's structs since 3.7.0.

A circle and a line have their numbers. The others become little-endian well-known binary, and ``extensions`` names their type: a box and a
polygon are a closed ring, an lseg and a path are lines between points.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Final

from connector.java.floats import java_double
from connector.record.json_converter import quote_base64
from connector.record.schema import FLOAT64, Field
from connector.types.codec import Codec
from connector.types.spatial.geometry import EXTENSIBLE_GEOMETRY, POINT, geometry_schema

Point = tuple[float, float]

_NUMBER: Final = re.compile(rb"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|NaN|Infinity)")
_LINE_STRING: Final = 2
_POLYGON: Final = 3


def driver_text(text: bytes) -> bytes:
    """Return the text with numbers as Java prints them: ``(3.0,4.0),(1.0,2.0)``."""
    return _NUMBER.sub(lambda found: java_double(float(found.group())).strip(b'"'), text)


def _inside(text: bytes, brackets: bytes) -> bytes:
    """What is between ``brackets``, an opening and a closing one. ValueError if the text has others."""
    if len(text) < 2 or text[:1] + text[-1:] != brackets:
        raise ValueError("Geometric value has other brackets")
    return text[1:-1]


def _points(text: bytes) -> list[Point]:
    """The points of ``(x,y),(x,y)``."""
    pairs = [pair.split(b",") for pair in _inside(text, b"()").split(b"),(")]
    return [(float(x), float(y)) for x, y in pairs]


def _wkb(kind: int, points: list[Point]) -> bytes:
    ring = b"\1\0\0\0" if kind == _POLYGON else b""
    numbers = [number for point in points for number in point]
    return struct.pack("<BI", 1, kind) + ring + struct.pack(f"<I{len(numbers)}d", len(points), *numbers)


def _box(text: bytes) -> tuple[bytes, dict[str, str]]:
    (left, top), (right, bottom) = _points(text)
    ring = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    return _wkb(_POLYGON, ring), {"type": "box"}


def _lseg(text: bytes) -> tuple[bytes, dict[str, str]]:
    return _wkb(_LINE_STRING, _points(_inside(text, b"[]"))), {"type": "lseg"}


def _path(text: bytes) -> tuple[bytes, dict[str, str]]:
    closed = text[:1] == b"("
    points = _points(_inside(text, b"()" if closed else b"[]"))
    return _wkb(_LINE_STRING, points), {"type": "path", "closed": "true" if closed else "false"}


def _polygon(text: bytes) -> tuple[bytes, dict[str, str]]:
    points = _points(_inside(text, b"()"))
    (x, y), (last_x, last_y) = points[0], points[-1]
    # NaN differs from itself, so a ring that begins with it is closed again. Two tuples of one NaN would be equal.
    if not (x == last_x and y == last_y):
        points.append(points[0])
    return _wkb(_POLYGON, points), {"type": "polygon"}


def _shape(parse: Callable[[bytes], tuple[bytes, dict[str, str]]], fallback: bytes) -> Codec:
    def decode(text: bytes) -> dict[str, object]:
        wkb, extensions = parse(text)
        return {"wkb": wkb, "srid": None, "extensions": extensions}

    def encode(text: bytes) -> bytes:
        wkb, extensions = parse(text)
        members = ",".join(f'"{name}":"{value}"' for name, value in extensions.items())
        return b'{"wkb":' + quote_base64(wkb) + b',"srid":null,"extensions":{' + members.encode() + b"}}"

    placed, extensions = parse(fallback)
    without = {"wkb": placed, "srid": None, "extensions": {"type": extensions["type"]}}
    return Codec(schema=EXTENSIBLE_GEOMETRY.schema, encode=encode, decode=decode, fallback=without)


def _circle(text: bytes) -> tuple[bytes, float]:
    center, _, radius = _inside(text, b"<>").rpartition(b",")
    return center, float(radius)


def _decode_circle(text: bytes) -> dict[str, object]:
    center, radius = _circle(text)
    return {"center": POINT.decode(center), "radius": radius}


def _encode_circle(text: bytes) -> bytes:
    center, radius = _circle(text)
    return b'{"center":' + POINT.encode(center) + b',"radius":' + java_double(radius) + b"}"


def _line(text: bytes) -> tuple[float, float, float]:
    a, b, c = _inside(text, b"{}").split(b",")
    return float(a), float(b), float(c)


def _decode_line(text: bytes) -> dict[str, object]:
    a, b, c = _line(text)
    return {"a": a, "b": b, "c": c}


def _encode_line(text: bytes) -> bytes:
    a, b, c = map(java_double, _line(text))
    return b'{"a":' + a + b',"b":' + b + b',"c":' + c + b"}"


# Debezium's builder makes these schemas optional even for a NOT NULL column, as that of PostGIS' geometry.
BOX: Final = _shape(_box, b"(0,0),(1,1)")
LSEG: Final = _shape(_lseg, b"[(0,0),(1,0)]")
PATH: Final = _shape(_path, b"[(0,0),(1,0)]")
POLYGON: Final = _shape(_polygon, b"((0,0),(1,0),(0,1))")
CIRCLE: Final = Codec(
    schema=geometry_schema("Circle", "Geometry (CIRCLE)", Field("center", POINT.schema), Field("radius", FLOAT64), optional=True),
    encode=_encode_circle,
    decode=_decode_circle,
    fallback={"center": POINT.fallback, "radius": 0.0},
)
LINE: Final = Codec(
    schema=geometry_schema("Line", "Geometry (LINE)", *(Field(name, FLOAT64) for name in "abc"), optional=True),
    encode=_encode_line,
    decode=_decode_line,
    fallback={"a": 0.0, "b": 1.0, "c": 0.0},
)
