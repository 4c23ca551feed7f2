"""The own figures as text of Prometheus and of OpenMetrics, which differ in the titles only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from connector.meters.histogram import Histogram
from workers.telemetry.own.figure import ConnectorFacts, Figure, Number, Points, WorkerFacts
from workers.telemetry.own.table import CONNECTOR, WORKER
from workers.telemetry.rules.family import escaped, printed


@dataclass(slots=True)
class TextFamily:
    """All series of a figure. The next scrape may change it."""

    name: str
    kind: str
    help: str
    series: str
    lines: str = ""
    written: tuple[str, bytes] | None = None
    """The text that was made last, with its format. None if the lines have changed."""

    def named(self, names: Iterable[str]) -> bool:
        """Whether one of these names is that of a series."""
        endings = ("_bucket", "_sum", "_count") if self.kind == "histogram" else ("",)
        return any(f"{self.series}{ending}" in names for ending in endings)

    def show(self, lines: str) -> None:
        """Take in the present lines."""
        if lines != self.lines:
            self.lines, self.written = lines, None


class _Written:
    """The text of a figure of one connector at the last scrape."""

    __slots__ = ("_labels", "_numbers", "_template", "text")

    def __init__(self) -> None:
        self.text = ""
        self._labels: Sequence[tuple[str, ...]] | None = None
        self._template = ""
        self._numbers: Sequence[Number] | None = None

    def renew(self, figure: Figure[Any], connector: str, points: Points) -> None:
        """Take in the present points."""
        labels, numbers = points
        if labels != self._labels:
            heads = (f"{figure.series}{{{_labels(figure, connector, values)}}} " for values in labels)
            self._labels, self._template = labels, "".join([head.replace("%", "%%") + "%s\n" for head in heads])
        elif numbers == self._numbers:
            return
        integers = set(map(type, numbers)) <= {int}
        self.text = self._template % tuple(numbers if integers else map(_printed, numbers))
        self._numbers = numbers


class OwnFamilies:
    """Makes the families of the own figures. Their text is kept as long as their numbers are the same."""

    def __init__(self) -> None:
        figures: tuple[Figure[Any], ...] = (*WORKER, *CONNECTOR)
        self._families: Final = {each.name: TextFamily(each.name, each.kind, sentence(each.meaning), each.series) for each in figures}
        self._kept: dict[str, dict[str, _Written]] = {}
        """By figure and connector."""

    def __call__(self, worker: WorkerFacts, connectors: Sequence[ConnectorFacts]) -> Iterator[TextFamily]:
        """Yield the families that have points, each computed when it is asked for."""
        for figure in WORKER:
            yield from self._shown(figure, _lines(figure, None, figure.points(worker)))
        for each in CONNECTOR:
            yield from self._shown(each, self._of_connectors(each, connectors))

    def _shown(self, figure: Figure[Any], lines: str) -> Iterator[TextFamily]:
        family = self._families[figure.name]
        family.show(lines)
        if lines:
            yield family

    def _of_connectors(self, figure: Figure[ConnectorFacts], connectors: Sequence[ConnectorFacts]) -> str:
        if not figure.labels:
            # One point: a number, or a histogram, which is the same object when its counts have changed.
            return "".join([_lines(figure, facts.name, figure.points(facts)) for facts in connectors])
        former = self._kept.get(figure.name, {})
        present = self._kept[figure.name] = {facts.name: former.get(facts.name) or _Written() for facts in connectors}
        for facts in connectors:
            present[facts.name].renew(figure, facts.name, figure.points(facts))
        return "".join([each.text for each in present.values()])


def _labels(figure: Figure[Any], connector: str | None, values: Sequence[str]) -> str:
    first = () if connector is None else (("connector", connector),)
    return ",".join(f'{name}="{escaped(value, quotes=True)}"' for name, value in (*first, *zip(figure.labels, values, strict=True)))


def _lines(figure: Figure[Any], connector: str | None, points: Points) -> str:
    found: list[str] = []
    for values, number in zip(*points, strict=True):
        labels = _labels(figure, connector, values)
        if isinstance(number, Histogram):
            found += _buckets(figure.name, labels, number)
        else:
            found.append(f"{figure.series}{{{labels}}} {_printed(number)}\n")
    return "".join(found)


def _printed(number: Number) -> str:
    return str(number) if type(number) is int else printed(cast("float", number))


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
