"""Counts values in buckets with fixed upper bounds, as a classic histogram of Prometheus does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final


class Histogram:
    """``bounds`` are the upper bounds of the buckets, ascending. A value equal to a bound is inside. A last bucket has no bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds: Final = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        """Values by bucket; the last bucket holds those above all bounds."""
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count ``value`` so many times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        """The number of all values."""
        return sum(self.counts)
