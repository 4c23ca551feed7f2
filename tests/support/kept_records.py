"""A sink's inner side that keeps what is appended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any


class KeptOut:
    """Takes the records of one topic."""

    def __init__(self, topic: str, records: list[tuple[Any, ...]]) -> None:
        self._topic = topic
        self._records = records
        self.partitions = [object()] * 9

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self._records.append((self._topic, key, payload if payload is None else prefix + payload, headers, timestamp))

    def append_to(self, partition: int, record: tuple[bytes | None, bytes, bytes | None, bytes, int]) -> None:
        self._records.append((partition,))
        self.append(*record)

    def add(self, records: Sequence[tuple[bytes | None, bytes, bytes | None, bytes, int]]) -> None:
        for record in records:
            self.append(*record)

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for key, payload in zip(keys or repeat(None), payloads, strict=False):
            self.append(key, prefix, payload, headers, timestamp)


class KeptRecords:
    """Topic, key, value, headers and timestamp of each record, in order."""

    stores_offsets = False

    def __init__(self) -> None:
        self.records: list[tuple[Any, ...]] = []

    def out(self, topic: str, *, apart: bool = False) -> KeptOut:
        return KeptOut(topic, self.records)

    def pump(self) -> None:
        """Nothing is sent."""

    async def drained(self) -> None:
        """Nothing is in flight."""
