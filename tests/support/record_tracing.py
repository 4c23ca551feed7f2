"""Record what Debezium's ActivateTracingSpan and EventRouter do with OpenTelemetry.

``python -m tests.support.record_tracing 3.6.3.Final JARS... 3.7.0.Final JARS...``: after each version come the folders with its jars, with
those of the Kafka Connect that it runs on, and with OpenTelemetry's (``opentelemetry-sdk``, ``-sdk-testing`` and ``-api-incubator``). The
versions must do the same, or else nothing is recorded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from .java_records import RecordTable, reported
from .record_transforms_debezium import FOLDER, folders
from .span_ids import SpanIds
from .tracing_cases import TracingCase, tracing_cases
from .transforms_jvm import JavaTransforms, failure, transforms_jvm

FILE: Final = FOLDER / "tracing_recorded.json"


class Recorder:
    """OpenTelemetry in the JVM, with W3C's propagators and a list of the spans that have ended."""

    def __init__(self, java: JavaTransforms) -> None:
        self._java = java
        telemetry = java.jvm.io.opentelemetry
        self._ended = telemetry.sdk.testing.exporter.InMemorySpanExporter.create()
        processor = telemetry.sdk.trace.export.SimpleSpanProcessor.create(self._ended)
        provider = telemetry.sdk.trace.SdkTracerProvider.builder().addSpanProcessor(processor).build()
        both = java.jvm.java.util.ArrayList()
        both.add(telemetry.api.trace.propagation.W3CTraceContextPropagator.getInstance())
        both.add(telemetry.api.baggage.propagation.W3CBaggagePropagator.getInstance())
        propagators = telemetry.context.propagation
        composed = propagators.ContextPropagators.create(propagators.TextMapPropagator.composite(both))
        telemetry.sdk.OpenTelemetrySdk.builder().setTracerProvider(provider).setPropagators(composed).buildAndRegisterGlobal()

    def answer(self, case: TracingCase, table: RecordTable) -> Any:
        """Return the record after the transform, by number, and the spans; or the error's text and the spans."""
        self._ended.reset()
        ids = SpanIds()
        transform = self._java.made(case.transform, dict(case.options))
        try:
            after = self._java.applied(transform, reported(case.record))
        except Py4JJavaError as error:
            return [failure(error), ids.spans(self._spans())]
        # The spans first, so that the ids of those that have no parent are known.
        spans = ids.spans(self._spans())
        if after is None:
            return [None, spans]
        after["headers"] = [[name, ids.replaced(part)] for name, part in after["headers"]]
        return [table.number(after), spans]

    def _spans(self) -> Iterator[dict[str, Any]]:
        for span in self._ended.getFinishedSpanItems():
            context, parent = span.getSpanContext(), span.getParentSpanContext()
            attributes: dict[str, Any] = {}
            entries = span.getAttributes().asMap().entrySet().iterator()
            while entries.hasNext():
                entry = entries.next()
                attributes[entry.getKey().getKey()] = [entry.getKey().getType().name(), entry.getValue()]
            yield {
                "scope": span.getInstrumentationScopeInfo().getName(),
                "name": span.getName(),
                "kind": span.getKind().name(),
                "status": span.getStatus().getStatusCode().name(),
                "trace": context.getTraceId(),
                "id": context.getSpanId(),
                "sampled": context.isSampled(),
                "parent": parent.getSpanId() if parent.isValid() else None,
                "start": span.getStartEpochNanos(),
                "end": span.getEndEpochNanos(),
                "attributes": dict(sorted(attributes.items())),
            }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", default="java")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    texts = set()
    for places in folders(arguments.folders).values():
        with transforms_jvm(places, arguments.java) as java:
            texts.add(written(list(tracing_cases()), Recorder(java)))
    if len(texts) > 1:
        parser.error("the versions differ")
    FILE.write_text(texts.pop(), encoding="utf-8")


def written(cases: Sequence[TracingCase], recorder: Recorder) -> str:
    """Return the file."""
    table = RecordTable()
    lines = [
        [case.transform, case.name, dict(case.options), table.number(reported(case.record)), *recorder.answer(case, table)]
        for case in cases
    ]
    several = {"schemas": table.schemas.values, "parts": table.parts.values, "records": table.records.values, "cases": lines}
    texts = ((name, ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)) for name, values in several.items())
    return "{" + ",\n".join(f'"{name}": [\n{text}\n]' for name, text in texts) + "}\n"


if __name__ == "__main__":
    main()
