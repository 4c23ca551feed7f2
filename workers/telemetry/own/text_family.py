"""The own figures as text of Prometheus and of OpenMetrics, which differ in the titles only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import ne
from typing import Any, cast

from connector.meters.histogram import Histogram
from workers.telemetry.own.figure import ConnectorFacts, Figure, Point, WorkerFacts
from workers.telemetry.own.table import CONNECTOR, WORKER
from workers.telemetry.rules.family import escaped, printed


@dataclass(frozen=True, slots=True)
class TextFamily:
    """All series of a figure. ``parts`` are texts that are its lines when they are put together."""

    name: str
    kind: str
    help: str
    series: str
    parts: Sequence[str]

    def named(self, names: Iterable[str]) -> bool:
        """Whether one of these names is that of a series."""
        endings = ("_bucket", "_sum", "_count") if self.kind == "histogram" else ("",)
        return any(f"{self.series}{ending}" in names for ending in endings)


@dataclass(slots=True)
class _Written:
    """The points of a figure of one connector at the last scrape. ``parts`` are what is before each number, and the number."""

    points: list[Point]
    parts: list[str]


class OwnFamilies:
    """Makes the families of the own figures. Their text is kept, and only numbers that changed are written again.

    1,000 tables have 8,000 lines, which it took 6 ms to write.
    """

    def __init__(self) -> None:
        self._kept: dict[str, dict[str | None, _Written]] = {}
        """By figure and connector."""

    def __call__(self, worker: WorkerFacts, connectors: Sequence[ConnectorFacts]) -> Iterator[TextFamily]:
        """Yield the families that have points, each computed when it is asked for."""
        for figure in WORKER:
            yield from self._family(figure, ((None, worker),))
        for each in CONNECTOR:
            yield from self._family(each, ((facts.name, facts) for facts in connectors))

    def _family(self, figure: Figure[Any], each: Iterable[tuple[str | None, Any]]) -> Iterator[TextFamily]:
        parts: list[str] = []
        former = self._kept.get(figure.name, {})
        present = self._kept[figure.name] = {}
        for connector, facts in each:
            points = list(figure.points(facts))
            if not figure.labels:
                # One point: a number, or a histogram, which is the same object when its counts have changed.
                parts += _parts(figure, connector, points)
                continue
            kept = former.get(connector)
            if kept is None or not _renew(kept, points):
                kept = _Written(points, _parts(figure, connector, points))
            present[connector] = kept
            parts += kept.parts
        if parts:
            yield TextFamily(figure.name, figure.kind, sentence(figure.meaning), figure.series, parts)


def _parts(figure: Figure[Any], connector: str | None, points: Sequence[Point]) -> list[str]:
    first = "" if connector is None else f'connector="{escaped(connector, quotes=True)}"'
    parts: list[str] = []
    for values, number in points:
        if isinstance(number, Histogram):
            parts += _buckets(figure.name, first, number)
        else:
            labels = "".join(f',{name}="{escaped(value, quotes=True)}"' for name, value in zip(figure.labels, values, strict=True))
            parts += f"{figure.series}{{{first}{labels}}} ", _printed(number)
    return parts


def _renew(kept: _Written, points: list[Point]) -> bool:
    """Write the numbers that changed. Return False if the labels are others."""
    if len(points) != len(kept.points):
        return False
    for place in compress(range(len(points)), map(ne, points, kept.points)):
        labels, number = points[place]
        if labels != kept.points[place][0]:
            return False
        kept.parts[2 * place + 1] = _printed(number)
    kept.points = points
    return True


def _printed(number: float | Histogram) -> str:
    return f"{number}\n" if type(number) is int else f"{printed(cast('float', number))}\n"


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
