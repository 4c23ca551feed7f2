"""The headers by which Debezium connects the two records of a row whose key changed: each holds the key of the other record."""

from __future__ import annotations

from typing import Final

NEW_KEY: Final = "__debezium.newkey"
"""A header of the delete and its tombstone."""
OLD_KEY: Final = "__debezium.oldkey"
"""A header of the create."""
OTHER_KEYS: Final = frozenset({NEW_KEY, OLD_KEY})
_ENCODED_NEW: Final = NEW_KEY.encode()
_ENCODED_OLD: Final = OLD_KEY.encode()


def has_other_key(headers: bytes) -> bool:
    """Return whether encoded headers may have another key. Such a record must go by way of values, because the key is a struct there."""
    return _ENCODED_NEW in headers or _ENCODED_OLD in headers
