"""The Connect schema of a message, and the format of Confluent's ProtobufConverter.

A definition does not have the names of Debezium's types: a timestamp is an ``int64`` like any other. The source's catalog has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from pyspark.sql import Column
from pyspark.sql.types import StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.source.catalog import Catalog
from workers.spark.source.catalog import connect_schema as column_schema
from workers.spark.topics.id_place import SchemaName
from workers.spark.topics.layouts import Reader
from workers.spark.topics.protobuf.definition import WRAPPED, Field, Message, message_at
from workers.spark.topics.protobuf.wire import read_message
from workers.spark.topics.registered import Language
from workers.spark.types import Schema

_CONNECT: Final = {
    "int32": "int32",
    "int64": "int64",
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_KAFKA: Final = "org.apache.kafka.connect.data."
_LOGICAL: Final = {
    "confluent.type.Decimal": ("bytes", "Decimal"),
    "google.type.Date": ("int32", "Date"),
    "google.type.TimeOfDay": ("int32", "Time"),
    "google.protobuf.Timestamp": ("int64", "Timestamp"),
}
_DEBEZIUM: Final = {
    "VariableScaleDecimal": "io.debezium.data.VariableScaleDecimal",
    "SparseDoubleVector": "io.debezium.data.SparseDoubleVector",
    **{name: f"io.debezium.data.geometry.{name}" for name in ("Point", "Line", "Circle", "Geometry", "Geography")},
}
"""Debezium's structs: a message within another one has the last part of the schema's name."""
_NUMBERS: Final = frozenset({"int8", "int16"})
_PRECISION: Final = {"scale": "scale", "precision": "connect.decimal.precision"}
_ADDED: Final = frozenset({"__op", "__lsn", "__ts_ms", "__source_ts_ms", "__deleted"})


def protobuf_language(catalog: Catalog | None) -> Language:
    """Protocol Buffers, as ProtobufConverter writes them. ``catalog`` has the columns of the source's tables."""
    return Language("ProtobufConverter", connect_schema, _reader, partial(_stored, catalog=catalog))


def _stored(text: str, name: SchemaName, catalog: Catalog | None) -> str:
    """A document of the definition, the message in it, and what the catalog knows of its columns."""
    columns: dict[str, object] = {}
    parts = message_at(text, name.indexes).name.split(".")
    if catalog is not None and len(parts) > 2:
        # A schema's name is topic.prefix, schema and table, and then Envelope, Value or Key.
        columns = {column.name: column_schema(column) for column in catalog(parts[-3], parts[-2])}
    return json.dumps({"definition": text, "indexes": name.indexes, "columns": columns})


def _message(stored: str) -> Message:
    document = json.loads(stored)
    return message_at(document["definition"], document["indexes"])


def _reader(stored: str) -> Reader:
    return partial(_read, message=_message(stored))


def _read(payload: Column, of: StructType, message: Message) -> Column:
    return read_message(payload, message, of)


def connect_schema(stored: str) -> Schema:
    """The Connect schema as JsonConverter would embed it, without defaults and documentation.

    Raises JobError for a definition that no table's column has, and for one in which null is the zero of its type.
    """
    message = _message(stored)
    if message.name in WRAPPED:
        return {"type": _CONNECT[WRAPPED[message.name]], "optional": True}
    _check_nulls(message)
    columns = json.loads(stored)["columns"]
    fields = [_field(each, columns) for each in message.fields]
    return {"type": "struct", "name": message.name, "optional": False, "fields": fields}


def _check_nulls(message: Message) -> None:
    """Raise JobError if the converter writes null like zero: all events, and all fields that event flattening adds, may be null."""
    fields = {field.name: field for field in message.fields}
    nullable = ["ts_ms"] if {"op", "source"} <= fields.keys() else [name for name in fields if name in _ADDED]
    if any(name in fields and not fields[name].has_presence for name in nullable):
        raise JobError(UNREADABLE, f"its definition cannot distinguish null from zero. {_REMEDY}")


_REMEDY: Final = "Set optional.for.nullables=true or wrapper.for.nullables=true in the converter."


def _field(field: Field, columns: Mapping[str, Schema]) -> dict[str, object]:
    schema = _schema(field)
    image = field.name in ("before", "after") and field.message is not None
    if image and field.message is not None:
        schema["fields"] = [{**_refined(_schema(each), columns.get(each.name)), "field": each.name} for each in field.message.fields]
        return {**schema, "field": field.name}
    return {**_refined(schema, columns.get(field.name)), "field": field.name}


def _schema(field: Field) -> dict[str, object]:
    if field.repeated:
        one = Field(field.name, field.number, field.type, params=field.params, message=field.message)
        if field.message is not None and field.message.is_entry:
            key, value = (_schema(each) for each in field.message.fields)
            _check_entry(field.message)
            return {"type": "map", "optional": True, "keys": key, "values": value}
        return {"type": "array", "optional": True, "items": _schema(one)}
    message = field.message
    if message is None:
        kind = field.params.get("connect.type", "")
        return {"type": kind if kind in _NUMBERS else _CONNECT[field.type], "optional": field.optional}
    if message.name in WRAPPED:
        return {"type": _CONNECT[WRAPPED[message.name]], "optional": True}
    if message.name in _LOGICAL:
        kind, name = _LOGICAL[message.name]
        digits = {own: field.params[param] for param, own in _PRECISION.items() if param in field.params}
        return {"type": kind, "name": _KAFKA + name, "optional": True, **({"parameters": digits} if name == "Decimal" else {})}
    short = message.name.rpartition(".")[2]
    fields = [{**_schema(each), "field": each.name} for each in message.fields]
    return {"type": "struct", "name": _DEBEZIUM.get(short, short), "optional": True, "fields": fields}


def _check_entry(entry: Message) -> None:
    """Raise JobError for a map of text, which is an hstore with values that may be null, if null is the empty text."""
    if [field.type for field in entry.fields] == ["string", "string"]:
        raise JobError(
            UNREADABLE,
            "its definition cannot distinguish null from an empty text in a map. Set wrapper.for.nullables=true in the converter, or "
            "hstore.handling.mode=json in the connector.",
        )


def _refined(schema: dict[str, object], column: Schema | None) -> dict[str, object]:
    """A column's schema with the names of types that the catalog has, if both have the same form."""
    if column is None or column.get("type") != schema["type"] or "name" in schema:
        return schema
    if schema["type"] == "array":
        items, known = schema["items"], column.get("items")
        return {**schema, "items": _refined(dict(items), known)} if isinstance(items, Mapping) and isinstance(known, Mapping) else schema
    return {**schema, **{name: column[name] for name in ("name", "parameters") if name in column}}
