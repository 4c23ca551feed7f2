"""The parts of a CloudEvent: the attributes made of the source and transaction blocks, and the data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.java.calendar import DAY_MS, civil
from connector.record.connect_record import DataError
from connector.record.json_converter import ConverterSettings, ValueEncoder, around_payload, quote, value_encoder
from connector.record.schema import BOOLEAN, INT32, STRING, Field, Schema
from connector.record.struct import get

_PREFIX: Final = "iodebezium"
_NOT_ALLOWED: Final = re.compile("[^A-Za-z0-9]")
_TRANSACTION: Final = (("id", "txid"), ("total_order", "txtotalorder"), ("data_collection_order", "txdatacollectionorder"))
"""The fields of a transaction block, and their attributes without the prefix."""
_EXTENSION_TYPES: Final = {"boolean": BOOLEAN, "int32": INT32, "int64": STRING, "string": STRING}
"""Types of the source block's fields, and those of their attributes."""
_DATA_FIELDS: Final = ("before", "after")


@dataclass(frozen=True, slots=True)
class SourceForm:
    """The extension attributes of one schema of the source block, with those of the operation and transaction."""

    schema: Schema
    fields: tuple[Field, ...]
    parts: tuple[tuple[str, str, bool], ...]
    """For each field of the block: its name, its attribute, and whether that is text."""

    @classmethod
    def of(cls, schema: Schema) -> SourceForm:
        """Make it for a schema. Raises DataError for a field of a type that no attribute can have."""
        fields, parts = [Field(_PREFIX + "op", STRING)], []
        for field in schema.fields:
            made = _EXTENSION_TYPES.get(field.schema.type)
            if made is None:
                raise DataError(f"Source field of type {field.schema.type} cannot be converted into CloudEvents extension attribute")
            name = _PREFIX + _NOT_ALLOWED.sub("", field.name)
            fields.append(Field(name, made.as_optional(field.schema.optional)))
            parts.append((field.name, name, made.type == "string"))
        fields += [Field(_PREFIX + name, STRING.as_optional()) for _, name in _TRANSACTION]
        return cls(schema, tuple(fields), tuple(parts))

    def values(self, source: Mapping[str, Any], op: object, transaction: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the attributes. Raises DataError for an event without operation, and for a transaction without one of its fields."""
        if op is None:
            raise DataError("the event lacks the field op")
        found: dict[str, Any] = {_PREFIX + "op": op}
        for name, attribute, is_text in self.parts:
            value = get(self.schema, source, name)
            found[attribute] = str(value) if is_text and value is not None else value
        for name, attribute in _TRANSACTION:
            found[_PREFIX + attribute] = None if transaction is None else str(needed(transaction, name))
        return found

    def json(self, source: Mapping[str, Any], op: object, transaction: Mapping[str, Any] | None) -> list[bytes]:
        """Return the same as members of a JSON object."""
        return [b'"' + name.encode() + b'":' + _member(value) for name, value in self.values(source, op, transaction).items()]


def _member(value: object) -> bytes:
    match value:
        case None:
            return b"null"
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case str():
            return quote(value)
    raise DataError(f"an attribute of a CloudEvent is of the type {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class DataForm:
    """The data of events of one schema."""

    source: Schema
    schema: Schema
    before: bytes
    after: bytes
    encode: ValueEncoder

    @classmethod
    def of(cls, schema: Schema, name: str, settings: ConverterSettings, *, whole: bool) -> DataForm:
        """Make it for a value's schema: ``whole``, or the row before and after the change alone."""
        fields = tuple(field for field in schema.fields if whole or field.name in _DATA_FIELDS)
        made = Schema("struct", name=name, fields=fields)
        return cls(schema, made, *around_payload(made, settings), value_encoder(made, settings))

    def value(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of an event. A null becomes the default of its field, as Connect reads it."""
        return {field.name: get(self.source, value, field.name) for field in self.schema.fields}

    def json(self, value: Mapping[str, Any]) -> bytes:
        """Return the data as JSON. Raises DataError."""
        try:
            return self.before + self.encode(self.value(value)) + self.after
        except (ValueError, TypeError, AttributeError, LookupError) as problem:
            raise DataError(f"a value does not fit its schema ({type(problem).__name__})") from problem


def needed(block: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field. Raises DataError if there is none: a transform may have removed it."""
    if name not in block:
        raise DataError(f"the event lacks the field {name}")
    return block[name]


def event_id(source: Mapping[str, Any], *, needs_all: bool) -> str:
    """Return the id of an event. Raises DataError for a field that is missing, or null where ``needs_all`` forbids it."""
    parts = {name: needed(source, name) for name in ("lsn", "txId", "sequence")}
    if needs_all and None in parts.values():
        raise DataError("the source block has no lsn, txId or sequence, which this version needs for an id")
    shown = ";".join(f"{name}:{'null' if value is None else value}" for name, value in parts.items())
    return f"name:{needed(source, 'name')};{shown}"


def iso_time(ms: int) -> str:
    """Return a time in ms since 1970-01-01 in ISO 8601, in UTC, always with three digits of a second's fraction."""
    days, rest = divmod(ms, DAY_MS)
    year, month, day = civil(days)
    return f"{year:04}-{month:02}-{day:02}T{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}.{rest % 1000:03}Z"
