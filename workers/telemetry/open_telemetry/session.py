"""Connects the SDK for one worker. Its exporters read ``OTEL_EXPORTER_OTLP_*`` (endpoint, headers, certificate, timeout, compression)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from connector.log import EventLog
from connector.ports import NoTracing, Tracing
from workers.telemetry.open_telemetry.metrics import MetricExport, interval
from workers.telemetry.open_telemetry.resource import resource_of
from workers.telemetry.open_telemetry.spans import TaskSpans
from workers.telemetry.open_telemetry.wanted import Wanted
from workers.telemetry.own.figure import ConnectorFacts, WorkerFacts

LOG: Final = EventLog(__name__)


class OpenTelemetry:
    """What is exported. With traces the provider becomes the process's own, which the transform ActivateTracingSpan uses."""

    def __init__(self, asked: Wanted, environment: Mapping[str, str], worker_id: str, version: str) -> None:
        self.metrics: Final = asked.metrics
        self._environment: Final = environment
        self._resource: Final = resource_of(environment, worker_id, version)
        self._provider: TracerProvider | None = None
        self._spans: dict[str, TaskSpans] = {}
        if asked.traces:
            self._provider = TracerProvider(resource=self._resource)
            # It sends in a thread of its own, and what is left when the process ends.
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            trace.set_tracer_provider(self._provider)
        LOG.info("exporting by OTLP", metrics=asked.metrics, traces=asked.traces)

    def tracing(self, connector: str) -> Tracing:
        """Return what takes the spans of a connector's task."""
        if self._provider is None:
            return NoTracing()
        return self._spans.setdefault(connector, TaskSpans(connector, self._provider))

    async def export(
        self,
        worker: Callable[[], WorkerFacts],
        connectors: Callable[[], Sequence[ConnectorFacts]],
        fresh: Callable[[], Awaitable[None]],
    ) -> None:
        """Send metrics at the interval ``OTEL_METRIC_EXPORT_INTERVAL`` until cancelled."""
        exporter = OTLPMetricExporter()
        try:
            await MetricExport(exporter, self._resource, worker, connectors, fresh).run(interval(self._environment))
        finally:
            exporter.shutdown()
