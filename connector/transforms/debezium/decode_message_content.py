"""``DecodeLogicalDecodingMessageContent``: a logical decoding message with JSON as content, as a change event.

Debezium documentation, "Decoding logical decoding messages". The event looks like the insert of a row, so that the outbox event router
understands it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.debezium.json_document import DocumentSchemas, document_value, parse_document
from connector.transforms.transform import TransformDefinition

NULLS: Final = "fields.null.include"
MESSAGE: Final = "io.debezium.connector.postgresql.MessageValue"
ENVELOPE: Final = MESSAGE + ".Envelope"


@dataclass(frozen=True, slots=True)
class DecodeLogicalDecodingMessageContent:
    """Makes change events of logical decoding messages: no key, operation ``c``, and the content parsed in ``after``."""

    documents: DocumentSchemas
    _rows: SchemaCache[Schema] = field(default_factory=SchemaCache)
    _events: SchemaCache[SchemaCache[Schema]] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> DecodeLogicalDecodingMessageContent:
        """Make it of its options."""
        return cls(DocumentSchemas(options.needed(NULLS).lower() == "true"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the message as a change event. Raises DataError for a content that is no JSON object, and for a record without schema."""
        schema = record.value_schema
        if schema is None:
            raise DataError("DecodeLogicalDecodingMessageContent needs a schema, and the record's value has none")
        if schema.name != MESSAGE:
            return record
        row, value = self._row(_content(schema, record.value))
        event = self._events.get(schema, lambda _schema: SchemaCache()).get(row, lambda known: _event(schema, known))
        members = {member.name: record.value[member.name] for member in event.fields if member.name != "after"}
        return replace(record, key_schema=None, key=None, value_schema=event, value={**members, "op": "c", "after": value})

    def _row(self, text: str) -> tuple[Schema, object]:
        # Jackson's parser is asked only for what looks like an object or an array.
        if not text.startswith(("{", "[")):
            raise DataError("Content of a logical decoding message is no JSON object")
        document = parse_document(text)
        found = self.documents.schema(document)
        if found is None or found.type != "struct":
            raise DataError("Content of a logical decoding message is a JSON array, not an object")
        schema = self._rows.get(found, lambda known: known)
        return schema, document_value(schema, document)


def _content(schema: Schema, value: object) -> str:
    message = field_of(schema, "message")
    content = None if message is None else field_of(message.schema, "content")
    if content is None or content.schema.type != "bytes":
        raise DataError("Content of a logical decoding message is not binary. Set binary.handling.mode to bytes")
    raw = value["message"]["content"] if isinstance(value, dict) else None
    if raw is None:
        raise DataError("Logical decoding message has no content")
    return bytes(raw).decode("utf-8", "replace")


def _event(schema: Schema, row: Schema) -> Schema:
    *kept, last = schema.fields
    if last.name != "message" or any(member.name == "after" for member in kept):
        raise DataError("Logical decoding message has not the fields of PostgreSQL's connector. Apply this transform before others")
    return Schema("struct", name=ENVELOPE, fields=(*kept, Field("after", row)))


KEYS: Final = (
    Key(
        NULLS,
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Defines whether to include fields with null values to the decoded structure",
        "Whether a null of the content becomes an optional field of type bytes. Otherwise it is left out.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
        KEYS,
        DecodeLogicalDecodingMessageContent.of,
        SINCE_3,
        "Makes change events of logical decoding messages whose content is JSON.",
    ),
)
