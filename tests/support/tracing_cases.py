"""Events and options that ActivateTracingSpan, and the outbox EventRouter that contains it, are recorded with OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from connector.record.connect_record import ConnectRecord, Header
from connector.record.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Schema

from .debezium_cases import KEY, OUTBOX, SOURCE, SOURCE_VALUE, struct

TRACING: Final = "io.debezium.transforms.tracing.ActivateTracingSpan"
PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NOT_SAMPLED: Final = f"{PARENT[:-2]}00"
TRACEPARENT: Final = f"traceparent={PARENT}"

_ROW: Final = struct(
    "p.s.t.Value",
    ("id", INT32),
    ("tracingspancontext", STRING.as_optional()),
    ("other", STRING.as_optional()),
    ("defaulted", Schema("string", optional=True, default=TRACEPARENT)),
    ("required", STRING),
    ("bytes", BYTES.as_optional()),
    optional=True,
)
_EVENT: Final = struct(
    "p.s.t.Envelope", ("before", _ROW), ("after", _ROW), ("source", SOURCE), ("op", STRING), ("ts_ms", INT64.as_optional())
)
_TYPES: Final = struct(
    "io.debezium.connector.postgresql.Source",
    ("ts_ms", INT64),
    ("b", BOOLEAN),
    ("s", INT16),
    ("i", INT32.as_optional()),
    ("f", FLOAT32),
    ("d", FLOAT64),
    ("list", Schema("array", items=STRING)),
    ("nested", struct("n", ("x", INT32))),
    ("db", STRING),
    ("connector", STRING),
    ("name", STRING),
    ("sequence", STRING.as_optional()),
    ("txId", INT64.as_optional()),
)
_TYPED: Final = {
    "ts_ms": 1700000000123,
    "b": True,
    "s": 1,
    "i": None,
    "f": 1.5,
    "d": 0.1,
    "list": ["x"],
    "nested": {"x": 1},
    "db": "shop",
    "connector": "postgresql",
    "name": "p",
    "sequence": '[null,"5"]',
    "txId": 7,
}


@dataclass(frozen=True, slots=True)
class TracingCase:
    """A transform's options, and the record that it gets."""

    name: str
    record: ConnectRecord
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    transform: str = TRACING


