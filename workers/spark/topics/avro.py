"""Records of AvroConverter, Confluent's and Apicurio's: their schemas as Connect's schemas, their values in the form that the kinds read.

A record is a zero byte, the schema's id in four bytes (highest first), then Avro's binary encoding (Confluent documentation, "Wire
format"). Apicurio's may have eight bytes of id, or the id in a header and no byte before the encoding. ``AvroData`` in Confluent's
schema-registry defines how both converters write Connect's schemas; this module reverses this. Debezium adjusts names that Avro does not
allow (``field.name.adjustment.mode``); they stay adjusted here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.types import UNAVAILABLE, Schema, kind_of
from workers.spark.types.binding import let

HEADER: Final = 5
"""Bytes before the value in Confluent's form: the zero byte and the id."""
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_LOGICAL: Final = {
    ("int", "date"): "org.apache.kafka.connect.data.Date",
    ("int", "time-millis"): "org.apache.kafka.connect.data.Time",
    ("long", "timestamp-millis"): "org.apache.kafka.connect.data.Timestamp",
}
_UNLIMITED: Final = 64
"""The precision that AvroConverter writes for a decimal without one."""
_CONNECT: Final = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
}
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_NESTED: Final = frozenset({"struct", "array", "map"})
_ENTRY: Final = ("key", "value")

_Avro = Mapping[str, object]


def connect_schema(avro_schema: str) -> Schema:
    """The Connect schema as JsonConverter would embed it: type, name, version, parameters, optional, default, fields, items, keys, values.

    Raises JobError when the text is not an Avro schema, or has a union of several types that are not null.
    """
    return _Reader().schema(_parsed(avro_schema))


def shape_of(schema: Schema, placeholder: str = UNAVAILABLE) -> StructType:
    """The Spark type of a record with this Connect schema. Each column, also within an envelope's parts, has its kind's ``raw``."""
    fields = _fields(schema)
    names = {str(field["field"]) for field in fields}
    envelope = "op" in names and not names.isdisjoint({"before", "after"})

    def of(field: Schema, *, row: bool) -> StructField:
        inner = _fields(field)
        whole = StructType([of(part, row=False) for part in inner]) if row and inner else kind_of(field, placeholder).raw
        return StructField(str(field["field"]), whole)

    return StructType([of(field, row=envelope) for field in fields])


def schema_id(value: Column, header: int = HEADER) -> Column:
    """The id of the schema of a record (binary), as bigint; null if the record does not begin with a zero byte and an id.

    ``header`` is the number of bytes before the value. Ids of four bytes are signed.
    """
    number = F.conv(F.hex(F.substring(value, 2, header - 1)), 16, 10).cast("bigint")
    return F.when(_headed(value, header), number.cast("int").cast("bigint") if header == HEADER else number)


def read_avro(value: Column, avro_schema: str, shape: StructType | None = None, header: int = HEADER) -> Column:
    """A record (binary) as ``shape``, which is :func:`shape_of` its schema if none is given; null stays null.

    ``header`` is the number of bytes before the value, 0 for none. The result is what ``from_json`` with the same type makes of
    JsonConverter's text: bytes as bytes, numbers without their logical types, maps whose keys are no text as pairs, structs without a rule
    of their own as JSON. Fields of ``shape`` that the schema lacks are null. A value that does not fit the schema stops the job, and so
    does one without the header.
    Raises JobError as :func:`connect_schema`, and when the schema is no record's.
    """
    document = _parsed(avro_schema)
    schema = _Reader().schema(document)
    if schema.get("type") != "struct":
        raise JobError(UNREADABLE, f"An Avro schema is of type {schema.get('type')!r}, not a record. Leave its topic out with topics.")
    body = _body(value, header) if header else value
    plain = bare_schema(avro_schema)
    whole = shape or shape_of(schema)
    record = from_avro(body, plain, {"mode": "FAILFAST"})
    # Without the binding every field of the result would repeat the reader with the schema's text.
    return record.cast(whole) if _is_alike(schema, whole) else let(record, lambda once: _fitted(once, schema, whole))


