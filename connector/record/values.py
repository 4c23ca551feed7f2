"""Values as text: what Connect's ``Values.convertToString`` makes of a value. :mod:`connector.record.value_parsing` reads such texts.

Strings within lists, maps and structs are quoted; times of Connect's own types are in ISO 8601 and UTC.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from connector.java.date_format import DateFormat
from connector.java.floats import java_double, java_float
from connector.record.connect_record import DataError
from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema
from connector.record.struct import value_of

DAY_MS: Final = 86_400_000
DATE_FORMAT: Final = DateFormat.compile("yyyy-MM-dd")
TIME_FORMAT: Final = DateFormat.compile("HH:mm:ss.SSS'Z'")
TIMESTAMP_FORMAT: Final = DateFormat.compile("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def text_of(schema: Schema | None, value: Any) -> str | None:
    """Return the text of a value; None for null. Raises DataError for a value of a type that Connect does not know."""
    return None if value is None else _text(schema, value, quoted=False)


def temporal_text(ms: int) -> str:
    """Return the text of a time in ms since 1970-01-01.

    Connect does not look at the type: whatever lies before 1970-01-02 is written as a time of day, and midnight as a date.
    """
    if ms < DAY_MS:
        return TIME_FORMAT.format(ms)
    return (TIMESTAMP_FORMAT if ms % DAY_MS else DATE_FORMAT).format(ms)


def _text(schema: Schema | None, value: Any, *, quoted: bool) -> str:
    if value is None:
        return "null"
    match value:
        case str():
            return _quote(value) if quoted else value
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(schema, value)
        case float():
            number = java_float(value) if schema is not None and schema.type == "float" else java_double(value)
            return number.decode().strip('"')
        case Decimal():
            # BigDecimal.toString and Decimal.__str__ are the same algorithm; a decimal has its scale of its own.
            return str(value)
        case bytes():
            encoded = binascii.b2a_base64(value, newline=False).decode()
            return f'"{encoded}"' if quoted else encoded
        case JavaDate():
            return temporal_text(value.ms)
        case _:
            return _collection(schema, value)


def _integer(schema: Schema | None, value: int) -> str:
    if schema is not None and schema.name in (CONNECT_TIME, CONNECT_TIMESTAMP):
        return temporal_text(value)
    return temporal_text(value * DAY_MS) if schema is not None and schema.name == CONNECT_DATE else str(value)


def _collection(schema: Schema | None, value: Any) -> str:
    if schema is not None and schema.type == "struct":
        members = (f"{_quote(each.name)}:{_text(each.schema, value_of(each, value), quoted=True)}" for each in schema.fields)
        return f"{{{','.join(members)}}}"
    if isinstance(value, Mapping):
        keys, values = (None, None) if schema is None else (schema.keys, schema.values)
        members = (f"{_text(keys, key, quoted=True)}:{_text(values, each, quoted=True)}" for key, each in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, Sequence):
        items = None if schema is None else schema.items
        return f"[{','.join(_text(items, each, quoted=True) for each in value)}]"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
