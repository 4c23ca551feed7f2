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
from connector.record.java_string import java_string
from connector.record.schema import STRING, Schema
from connector.record.struct import field_of, value_of
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import SharesHeaders, TransformDefinition

CONTEXT: Final = "tracing.span.context.field"
OPERATION: Final = "tracing.operation.name"
CONTEXT_ONLY: Final = "tracing.with.context.field.only"

_TRACER: Final = "io.debezium.transforms.tracing.TracingSpanUtil"
_DATABASE_SPAN: Final = "db-log-write"
_ATTRIBUTES: Final = {"db": "instance", "connector": "type", "name": "cdc-name"}
"""Members of the source that have another name as an attribute."""
_MILLION: Final = 1_000_000

Telemetry = tuple[Any, Any]
"""OpenTelemetry's modules for spans and for their propagation."""


def installed_telemetry() -> Telemetry | None:
    """Return OpenTelemetry's modules if they are installed."""
    try:
        return import_module("opentelemetry.trace"), import_module("opentelemetry.propagate")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class ActivateTracingSpan(SharesHeaders):
    """Adds the context of a span to the headers of change events.

    The span of the write to the database begins at the time of the change, and the connector's span, below it, at the time of the event.
    Both end when the event has passed. The headers hold the context of the first one. The field ``context`` of the row may hold the
    context that they belong to, written as Java's properties.
    """

    context: str
    operation: str
    context_only: bool
    telemetry: Callable[[], Telemetry | None] = field(default=installed_telemetry)

    @classmethod
    def of(cls, options: Options) -> ActivateTracingSpan:
        """Make it of its options."""
        return cls(options.needed(CONTEXT), options.needed(OPERATION), options.needed(CONTEXT_ONLY).lower() == "true")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the event with the headers.

        Raises DataError where OpenTelemetry is not installed, the field is no text, the text is no properties, or the event has no time.
        """
        schema = change_event(record)
        if schema is None:
            return record
        after = field_of(schema, "after")
        row = record.value.get("after")
        context = None if after is None or after.schema.type != "struct" else field_of(after.schema, self.context)
        if context is not None and row is not None and context.schema.type != "string":
            raise DataError(f"Field '{self.context}' is not of type STRING")
        written = None if context is None or row is None else row[self.context]
        if written is None and self.context_only:
            return record
        telemetry = self.telemetry()
        if telemetry is None:
            raise DataError("Failed to record tracing information, tracing libraries not available")
        try:
            carrier = {} if written is None else parse_properties(written)
        except ValueError:
            raise DataError(f"Field {self.context} does not hold properties") from None
        context_headers = self._traced(telemetry, carrier, schema, record.value)
        headers = tuple(header for header in record.headers if header.name not in context_headers)
        return replace(record, headers=(*headers, *(Header(name, STRING, value) for name, value in context_headers.items())))

    def _traced(self, telemetry: Telemetry, carrier: Mapping[str, str], schema: Schema, value: Mapping[str, Any]) -> dict[str, str]:
        """Begin and end the spans; return what their context adds to the headers."""
        trace, propagate = telemetry
        source = field_of(schema, "source")
        members = {} if source is None else _members(source.schema, value["source"])
        tracer = trace.get_tracer(_TRACER)
        write = tracer.start_span(_DATABASE_SPAN, context=propagate.extract(carrier), start_time=_nanos(members.get("ts_ms")))
        try:
            for name, (member_schema, member) in members.items():
                write.set_attribute(f"db.{_ATTRIBUTES.get(name, name)}", java_string(member_schema, member))
            time = value.get("ts_ms")
            if time is None:
                raise DataError("The event has no time (ts_ms), at which its span would begin")
            # What came with the parent, such as baggage, does not go on.
            own = trace.set_span_in_context(write)
            read = tracer.start_span(self.operation, context=own, start_time=time * _MILLION)
            for name in ("op", "ts_ms"):
                if value.get(name) is not None:
                    read.set_attribute(name, str(value[name]))
            context_headers: dict[str, str] = {}
            propagate.inject(context_headers, context=own)
            read.end()
        finally:
            write.end()
        return context_headers


def _members(schema: Schema, source: Mapping[str, Any]) -> dict[str, tuple[Schema, Any]]:
    """The members that are not null, with their schemas."""
    every = ((each.name, (each.schema, value_of(each, source))) for each in schema.fields)
    return {name: member for name, member in every if member[1] is not None}


def _nanos(member: tuple[Schema, int] | None) -> int | None:
    return None if member is None else member[1] * _MILLION


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
