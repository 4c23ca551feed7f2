"""JSON's values, as ``orjson`` reads them, as columns of Arrow.

Only what JsonConverter writes for a type is read. Spark's ``from_json`` reads more forms, and decides about all others.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

_NO_NUMBERS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_CLASSES: Final[Mapping[type[DataType], frozenset[type]]] = {
    ShortType: frozenset({int}),
    IntegerType: frozenset({int}),
    LongType: frozenset({int}),
    StringType: frozenset({str}),
    BooleanType: frozenset({bool}),
    DoubleType: frozenset({float, int}),
}
_NOTHING: Final = type(None)
_SMALLEST: Final = 2.0**-126
_TOO_LARGE: Final = 2.0**128 - 2.0**103
"""The smallest normal number of 32 bits, and the first that is rounded to an infinite one (IEEE 754, binary32)."""


class OtherJson(Exception):  # noqa: N818 - a condition, which the caller handles
    """A value has another form than JsonConverter's, or a type that is not read here."""


def arrow_column(values: Sequence[Any], of: DataType) -> pa.Array:
    """The values, which Spark's ``from_json`` would read as ``of``. Raises OtherJson."""
    wanted = _CLASSES.get(type(of))
    try:
        if wanted is not None and {*map(type, values)} <= {*wanted, _NOTHING}:
            return pa.array(values, to_arrow_type(of))
        read = _reader(of)
        return pa.array([None if value is None else read(value) for value in values], to_arrow_type(of))
    except (pa.ArrowException, ArithmeticError, ValueError, TypeError) as error:
        raise OtherJson from error


def arrow_rows(values: Sequence[Mapping[str, Any] | None], of: StructType) -> pa.StructArray:
    """The rows; a field that a row lacks is null. Raises OtherJson."""
    columns = [arrow_column([None if row is None else row.get(field.name) for row in values], field.dataType) for field in of.fields]
    fields = [pa.field(field.name, column.type) for field, column in zip(of.fields, columns, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array([row is None for row in values], pa.bool_()))


def _reader(of: DataType) -> Callable[[Any], Any]:
    """Converts a value that is not null. The function raises OtherJson, or ValueError."""
    match of:
        case BinaryType():
            return _octets
        case DoubleType():
            return _double
        case FloatType():
            return _float
        case ArrayType():
            item = _optional(of.elementType)
            return lambda value: [item(one) for one in _a(list, value)]
        case MapType(keyType=StringType()):
            item = _optional(of.valueType)
            return lambda value: [(name, item(one)) for name, one in _a(dict, value).items()]
        case StructType():
            fields = {field.name: _optional(field.dataType) for field in of.fields}
            return lambda value: {name: read(_a(dict, value).get(name)) for name, read in fields.items()}
        case _ if type(of) in _CLASSES:
            (known,) = _CLASSES[type(of)]
            return lambda value: _a(known, value)
        case _:
            raise OtherJson


def _optional(of: DataType) -> Callable[[Any], Any]:
    read = _reader(of)
    return lambda value: None if value is None else read(value)


def _a(known: type, value: Any) -> Any:
    # A boolean is a whole number for isinstance.
    if type(value) is not known:
        raise OtherJson
    return value


def _octets(value: Any) -> bytes:
    return binascii.a2b_base64(_a(str, value), strict_mode=True)


def _double(value: Any) -> float:
    return _NO_NUMBERS[value] if isinstance(value, str) and value in _NO_NUMBERS else float(_number(value))


def _float(value: Any) -> float:
    found = _double(value)
    # Spark makes a number of 32 bits of the text. One of the number of 64 bits differs from it only if the latter is the middle of two
    # numbers of 32 bits. Below the smallest normal number the middles have other bits.
    middle = _bits(found) & 0x1FFFFFFF == 0x10000000
    if found and isfinite(found) and (middle or not _SMALLEST <= abs(found) < _TOO_LARGE):
        raise OtherJson
    return found


def _bits(number: float) -> int:
    (found,) = struct.unpack(">Q", struct.pack(">d", number))
    return int(found)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise OtherJson
    return float(value)
