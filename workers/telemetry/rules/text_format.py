"""Families of series as text: Prometheus' format 0.0.4 and OpenMetrics 1.0."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from workers.telemetry.rules.evaluation import Family, Labels

PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_QUALITY: Final = re.compile(r";\s*q\s*=\s*([0-9.]+)")


def content_type(accept: str) -> str:
    """Return the format that a scrape's header ``Accept`` asks for: OpenMetrics if it is named and not less wanted than plain text."""
    wanted = {"application/openmetrics-text": 0.0, "text/plain": 0.0, "*/*": 0.0}
    for each in accept.split(","):
        name = each.split(";")[0].strip().lower()
        if name in wanted:
            quality = _QUALITY.search(each)
            wanted[name] = max(wanted[name], _number(quality[1]) if quality else 1.0)
    open_metrics = wanted["application/openmetrics-text"]
    return OPEN_METRICS if open_metrics > 0 and open_metrics >= wanted["text/plain"] else PROMETHEUS


def write(families: Iterable[Family], form: str) -> bytes:
    """Return the families in the format with this content type."""
    opened = form == OPEN_METRICS
    out: list[str] = []
    for family in families:
        series = family.series
        kind = "untyped" if family.kind == "unknown" and not opened else family.kind
        titled = family.name if opened else series
        out += (f"# HELP {titled} {_escaped(family.help, quotes=opened)}\n", f"# TYPE {titled} {kind}\n")
        out += [f"{series}{_labels(labels)} {_value(value)}\n" for labels, value in family.rows()]
    if opened:
        out.append("# EOF\n")
    return "".join(out).encode()


@lru_cache(maxsize=65_536)
def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(text, quotes=True)}"' for name, text in labels) + "}"


def _escaped(text: str, *, quotes: bool) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quotes else escaped


def _value(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
