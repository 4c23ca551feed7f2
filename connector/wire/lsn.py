"""Log sequence numbers: positions in PostgreSQL's write-ahead log, kept as plain ints (PostgreSQL manual, 8.20 pg_lsn)."""

from __future__ import annotations


def parse_lsn(text: str) -> int:
    """Return ``16/B374D848`` as an int. Raises ValueError for any other form."""
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError(f"not a log sequence number: {text!r}")
    return (int(high, 16) << 32) | int(low, 16)


def format_lsn(lsn: int) -> str:
    """Return the server's notation, which ``START_REPLICATION`` and ``pg_replication_slot_advance`` read."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
