"""boolean (PostgreSQL manual, 8.6): printed as ``t`` or ``f``."""

from __future__ import annotations

from typing import Final

from connector.record.schema import BOOLEAN
from connector.types.codec import Codec


def _encode(text: bytes) -> bytes:
    return b"true" if text == b"t" else b"false"


def _decode(text: bytes) -> bool:
    if text == b"t":
        return True
    if text == b"f":
        return False
    raise ValueError("Boolean is neither t nor f")


CODEC: Final = Codec(
    schema=BOOLEAN,
    encode=_encode,
    decode=_decode,
    fallback=False,
    inline="(b'true' if {c} == b't' else b'false')",
)
"""The codec of every boolean column."""