def _row(context: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": 1, "tracingspancontext": context, "other": None, "defaulted": None, "required": "", "bytes": None, **more}


def _event(
    after: dict[str, Any] | None, before: dict[str, Any] | None = None, headers: tuple[Header, ...] = (), **more: Any
) -> ConnectRecord:
    value = {"before": before, "after": after, "source": SOURCE_VALUE, "op": "c", "ts_ms": 1700000000456, **more}
    return ConnectRecord("t", value_schema=_EVENT, value=value, headers=headers)


def tracing_cases() -> Iterator[TracingCase]:
    """All of them."""
    only = {"tracing.with.context.field.only": "true"}
    kept = Header("a", STRING, "b")
    yield TracingCase("no context", _event(_row()))
    yield TracingCase("a context", _event(_row(TRACEPARENT), headers=(kept,)))
    yield TracingCase("a context that is not sampled", _event(_row(f"traceparent={NOT_SAMPLED}")))
    yield TracingCase(
        "comments, other keys and escapes", _event(_row(f"#by the application\nx = 1\ntraceparent\\u003d:{PARENT}\n{TRACEPARENT}\n"))
    )
    yield TracingCase("tracestate and baggage", _event(_row(f"{TRACEPARENT}\ntracestate=a=1,b=2\nbaggage=user=5")))
    yield TracingCase("another case of letters", _event(_row(f"TraceParent={PARENT}")))
    yield TracingCase("an empty context", _event(_row("")))
    yield TracingCase("words", _event(_row("hello")))
    yield TracingCase("not a traceparent", _event(_row("traceparent=00-xyz")))
    yield TracingCase("a wrong escape", _event(_row("a=\\u00zz")))
    yield TracingCase("another field", _event(_row(None, other=TRACEPARENT)), {"tracing.span.context.field": "other"})
    yield TracingCase("a field with a default", _event(_row()), {"tracing.span.context.field": "defaulted"})
    yield TracingCase("a required field", _event(_row(required=TRACEPARENT)), {"tracing.span.context.field": "required"})
    yield TracingCase("no such field", _event(_row(TRACEPARENT)), {"tracing.span.context.field": "missing"})
    yield TracingCase("no such field, needed", _event(_row(TRACEPARENT)), {"tracing.span.context.field": "missing", **only})
    yield TracingCase("a number", _event(_row()), {"tracing.span.context.field": "id"})
    yield TracingCase("bytes", _event(_row(bytes=TRACEPARENT.encode())), {"tracing.span.context.field": "bytes"})
    yield TracingCase("another name", _event(_row(TRACEPARENT)), {"tracing.operation.name": "my-read"})
    yield TracingCase("only with a context, none", _event(_row(), headers=(kept,)), only)
    yield TracingCase("only with a context, one", _event(_row(TRACEPARENT)), only)
    yield TracingCase("only with a context, an empty one", _event(_row("")), only)
    yield TracingCase("a deletion", _event(None, _row(TRACEPARENT), op="d"))
    yield TracingCase("a deletion, only with a context", _event(None, _row(TRACEPARENT), op="d"), only)
    yield TracingCase("an update with another context before", _event(_row(), _row(TRACEPARENT), op="u"))
    yield TracingCase("no time of the event", _event(_row(TRACEPARENT), ts_ms=None))
    headers = (Header("traceparent", STRING, "old"), kept, Header("traceparent", STRING, "older"), Header("tracestate", STRING, "kept"))
    yield TracingCase("headers of the same name", _event(_row(TRACEPARENT), headers=headers))
    yield TracingCase("headers of the same name, no context", _event(_row(), headers=headers))
    yield TracingCase("a tombstone", ConnectRecord("t", KEY, {"id": 1}))
    yield TracingCase("a row", ConnectRecord("t", value_schema=_ROW, value=_row(TRACEPARENT)))
    yield TracingCase("a value without a schema", ConnectRecord("t", value={"after": {"tracingspancontext": TRACEPARENT}}))
    message = struct("io.debezium.connector.common.Heartbeat", ("ts_ms", INT64))
    yield TracingCase("a heartbeat", ConnectRecord("t", value_schema=message, value={"ts_ms": 1700000000456}))
    typed = struct("p.s.t.Envelope", ("after", _ROW), ("source", _TYPES), ("op", STRING), ("ts_ms", INT64))
    value = {"after": _row(TRACEPARENT), "source": _TYPED, "op": "r", "ts_ms": 1700000000456}
    yield TracingCase("types of the source", ConnectRecord("t", value_schema=typed, value=value))
    bare = struct("p.s.t.Envelope", ("after", _ROW), ("op", STRING))
    yield TracingCase("neither source nor time", ConnectRecord("t", value_schema=bare, value={"after": _row(TRACEPARENT), "op": "c"}))
    for name, record, options in _outbox():
        yield TracingCase(name, record, options, OUTBOX)


_MESSAGE: Final = struct(
    "p.s.outbox.Value",
    ("id", STRING),
    ("aggregatetype", STRING),
    ("aggregateid", STRING),
    ("type", STRING),
    ("payload", STRING.as_optional()),
    ("tracingspancontext", STRING.as_optional()),
    ("other", STRING.as_optional()),
    optional=True,
)
_MESSAGES: Final = struct(
    "p.s.outbox.Envelope", ("before", _MESSAGE), ("after", _MESSAGE), ("source", SOURCE), ("op", STRING), ("ts_ms", INT64.as_optional())
)


def _message(context: str | None = None, payload: str | None = "{}", **more: Any) -> ConnectRecord:
    row = {"id": "5", "aggregatetype": "order", "aggregateid": "9", "type": "placed", "payload": payload, "other": None}
    value = {"before": None, "after": row | {"tracingspancontext": context}, "source": SOURCE_VALUE, "op": "c", "ts_ms": 1700000000456}
    headers = (Header("a", STRING, "b"), Header("traceparent", STRING, "old"))
    return ConnectRecord("t", value_schema=_MESSAGES, value=value | more, headers=headers)


def _outbox() -> Iterator[tuple[str, ConnectRecord, Mapping[str, str]]]:
    given = _message(TRACEPARENT)
    yield "a message without a context", _message(), {}
    yield "a message", given, {}
    yield "a message with another field's name", given, {"tracing.span.context.field": "other"}
    yield "a message with another operation", given, {"tracing.operation.name": "my-read"}
    yield "a message, also without a context", _message(), {"tracing.with.context.field.only": "false"}
    yield "a message with an empty context", _message(""), {}
    yield "a message with a context that is not sampled", _message(f"traceparent={NOT_SAMPLED}"), {}
    yield "a message, only with a context, none", _message(), {"tracing.with.context.field.only": "true"}
    yield "a message, only with a context, one", given, {"tracing.with.context.field.only": "true"}
    yield (
        "a message whose context is also placed",
        given,
        {"table.fields.additional.placement": "tracingspancontext:header,type:header:kind"},
    )
    yield "a message that becomes a tombstone", _message(TRACEPARENT, None), {"route.tombstone.on.empty.payload": "true"}
    yield "a message with a wrong escape", _message("a=\\u00zz"), {}
    deleted = {"before": given.value["after"], "after": None, "op": "d"}
    yield "a message that is deleted", _message(**deleted), {}
    yield "a message that is updated", _message(TRACEPARENT, op="u"), {}
    yield "a message, deleted by a tombstone", ConnectRecord("t", KEY, {"id": 1}), {}
