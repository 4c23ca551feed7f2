"""``ActivateTracingSpan``: a span for each change event, in headers (Debezium documentation, "Distributed tracing").

It uses OpenTelemetry's API when that is installed; which spans are kept, and in which form their context travels, is OpenTelemetry's own
configuration. Without the API an event that is to be traced is an error, as it is without Java's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final

from connector.configdef.key import VERSIONS, Key
from connector.configdef.options import Options
from connector.java.properties import parse_properties
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import STRING
from connector.record.struct import field_of
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import TransformDefinition

CONTEXT: Final = "tracing.span.context.field"
OPERATION: Final = "tracing.operation.name"
CONTEXT_ONLY: Final = "tracing.with.context.field.only"

_DATABASE_SPAN: Final = "db-log-write"
_MILLION: Final = 1_000_000


def _installed() -> tuple[Any, Any] | None:
    """OpenTelemetry's modules for spans and for their propagation, if they are installed."""
    try:
        return import_module("opentelemetry.trace"), import_module("opentelemetry.propagate")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class ActivateTracingSpan:
    """Adds the context of a span to the headers of change events.

    A span for the write to the database begins at the time of the change, and one for the connector at the time of the event below it. The
    field ``context`` of the row may hold the context that they belong to, written as Java's properties.
    """

    context: str
    operation: str
    context_only: bool
    telemetry: Callable[[], tuple[Any, Any] | None] = field(default=_installed)

    @classmethod
    def of(cls, options: Options) -> ActivateTracingSpan:
        """Make it of its options."""
        return cls(options.needed(CONTEXT), options.needed(OPERATION), options.needed(CONTEXT_ONLY).lower() == "true")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the event with the headers. Raises DataError where OpenTelemetry is not installed."""
        schema = change_event(record)
        if schema is None:
            return record
        after = field_of(schema, "after")
        row = record.value.get("after")
        named = after is not None and after.schema.type == "struct" and field_of(after.schema, self.context) is not None
        written = row.get(self.context) if named and row is not None else None
        if written is None and self.context_only:
            return record
        telemetry = self.telemetry()
        if telemetry is None:
            raise DataError("Failed to record tracing information, tracing libraries not available")
        try:
            carrier = {} if written is None else parse_properties(str(written))
        except ValueError:
            raise DataError(f"Field {self.context} does not hold properties") from None
        context_headers = self._traced(*telemetry, carrier, record.value)
        headers = tuple(header for header in record.headers if header.name not in context_headers)
        return replace(record, headers=(*headers, *(Header(name, STRING, value) for name, value in context_headers.items())))

    def _traced(self, trace: Any, propagate: Any, carrier: Mapping[str, str], value: Mapping[str, Any]) -> dict[str, str]:
        """Begin and end the spans; return what their context adds to the headers."""
        source = value.get("source") or {}
        tracer = trace.get_tracer("io.debezium.transforms.tracing")
        parent = propagate.extract(carrier)
        write = tracer.start_span(_DATABASE_SPAN, context=parent, start_time=_nanos(source.get("ts_ms")))
        for name, member in source.items():
            if isinstance(member, str | bool | int | float):
                write.set_attribute(f"payload.source.{name}", member)
        within = trace.set_span_in_context(write, parent)
        read = tracer.start_span(self.operation, context=within, start_time=_nanos(value.get("ts_ms")))
        for name in ("op", "ts_ms"):
            if value.get(name) is not None:
                read.set_attribute(f"payload.{name}", value[name])
        context_headers: dict[str, str] = {}
        propagate.inject(context_headers, context=trace.set_span_in_context(read, within))
        read.end()
        write.end(end_time=_nanos(value.get("ts_ms")))
        return context_headers


def _nanos(millis: int | None) -> int | None:
    return None if millis is None else millis * _MILLION


KEYS: Final = (
    Key(
        CONTEXT,
        "STRING",
        "tracingspancontext",
        "HIGH",
        "Serialized tracing span context field",
        "The column that holds the context of the span that wrote the row, as Java's properties.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        OPERATION,
        "STRING",
        "debezium-read",
        "HIGH",
        "Tracing operation name",
        "Name of the connector's span.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        CONTEXT_ONLY,
        "BOOLEAN",
        "false",
        "HIGH",
        "Trace only events with context field present",
        "Whether only rows that hold a context are traced.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.tracing.ActivateTracingSpan",
        KEYS,
        ActivateTracingSpan.of,
        VERSIONS,
        "Adds OpenTelemetry's context of a span to the headers.",
    ),
)
