"""Kafka's own rule for the partition of a record with a key."""

from __future__ import annotations

from typing import Final

from murmurhash2 import murmurhash2

_SEED: Final = 0x9747B28C


def partition_of(key: bytes, count: int) -> int:
    """Return the partition, of ``count`` partitions, that Kafka's Java producer selects for ``key`` (``DefaultPartitioner``)."""
    number: int = (murmurhash2(key, _SEED) & 0x7FFFFFFF) % count
    return number
