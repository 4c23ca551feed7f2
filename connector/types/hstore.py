"""hstore (PostgreSQL manual, F.18): ``"key"=>"value", "other"=>NULL`` as a JSON text or as a map of strings."""

from __future__ import annotations

import re
from typing import Final

from connector.record.json_converter import json_text, quote
from connector.record.schema import STRING, Schema
from connector.types.codec import Codec
from connector.types.text import JSON

_PAIR: Final = re.compile(rb'\s*"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)\s*(?:,|\Z)', re.DOTALL)
_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)

JSON_SCHEMA: Final = Schema("string", name=JSON, version=1)
MAP_SCHEMA: Final = Schema("map", keys=STRING, values=STRING.as_optional())


def hstore(mode: str, placeholder: str) -> Codec:
    """Return the codec of an hstore column; ``mode`` is ``hstore.handling.mode``.

    For an unchanged TOAST value it sends a map from the placeholder to the placeholder.
    """
    if mode == "map":
        return Codec(
            schema=MAP_SCHEMA,
            encode=lambda text: _map_json(parse(text)),
            decode=parse,
            fallback={},
            unavailable={placeholder: placeholder},
        )
    return Codec(
        schema=JSON_SCHEMA,
        encode=lambda text: quote(to_json(parse(text))),
        decode=lambda text: to_json(parse(text)),
        fallback="{}",
        unavailable=to_json({placeholder: placeholder}),
    )


def parse(text: bytes) -> dict[str, str | None]:
    """Return the pairs in the order of a Java HashMap, which consumers of Debezium see. Raises ValueError."""
    pairs: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None:
            raise ValueError("Hstore text is broken between its pairs")
        key, value = found.groups()
        pairs[_unescape(key)] = None if value is None else _unescape(value)
        at = found.end()
    return _in_hash_order(pairs)


def to_json(pairs: dict[str, str | None]) -> str:
    """Return the text of a compact JSON object."""
    return "{" + ",".join([json_text(k) + ":" + ("null" if v is None else json_text(v)) for k, v in pairs.items()]) + "}"


def _map_json(pairs: dict[str, str | None]) -> bytes:
    return b"{" + b",".join([quote(k) + b":" + (b"null" if v is None else quote(v)) for k, v in pairs.items()]) + b"}"


def _unescape(text: bytes) -> str:
    return (_ESCAPED.sub(rb"\1", text) if b"\\" in text else text).decode()


def _in_hash_order(pairs: dict[str, str | None]) -> dict[str, str | None]:
    if len(pairs) < 2:
        return pairs
    buckets = 16
    while len(pairs) > buckets * 3 // 4:
        buckets *= 2
    return dict(sorted(pairs.items(), key=lambda pair: _spread(pair[0]) & (buckets - 1)))


def _spread(key: str) -> int:
    """Return ``String.hashCode`` over UTF-16 units, spread as HashMap does."""
    code = 0
    units = key.encode("utf-16-le")
    for at in range(0, len(units), 2):
        code = (31 * code + units[at] + (units[at + 1] << 8)) & 0xFFFFFFFF
    return code ^ code >> 16
