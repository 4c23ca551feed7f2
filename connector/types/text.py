"""Types that become Connect strings: text, varchar, char, name, citext, uuid, xml, network addresses, ranges, ltree.

The value is the server's text in quotes. Sources: PostgreSQL manual, 8.3 and following; Debezium's documentation, "Data types", for the
names of the schemas.
"""

from __future__ import annotations

from typing import Final

import orjson

from connector.record.json_converter import requote
from connector.record.schema import Schema
from connector.types.codec import Codec

UUID: Final = "io.debezium.data.Uuid"
JSON: Final = "io.debezium.data.Json"
XML: Final = "io.debezium.data.Xml"
LTREE: Final = "io.debezium.data.Ltree"
TSVECTOR: Final = "io.debezium.data.Tsvector"
ENUM: Final = "io.debezium.data.Enum"

# Assigning inside the expression saves a call for each value: 0.28 µs against 0.31 µs for 28 characters.
_INLINE: Final = r"""(_quoted if (_quoted := dumps({c}.decode())).isascii() and b"\\u00" not in _quoted else requote(_quoted))"""
_INLINE_PLAIN: Final = """(b'"' + {c} + b'"')"""

INLINE_NAMES: Final[dict[str, object]] = {"dumps": orjson.dumps, "requote": requote}


def encode_text(text: bytes) -> bytes:
    """Return the JSON string of any text."""
    quoted = orjson.dumps(text.decode())
    return quoted if quoted.isascii() and b"\\u00" not in quoted else requote(quoted)


def encode_plain(text: bytes) -> bytes:
    """Return the JSON string of a text without characters to escape: digits, letters, and punctuation but quotes and backslashes."""
    return b'"' + text + b'"'


def text_codec(unavailable: str | None, name: str | None = None, parameters: tuple[tuple[str, str], ...] = ()) -> Codec:
    """Return the codec of a string column; ``name`` is the schema's name, if it has one (its version is then 1)."""
    return Codec(
        schema=Schema("string", name=name, version=None if name is None else 1, parameters=parameters),
        encode=encode_text,
        decode=bytes.decode,
        fallback="",
        unavailable=unavailable,
        inline=_INLINE,
    )


def plain_codec(unavailable: str | None, name: str | None = None) -> Codec:
    """Return the codec of a string column whose text never needs escaping, such as a uuid or a network address."""
    return Codec(
        schema=Schema("string", name=name, version=None if name is None else 1),
        encode=encode_plain,
        decode=bytes.decode,
        fallback="",
        unavailable=unavailable,
        inline=_INLINE_PLAIN,
    )


def unread_codec(*, required: bool) -> Codec:
    """Return the codec of a string column whose texts are ignored: null, or an empty string if null is not allowed."""
    value, written = ("", b'""') if required else (None, b"null")
    return Codec(
        schema=Schema("string"),
        encode=lambda _text: written,
        decode=lambda _text: value,
        fallback="",
        unavailable=value,
        inline=repr(written),
    )


def enum_codec(unavailable: str | None, labels: tuple[str, ...]) -> Codec:
    """Return the codec of an enum column. The parameter ``allowed`` lists its labels in sort order."""
    return text_codec(unavailable, ENUM, (("allowed", ",".join(labels)),))
