"""Debezium's BinaryDataConverter and ByteArrayConverter: bytes as they are, all else by another converter.

They fit topics of an outbox whose payload is bytes, among topics that hold structs, such as heartbeats (Debezium documentation, "Outbox
Event Router", "Using Avro as the payload format").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.converters.converter import Converted, Converter, ConverterChoice, DelegatingDefinition, HeaderConverterDefinition, Side
from connector.converters.plain_bytes import PlainHeaderConverter
from connector.converters.type_key import TYPE_KEY
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema

_DEBEZIUM: Final = "io.debezium.converters."
_DELEGATE: Final = "delegate.converter.type"
KEYS: Final = (
    TYPE_KEY,
    Key(
        _DELEGATE,
        "STRING",
        None,
        "LOW",
        "delegate.converter.type",
        "Class of the converter for all that is not bytes. Its own properties follow this name and a dot.",
        framework=True,
        fixed_order=-1,
    ),
)


class BinaryDataConverter:
    """Writes bytes as they are, and gives all else to ``delegate``."""

    def __init__(self, name: str, delegate: Converter | None) -> None:
        self._name = name
        self._delegate = delegate

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:
        """Return the bytes. Raises DataError, and what the delegate raises."""
        if self._delegate is not None and (_is_other(schema) or not (value is None or isinstance(value, bytes))):
            return self._delegate.convert(topic, schema, value, headers)
        return Converted(self.to_bytes(schema, value))

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return bytes without the delegate, which headers never have. Raises DataError for all that is not bytes."""
        if _is_other(schema) or not (value is None or isinstance(value, bytes)):
            found = type(value).__name__ if schema is None else schema.name or schema.type
            raise DataError(f"{self._name} writes bytes alone, and this is of the type {found}; set {_DELEGATE} to convert it")
        return value


def _is_other(schema: Schema | None) -> bool:
    return schema is not None and schema.type != "bytes"


def _delegates(options: Options, _side: Side) -> tuple[ConverterChoice, ...]:
    name = options.text(_DELEGATE)
    if not name:
        return ()
    return (ConverterChoice(name, options.under(f"{_DELEGATE}.")),)


def _definition(name: str) -> DelegatingDefinition:
    return DelegatingDefinition(
        _DEBEZIUM + name, KEYS, _delegates, lambda _options, _side, found: BinaryDataConverter(name, found[0] if found else None)
    )


def _header_definition(name: str) -> HeaderConverterDefinition:
    return HeaderConverterDefinition(
        _DEBEZIUM + name, KEYS, lambda _options: PlainHeaderConverter(BinaryDataConverter(name, None).to_bytes)
    )


_NAMES: Final = ("BinaryDataConverter", "ByteArrayConverter")
DEFINITIONS: Final = tuple(_definition(name) for name in _NAMES)
HEADER_DEFINITIONS: Final = tuple(_header_definition(name) for name in _NAMES)
