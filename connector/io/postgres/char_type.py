"""Values of PostgreSQL's type ``"char"``, one letter."""

from __future__ import annotations


def letter(value: object) -> str:
    """Return the text of a value. Some versions of the driver return it as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)
