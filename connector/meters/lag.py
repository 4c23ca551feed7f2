"""The distribution of a lag in milliseconds, in a memory that does not grow with the number of values."""

from __future__ import annotations

import math
from typing import Final

_GROWTH: Final = math.log(1.02)
"""Each bucket is 2 % wider than the one below it, so that a percentile is at most 1 % away from the value that it stands for."""


class LagMeter:
    """Collects values in milliseconds. A negative value (the clocks of two machines differ) counts as 0."""

    __slots__ = ("_buckets", "_total", "count", "largest", "last", "least")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self._total = 0
        self.count = 0
        self.last = -1
        """The latest value, -1 before the first one."""
        self.least: int | None = None
        self.largest: int | None = None

    def add(self, milliseconds: int) -> None:
        """Take a value."""
        value = self.last = max(0, milliseconds)
        bucket = int(math.log(value) / _GROWTH) if value else -1
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        self._total += value
        self.count += 1
        if self.least is None or value < self.least:
            self.least = value
        if self.largest is None or value > self.largest:
            self.largest = value

    @property
    def average(self) -> float | None:
        """The mean of all values; None without a value."""
        return self._total / self.count if self.count else None

    def percentile(self, share: float) -> float | None:
        """The value below which ``share`` (above 0, at most 1) of all values lie, within 1 %; None without a value."""
        if self.least is None or self.largest is None:
            return None
        left = math.ceil(share * self.count)
        for bucket in sorted(self._buckets):
            left -= self._buckets[bucket]
            if left <= 0:
                middle = 0.0 if bucket < 0 else math.exp((bucket + 0.5) * _GROWTH)
                return min(max(middle, float(self.least)), float(self.largest))
        return float(self.largest)
