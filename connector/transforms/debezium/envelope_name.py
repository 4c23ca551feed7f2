"""How Debezium's transforms recognise a change event: by the name of its value's schema."""

from __future__ import annotations

from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema


def change_event(record: ConnectRecord) -> Schema | None:
    """Return the schema of a change event's value, or None for any other record. The value is not null then."""
    schema = record.value_schema
    if record.value is None or schema is None or schema.name is None or not schema.name.endswith(".Envelope"):
        return None
    return schema
