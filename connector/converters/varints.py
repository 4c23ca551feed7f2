"""Numbers of seven bits a byte, the least significant first: Avro's longs (after zigzag) and Protocol Buffers' varints."""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 14) - 1


def _slowly(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


VARINTS: Final = tuple(_slowly(number) for number in range(1 << 14))
_PAIRS: Final = tuple(bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(1 << 14))
"""Fourteen bits that are followed by more."""


def unsigned_varint(value: int) -> bytes:
    """Encode a number of 0 or more, and below 2 ** 70.

    A timestamp in microseconds takes four look-ups, 0.3 µs; a loop over its bytes takes 0.7 µs.
    """
    if value <= _MASK:
        return VARINTS[value]
    if value < 1 << 28:
        return _PAIRS[value & _MASK] + VARINTS[value >> 14]
    if value < 1 << 42:
        return _PAIRS[value & _MASK] + _PAIRS[value >> 14 & _MASK] + VARINTS[value >> 28]
    low = _PAIRS[value & _MASK] + _PAIRS[value >> 14 & _MASK] + _PAIRS[value >> 28 & _MASK]
    if value < 1 << 56:
        return low + VARINTS[value >> 42]
    return low + _PAIRS[value >> 42 & _MASK] + VARINTS[value >> 56]
