"""point (PostgreSQL manual, 8.8.1), and PostGIS' geometry and geography, as Debezium's structs around well-known binary.

A point becomes little-endian WKB. PostGIS prints EWKB in hex; its bytes are sent unchanged, with the SRID read from them.
"""

from __future__ import annotations

import binascii
import struct
from typing import Final

from connector.java.floats import java_double
from connector.record.json_converter import quote_base64
from connector.record.schema import BYTES, FLOAT64, INT32, STRING, Field, Schema
from connector.types.codec import Codec

_SRID_FLAG: Final = 0x20000000
_EMPTY: Final = bytes.fromhex("010700000000000000")
"""The WKB of an empty geometry collection."""

_WKB: Final = Field("wkb", BYTES)
_OPTIONAL_WKB: Final = Field("wkb", BYTES.as_optional())
_SRID: Final = Field("srid", INT32.as_optional())
_EXTENSIONS: Final = Field("extensions", Schema("map", optional=True, keys=STRING, values=STRING))


def geometry_schema(name: str, doc: str, *fields: Field, optional: bool = False, version: int = 1) -> Schema:
    """The schema of one of Debezium's structs for geometry, by its short name."""
    return Schema("struct", name=f"io.debezium.data.geometry.{name}", version=version, doc=doc, fields=fields, optional=optional)


def _parse_point(text: bytes) -> tuple[float, float]:
    if text[:1] != b"(" or text[-1:] != b")":
        raise ValueError("Point is not in the form (x,y)")
    x, _, y = text[1:-1].partition(b",")
    return float(x), float(y)


def _point_wkb(x: float, y: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, x, y)


def _decode_point(text: bytes) -> dict[str, object]:
    x, y = _parse_point(text)
    return {"x": x, "y": y, "wkb": _point_wkb(x, y), "srid": None}


def _encode_point(text: bytes) -> bytes:
    x, y = _parse_point(text)
    return b'{"x":' + java_double(x) + b',"y":' + java_double(y) + b',"wkb":' + quote_base64(_point_wkb(x, y)) + b',"srid":null}'


def _srid(wkb: bytes) -> int | None:
    if len(wkb) < 5:
        raise ValueError("Geometry is shorter than a well-known binary header")
    order = "<" if wkb[0] else ">"
    (kind,) = struct.unpack_from(order + "I", wkb, 1)
    if not kind & _SRID_FLAG:
        return None
    if len(wkb) < 9:
        raise ValueError("Geometry announces an SRID and ends before it")
    (srid,) = struct.unpack_from(order + "i", wkb, 5)
    return int(srid)


def _decode_postgis(text: bytes) -> dict[str, object]:
    wkb = binascii.unhexlify(text)
    return {"wkb": wkb, "srid": _srid(wkb)}


def _encode_postgis(text: bytes) -> bytes:
    wkb = binascii.unhexlify(text)
    srid = _srid(wkb)
    return b'{"wkb":' + quote_base64(wkb) + b',"srid":' + (b"null" if srid is None else b"%d" % srid) + b"}"


def _decode_extensible(text: bytes) -> dict[str, object]:
    return {**_decode_postgis(text), "extensions": None}


def _encode_extensible(text: bytes) -> bytes:
    return _encode_postgis(text)[:-1] + b',"extensions":null}'


POINT: Final = Codec(
    schema=geometry_schema("Point", "Geometry (POINT)", Field("x", FLOAT64), Field("y", FLOAT64), _OPTIONAL_WKB, _SRID),
    encode=_encode_point,
    decode=_decode_point,
    fallback={"x": 0.0, "y": 0.0, "wkb": _point_wkb(0.0, 0.0), "srid": None},
)
GEOMETRY: Final = Codec(
    # Debezium's builder makes this schema optional even for a NOT NULL column, and consumers have registered it so.
    schema=geometry_schema("Geometry", "Geometry", _WKB, _SRID, optional=True),
    encode=_encode_postgis,
    decode=_decode_postgis,
    fallback={"wkb": _EMPTY, "srid": None},
)
EXTENSIBLE_GEOMETRY: Final = Codec(
    schema=geometry_schema("Geometry", "Geometry", _WKB, _SRID, _EXTENSIONS, optional=True, version=2),
    encode=_encode_extensible,
    decode=_decode_extensible,
    fallback={"wkb": _EMPTY, "srid": None, "extensions": None},
)
"""Since 3.7.0; geography and point are without extensions there too."""
GEOGRAPHY: Final = Codec(
    schema=geometry_schema("Geography", "Geography", _WKB, _SRID),
    encode=_encode_postgis,
    decode=_decode_postgis,
    fallback={"wkb": _EMPTY, "srid": None},
)
