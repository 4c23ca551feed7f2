"""Numbers as people read them, and sparklines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 120
HEIGHT: Final = 24
"""The size of a sparkline, in the units of its ``viewBox``."""

_UNITS: Final = ("B", "KB", "MB", "GB", "TB")


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least 1: ``1536`` is ``1.5 KB``."""
    value = float(count)
    for unit in _UNITS[:-1]:
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_UNITS[-1]}"


def duration(seconds: float) -> str:
    """Seconds in at most two units: ``1 h 5 min``."""
    whole = round(seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: float) -> str:
    """A number with thousands separated by a thin space, with one decimal below 10."""
    return f"{number:.1f}" if 0 < number < 10 and number != int(number) else f"{number:,.0f}".replace(",", "\u2009")


def sparkline(rates: Sequence[float]) -> str:
    """The ``points`` of an SVG polyline in a box of :data:`WIDTH` by :data:`HEIGHT`; empty for fewer than two rates.

    The highest rate touches the top. The last one is at the right edge.
    """
    if len(rates) < 2:
        return ""
    top = max(rates) or 1.0
    step = WIDTH / (len(rates) - 1)
    return " ".join(f"{at * step:.1f},{HEIGHT - 1 - rate / top * (HEIGHT - 2):.1f}" for at, rate in enumerate(rates))
