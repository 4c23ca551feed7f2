"""Avro's binary encoding of single values (Avro specification, "Binary Encoding")."""

from __future__ import annotations

from decimal import Decimal
from struct import Struct, error
from typing import Final

from connector.converters.varints import VARINTS, unsigned_varint
from connector.record.json_converter import twos_complement, unscaled

Error = error
SMALL: Final = len(VARINTS) // 2
"""Numbers from 0 to below this are looked up in :data:`LONGS`."""
LONGS: Final = VARINTS[::2]
BOOLEANS: Final = {True: b"\1", False: b"\0"}
FLOAT: Final = Struct("<f").pack
DOUBLE: Final = Struct("<d").pack


def long(value: int) -> bytes:
    """An int or a long: zigzag, seven bits a byte."""
    return unsigned_varint((value << 1) ^ (value >> 63))


def number(value: int, end: int) -> bytes:
    """A number from ``-end`` to below ``end``. Raises OverflowError for others."""
    if not -end <= value < end:
        raise OverflowError
    # Not by way of long(): the call would take a quarter of the time.
    return unsigned_varint((value << 1) ^ (value >> 63))


def string(value: str) -> bytes:
    """A string: its length in bytes, and UTF-8."""
    encoded = value.encode()
    size = len(encoded)
    return (LONGS[size] if size < SMALL else long(size)) + encoded


def sized(value: bytes) -> bytes:
    """Bytes with their length."""
    size = len(value)
    return (LONGS[size] if size < SMALL else long(size)) + value


def bare(value: bytes) -> bytes:
    """Bytes without their length. Raises TypeError for what is not bytes."""
    return b"%b" % value


def decimal(value: Decimal, scale: int) -> bytes:
    """The unscaled value as bytes. Raises ValueError where the scale of the schema does not hold it."""
    return sized(bare_decimal(value, scale))


def bare_decimal(value: Decimal, scale: int) -> bytes:
    """The same without their length."""
    return twos_complement(unscaled(value, scale))


def fixed(value: bytes, size: int) -> bytes:
    """Bytes of exactly ``size``. Raises ValueError."""
    if len(value) != size:
        raise ValueError(f"The schema demands {size} bytes")
    return value


def fixed_decimal(value: Decimal, scale: int, size: int) -> bytes:
    """The unscaled value in ``size`` bytes. Raises ValueError where it does not fit."""
    number = twos_complement(unscaled(value, scale))
    if len(number) > size:
        raise ValueError(f"The value needs more than the {size} bytes of its schema")
    return number.rjust(size, b"\xff" if number[0] & 0x80 else b"\0")


def blocks(items: list[bytes]) -> bytes:
    """An array or a map of these encoded members: one block, and the empty one that ends it."""
    if not items:
        return b"\0"
    size = len(items)
    return (LONGS[size] if size < SMALL else long(size)) + b"".join(items) + b"\0"