def _body(value: Column, header: int) -> Column:
    wrong = F.raise_error(F.lit("A record does not begin with a zero byte and a schema's id, as AvroConverter's do."))
    return F.when(_headed(value, header), F.substring(value, header + 1, 2**31 - 1)).when(value.isNotNull(), wrong.cast("binary"))


def _headed(value: Column, header: int) -> Column:
    return (F.octet_length(value) >= header) & (F.substring(value, 1, 1) == F.lit(b"\0"))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise JobError(UNREADABLE, "An Avro schema of the registry is not JSON. Register it again.") from error


# --- schemas


class _Reader:
    """Converts a document into a Connect schema. It keeps the named types that it has read, by their full names."""

    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}

    def schema(self, avro: object, namespace: str = "") -> Schema:
        match avro:
            case str(name):
                return self._named_type(name, namespace)
            case list(members):
                return self._union(members, namespace)
            case Mapping():
                return self._declared(avro, namespace)
            case _:
                raise JobError(UNREADABLE, "An Avro schema has a type that is neither a name, a list nor an object. Register it again.")

    def _named_type(self, name: str, namespace: str) -> Schema:
        if name in _CONNECT and name not in _NAMED:
            return {"type": _CONNECT[name], "optional": False}
        known = self._named.get(name) or self._named.get(f"{namespace}.{name}")
        if known is None:
            raise JobError(UNREADABLE, f"An Avro schema uses the type {name!r} before its definition. Register the whole schema.")
        return known

    def _union(self, members: Sequence[object], namespace: str) -> Schema:
        some = [member for member in members if member != "null"]
        if len(some) != 1:
            raise JobError(
                UNREADABLE, "An Avro schema has a union of several types, which no table's column is. Leave its topic out with topics."
            )
        return {**self.schema(some[0], namespace), "optional": len(members) > 1}

    def _declared(self, avro: _Avro, namespace: str) -> Schema:
        kind = avro.get("type")
        if isinstance(kind, list | Mapping) and not isinstance(kind, str):
            # {"type": {"type": …}}: the inner type is complete.
            return self.schema(kind, namespace)
        of = str(kind)
        if of in _NAMED:
            full = _full_name(avro, namespace)
            namespace = full.rpartition(".")[0]
            schema: dict[str, object] = self._record(avro, full, namespace) if of == "record" else {"type": _CONNECT[of]}
            self._named[full] = self._attributed(avro, schema, full if of == "record" else None)
            return self._named[full]
        match of:
            case "array":
                return self._attributed(avro, self._array(avro, namespace))
            case "map":
                values = self.schema(avro.get("values"), namespace)
                return self._attributed(avro, {"type": "map", "keys": {"type": "string", "optional": False}, "values": values})
            case _:
                return self._attributed(avro, dict(self._named_type(of, namespace)))

    def _record(self, avro: _Avro, full: str, namespace: str) -> dict[str, object]:
        fields = avro.get("fields")
        if not isinstance(fields, list):
            raise JobError(UNREADABLE, f"The Avro record {full!r} has no list of fields. Register its schema again.")
        return {"type": "struct", "fields": [{**self.schema(field["type"], namespace), "field": field["name"]} for field in fields]}

    def _array(self, avro: _Avro, namespace: str) -> dict[str, object]:
        items = avro.get("items")
        inner = self.schema(items, namespace)
        entry = items.get("connect.internal.type") if isinstance(items, Mapping) else None
        fields = _fields(inner)
        if tuple(field["field"] for field in fields) == _ENTRY and (entry == "MapEntry" or str(inner.get("name")).endswith(".MapEntry")):
            return {"type": "map", "keys": fields[0], "values": fields[1]}
        return {"type": "array", "items": inner}

    def _attributed(self, avro: _Avro, schema: dict[str, object], full: str | None = None) -> dict[str, object]:
        """``schema`` with the attributes that AvroConverter added."""
        of, logical = str(avro.get("type")), avro.get("logicalType")
        declared: dict[str, object] = {"optional": False, **schema}
        if isinstance(avro.get("connect.type"), str):
            declared["type"] = avro["connect.type"]
        parameters = avro.get("connect.parameters")
        if isinstance(parameters, Mapping):
            declared["parameters"] = {str(name): str(value) for name, value in parameters.items()}
        name = avro.get("connect.name") or full or _LOGICAL.get((of, str(logical)))
        if logical == "decimal" and of in {"bytes", "fixed"}:
            name = _DECIMAL
            declared["parameters"] = {**_digits(avro), **_mapping(declared.get("parameters"))}
        if name is not None:
            declared["name"] = str(name)
        if isinstance(avro.get("connect.version"), int):
            declared["version"] = avro["connect.version"]
        if "connect.default" in avro:
            declared["default"] = _default(avro["connect.default"], declared)
        return declared


