"""Families of series as text: Prometheus' format 0.0.4 and OpenMetrics 1.0."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Protocol

from workers.telemetry.rules.family import escaped

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


class WrittenFamily(Protocol):
    """What is written of a family of series: its title, and its lines, which are the same in both formats."""

    written: tuple[str, bytes] | None
    """The text that was made last, with its format. None if the lines have changed."""

    @property
    def name(self) -> str:
        """The name without the ending of a counter."""

    @property
    def kind(self) -> str:
        """Its type."""

    @property
    def help(self) -> str:
        """Its description."""

    @property
    def series(self) -> str:
        """The name of its series."""

    @property
    def lines(self) -> str:
        """Its series with labels and values."""


def write(families: Iterable[WrittenFamily], form: str) -> bytes:
    """Return the families in the format with this content type."""
    return b"".join([*(text_of(family, form) for family in families), ending(form)])


def text_of(family: WrittenFamily, form: str) -> bytes:
    """Return one family in the format with this content type."""
    if family.written is not None and family.written[0] == form:
        return family.written[1]
    opened = form == OPEN_METRICS
    kind = "untyped" if family.kind == "unknown" and not opened else family.kind
    titled = family.name if opened else family.series
    text = f"# HELP {titled} {escaped(family.help, quotes=opened)}\n# TYPE {titled} {kind}\n{family.lines}".encode()
    family.written = form, text
    return text


def ending(form: str) -> bytes:
    """Return what ends the text in the format with this content type."""
    return b"# EOF\n" if form == OPEN_METRICS else b""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
