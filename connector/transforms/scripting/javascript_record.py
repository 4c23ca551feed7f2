"""Records as the JSON that :mod:`.javascript_objects` reads."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, Final

import orjson

from connector.record.connect_record import ConnectRecord
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, NO_DEFAULT, Schema
from connector.transforms.scripting.groovy.text import type_name
from connector.transforms.scripting.javascript_objects import MARK

_MOST_SCHEMAS: Final = 1_000
_DAY: Final = 86_400_000
_DATES: Final = (CONNECT_TIME, CONNECT_TIMESTAMP)


class RecordWriter:
    """Writes records for one engine. A schema is written once; later records name its number."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[Schema, int]] = {}

    def write(self, record: ConnectRecord) -> str:
        """Return the record as JSON, with the schemas that the engine does not know yet."""
        try:
            return _json(self._made(record))
        except Exception:
            # Its schemas count as known, but they do not arrive.
            self._numbers.clear()
            raise

    def _made(self, record: ConnectRecord) -> dict[str, Any]:
        used = [record.key_schema, record.value_schema, *(each.schema for each in record.headers)]
        new = {id(each): each for each in used if each is not None and id(each) not in self._numbers}
        forget = not self._numbers or len(self._numbers) + len(new) > _MOST_SCHEMAS
        if forget:
            self._numbers.clear()
            new = {id(each): each for each in used if each is not None}
        for each in new.values():
            self._numbers[id(each)] = each, len(self._numbers)
        return {
            "key": _value(record.key_schema, record.key),
            "value": _value(record.value_schema, record.value),
            "keySchema": self._number(record.key_schema),
            "valueSchema": self._number(record.value_schema),
            "topic": record.topic,
            "headers": [(each.name, _value(each.schema, each.value), self._number(each.schema)) for each in record.headers],
            "schemas": [(self._number(each), _described(each)) for each in new.values()],
            "forget": forget,
        }

    def _number(self, schema: Schema | None) -> int | None:
        return None if schema is None else self._numbers[id(schema)][1]


def _json(made: dict[str, Any]) -> str:
    try:
        return orjson.dumps(made).decode()
    except TypeError:
        # It refuses half a surrogate pair, and deep nesting.
        return json.dumps(made)


def _described(schema: Schema) -> dict[str, Any]:
    def other(each: Schema | None) -> dict[str, Any] | None:
        return None if each is None else _described(each)

    return {
        "type": type_name(schema),
        "optional": schema.optional,
        "default": None if schema.default is NO_DEFAULT else _value(schema, schema.default),
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": schema.parameters or None,
        "fields": [(field.name, _described(field.schema)) for field in schema.fields] if schema.type == "struct" else None,
        "items": other(schema.items),
        "keys": other(schema.keys),
        "values": other(schema.values),
    }


def _value(schema: Schema | None, value: Any) -> Any:
    """A value for JSON: structs as objects, with defaults in place of null; marked where JSON has no such value."""
    if value is None:
        return None
    if schema is not None:
        match schema.type:
            case "struct":
                return {field.name: _value(field.schema, _field(field.schema, value[field.name])) for field in schema.fields}
            case "array":
                return [_value(schema.items, each) for each in value]
            case "map":
                return _marked("map", [(str(key), _value(schema.values, each)) for key, each in value.items()])
        if schema.name in _DATES:
            return _marked("date", value)
        if schema.name == CONNECT_DATE:
            return _marked("date", value * _DAY)
    elif isinstance(value, dict):
        members = {str(key): _value(None, each) for key, each in value.items()}
        return _marked("object", list(members.items())) if MARK in members else members
    elif isinstance(value, list):
        return [_value(None, each) for each in value]
    return _simple(value)


def _simple(value: Any) -> Any:
    if isinstance(value, bytes):
        return _marked("bytes", value.decode("latin-1"))
    if isinstance(value, Decimal) or (isinstance(value, int) and not -(2**63) <= value < 2**64):
        value = _float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return _marked("number", "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    return value


def _float(value: Decimal | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _marked(kind: str, content: Any) -> dict[str, Any]:
    return {MARK: [kind, content]}


def _field(schema: Schema, value: Any) -> Any:
    return schema.default if value is None and schema.default is not NO_DEFAULT else value
