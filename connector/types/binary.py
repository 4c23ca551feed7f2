"""bytea (PostgreSQL manual, 8.4) in its four ``binary.handling.mode``s, and the bytes of types that have no mapping."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from connector.json_converter import quote_base64
from connector.schema import BYTES, STRING
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
    r"""The bytes of bytea's hex form ``\x...`` (8.4.1). Raises ValueError for any other form."""
    if text[:2] != b"\\x":
        raise ValueError("Binary value is not in hex form. Set bytea_output to hex on the connection")
    return binascii.unhexlify(text[2:])


def bytea(mode: str, placeholder: bytes) -> Codec:
    """A bytea column. ``placeholder`` stands for an unchanged TOAST value: as bytes, as itself in hex mode, not in base64 modes."""
    return _codec(mode, placeholder, unhex, _INLINE[mode])


def unknown(mode: str, placeholder: bytes, raw: Callable[[bytes], bytes] = bytes) -> Codec:
    """A column of a type without a mapping: the UTF-8 bytes of its text (``include.unknown.datatypes``), passed through ``raw``."""
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
