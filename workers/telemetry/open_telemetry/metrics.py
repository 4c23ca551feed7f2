"""Exports the own figures as OpenTelemetry's metrics.

The SDK's instruments are not used: it reads observable ones in a thread of its own, where the counters of tasks may change under it, and
has none for a histogram. The table is read on the event loop, as for a scrape, and the data are sent in a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from connector.log import EventLog
from connector.meters.histogram import Histogram
from workers.telemetry.own.figure import ConnectorFacts, Figure, WorkerFacts
from workers.telemetry.own.table import CONNECTOR, WORKER
from workers.telemetry.own.text_family import sentence

LOG: Final = EventLog(__name__)

_INTERVAL_MS: Final = 60_000
_UNITS: Final = {"_bytes": "By", "_seconds": "s"}
_Key = tuple[str, tuple[str, ...]]


class MetricExport:
    """Sends the own figures at an interval. ``fresh`` is awaited before they are read."""

    def __init__(
        self,
        exporter: MetricExporter,
        resource: Resource,
        worker: Callable[[], WorkerFacts],
        connectors: Callable[[], Sequence[ConnectorFacts]],
        fresh: Callable[[], Awaitable[None]],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._exporter: Final = exporter
        self._resource: Final = resource
        self._worker: Final = worker
        self._connectors: Final = connectors
        self._fresh: Final = fresh
        self._now_ns: Final = now_ns
        self._last_ns = now_ns()
        self._starts: dict[_Key, tuple[float, int]] = {}
        """The last value of each counter, and when it began at 0."""
        self._failing = False

    async def run(self, seconds: float) -> None:
        """Send at this interval until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            await self.send()

    async def send(self) -> None:
        """Read the figures and send them. The log says when that begins to fail and when it works again."""
        await self._fresh()
        data = self.data()
        sent = await asyncio.to_thread(self._exporter.export, data) is MetricExportResult.SUCCESS
        if sent == self._failing:
            self._failing = not sent
            if sent:
                LOG.info("metrics are exported by OTLP again")
            else:
                LOG.warning("metrics cannot be exported by OTLP, trying again at the next interval")

    def data(self) -> MetricsData:
        """Return the present figures."""
        now_ns = self._now_ns()
        starts: dict[_Key, tuple[float, int]] = {}
        worker, connectors = self._worker(), self._connectors()
        found = [self._metric(figure, ((None, worker),), now_ns, starts) for figure in WORKER]
        found += [self._metric(each, ((facts.name, facts) for facts in connectors), now_ns, starts) for each in CONNECTOR]
        self._starts, self._last_ns = starts, now_ns
        scope = ScopeMetrics(InstrumentationScope("understudy"), [metric for metric in found if metric.data.data_points], "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _metric(
        self, figure: Figure[Any], each: Iterable[tuple[str | None, Any]], now_ns: int, starts: dict[_Key, tuple[float, int]]
    ) -> Metric:
        numbers: list[NumberDataPoint] = []
        histograms: list[HistogramDataPoint] = []
        for connector, facts in each:
            for values, value in zip(*figure.points(facts), strict=True):
                attributes = dict(zip(figure.labels, values, strict=True))
                if connector is not None:
                    attributes = {"connector": connector, **attributes}
                key = figure.name, tuple(attributes.values())
                if isinstance(value, Histogram):
                    began = self._began(key, value.count, now_ns, starts)
                    histograms.append(_histogram(attributes, began, now_ns, value))
                elif figure.kind == "counter":
                    numbers.append(NumberDataPoint(attributes, self._began(key, value, now_ns, starts), now_ns, value))
                else:
                    numbers.append(NumberDataPoint(attributes, 0, now_ns, value))
        unit = next((unit for ending, unit in _UNITS.items() if figure.name.endswith(ending)), "")
        return Metric(figure.name, sentence(figure.meaning), unit, _data(figure, numbers, histograms))

    def _began(self, key: _Key, value: float, now_ns: int, starts: dict[_Key, tuple[float, int]]) -> int:
        """When the counter began at 0: a counter that is lower than before, or new, began after the last time that figures were read."""
        before = self._starts.get(key)
        began = min(self._last_ns, now_ns) if before is None or value < before[0] else before[1]
        starts[key] = value, began
        return began


def _data(figure: Figure[Any], numbers: list[NumberDataPoint], histograms: list[HistogramDataPoint]) -> Sum | Gauge | HistogramData:
    if figure.kind == "histogram":
        return HistogramData(histograms, AggregationTemporality.CUMULATIVE)
    if figure.kind == "counter":
        return Sum(numbers, AggregationTemporality.CUMULATIVE, is_monotonic=True)
    return Gauge(numbers)


def _histogram(attributes: Mapping[str, str], began: int, now_ns: int, value: Histogram) -> HistogramDataPoint:
    # Neither the least nor the largest value is kept; OTLP does not require them.
    unknown = cast("float", None)
    return HistogramDataPoint(attributes, began, now_ns, value.count, value.sum, list(value.counts), value.bounds, unknown, unknown)


def interval(environment: Mapping[str, str]) -> float:
    """Return ``OTEL_METRIC_EXPORT_INTERVAL`` in seconds; 60 if it is not set or no number."""
    text = environment.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip()
    return (int(text) if text.isascii() and text.isdigit() and int(text) > 0 else _INTERVAL_MS) / 1000
