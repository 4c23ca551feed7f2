"""The spans of a task, with the SDK's exporter in memory."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connector.errors import CdcError, ErrorKind
from connector.ports import NoTracing, Tracing
from workers.telemetry.open_telemetry.spans import TaskSpans

SECRET = "duplicate key value (name)=(secret)"


class Traced:
    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.spans: Tracing = TaskSpans("shop", provider, lambda: 10_000_000_000)

    def ended(self) -> list[ReadableSpan]:
        return list(self._memory.get_finished_spans())


def facts(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("understudy."): value for name, value in (span.attributes or {}).items()}


def test_a_start_with_a_snapshot() -> None:
    traced = Traced()
    start = traced.spans.starts()
    snapshot = traced.spans.begin("snapshot")
    traced.spans.passed("snapshot table", 2.5, table="public.t", rows=7)
    snapshot.end()
    start.end()
    # It is below no span: the task streams.
    traced.spans.passed("incremental snapshot table", 1.0, table="public.t", rows=3, status="SUCCEEDED")
    start.end(ValueError("it has ended"))
    table, whole, beginning, later = traced.ended()
    assert [span.name for span in (table, whole, beginning, later)] == [
        "snapshot table",
        "snapshot",
        "task start",
        "incremental snapshot table",
    ]
    assert facts(table) == {"connector": "shop", "table": "public.t", "rows": 7}
    assert (table.start_time, table.end_time) == (7_500_000_000, 10_000_000_000)
    assert facts(beginning) == {"connector": "shop", "attempt": 1}
    assert table.parent is not None
    assert whole.parent is not None
    assert whole.context is not None
    assert beginning.context is not None
    assert (table.parent.span_id, whole.parent.span_id) == (whole.context.span_id, beginning.context.span_id)
    assert (beginning.parent, later.parent) == (None, None)
    assert beginning.status.is_unset


def test_a_failed_attempt_and_the_next_one() -> None:
    traced = Traced()
    lost = CdcError(ErrorKind.SOURCE_CONNECTION_LOST, SECRET)
    first = traced.spans.starts()
    # A span that is open when the attempt fails is ended by nobody.
    traced.spans.begin("snapshot")
    first.end(lost)
    traced.spans.failed(lost)
    second = traced.spans.starts()
    second.end(RuntimeError(SECRET))
    failed, again = traced.ended()
    assert (failed.status.is_ok, failed.status.description, facts(failed)["error.type"]) == (
        False,
        "source_connection_lost",
        "source_connection_lost",
    )
    assert facts(again) == {"connector": "shop", "attempt": 2, "after_error": "source_connection_lost", "error.type": "RuntimeError"}
    assert again.parent is None
    assert SECRET not in failed.to_json() + again.to_json()


def test_attempts_are_counted_until_one_streams() -> None:
    traced = Traced()
    lost = CdcError(ErrorKind.SOURCE_CONNECTION_LOST, "It is away")
    for problem in (lost, lost):
        traced.spans.starts().end(problem)
        traced.spans.failed(problem)
    traced.spans.starts().end()
    # It streamed, and was lost later.
    traced.spans.failed(lost)
    traced.spans.starts().end()
    assert [facts(span)["attempt"] for span in traced.ended()] == [1, 2, 3, 2]


def test_without_tracing() -> None:
    tracing: Tracing = NoTracing()
    tracing.starts().end()
    tracing.begin("snapshot", table="t").end(ValueError())
    tracing.passed("snapshot table", 1.0)
    tracing.failed(ValueError())
