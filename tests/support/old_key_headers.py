"""The headers of a row whose key changed, as the core writes them for transforms and converters."""

from __future__ import annotations

from typing import Final

from connector.delivery.moved_key_headers import OLD_KEY
from connector.delivery.record_conversion import INTERNAL
from connector.record.batch import encode_headers
from connector.record.json_converter import around_payload
from connector.record.schema import STRING, Field, Schema

_SCHEMA: Final = Schema("struct", name="p.public.t.Key", fields=(Field("id", STRING),))
_OPENING, _CLOSING = around_payload(_SCHEMA, INTERNAL)

OLD_KEY_TEXT: Final = b'{"id":"a\nb"}'
"""The old key as SimpleHeaderConverter writes it."""
OLD_KEY_HEADERS: Final = encode_headers([(OLD_KEY, _OPENING + b'{"id":"a\\nb"}' + _CLOSING)])
