"""The own figures as text of Prometheus and of OpenMetrics, which differ in the titles only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from connector.meters.histogram import Histogram
from workers.telemetry.own.figure import ConnectorFacts, Figure, WorkerFacts
from workers.telemetry.own.table import CONNECTOR, WORKER
from workers.telemetry.rules.text_format import escaped, printed


@dataclass(frozen=True, slots=True)
class TextFamily:
    """All series of a figure. ``lines`` hold their labels and values as text."""

    name: str
    kind: str
    help: str
    series: str
    lines: Sequence[str]

    def named(self, names: Iterable[str]) -> bool:
        """Whether one of these names is that of a series."""
        endings = ("_bucket", "_sum", "_count") if self.kind == "histogram" else ("",)
        return any(f"{self.series}{ending}" in names for ending in endings)


def own_families(worker: WorkerFacts, connectors: Sequence[ConnectorFacts]) -> Iterator[TextFamily]:
    """Yield the families that have points, each computed when it is asked for."""
    for figure in WORKER:
        yield from _family(figure, ((None, worker),))
    for each in CONNECTOR:
        yield from _family(each, ((facts.name, facts) for facts in connectors))


def _family(figure: Figure[Any], each: Iterable[tuple[str | None, Any]]) -> Iterator[TextFamily]:
    lines: list[str] = []
    names, series = figure.labels, figure.series
    for connector, facts in each:
        first = "" if connector is None else f'connector="{_escaped(connector)}"'
        head = f"{series}{{{first}"
        for values, number in figure.points(facts):
            if type(number) is int:
                lines.append(f"{head}{_labels(names, values)}}} {number}\n")
            elif isinstance(number, Histogram):
                lines += _buckets(figure.name, first, number)
            else:
                lines.append(f"{head}{_labels(names, values)}}} {printed(number)}\n")
    if lines:
        yield TextFamily(figure.name, figure.kind, sentence(figure.meaning), series, lines)


def sentence(meaning: str) -> str:
    """Return a meaning as the sentence of HELP, without the marks of a page."""
    return f"{meaning[0].upper()}{meaning[1:]}.".replace("`", "")


def _buckets(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    before, below = f"{labels}," if labels else "", 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        below += count
        yield f'{name}_bucket{{{before}le="{printed(bound)}"}} {below}\n'
    yield f"{name}_sum{{{labels}}} {printed(histogram.sum)}\n"
    yield f"{name}_count{{{labels}}} {below}\n"


@lru_cache(maxsize=65_536)
def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The labels after the first one."""
    return "".join(f',{name}="{escaped(value, quotes=True)}"' for name, value in zip(names, values, strict=True))


@lru_cache(maxsize=4096)
def _escaped(text: str) -> str:
    return escaped(text, quotes=True)
