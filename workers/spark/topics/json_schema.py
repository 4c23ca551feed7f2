"""Records of Confluent's JsonSchemaConverter: their schemas as Connect's schemas, and the reading of their JSON.

A record is a zero byte, the schema's id in four bytes, and JSON (Confluent documentation, "Wire format"). ``JsonSchemaData`` in Confluent's
schema-registry defines how the converter writes Connect's schemas and values; this module reverses this. The JSON is that of JsonConverter,
except for maps whose keys are no text: each pair is an object with ``key`` and ``value``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.id_place import CONFLUENT, SIDES
from workers.spark.topics.layouts import Reader, read_json
from workers.spark.topics.registered import Language
from workers.spark.types import Schema
from workers.spark.types.binding import let

_ENTRY: Final = ("key", "value")
_NUMBERS: Final = {"float32": "float", "float64": "double"}


def cut_json_schema(records: DataFrame) -> DataFrame:
    """``records`` of JsonSchemaConverter as cut records (:mod:`workers.spark.topics.records`). A layout is a schema's id."""
    cut = CONFLUENT.cut(records)
    return cut.withColumns({name: F.nullif(F.col(name).cast("string"), F.lit("null")) for name in SIDES})


def json_schema_language() -> Language:
    """JSON Schema, as JsonSchemaConverter writes it."""
    return Language("JsonSchemaConverter", connect_schema, _reader)


def connect_schema(text: str) -> Schema:
    """The Connect schema as JsonConverter would embed it.

    Raises JobError for a schema with references or with sums of several types, and for decimals as numbers.
    """
    return _connect(json.loads(text))


def _connect(document: object) -> dict[str, object]:
    if not isinstance(document, Mapping):
        raise TypeError("A JSON Schema is not an object.")
    either = document.get("oneOf")
    if isinstance(either, list):
        some = [member for member in either if member != {"type": "null"}]
        if len(some) != 1:
            raise JobError(
                UNREADABLE, "A JSON Schema has a sum of several types, which no table's column is. Leave its topic out with topics."
            )
        return {**_connect(some[0]), "optional": len(either) > 1}
    if "$ref" in document or "allOf" in document:
        raise JobError(UNREADABLE, "A JSON Schema refers to other schemas, which are not followed. Register the whole schema.")
    found: dict[str, object] = {"optional": False, **_typed(document)}
    for name, own in (("title", "name"), ("connect.version", "version"), ("connect.parameters", "parameters"), ("default", "default")):
        if name in document:
            found[own] = document[name]
    return found


def _typed(document: Mapping[str, object]) -> dict[str, object]:
    kind, connect = document.get("type"), document.get("connect.type")
    match kind:
        case "integer":
            return {"type": connect or "int64"}
        case "number" if document.get("title") == "org.apache.kafka.connect.data.Decimal":
            raise JobError(UNREADABLE, "A JSON Schema has decimals as numbers, which would be rounded. Set decimal.format=BASE64.")
        case "number":
            return {"type": _NUMBERS[str(connect or "float64")]}
        case "boolean":
            return {"type": "boolean"}
        case "array" if connect == "map":
            parts = _properties(document.get("items"))
            return {"type": "map", "keys": _connect(parts["key"]), "values": _connect(parts["value"])}
        case "array":
            return {"type": "array", "items": _connect(document.get("items"))}
        case "object" if connect == "map":
            return {"type": "map", "keys": {"type": "string", "optional": False}, "values": _connect(document.get("additionalProperties"))}
        case "object":
            found = sorted(_properties(document).items(), key=lambda item: _index(item[1]))
            return {"type": "struct", "fields": [{**_connect(part), "field": name} for name, part in found]}
        case _ if kind == "string" or "enum" in document:
            return {"type": "bytes" if connect == "bytes" else "string"}
        case _:
            raise ValueError("A JSON Schema has a type that JsonSchemaConverter does not write.")


def _properties(document: object) -> Mapping[str, object]:
    found = document.get("properties", {}) if isinstance(document, Mapping) else None
    if not isinstance(found, Mapping):
        raise TypeError("The properties of a JSON Schema are not an object.")
    return found


def _index(document: object) -> int:
    """The place of a field in its struct. Properties have no order of their own."""
    place = document.get("connect.index") if isinstance(document, Mapping) else None
    return place if isinstance(place, int) else 0


# --- values


def _reader(text: str) -> Reader:
    return partial(_read, schema=connect_schema(text))


def _read(payload: Column, of: StructType, schema: Schema) -> Column:
    written = _written_struct(schema, of)
    record = read_json(payload, written)
    # Without the binding every field of the result would parse the payload again.
    return record if written == of else let(record, lambda once: _fitted(once, schema, of))


def _written(schema: Schema, of: DataType) -> DataType:
    """The type of the JSON of a value that is to become ``of``."""
    match of:
        case StructType():
            return _written_struct(schema, of)
        case ArrayType() if schema.get("type") == "map" and isinstance(of.elementType, ArrayType):
            return ArrayType(StructType([StructField(name, of.elementType.elementType) for name in _ENTRY]))
        case ArrayType():
            return ArrayType(_written(_part(schema, "items"), of.elementType))
        case _:
            return of


def _written_struct(schema: Schema, of: StructType) -> StructType:
    known = _fields(schema)
    return StructType([StructField(part.name, _written(known.get(part.name, {}), part.dataType)) for part in of.fields])


def _fitted(value: Column, schema: Schema, of: DataType) -> Column:
    """A value that was read as :func:`_written` says, as ``of``."""
    if _written(schema, of) == of:
        return value
    match of:
        case StructType():
            known = _fields(schema)
            parts = [_fitted(value.getField(part.name), known.get(part.name, {}), part.dataType).alias(part.name) for part in of.fields]
            return F.when(value.isNotNull(), F.struct(*parts))
        case ArrayType() if schema.get("type") == "map":
            return F.transform(value, lambda entry: F.array(*(entry.getField(name) for name in _ENTRY)))
        case ArrayType():
            items = _part(schema, "items")
            return F.transform(value, lambda item: _fitted(item, items, of.elementType))
        case _:
            return value


def _fields(schema: Schema) -> Mapping[str, Schema]:
    fields = schema.get("fields")
    listed: Sequence[object] = fields if isinstance(fields, list) else []
    return {str(field["field"]): field for field in listed if isinstance(field, Mapping)}


def _part(schema: Schema, name: str) -> Schema:
    part = schema.get(name)
    return part if isinstance(part, Mapping) else {}
