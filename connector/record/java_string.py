"""The text that Java's ``toString`` makes of a Connect value, for whoever writes values as text."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from connector.java.calendar import DAY_MS
from connector.java.date_string import date_string
from connector.java.floats import java_double, java_float
from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema


def java_string(schema: Schema | None, value: Any) -> str:
    """Return the text: ``Struct{id=1,name=x}`` without the fields that are null, ``{a=1, b=2}``, ``[1, 2]``.

    Bytes are Debezium's, so they have the text of a ``ByteBuffer``: its size alone. Dates and times are in UTC.
    """
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(schema, value)
        case float():
            return (java_float(value) if schema is not None and schema.type == "float" else java_double(value)).decode().strip('"')
        case bytes():
            return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
        case JavaDate():
            return date_string(value.ms)
        case Mapping() if schema is not None and schema.type == "struct":
            shown = (
                f"{field.name}={java_string(field.schema, value[field.name])}" for field in schema.fields if value[field.name] is not None
            )
            return f"Struct{{{','.join(shown)}}}"
        case Mapping():
            keys, values = (None, None) if schema is None else (schema.keys, schema.values)
            return f"{{{', '.join(f'{java_string(keys, name)}={java_string(values, each)}' for name, each in value.items())}}}"
        case list():
            items = None if schema is None else schema.items
            return f"[{', '.join(java_string(items, each) for each in value)}]"
        case Decimal():
            # BigDecimal.toString and Decimal.__str__ are the same algorithm.
            return str(value)
    return str(value)


def _integer(schema: Schema | None, value: int) -> str:
    match None if schema is None else schema.name:
        case name if name == CONNECT_DATE:
            return date_string(value * DAY_MS)
        case name if name in (CONNECT_TIME, CONNECT_TIMESTAMP):
            return date_string(value)
    return str(value)
