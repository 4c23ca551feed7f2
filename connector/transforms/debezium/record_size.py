"""Debezium's estimate of a record's size in memory (``ApproximateStructSizeCalculator``), in bytes.

Every value counts with what a JVM needs for it. A record's position counts with 100 bytes for each of its members; how many those are is
not known here, so that the usual number of PostgreSQL's connector is taken.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from connector.record.connect_record import ConnectRecord
from connector.record.json_converter import twos_complement, unscaled
from connector.record.schema import Schema

_REFERENCE: Final = 8
_PRIMITIVE: Final = 24
_STRING: Final = 56
_BYTES: Final = 24
_ARRAY: Final = 64
_MAP: Final = 88
_STRUCT: Final = 56
_MEMBER: Final = 100
"""One header, or one member of the record's position."""
POSITION: Final = 7
"""The members of a change's position: the server, and lsn_proc, messageType, lsn_commit, lsn, txId and ts_usec."""
_REFERENCED: Final = ("string", "bytes", "array", "map", "struct")


def record_size(record: ConnectRecord, position: int = POSITION) -> int:
    """Return the estimate for a record whose position has so many members."""
    size = _REFERENCE + len(record.topic.encode()) + _MEMBER * (position + len(record.headers))
    if record.key_schema is not None:
        size += _value(record.key_schema, record.key)
    if record.value_schema is not None:
        size += _value(record.value_schema, record.value)
    return size


def _value(schema: Schema, value: Any) -> int:
    if value is None and schema.type in _REFERENCED:
        return 0
    match schema.type:
        case "string":
            return _STRING + len(value.encode("utf-8", "surrogatepass"))
        case "bytes":
            if isinstance(value, Decimal):
                scale = int(dict(schema.parameters).get("scale", "0"))
                return _BYTES + len(twos_complement(unscaled(value, scale)))
            return _BYTES + len(value)
        case "array":
            items = schema.items
            return _ARRAY + sum(_REFERENCE + (0 if items is None else _value(items, item)) for item in value)
        case "map":
            keys, values = schema.keys, schema.values
            if keys is None or values is None:
                return _MAP
            return _MAP + sum(2 * _REFERENCE + _value(keys, key) + _value(values, member) for key, member in value.items())
        case "struct":
            return _STRUCT + sum(_REFERENCE + _value(field.schema, value[field.name]) for field in schema.fields)
        case _:
            return _PRIMITIVE
