"""bit and bit varying (PostgreSQL manual, 8.10): a boolean for a single bit, else Debezium's little-endian Bits."""

from __future__ import annotations

from connector.record.json_converter import quote_base64
from connector.record.schema import BOOLEAN, Schema
from connector.types.codec import Codec

_UNLIMITED = 2147483647


def bits(modifier: int) -> Codec:
    """Return the codec of a column of ``modifier`` bits; -1 means varying without a limit."""
    if modifier == 1:
        return Codec(schema=BOOLEAN, encode=_encode_bit, decode=_decode_bit, fallback=False)
    length = modifier if modifier >= 0 else _UNLIMITED
    return Codec(
        schema=Schema("bytes", name="io.debezium.data.Bits", version=1, parameters=(("length", str(length)),)),
        encode=lambda text: quote_base64(little_endian(text)),
        decode=little_endian,
        fallback=b"",
    )


def little_endian(text: bytes) -> bytes:
    """Return the bytes of a bit string, least significant first, without high zero bytes: ``101`` is 05, ``000`` is empty."""
    number = int(text, 2) if text else 0
    return number.to_bytes((number.bit_length() + 7) >> 3, "little")


def _encode_bit(text: bytes) -> bytes:
    return b"true" if _decode_bit(text) else b"false"


def _decode_bit(text: bytes) -> bool:
    if text == b"1":
        return True
    if text == b"0":
        return False
    # A bit varying(1) may be empty.
    raise ValueError("Single bit is neither 0 nor 1")
