"""The JDBC driver's name, length and scale of a column's type (pgjdbc, ``DatabaseMetaData.getColumns``).

Debezium puts them into schemas (``column.propagate.source.type``) and truncates hashes to the length. As recorded, it describes a streamed
table from its RELATION message, which differs from the driver in the names of serial columns and of types outside of the search path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connector.emulation import Emulation
from connector.types.codec import Column, TypeInfo, Types
from connector.types.registry import base_type

UNKNOWN_LENGTH: Final = 2**31 - 1
"""The driver's length for a type without a length."""

_HEADER: Final = 4
"""VARHDRSZ: what atttypmod adds to lengths of characters and to packed precision and scale."""
_SERIAL: Final = {"int2": "smallserial", "int4": "serial", "int8": "bigserial"}
_LENGTHS: Final = {
    "bool": 1,
    "char": 1,
    "int2": 5,
    "int4": 10,
    "int8": 19,
    "oid": 10,
    "float4": 8,
    "float8": 17,
    "date": 13,
    "interval": 49,
}
_CLOCKS: Final = {"time": 8, "timetz": 14, "timestamp": 22, "timestamptz": 28}
"""The number of characters of a type's text without the fraction of a second."""
_DIGITS: Final = {"float4": 8, "float8": 17}
_NO_ARRAYS: Final = frozenset({"_interval", "int2vector", "oidvector"})
"""Types of arrays that the driver does not know as such."""
_VECTORS: Final = frozenset({"vector", "halfvec", "sparsevec"})


@dataclass(frozen=True, slots=True)
class SourceType:
    """The type as the driver describes it; ``length`` and ``scale`` may be None. Lengths count characters, digits or bits."""

    name: str
    length: int | None
    scale: int | None

    def parameters(self, column: str, emulation: Emulation) -> Mapping[str, str]:
        """Return the schema parameters for this type; ``column`` is the column's name, which only some versions include."""
        shown = {"__debezium.source.column.type": self.name.upper()}
        if self.length is not None:
            shown["__debezium.source.column.length"] = str(self.length)
        if self.scale is not None:
            shown["__debezium.source.column.scale"] = str(self.scale)
        if emulation.names_source_column:
            shown["__debezium.source.column.name"] = column
        return shown


def source_type(column: Column, types: Types, emulation: Emulation, *, streamed: bool) -> SourceType:
    """Describe a column of a known type. Lengths are those of the type below all domains, or of an array's items."""
    info = types.get(column.type_oid)
    base, modifier = base_type(column, types)
    if info is None or base is None:
        return SourceType(str(column.type_oid), UNKNOWN_LENGTH, 0)
    name = _name(info, column, alike=emulation.names_source_types_alike, streamed=streamed)
    measured = _measured(base, types)
    if measured.name == "numeric" and measured.schema == "pg_catalog" and modifier < _HEADER:
        # Only of a column of this type itself the driver says that it has neither.
        return SourceType(name, 131_089, 0) if streamed or measured is not info else SourceType(name, 0, None)
    return SourceType(name, _length(measured, modifier), _scale(measured, modifier))


def _measured(base: TypeInfo, types: Types) -> TypeInfo:
    """The type whose length and scale the driver takes: that of an array's items where it knows it."""
    item = None if base.name in _NO_ARRAYS else types.get(base.element)
    return item if item is not None and item.schema == "pg_catalog" else base


def _name(info: TypeInfo, column: Column, *, alike: bool, streamed: bool) -> str:
    if streamed and not alike:
        return info.name
    if not info.visible and not alike:
        return f'"{info.schema}"."{info.name}"'
    if info.schema == "pg_catalog" and "nextval(" in (column.default or ""):
        return _SERIAL.get(info.name, info.name)
    return info.name


def _length(info: TypeInfo, modifier: int) -> int | None:
    if info.schema != "pg_catalog":
        if info.name in _VECTORS and info.kind == "b":
            return modifier if modifier > 0 else None
        return UNKNOWN_LENGTH
    match info.name:
        case "numeric":
            return (modifier - _HEADER) >> 16 & 0xFFFF
        case "bpchar" | "varchar":
            return modifier - _HEADER if modifier >= 0 else UNKNOWN_LENGTH
        case "bit" | "varbit":
            return modifier if modifier >= 0 else UNKNOWN_LENGTH
        case "time" | "timetz" | "timestamp" | "timestamptz":
            return _CLOCKS[info.name] + _fraction(modifier)
        case name:
            return _LENGTHS.get(name, UNKNOWN_LENGTH)


def _fraction(modifier: int) -> int:
    """Return the number of characters of a second's fraction with its point. The driver counts at least two declared digits."""
    if modifier in (0, -1):
        return 0 if modifier == 0 else 7
    return max(modifier, 2) + 1


def _scale(info: TypeInfo, modifier: int) -> int:
    if info.schema != "pg_catalog":
        return 0
    match info.name:
        case "numeric":
            return (modifier - _HEADER) & 0xFFFF
        case "time" | "timetz" | "timestamp" | "timestamptz":
            return 6 if modifier == -1 else modifier
        case "interval":
            return 6 if modifier == -1 else modifier & 0xFFFF
        case name:
            return _DIGITS.get(name, 0)
