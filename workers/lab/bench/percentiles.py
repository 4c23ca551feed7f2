"""Percentiles by nearest rank: every figure is a delay that was really measured, nothing is interpolated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Final

SHOWN: Final = (("p50", "0.50"), ("p95", "0.95"), ("p99", "0.99"))


def percentile(ordered: Sequence[float], share: str) -> float:
    """The smallest of the ascending values that at least ``share`` of them do not exceed.

    ``share`` is a decimal between 0 and 1 as text: 0.95 of 20 values is the 19th, which binary fractions would miss.
    Raises ValueError without values or outside of that range.
    """
    part = Fraction(share)
    if not ordered or not 0 <= part <= 1:
        raise ValueError(f"No percentile {share} of {len(ordered)} values")
    return ordered[max(ceil(part * len(ordered)) - 1, 0)]


def spread(delays: Sequence[float]) -> dict[str, float]:
    """The median, the 95th and 99th percentile and the largest of some values in any order, rounded to a tenth."""
    ordered = sorted(delays)
    return {**{name: round(percentile(ordered, share), 1) for name, share in SHOWN}, "max": round(percentile(ordered, "1"), 1)}
