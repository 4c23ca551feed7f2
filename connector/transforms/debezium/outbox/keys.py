"""The options of ``EventRouter``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.configdef.key import SINCE_3, SINCE_3_7, VERSIONS, Importance, Key, Type

Row = tuple[str, Type, str | None, Importance, str, str]

_TABLE: Final[tuple[Row, ...]] = (
    ("table.field.event.id", "STRING", "id", "LOW", "Event ID Field", "Column with the event's id, which becomes the header id."),
    ("table.field.event.key", "STRING", "aggregateid", "LOW", "Event Key Field", "Column that becomes the message's key."),
    ("table.field.event.type", "STRING", "type", "LOW", "Event Type Field", "Column with the event's type. No effect."),
    ("table.field.event.payload", "STRING", "payload", "LOW", "Event Payload Field", "Column that becomes the message's value."),
    (
        "table.field.event.timestamp",
        "STRING",
        None,
        "MEDIUM",
        "Event Timestamp Field",
        (
            "Column that becomes the message's timestamp. Without it, this is the time at which the connector saw the event."
            " Kafka soon removes messages whose timestamp is older than the topic's retention.ms."
        ),
    ),
    (
        "table.fields.additional.placement",
        "LIST",
        None,
        "HIGH",
        "Settings for each additional column in the outbox table",
        "Columns that go beside the payload, as column:place or column:place:name, where the place is header, envelope or partition.",
    ),
    (
        "table.field.additional.missing",
        "STRING",
        "error",
        "MEDIUM",
        "Behavior when an additional field is missing in the change data",
        "What happens when the table lacks one of these columns: error fails the task, ignore leaves it out.",
    ),
    (
        "table.field.event.schema.version",
        "STRING",
        None,
        "LOW",
        "Event Schema Version Field",
        "Column that becomes the version of the value's schema, where columns are placed in the envelope.",
    ),
    (
        "table.op.invalid.behavior",
        "STRING",
        "warn",
        "MEDIUM",
        "Behavior when capturing an unexpected outbox event",
        "What happens when a row is updated: warn and error drop the event, fatal fails the task.",
    ),
    (
        "table.expand.json.payload",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Expand Payload escaped string as real JSON",
        "Whether a payload of JSON text becomes a struct. Its schema is inferred from the text.",
    ),
    (
        "table.json.payload.null.behavior",
        "STRING",
        "ignore",
        "MEDIUM",
        "Behavior when json payload including null value",
        "What a null in such a payload becomes: ignore leaves its field out, optional_bytes keeps it as null bytes.",
    ),
    (
        "table.json.payload.empty.array.behavior",
        "STRING",
        "ignore",
        "MEDIUM",
        "Behavior when json payload including empty array value",
        "What an empty array in such a payload becomes: ignore leaves its field out, optional_string keeps it as an array of texts.",
    ),
)
_ROUTER: Final[tuple[Row, ...]] = (
    ("route.by.field", "STRING", "aggregatetype", "HIGH", "Field to route events by", "Column that the topic's name is made of."),
    (
        "route.topic.regex",
        "STRING",
        "(?<routedByValue>.*)",
        "LOW",
        "The name of the routed topic",
        "Regular expression for the whole value of this column; without a match the value is the topic.",
    ),
    (
        "route.topic.replacement",
        "STRING",
        "outbox.event.${routedByValue}",
        "HIGH",
        "The name of the routed topic",
        "Name of the topic; ${routedByValue} stands for the group of this name.",
    ),
    (
        "route.tombstone.on.empty.payload",
        "BOOLEAN",
        "false",
        "HIGH",
        "Empty payloads cause a tombstone message",
        "Whether a null or empty payload becomes a tombstone.",
    ),
)
_TRACING: Final[tuple[Row, ...]] = (
    (
        "tracing.span.context.field",
        "STRING",
        "tracingspancontext",
        "HIGH",
        "Serialized tracing span context field",
        "Column with the context of the span that wrote the row, as Java's properties; its message is traced (extra otel).",
    ),
    (
        "tracing.operation.name",
        "STRING",
        "debezium-read",
        "HIGH",
        "Tracing operation name",
        "Name of the connector's span.",
    ),
    (
        "tracing.with.context.field.only",
        "BOOLEAN",
        "false",
        "HIGH",
        "Trace only events with context field present",
        "Whether only rows that hold a context are traced. Messages of other rows are traced only if this is set to false.",
    ),
)


_VERSIONS: Final = {"table.field.additional.missing": SINCE_3, "table.json.payload.empty.array.behavior": SINCE_3_7}
"""Those of the options that not every version has."""


def _keys() -> Iterator[Key]:
    for group, rows in (("Table", _TABLE), ("Router", _ROUTER), ("Tracing", _TRACING)):
        for name, kind, default, importance, display, doc in rows:
            versions = _VERSIONS.get(name, VERSIONS)
            yield Key(name, kind, default, importance, display, doc, group, "MEDIUM", versions=versions, framework=True)


KEYS: Final = tuple(_keys())
