"""Converters that write a value's bytes alone: Kafka's ByteArrayConverter, BooleanConverter and those of numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from connector.converters.converter import Converted, ConverterDefinition, HeaderConverterDefinition
from connector.converters.type_key import TYPE_KEY
from connector.record.connect_record import DataError, Header
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema

ToBytes = Callable[[Schema | None, Any], bytes | None]
"""Returns the bytes of a value. Raises DataError."""

_KAFKA: Final = "org.apache.kafka.connect.converters."
_LOGICAL: Final = frozenset({CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP})


class PlainConverter:
    """Writes what a function makes of a value, as a key or value."""

    def __init__(self, to_bytes: ToBytes) -> None:
        self._to_bytes = to_bytes

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002
        """Return the bytes; null stays null. Raises DataError."""
        return Converted(self._to_bytes(schema, value))


class PlainHeaderConverter:
    """The same for headers."""

    def __init__(self, to_bytes: ToBytes) -> None:
        self._to_bytes = to_bytes

    def convert(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:  # noqa: ARG002
        """Return the bytes; null stays null. Raises DataError."""
        return self._to_bytes(schema, value)


def byte_array(schema: Schema | None, value: Any) -> bytes | None:
    """Return bytes as they are. Raises DataError for a schema of another type, even if the value is null."""
    if schema is not None and schema.type != "bytes":
        raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type}")
    if value is not None and not isinstance(value, bytes):
        raise DataError(f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}")
    return value


def boolean(schema: Schema | None, value: Any) -> bytes | None:
    """Return one byte, 1 or 0. Raises DataError for a schema of another type, even if the value is null."""
    if schema is not None and schema.type != "boolean":
        raise DataError(f"Invalid schema type for BooleanConverter: {schema.type}")
    if value is None:
        return None
    if not isinstance(value, bool):
        raise DataError(f"BooleanConverter is not compatible with objects of type {type(value).__name__}")
    return b"\1" if value else b"\0"


def number(kind: str, form: str, *, schemaless: type | None) -> ToBytes:
    """Return what writes big-endian numbers of one type of schema.

    The schema counts for values only: null is written as null whatever its schema is. ``schemaless`` is the Python type of values without
    a schema that are of this type; an integer without a schema is a ``Long`` in Connect, any other number a ``Double``.
    """
    pack = struct.Struct(form).pack
    wanted = float if kind in ("float", "double") else int

    def to_bytes(schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, wanted) or (schema is None and schemaless is None):
            raise DataError(f"a value of the type {type(value).__name__} is not of the type {kind}")
        if schema is not None and (schema.type != kind or schema.name in _LOGICAL):
            raise DataError(f"a value of the schema {schema.name or schema.type} is not of the type {kind}")
        try:
            return pack(value)
        except (struct.error, OverflowError) as problem:
            raise DataError(f"a number is beyond the range of the type {kind}") from problem

    return to_bytes


_FUNCTIONS: Final[dict[str, ToBytes]] = {
    "BooleanConverter": boolean,
    "ByteArrayConverter": byte_array,
    "DoubleConverter": number("double", ">d", schemaless=float),
    "FloatConverter": number("float", ">f", schemaless=None),
    "IntegerConverter": number("int32", ">i", schemaless=None),
    "LongConverter": number("int64", ">q", schemaless=int),
    "ShortConverter": number("int16", ">h", schemaless=None),
}


def _definition(name: str, to_bytes: ToBytes) -> ConverterDefinition:
    return ConverterDefinition(_KAFKA + name, (TYPE_KEY,), lambda _options, _side: PlainConverter(to_bytes))


def _header_definition(name: str, to_bytes: ToBytes) -> HeaderConverterDefinition:
    return HeaderConverterDefinition(_KAFKA + name, (TYPE_KEY,), lambda _options: PlainHeaderConverter(to_bytes))


DEFINITIONS: Final = tuple(_definition(name, function) for name, function in _FUNCTIONS.items())
HEADER_DEFINITIONS: Final = tuple(_header_definition(name, function) for name, function in _FUNCTIONS.items())
