"""The hash that Debezium calls murmur: the early 64-bit MurmurHash3 of Infinispan, whose constants change from block to block.

Its seed is 9001, and a hash is the upper half of the first of its two 64-bit words. Bytes behind the last whole block of 16 are
taken as signed numbers, so that each byte beyond 127 flips all the bits above it; whole blocks of a text are not. Recorded from
``io.debezium.util.MurmurHash3``.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_SEED: Final = 9001
_BLOCK: Final = 16


def murmur3(data: bytes) -> int:
    """Return the hash of bytes, or of a text's UTF-8, as an unsigned number of 32 bits."""
    first, second = 0x9368E53C2F6AF274 ^ _SEED, 0x586DCD208F7CD3FD ^ _SEED
    left, right = 0x87C37B91114253D5, 0x4CF5AD432745937F
    for begin in range(0, len(data), _BLOCK):
        block = data[begin : begin + _BLOCK]
        one, two = _words(block)
        one = _rotated(one * left & _MASK, 23) * right & _MASK
        first = ((first ^ one) + second) & _MASK
        second = _rotated(second, 41)
        two = _rotated(two * right & _MASK, 23) * left & _MASK
        second = ((second ^ two) + first) & _MASK
        first = (first * 3 + 0x52DCE729) & _MASK
        second = (second * 3 + 0x38495AB5) & _MASK
        left = (left * 5 + 0x7B7D159C) & _MASK
        right = (right * 5 + 0x6BCE6396) & _MASK
    second ^= len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    return (_mixed(first) + _mixed(second) & _MASK) >> 32


def _words(block: bytes) -> tuple[int, int]:
    """The two little-endian words of a block; a short block's bytes are signed."""
    if len(block) == _BLOCK:
        return int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")
    return _signed(block[:8]), _signed(block[8:])


def _signed(part: bytes) -> int:
    word = 0
    for place, byte in enumerate(part):
        word ^= (byte - 256 if byte > 127 else byte) << 8 * place
    return word & _MASK


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 64 - by) & _MASK


def _mixed(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
