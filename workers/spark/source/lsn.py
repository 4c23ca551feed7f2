"""Log sequence numbers."""

from __future__ import annotations


def lsn_text(position: int) -> str:
    """The LSN as PostgreSQL writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
