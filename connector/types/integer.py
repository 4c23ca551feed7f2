"""smallint, integer, bigint and oid (PostgreSQL manual, 8.1.1 and 8.19). Their text is their JSON."""

from __future__ import annotations

from typing import Final

from connector.record.schema import INT16, INT32, INT64, Schema
from connector.types.codec import Codec


def _same(text: bytes) -> bytes:
    return text


def _codec(schema: Schema) -> Codec:
    return Codec(schema=schema, encode=_same, decode=int, fallback=0, inline="{c}")


SMALLINT: Final = _codec(INT16)
INTEGER: Final = _codec(INT32)
BIGINT: Final = _codec(INT64)
"""The codec of bigint and oid. An oid is unsigned and needs more than 32 bits."""
