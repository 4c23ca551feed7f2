"""Writes numbers in the units of Grafana's panels."""

from __future__ import annotations

import math
from typing import Final

_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_BYTES: Final = ("bytes", "Bps")
_THOUSANDS: Final = ("", " K", " Mil", " Bil")


def written(value: float, unit: str) -> str:
    """``value`` with three digits, and its unit. Pure."""
    if math.isnan(value):
        return "-"
    if unit in _BYTES:
        return f"{_scaled(value, 1024, _BINARY, ' ')}{'/s' if unit == 'Bps' else ''}"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "ms":
        return written(value / 1000, "s")
    if unit == "s":
        return f"{value * 1000:.3g} ms" if abs(value) < 1 else f"{value:.3g} s"
    ending = {"ops": " ops/s", "rowsps": " rows/s"}.get(unit, "")
    return f"{_scaled(value, 1000, _THOUSANDS, '')}{ending}"


def scale(value: float, unit: str) -> float:
    """What one is in the prefix that ``value`` gets, if the prefix is binary; else 1. Pure."""
    if unit not in _BYTES or value < 1:
        return 1.0
    return 1024.0 ** min(int(math.log(value, 1024)), len(_BINARY) - 1)


def _scaled(value: float, base: int, names: tuple[str, ...], gap: str) -> str:
    power = 0
    # Rounded first: 999.6 is 1 K.
    while abs(_rounded(value / base**power)) >= base and power < len(names) - 1:
        power += 1
    return f"{_rounded(value / base**power):.15g}{gap}{names[power]}"


def _rounded(number: float) -> float:
    return round(number) if abs(number) >= 100 else float(f"{number:.3g}")
