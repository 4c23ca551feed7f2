"""The encoding of single values (Protocol Buffers documentation, "Encoding")."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any, Final

from connector.converters.varints import VARINTS, unsigned_varint

Error = error
SMALL: Final = len(VARINTS)
"""Numbers from 0 to below this are looked up in ``VARINTS``."""
VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
FIXED32: Final = 5
BOOLEANS: Final = {True: b"\1", False: b"\0"}
_INT32: Final = 1 << 31
_INT64: Final = 1 << 63
_MASK32: Final = (1 << 32) - 1
_MASK64: Final = (1 << 64) - 1


def tag(number: int, wire_type: int) -> bytes:
    """The number of a field and the kind of its bytes, which go before them."""
    return unsigned_varint(number << 3 | wire_type)


def sized(value: bytes) -> bytes:
    """Bytes with their length."""
    size = len(value)
    return (VARINTS[size] if size < SMALL else unsigned_varint(size)) + value


def string(value: str) -> bytes:
    """A string: its length in bytes, and UTF-8."""
    return sized(value.encode())


def int64(value: int) -> bytes:
    """An int64: negative numbers as their two's complement of 64 bits. Raises ValueError for larger numbers."""
    if not -_INT64 <= value < _INT64:
        raise ValueError("The number needs more than 64 bits")
    return unsigned_varint(value & _MASK64)


def int32(value: int) -> bytes:
    """An int32: negative numbers take ten bytes, as those of int64 do. Raises ValueError for larger numbers."""
    if not -_INT32 <= value < _INT32:
        raise ValueError("The number needs more than 32 bits")
    return unsigned_varint(value & _MASK64)


def _sint(value: int) -> bytes:
    return unsigned_varint((value << 1) ^ (value >> 63))


_S32: Final = Struct("<i").pack
_S64: Final = Struct("<q").pack
_U32: Final = Struct("<I").pack
_U64: Final = Struct("<Q").pack
FLOAT: Final = Struct("<f").pack
DOUBLE: Final = Struct("<d").pack
SCALARS: Final[dict[str, tuple[int, Callable[[Any], bytes]]]] = {
    "int32": (VARINT, int32),
    "int64": (VARINT, int64),
    "sint32": (VARINT, _sint),
    "sint64": (VARINT, _sint),
    "uint32": (VARINT, lambda value: unsigned_varint(value & _MASK32)),
    "uint64": (VARINT, lambda value: unsigned_varint(value & _MASK64)),
    "sfixed32": (FIXED32, _S32),
    "sfixed64": (FIXED64, _S64),
    "fixed32": (FIXED32, lambda value: _U32(value & _MASK32)),
    "fixed64": (FIXED64, lambda value: _U64(value & _MASK64)),
    "float": (FIXED32, FLOAT),
    "double": (FIXED64, DOUBLE),
    "bool": (VARINT, BOOLEANS.__getitem__),
    "string": (LENGTH, string),
    "bytes": (LENGTH, sized),
}
"""Scalar type → kind of bytes, and what encodes a value."""


def number_field(number: int, value: int) -> bytes:
    """A field of an int32, an int64 or a uint32: nothing for 0."""
    return tag(number, VARINT) + int64(value) if value else b""
