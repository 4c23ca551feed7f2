"""The way back from JSON with schemas to Connect's schemas and values: what :mod:`connector.record.json_converter` writes, read again.

Kafka's JsonConverter calls this ``toConnectData``. Only the form of this project's own records is read: schemas on, decimals as base64.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final

import orjson

from connector.record.schema import DECIMAL, Field, Schema

ValueReader = Callable[[Any], Any]
"""Turns a parsed JSON value into the Connect value of one schema."""

_FLOAT: Final = struct.Struct("f")
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Python's own context would round to 28 digits."""
_OPENING: Final = b'{"schema":'
_PAYLOAD: Final = b',"payload":'


def split_opening(prefix: bytes) -> bytes:
    """Return the JSON of the schema in ``{"schema":…,"payload":``. Raises ValueError for other bytes."""
    if not (prefix.startswith(_OPENING) and prefix.endswith(_PAYLOAD)):
        raise ValueError("A record does not begin with its schema")
    return prefix[len(_OPENING) : -len(_PAYLOAD)]


def opening_of(document: bytes) -> bytes:
    """Return ``{"schema":…,"payload":`` of a whole document, so that documents of the same schema can be recognised by it."""
    end = _end_of_object(document, len(_OPENING))
    opening = document[: end + len(_PAYLOAD)]
    split_opening(opening)
    return opening


def _end_of_object(document: bytes, begin: int) -> int:
    """Return the place behind the JSON object that begins at ``begin``."""
    depth, at, inside = 0, begin, False
    while at < len(document):
        letter = document[at]
        if inside:
            if letter == 0x5C:  # a backslash: the next byte is escaped
                at += 1
            elif letter == 0x22:
                inside = False
        elif letter == 0x22:
            inside = True
        elif letter == 0x7B:
            depth += 1
        elif letter == 0x7D:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError("A record's schema has no end")


def read_schema(text: bytes) -> Schema:
    """Read a schema as JsonConverter writes it."""
    return _schema(orjson.loads(text))


def _schema(document: Mapping[str, Any]) -> Schema:
    bare = Schema(
        document["type"],
        optional=document.get("optional", False),
        name=document.get("name"),
        version=document.get("version"),
        doc=document.get("doc"),
        parameters=tuple((document.get("parameters") or {}).items()),
        fields=tuple(Field(field["field"], _schema(field)) for field in document.get("fields", ())),
        items=_schema(document["items"]) if "items" in document else None,
        keys=_schema(document["keys"]) if "keys" in document else None,
        values=_schema(document["values"]) if "values" in document else None,
    )
    return bare.with_default(value_reader(bare)(document["default"])) if "default" in document else bare


def value_reader(schema: Schema) -> ValueReader:
    """Return what reads values of ``schema`` from parsed JSON. Null stays null: no default takes its place."""
    read = _reader(schema)
    if read is _same:
        return _same
    return lambda value: None if value is None else read(value)


def _same(value: Any) -> Any:
    return value


def _reader(schema: Schema) -> ValueReader:
    match schema.type:
        case "float":
            # JSON has the shortest text of a float; the value is the float itself. NaN and the infinities come as strings.
            return lambda value: _FLOAT.unpack(_FLOAT.pack(float(value)))[0]
        case "double":
            return float
        case "bytes":
            if schema.name == DECIMAL:
                scale = int(dict(schema.parameters).get("scale", "0"))
                return lambda value: Decimal(int.from_bytes(binascii.a2b_base64(value), "big", signed=True)).scaleb(-scale, _EXACT)
            return binascii.a2b_base64
        case "array":
            item = value_reader(_known(schema.items))
            return lambda value: [item(each) for each in value]
        case "map":
            keys, values = _known(schema.keys), value_reader(_known(schema.values))
            if keys.type == "string":
                return lambda value: {name: values(each) for name, each in value.items()}
            key = value_reader(keys)
            return lambda value: {key(name): values(each) for name, each in value}
        case "struct":
            return _struct(schema)
        case _:
            return _same


def _struct(schema: Schema) -> ValueReader:
    readers = [(field.name, value_reader(field.schema)) for field in schema.fields]
    changed = [(name, read) for name, read in readers if read is not _same]
    if not changed:
        return _same

    def read(value: Any) -> Any:
        found = dict(value)
        for name, convert in changed:
            found[name] = convert(found[name])
        return found

    return read


def _known(schema: Schema | None) -> Schema:
    if schema is None:
        raise ValueError("An array or map schema lacks the schema of its members")
    return schema
