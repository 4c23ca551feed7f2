"""bytea (PostgreSQL manual, 8.4) in its four modes (``binary.handling.mode``), and the bytes of types without a mapping."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from connector.record.json_converter import quote_base64
from connector.record.schema import BYTES, STRING
from connector.types.codec import Codec

INLINE_NAMES: Final[dict[str, object]] = {"b2a_base64": binascii.b2a_base64, "unhexlify": binascii.unhexlify}

_INLINE: Final = {
    "bytes": """(b'"' + b2a_base64(unhexlify({c}[2:]), newline=False) + b'"')""",
    "base64": """(b'"' + b2a_base64(unhexlify({c}[2:]), newline=False) + b'"')""",
    "base64-url-safe": None,
    "hex": """(b'"' + {c}[2:] + b'"')""",
}
_TO_STRING: Final[dict[str, Callable[[bytes], str]]] = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64-url-safe": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": bytes.hex,
}


def unhex(text: bytes) -> bytes:
    r"""Return the bytes of bytea's hex form ``\x...`` (8.4.1). Raises ValueError for any other form."""
    if text[:2] != b"\\x":
        raise ValueError("Binary value is not in hex form. Set bytea_output to hex on the connection")
    return binascii.unhexlify(text[2:])


def bytea(mode: str, placeholder: bytes) -> Codec:
    """Return the codec of a bytea column.

    ``placeholder`` stands for an unchanged TOAST value: as bytes in mode bytes, as text in hex mode; base64 modes have none.
    """
    return _codec(mode, placeholder, unhex, _INLINE[mode])


def unknown(mode: str, placeholder: bytes, raw: Callable[[bytes], bytes] = bytes) -> Codec:
    """Return the codec of a type without a mapping: the bytes of its text after ``raw`` (``include.unknown.datatypes``)."""
    return _codec(mode, placeholder, raw, None)


def _codec(mode: str, placeholder: bytes, raw: Callable[[bytes], bytes], inline: str | None) -> Codec:
    if mode == "bytes":
        return Codec(
            schema=BYTES,
            encode=lambda text: quote_base64(raw(text)),
            decode=raw,
            fallback=b"",
            unavailable=placeholder,
            inline=inline,
        )
    to_string = _TO_STRING[mode]
    return Codec(
        schema=STRING,
        encode=lambda text: b'"' + to_string(raw(text)).encode() + b'"',
        decode=lambda text: to_string(raw(text)),
        fallback="",
        unavailable=placeholder.decode(errors="replace") if mode == "hex" else None,
        inline=inline,
    )
