"""The Connect schema that a column has in Debezium's default modes, for events without embedded schemas.

An event without a schema does not distinguish a decimal's bytes from a bytea's. Only the source's catalog does.
These defaults are assumed: ``decimal.handling.mode=precise``, ``time.precision.mode=adaptive``, ``binary.handling.mode=bytes``,
``interval.handling.mode=numeric``, ``hstore.handling.mode=json``, ``money.fraction.digits=2``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workers.spark.types import Schema


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column of ``pg_attribute`` with domains resolved.

    ``type`` is pg_type.typname (of the elements if ``array``), ``kind`` its typtype, ``modifier`` atttypmod.
    """

    name: str
    type: str
    kind: str
    modifier: int
    array: bool


Catalog = Callable[[str, str], Sequence[CatalogColumn]]
"""The present columns of a table (schema, name) in the source; empty when it has no such table."""

_TYPES: Final[dict[str, str]] = {
    "bool": "boolean",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "oid": "int64",
    "float4": "float",
    "float8": "double",
    "bytea": "bytes",
}
_NAMED: Final[dict[str, tuple[str, str]]] = {
    "date": ("int32", "io.debezium.time.Date"),
    "timestamptz": ("string", "io.debezium.time.ZonedTimestamp"),
    "timetz": ("string", "io.debezium.time.ZonedTime"),
    "interval": ("int64", "io.debezium.time.MicroDuration"),
    "json": ("string", "io.debezium.data.Json"),
    "jsonb": ("string", "io.debezium.data.Json"),
    "hstore": ("string", "io.debezium.data.Json"),
    "varbit": ("bytes", "io.debezium.data.Bits"),
    "point": ("struct", "io.debezium.data.geometry.Point"),
}
_STRUCTS: Final = frozenset({"box", "circle", "geography", "geometry", "line", "lseg", "path", "polygon", "sparsevec"})
_VECTORS: Final[dict[str, str]] = {"vector": "double", "halfvec": "float"}
_MILLIS: Final = 3
"""Up to this many fraction digits a time is sent in milliseconds."""


def connect_schema(column: CatalogColumn) -> Schema:
    """The schema of the column's values (unnamed types are strings, as Debezium sends them)."""
    if column.array:
        return {"type": "array", "items": _schema(column)}
    return _schema(column)


def _schema(column: CatalogColumn) -> Schema:
    name, modifier = column.type, column.modifier
    if name in _TYPES:
        return {"type": _TYPES[name]}
    if name in _NAMED:
        return {"type": _NAMED[name][0], "name": _NAMED[name][1]}
    if name in _STRUCTS:
        return {"type": "struct"}
    if name in _VECTORS:
        return {"type": "array", "items": {"type": _VECTORS[name]}}
    match name:
        case "numeric" if modifier < 0:
            return {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
        case "numeric":
            # PostgreSQL 15 made the scale signed in 11 bits (make_numeric_typmod).
            precision, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 0x400) - 0x400
            return _decimal({"scale": str(scale), "connect.decimal.precision": str(precision)})
        case "money":
            return _decimal({"scale": "2"})
        case "bit":
            return {"type": "boolean"} if modifier == 1 else {"type": "bytes", "name": "io.debezium.data.Bits"}
        case "time":
            short = 0 <= modifier <= _MILLIS
            return {"type": "int32" if short else "int64", "name": f"io.debezium.time.{'Time' if short else 'MicroTime'}"}
        case "timestamp":
            short = 0 <= modifier <= _MILLIS
            return {"type": "int64", "name": f"io.debezium.time.{'Timestamp' if short else 'MicroTimestamp'}"}
        case _:
            return {"type": "string"}


def _decimal(parameters: Mapping[str, str]) -> Schema:
    return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": dict(parameters)}
