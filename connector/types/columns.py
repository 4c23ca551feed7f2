"""Encoders for whole columns of a burst: they encode hundreds of texts with a few calls of C functions.

For a column of plain texts, three calls check, quote and split all texts. Measured for 512 texts of 24 characters: 0.04 µs each, against
0.31 µs one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from connector.types.codec import Codec
from connector.types.temporal.local import epoch_micros, saturated_micros
from connector.types.text import encode_plain, encode_text

ColumnEncoder = Callable[[Sequence[bytes]], Sequence[bytes]]

_SAFE: Final = bytes(byte for byte in range(0x20, 0xF0) if byte not in b'"\\')
"""Bytes that need no escape in a JSON string: no controls, quotes, backslashes, and no first byte of a character beyond U+FFFF."""


def encode_texts(column: Sequence[bytes]) -> Sequence[bytes]:
    """Do :func:`connector.types.text.encode_text` for each text. Zero bytes separate the texts, because no text contains one."""
    if b"".join(column).translate(None, _SAFE):
        return [encode_text(text) for text in column]
    return encode_plains(column)


def encode_plains(column: Sequence[bytes]) -> Sequence[bytes]:
    """Do :func:`connector.types.text.encode_plain` for each text."""
    return (b'"' + b'"\0"'.join(column) + b'"').split(b"\0")


class _Minutes(dict[bytes, int]):
    """Microseconds since the epoch by ``YYYY-MM-DD HH:MM``. The cache is cleared when it holds 65,536 minutes."""

    def __missing__(self, text: bytes) -> int:
        if text[4:5] != b"-" or text[13:14] != b":":
            raise ValueError("Timestamp has no four-digit year")
        micros = epoch_micros(text + b":00")
        if len(self) >= _CACHED_MINUTES:
            self.clear()
        self[text] = micros
        return micros


_CACHED_MINUTES: Final = 65_536
_MINUTES: Final = _Minutes()
_MICROS_LENGTH: Final = len(b"2026-11-21 06:29:11.358576")


def encode_micro_timestamps(column: Sequence[bytes], micros: Callable[[bytes], int] = epoch_micros) -> Sequence[bytes]:
    """Return the microseconds since the epoch as JSON. ``micros`` reads unusual texts and infinities.

    Seconds and fraction are read as one number: 0.4 µs each, against 0.8 µs.
    """
    try:
        return [
            b"%d" % (_MINUTES[text[:16]] + int(text[17:19] + text[20:])) if len(text) == _MICROS_LENGTH else b"%d" % micros(text)
            for text in column
        ]
    except ValueError:
        # At least one year has five digits or is BC.
        return [b"%d" % micros(text) for text in column]


def read_micro_timestamps(column: Sequence[bytes], micros: Callable[[bytes], int] = epoch_micros) -> Sequence[int]:
    """Return the microseconds that :func:`encode_micro_timestamps` writes. They are read in the same way."""
    try:
        return [_MINUTES[text[:16]] + int(text[17:19] + text[20:]) if len(text) == _MICROS_LENGTH else micros(text) for text in column]
    except ValueError:
        return list(map(micros, column))


_WHOLE: Final[dict[Callable[[bytes], bytes], ColumnEncoder]] = {encode_text: encode_texts, encode_plain: encode_plains}


def column_encoder(codec: Codec) -> ColumnEncoder:
    """Return a function that applies the codec's ``encode`` to a column without NULLs. It raises ValueError as ``encode`` does."""
    whole = _WHOLE.get(codec.encode)
    if whole is not None:
        return whole
    if codec.decode is epoch_micros:
        return encode_micro_timestamps
    if codec.decode is saturated_micros:
        return partial(encode_micro_timestamps, micros=saturated_micros)
    encode = codec.encode
    return lambda column: list(map(encode, column))


def column_reader(codec: Codec) -> Callable[[Sequence[bytes]], Sequence[object]]:
    """Return a function that applies the codec's ``decode`` to a column without NULLs. It raises ValueError as ``decode`` does."""
    if codec.decode is epoch_micros:
        return read_micro_timestamps
    if codec.decode is saturated_micros:
        return partial(read_micro_timestamps, micros=saturated_micros)
    decode = codec.decode
    return lambda column: list(map(decode, column))