def _full_name(avro: _Avro, namespace: str) -> str:
    name = str(avro.get("name"))
    space = str(avro.get("namespace", namespace))
    return name if "." in name or not space else f"{space}.{name}"


def _digits(avro: _Avro) -> dict[str, str]:
    precision = avro.get("precision", _UNLIMITED)
    found = {"scale": str(avro.get("scale", 0))}
    return found if precision == _UNLIMITED else {**found, "connect.decimal.precision": str(precision)}


def _default(value: object, schema: Schema) -> object:
    """A default in JsonConverter's form: Avro writes bytes as the characters of these codes, JsonConverter in base64."""
    match schema.get("type"):
        case "bytes" if isinstance(value, str):
            return base64.b64encode(value.encode("latin-1")).decode()
        case "array" if isinstance(value, list):
            return [_default(item, _mapping(schema.get("items"))) for item in value]
        case _:
            return value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _fields(schema: Schema) -> Sequence[Mapping[str, object]]:
    fields = schema.get("fields")
    return [field for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []


def bare_schema(avro_schema: str) -> str:
    """The schema in the form that Spark reads: the same encoding, numbers and bytes without their logical types."""
    return json.dumps(_bare(_parsed(avro_schema)))


def _bare(avro: object) -> object:
    """The schema for Spark, without defaults and without logical types, which Spark would decode or refuse (a precision of 64)."""
    match avro:
        case list():
            return [_bare(member) for member in avro]
        case Mapping():
            kept: dict[str, object] = {name: avro[name] for name in ("name", "namespace", "symbols", "size") if name in avro}
            for name in ("type", "items", "values"):
                if name in avro:
                    kept[name] = _bare(avro[name])
            fields = avro.get("fields")
            if isinstance(fields, list):
                kept["fields"] = [{"name": field["name"], "type": _bare(field["type"])} for field in fields]
            return kept
        case _:
            return avro


# --- values


def _fitted(value: Column, schema: Schema, of: DataType) -> Column:
    """A value that Spark read by ``schema`` as ``of``."""
    kind = schema.get("type")
    if _is_alike(schema, of):
        return value.cast(of)
    match of:
        case StringType() if kind in _NESTED:
            return F.to_json(value, {"ignoreNullFields": "false"})
        case StructType():
            known = {str(field["field"]): field for field in _fields(schema)}
            parts = [
                (_fitted(value.getField(part.name), known[part.name], part.dataType) if part.name in known else F.lit(None))
                .cast(part.dataType)
                .alias(part.name)
                for part in of.fields
            ]
            return F.when(value.isNotNull(), F.struct(*parts))
        case ArrayType() if kind == "map":
            return F.transform(value, lambda entry: F.array(*(entry.getField(part) for part in _ENTRY)).cast(of.elementType))
        case ArrayType():
            items = _mapping(schema.get("items"))
            return F.transform(value, lambda item: _fitted(item, items, of.elementType).cast(of.elementType))
        case _:
            return value.cast(of)


def _is_alike(schema: Schema, of: DataType) -> bool:
    """Whether a cast is sufficient: at every level the fields are the same, in the same order."""
    kind = schema.get("type")
    match of:
        case StructType():
            fields = _fields(schema)
            same = kind == "struct" and [field["field"] for field in fields] == of.names
            return same and all(_is_alike(field, part.dataType) for field, part in zip(fields, of.fields, strict=True))
        case ArrayType():
            return kind == "array" and _is_alike(_mapping(schema.get("items")), of.elementType)
        case MapType():
            return kind == "map"
        case _:
            return kind not in _NESTED
