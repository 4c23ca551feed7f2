"""``EventRouter``: the message that an outbox row describes (Debezium documentation, "Outbox event router").

The key, the topic, the timestamp, headers and the value come from columns of the inserted row. Deletes are dropped: rows may be removed at
once, since the message is in the log already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.configdef.key import VERSIONS
from connector.configdef.options import OptionError, Options
from connector.java.regex.matching import ReplacementError
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.name_adjustment import name_adjuster
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache, field_of, get
from connector.transforms.debezium.activate_tracing_span import CONTEXT, CONTEXT_ONLY, OPERATION, ActivateTracingSpan, installed_telemetry
from connector.transforms.debezium.differences import differences_of
from connector.transforms.debezium.envelope import copied, int32_of, int64_of, is_change_event, schema_of, text_of
from connector.transforms.debezium.outbox.json_payload import PayloadSchemas, Unexpandable, converted, parsed, renamed
from connector.transforms.debezium.outbox.keys import KEYS
from connector.transforms.debezium.outbox.placement import Placements
from connector.transforms.reports import Reports
from connector.transforms.routing_pattern import RoutingPattern
from connector.transforms.transform import TransformDefinition

MILLISECONDS: Final[Mapping[str, int]] = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
_PAYLOAD: Final = "payload"
_ADJUSTMENT: Final = "field.name.adjustment.mode"
_MODES: Final = ("none", "avro", "avro_unicode")
_MOST: Final = 1_000

EnvelopeKey = tuple[int | None, tuple[Field, ...]]


@dataclass(frozen=True, slots=True)
class _Payload:
    schema: Schema | None
    value: Any


class EventRouter:
    """Turns inserted rows into messages, and drops their updates and deletes; records that are no change events pass."""

    def __init__(self, options: Options) -> None:
        differences = differences_of(options.emulation)
        raw = options.raw.get
        self.id_column: Final = raw("table.field.event.id", "id")
        self.key_column: Final = raw("table.field.event.key", "aggregateid")
        self.payload_column: Final = raw("table.field.event.payload", "payload")
        self.timestamp_column: Final = raw("table.field.event.timestamp")
        self._version: Final = raw("table.field.event.schema.version")
        self._on_update: Final = _choice(options, "table.op.invalid.behavior", ("warn", "error", "fatal"))
        self.expands: Final = _flag(options, "table.expand.json.payload")
        nulls = _choice(options, "table.json.payload.null.behavior", ("ignore", "optional_bytes"))
        skips_missing = differences.may_miss_fields and _choice(options, "table.field.additional.missing", ("ignore", "error")) == "ignore"
        self.route_column: Final = raw("route.by.field", "aggregatetype")
        self._regex: Final = _pattern(options)
        self._replacement: Final = raw("route.topic.replacement", "outbox.event.${routedByValue}")
        self.tombstones: Final = _flag(options, "route.tombstone.on.empty.payload")
        self.placements: Final = Placements.read(options, differences, skips_missing=skips_missing)
        self.payload_schemas: Final = PayloadSchemas(
            keeps_nulls=nulls == "optional_bytes",
            names_nested_arrays_null=differences.names_nested_arrays_null,
            keeps_empty_arrays=(
                differences.may_keep_empty_arrays
                and _choice(options, "table.json.payload.empty.array.behavior", ("optional_string", "ignore")) == "optional_string"
            ),
        )
        mode = raw(_ADJUSTMENT, "none").strip().lower() if differences.adjusts_payload_names and self.expands else "none"
        if mode not in _MODES:
            raise _invalid(_ADJUSTMENT, mode, f"Value must be one of {', '.join(_MODES)}")
        self.adjusts_names: Final = mode != "none"
        """Whether the fields of expanded payloads have other names than the JSON's members."""
        self._adjusted: Final = name_adjuster(mode, dots=False)
        self._rows: Final[SchemaCache[Schema]] = SchemaCache()
        self._known: Final[dict[Schema, Schema]] = {}
        """Inferred schemas, each once: who makes something of a schema finds it by its identity."""
        self._topics: Final[dict[str, str]] = {}
        """By the values that they are made of."""
        self._envelopes: Final[dict[EnvelopeKey, Schema]] = {}
        # As in the reference, where the option is not given, rows without a context are not traced, whatever its default says.
        only = raw(CONTEXT_ONLY, "true").lower() == "true"
        tracing = ActivateTracingSpan(options.needed(CONTEXT), options.needed(OPERATION), only)
        self.tracing: ActivateTracingSpan | None = None if installed_telemetry() is None else tracing
        """What traces the rows; None without OpenTelemetry."""
        self.reports: Reports = Reports()

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the message; None for a row that was updated or deleted. Raises DataError where the row lacks what the options name."""
        if record.value is None:
            return None
        if not is_change_event(record) or record.value_schema is None:
            return record
        event = record.value
        operation = event.get("op")
        if not isinstance(operation, str):
            raise DataError("EventRouter needs the operation of an event, a text in the field op")
        if operation == "d":
            return None
        if operation == "u":
            if self._on_update == "fatal":
                raise DataError("Unexpected update message received, fail.")
            self.reports("update of an outbox row dropped", record.topic, as_error=self._on_update == "error")
            return None
        row = event.get("after")
        if row is None:
            raise DataError("Only Struct objects supported for [Read Outbox Event], found: null")
        traced = record if self.tracing is None else self.tracing.apply(record)
        schema = self._rows.get(record.value_schema, lambda envelope: schema_of(envelope, "after"))
        payload = self._payload_of(schema, row)
        message = self._value(record.topic, schema, row, payload)
        own_id = Header("id", schema_of(schema, self.id_column), get(schema, row, self.id_column))
        headers, partition = self.placements.headers(schema, row)
        return ConnectRecord(
            topic=self._topic(schema, row),
            key_schema=schema_of(schema, self.key_column),
            key=get(schema, row, self.key_column),
            value_schema=message.schema,
            value=message.value,
            timestamp=self._time(schema, row, event),
            headers=(*traced.headers, own_id, *headers),
            partition=partition,
        )

    def _topic(self, schema: Schema, row: Mapping[str, Any]) -> str:
        value = text_of(schema, row, self.route_column)
        if value is None:
            raise DataError(f"The outbox row has null in {self.route_column}, which its topic is made of")
        return self.topic_of(value)

    def topic_of(self, value: str) -> str:
        """Return the topic of rows with this value in the routing column. Raises DataError."""
        topic = self._topics.get(value)
        if topic is None:
            try:
                topic = self._regex.replace_whole(value, self._replacement)
            except ReplacementError as error:
                raise DataError(str(error)) from None
            if len(self._topics) >= _MOST:
                self._topics.clear()
            topic = self._topics[value] = value if topic is None else topic
        return topic

    def _time(self, schema: Schema, row: Mapping[str, Any], event: Mapping[str, Any]) -> int | None:
        """The time in ms: of the column, or else of the event."""
        of_event: int | None = event.get("ts_ms")
        if self.timestamp_column is None:
            return of_event
        field = field_of(schema, self.timestamp_column)
        if field is None:
            raise DataError(f"Unable to find timestamp field {self.timestamp_column} in event")
        value = int64_of(schema, row, self.timestamp_column)
        if value is None:
            return of_event
        divisor = MILLISECONDS.get(field.schema.name or "")
        if divisor is None:
            kind = field.schema.name or "INT64 (without logical schema name)"
            raise DataError(f"Unsupported field type {kind} for event timestamp")
        return value // divisor if value >= 0 else -(-value // divisor)

    def _payload_of(self, schema: Schema, row: Mapping[str, Any]) -> _Payload:
        field = field_of(schema, self.payload_column)
        if field is None:
            raise DataError(f"Unable to find payload field {self.payload_column} in event")
        return _Payload(field.schema, get(schema, row, self.payload_column))

    def _expanded(self, topic: str, payload: _Payload) -> _Payload:
        """The payload as a struct, where it is JSON text and wanted so."""
        if not self.expands or payload.value is None:
            return payload
        if not isinstance(payload.value, str):
            self.reports("outbox payload is no text, it is not expanded", topic, column=self.payload_column)
            return payload
        try:
            node = parsed(payload.value)
            if self.adjusts_names:
                node = renamed(node, self._adjusted)
            schema = self.payload_schemas.schema(self.payload_column, node)
        except Unexpandable:
            self.reports("outbox payload is not JSON with a schema, it is not expanded", topic, column=self.payload_column)
            return payload
        if schema is None:
            # An empty array has no schema, and its text stays.
            return _Payload(None, payload.value)
        if schema.type == "array":
            # The reference gives the text the schema of an array, which no converter with schemas takes.
            raise DataError("Invalid type for ARRAY: a payload that is a JSON array cannot be expanded")
        schema = self._known.setdefault(schema, schema)
        if len(self._known) > _MOST:
            self._known.clear()
        return _Payload(schema, converted(schema, node))

    def makes_tombstone(self, payload: object) -> bool:
        """Return whether the payload, which is null or a text of blanks, becomes a tombstone. Blanks are what Java trims."""
        return self.tombstones and (payload is None or (isinstance(payload, str) and not trim(payload)))

    def _value(self, topic: str, schema: Schema, row: Mapping[str, Any], payload: _Payload) -> _Payload:
        """The message's value: the payload, alone or with other columns; a tombstone where the options want one."""
        tombstone = self.makes_tombstone(payload.value)
        if not self.placements.enveloped:
            return _Payload(None, None) if tombstone else self._expanded(topic, payload)
        if not tombstone:
            payload = self._expanded(topic, payload)
        if payload.schema is None:
            raise DataError("A payload without a schema cannot be placed in an envelope")
        fields = [Field(_PAYLOAD, payload.schema)]
        value = {_PAYLOAD: payload.value}
        for field, placed in self.placements.envelope_fields(schema, row):
            fields.append(field)
            value[field.name] = placed
        version = None if self._version is None else int32_of(schema, row, self._version)
        # The reference makes the envelope of a tombstone too, which may be the first of its schema.
        envelope = self._envelope(version, fields, schema, row)
        return _Payload(None, None) if tombstone else _Payload(envelope, value)

    def _envelope(self, version: int | None, fields: list[Field], schema: Schema, row: Mapping[str, Any]) -> Schema:
        """The value's schema, which has the name of the table's with the routed value before its last part.

        As in the reference the first name stays when another value comes with the same fields and version.
        """
        key = version, tuple(fields)
        found = self._envelopes.get(key)
        if found is None:
            if len(self._envelopes) >= _MOST:
                self._envelopes.clear()
            kind = text_of(schema, row, self.route_column)
            before, dot, last = (schema.name or "").rpartition(".")
            # Without a topic the record fails later, but the name stays for those after it.
            name = f"{before}{dot}{'null' if kind is None else kind}.{last}" if last else kind
            found = self._envelopes[key] = copied(Schema("struct", name=name, version=version), fields)
        return found


def _choice(options: Options, name: str, choices: tuple[str, ...]) -> str:
    value = options.needed(name)
    if value.lower() not in choices:
        raise _invalid(name, value, f"Value must be one of {', '.join(choices)}")
    return value.lower()


def _flag(options: Options, name: str) -> bool:
    value = options.needed(name)
    if value.lower() not in ("true", "false"):
        raise _invalid(name, value, "Either 'true' or 'false' is expected")
    return value.lower() == "true"


def _pattern(options: Options) -> RoutingPattern:
    name = "route.topic.regex"
    text = options.raw.get(name, "(?<routedByValue>.*)")
    try:
        return RoutingPattern(text, options, name)
    except ValueError as error:
        raise _invalid(name, text, f"A valid regular expressions is expected, but {error}") from None


def _invalid(name: str, value: str, problem: str) -> OptionError:
    return OptionError(f"Invalid value {value} for configuration {name}: The '{name}' value is invalid: {problem}")


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.outbox.EventRouter",
        KEYS,
        EventRouter,
        VERSIONS,
        "Sends the messages that the rows of an outbox table describe.",
    ),
)
