"""ActivateTracingSpan with OpenTelemetry's API and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

import pytest
from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import INT64, STRING, Field, Schema
from connector.transforms.debezium.activate_tracing_span import KEYS, ActivateTracingSpan

ROW: Final = Schema(
    "struct", optional=True, fields=(Field("tracingspancontext", STRING.as_optional()), Field("other", STRING.as_optional()))
)
SOURCE: Final = Schema("struct", fields=(Field("ts_ms", INT64), Field("table", STRING)))
EVENT: Final = Schema(
    "struct", name="p.Envelope", fields=(Field("after", ROW), Field("source", SOURCE), Field("op", STRING), Field("ts_ms", INT64))
)
PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def event(context: str | None = None, other: str | None = None, *, deleted: bool = False) -> ConnectRecord:
    after = None if deleted else {"tracingspancontext": context, "other": other}
    value = {"after": after, "source": {"ts_ms": 5, "table": "t"}, "op": "c", "ts_ms": 6}
    return ConnectRecord("t", value_schema=EVENT, value=value, headers=(Header("a", STRING, "b"),))


def made(**options: str) -> ActivateTracingSpan:
    return ActivateTracingSpan.of(Options(KEYS, {f"tracing.{name.replace('_', '.')}": value for name, value in options.items()}))


def without(**options: str) -> ActivateTracingSpan:
    transform = made(**options)
    return ActivateTracingSpan(transform.context, transform.operation, transform.context_only, lambda: None)


def test_without_the_api_an_event_is_an_error_and_other_records_pass() -> None:
    with pytest.raises(DataError, match=r"^Failed to record tracing information, tracing libraries not available$"):
        without().apply(event())
    for record in (ConnectRecord("t"), ConnectRecord("t", value_schema=ROW, value={"tracingspancontext": None, "other": None})):
        assert without().apply(record) is record


@pytest.mark.parametrize("deleted", [False, True])
def test_without_a_context_an_event_may_pass(deleted: bool) -> None:
    record = event(deleted=deleted)
    assert without(with_context_field_only="true").apply(record) is record


def test_the_context_of_the_row_comes_into_the_headers() -> None:
    for record, transform in (
        (event(f"#written by the application\ntraceparent={PARENT}\n"), made()),
        (event(other=f"traceparent: {PARENT}"), made(span_context_field="other", operation_name="read")),
    ):
        found = transform.apply(record)
        assert found.headers[0] == Header("a", STRING, "b")
        # Without an SDK no span is made, so that the context stays the parent's.
        assert found.headers[1:] == (Header("traceparent", STRING, PARENT),)
        assert found.value is record.value


def test_without_a_parent_the_api_alone_adds_nothing() -> None:
    assert made().apply(event()).headers == (Header("a", STRING, "b"),)


def test_a_context_that_is_no_properties_is_an_error() -> None:
    with pytest.raises(DataError, match="tracingspancontext"):
        made().apply(event("a=\\u00zz"))


def test_with_the_sdk_the_headers_hold_the_connector_s_span_below_the_row_s() -> None:
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    # The process's own provider, which a worker sets, cannot be taken back after a test.
    sdk = SimpleNamespace(get_tracer=provider.get_tracer, set_span_in_context=trace.set_span_in_context)
    plain = made()
    transform = ActivateTracingSpan(plain.context, plain.operation, plain.context_only, lambda: (sdk, propagate))
    found = transform.apply(event(f"traceparent={PARENT}"))
    read, write = memory.get_finished_spans()
    assert (read.name, write.name) == ("debezium-read", "db-log-write")
    assert read.context is not None
    assert write.context is not None
    assert read.parent is not None
    assert write.parent is not None
    trace_id, span_id = PARENT.split("-")[1:3]
    assert (f"{write.parent.trace_id:032x}", f"{write.parent.span_id:016x}") == (trace_id, span_id)
    assert read.parent.span_id == write.context.span_id
    assert found.headers[1:] == (Header("traceparent", STRING, f"00-{trace_id}-{read.context.span_id:016x}-01"),)
    assert (write.start_time, write.end_time, read.start_time) == (5_000_000, 6_000_000, 6_000_000)
    assert (write.attributes or {})["payload.source.table"] == "t"
    assert (read.attributes or {})["payload.op"] == "c"
