"""ActivateTracingSpan with OpenTelemetry's API and without."""

from __future__ import annotations

from typing import Final

import pytest

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import INT64, STRING, Field, Schema
from connector.transforms.chain import Chain, Step
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


def test_a_tombstone_after_the_event_has_the_headers_too() -> None:
    _, shared = Chain([Step("t", "", made())]).apply_with_shared(event(f"traceparent={PARENT}"))
    assert shared == (Header("traceparent", STRING, PARENT),)
