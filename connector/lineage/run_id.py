"""The id of a run: a UUID of version 7, as Debezium's are (RFC 9562, section 5.7)."""

from __future__ import annotations

import uuid


def run_id(now_ns: int, random: bytes) -> str:
    """Return the id of a run that starts at ``now_ns``. ``random`` are ten bytes."""
    octets = bytearray((now_ns // 1_000_000).to_bytes(6, "big") + random)
    octets[6] = octets[6] & 0x0F | 0x70
    octets[8] = octets[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(octets)))
