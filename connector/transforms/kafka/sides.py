"""The two forms of a transform: one works on the record's key (``$Key``), one on its value (``$Value``)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema

Side = Literal["key", "value"]


class Part(NamedTuple):
    """A record's key or value, with its schema."""

    schema: Schema | None
    value: Any


def part_of(record: ConnectRecord, side: Side) -> Part:
    """Return the key or the value."""
    return Part(record.key_schema, record.key) if side == "key" else Part(record.value_schema, record.value)


def with_part(record: ConnectRecord, side: Side, schema: Schema | None, value: object) -> ConnectRecord:
    """Return the record with another key or value."""
    # By position: dataclasses.replace takes a microsecond more.
    if side == "key":
        rest = record.value_schema, record.value, record.timestamp, record.headers, record.partition
        return ConnectRecord(record.topic, schema, value, *rest)
    return ConnectRecord(record.topic, record.key_schema, record.key, schema, value, record.timestamp, record.headers, record.partition)
