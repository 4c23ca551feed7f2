"""ActivateTracingSpan and the outbox EventRouter beside Debezium's with OpenTelemetry (``tests.support.record_tracing``)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.debezium.activate_tracing_span import KEYS, ActivateTracingSpan
from connector.transforms.debezium.outbox.event_router import EventRouter
from connector.transforms.debezium.outbox.keys import KEYS as OUTBOX_KEYS
from tests.support.each_case import each_case
from tests.support.java_records import RecordTable, reported
from tests.support.span_ids import SpanIds
from tests.support.tracing_cases import TRACING, tracing_cases

FILE: Final = Path(__file__).with_name("tracing_recorded.json")
RECORDED: Final = json.loads(FILE.read_text(encoding="utf-8"))
ERRORS: Final = {
    "IllegalArgumentException: Malformed \\uxxxx encoding.": "Field tracingspancontext does not hold properties",
    'NullPointerException: Cannot invoke "java.lang.Long.longValue()" because "processingTimestamp" is null': (
        "The event has no time (ts_ms), at which its span would begin"
    ),
    "DataException: ts_ms is not a valid field name": "The event has no time (ts_ms), at which its span would begin",
}
"""Debezium's errors that are said in other words here."""


class Sdk:
    """OpenTelemetry's SDK with a list of the spans that have ended, beside the process's own, which cannot be taken back after a test."""

    def __init__(self) -> None:
        self._ended = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._ended))
        self.modules = SimpleNamespace(get_tracer=provider.get_tracer, set_span_in_context=trace.set_span_in_context), propagate

    def spans(self) -> list[dict[str, Any]]:
        """The spans, as they are recorded."""
        return [shown(span) for span in self._ended.get_finished_spans()]


def shown(span: ReadableSpan) -> dict[str, Any]:
    assert span.context is not None
    assert span.instrumentation_scope is not None
    return {
        "scope": span.instrumentation_scope.name,
        "name": span.name,
        "kind": span.kind.name,
        "status": span.status.status_code.name,
        "trace": f"{span.context.trace_id:032x}",
        "id": f"{span.context.span_id:016x}",
        "sampled": span.context.trace_flags.sampled,
        "parent": None if span.parent is None else f"{span.parent.span_id:016x}",
        "start": span.start_time,
        "end": span.end_time,
        "attributes": {
            name: ["STRING" if isinstance(value, str) else type(value).__name__, value]
            for name, value in sorted((span.attributes or {}).items())
        },
    }


def applied(transform: str, options: dict[str, str], record: ConnectRecord, sdk: Sdk) -> ConnectRecord | None:
    if transform == TRACING:
        return replace(ActivateTracingSpan.of(Options(KEYS, options)), telemetry=lambda: sdk.modules).apply(record)
    router = EventRouter(Options(OUTBOX_KEYS, options))
    assert router.tracing is not None
    router.tracing = replace(router.tracing, telemetry=lambda: sdk.modules)
    return router.apply(record)


@each_case("case", RECORDED["cases"], ids=lambda case: str(case[1]))
def test_records_headers_and_spans_are_those_of_debezium(case: list[Any]) -> None:
    transform, _, options, before, after, spans = case
    table = RecordTable(RECORDED["schemas"], RECORDED["parts"], RECORDED["records"])
    sdk, ids = Sdk(), SpanIds()
    if isinstance(after, str):
        with pytest.raises(DataError) as raised:
            applied(transform, options, table.record(before), sdk)
        assert str(raised.value) == ERRORS.get(after, after.removeprefix("DataException: "))
        assert ids.spans(iter(sdk.spans())) == spans
        return
    made = applied(transform, options, table.record(before), sdk)
    assert ids.spans(iter(sdk.spans())) == spans
    if after is None:
        assert made is None
        return
    assert made is not None
    found = reported(made)
    found["headers"] = [[name, ids.replaced(part)] for name, part in found["headers"]]
    assert table.number(found) == after


def test_every_case_is_recorded() -> None:
    assert [[case[0], case[1], case[2]] for case in RECORDED["cases"]] == [
        [case.transform, case.name, dict(case.options)] for case in tracing_cases()
    ]


@pytest.mark.parametrize("only", [{}, {"tracing.with.context.field.only": "false"}])
def test_without_opentelemetry_the_outbox_is_not_traced(only: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector.transforms.debezium.outbox.event_router.installed_telemetry", lambda: None)
    record = next(case.record for case in tracing_cases() if case.name == "a message")
    made = EventRouter(Options(OUTBOX_KEYS, only)).apply(record)
    assert made is not None
    assert made.headers[:2] == record.headers
