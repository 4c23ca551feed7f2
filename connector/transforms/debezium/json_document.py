"""A JSON document as a Connect schema and value, by its content (Debezium documentation, "Outbox Event Router", expanding JSON payloads).

Numbers without a fraction become int32, or int64 where they need it; other numbers become double. Each object becomes a struct that is
named by its path. An empty array has no schema: a struct leaves out the field, and an array cannot contain it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from connector.record.connect_record import DataError
from connector.record.schema import BOOLEAN, BYTES, FLOAT64, INT32, INT64, STRING, Field, Schema

_INT: Final = 2**31
_LONG: Final = 2**63
_KINDS: Final = {bool: "BOOLEAN", str: "STRING", int: "NUMBER", float: "NUMBER", list: "ARRAY", dict: "OBJECT"}


def parse_document(text: str) -> Any:
    """Parse JSON as Jackson does: what follows the first whole value is not read. Raises DataError."""
    try:
        return _DECODER.raw_decode(text)[0]
    except ValueError as error:
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(f"JSON document cannot be parsed{place}") from None


def _refused(_constant: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refused)


@dataclass(frozen=True, slots=True)
class DocumentSchemas:
    """Makes schemas of documents. ``keeps_null``: a null becomes an optional field of type bytes, and is left out otherwise."""

    keeps_null: bool

    def schema(self, document: Any, path: str = "") -> Schema | None:
        """Return the schema of a value, or None where it has none. Raises DataError for what no schema can hold."""
        if document is None:
            return BYTES.as_optional() if self.keeps_null else None
        if isinstance(document, Mapping):
            return self._struct(document, path)
        if isinstance(document, list):
            items = self._items(document, path)
            return None if items is None else Schema("array", optional=True, items=items)
        return _scalar(document)

    def _struct(self, document: Mapping[str, Any], path: str) -> Schema:
        fields = []
        for name, value in document.items():
            if not name:
                raise DataError("JSON document has a field without a name, which no schema can hold")
            schema = self.schema(value, f"{path}.{name}" if path else name)
            if schema is not None:
                fields.append(Field(name, schema))
        return Schema("struct", optional=True, name=path or None, fields=tuple(fields))

    def _items(self, members: list[Any], path: str) -> Schema | None:
        """The schema of an array's members; None for an empty array."""
        if not members:
            return None
        present = [member for member in members if member is not None]
        if not present:
            return BYTES.as_optional() if self.keeps_null else _unrecognised(path)
        kinds = {_KINDS[type(member)] for member in present}
        if len(kinds) > 1:
            raise DataError(f"JSON array {path} is not homogeneous: it has {' and '.join(sorted(kinds))}")
        match kinds.pop():
            case "OBJECT":
                return self._objects(present, path)
            case "ARRAY":
                # The first one decides, and its structs have no name of their own.
                return self.schema(present[0]) or _unrecognised(path)
            case _:
                schemas = {_scalar(member) for member in present}
                if len(schemas) > 1:
                    raise DataError(f"JSON array {path} is not homogeneous: its numbers are of different types")
                return schemas.pop()

    def _objects(self, members: list[Any], path: str) -> Schema:
        """One schema for all objects of an array: with the fields of all of them, and required, when they differ."""
        schemas = list(dict.fromkeys(self._struct(member, path) for member in members))
        if len(schemas) == 1:
            return schemas[0]
        fields: dict[str, Field] = {}
        for schema in schemas:
            for field in schema.fields:
                known = fields.get(field.name)
                # What was made of null gives way to what a value tells.
                if known is None or (known.schema == BYTES.as_optional() and field.schema.type != "bytes"):
                    fields[field.name] = field
        return Schema("struct", name=path or None, fields=tuple(fields.values()))


def _unrecognised(path: str) -> NoReturn:
    raise DataError(f"JSON array {path} has no member whose type is known")


def _scalar(value: Any) -> Schema:
    if isinstance(value, bool):
        return BOOLEAN.as_optional()
    if isinstance(value, str):
        return STRING.as_optional()
    if isinstance(value, int):
        return (INT32 if -_INT <= value < _INT else INT64).as_optional()
    return FLOAT64.as_optional()


def document_value(schema: Schema, document: Any, path: str = "") -> Any:
    """Return the value that goes with the schema. Raises DataError for a value that the schema cannot hold."""
    if document is None:
        if not schema.optional:
            raise DataError(f"JSON document has null in {path}, whose schema is required")
        return None
    if schema.type == "struct" and isinstance(document, dict):
        return {
            field.name: document_value(field.schema, document.get(field.name), f"{path}.{field.name}" if path else field.name)
            for field in schema.fields
        }
    if schema.type == "array" and isinstance(document, list) and schema.items is not None:
        return [document_value(schema.items, member, path) for member in document]
    if isinstance(document, int) and not isinstance(document, bool) and not -_LONG <= document < _LONG:
        raise DataError(f"JSON document has a number in {path} that is too large for int64")
    scalar = None if isinstance(document, list | dict) else _scalar(document)
    if scalar is None or scalar.type != schema.type:
        raise DataError(f"JSON document has a value of another type than {schema.type} in {path}")
    return document
