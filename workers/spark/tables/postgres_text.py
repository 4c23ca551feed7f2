"""Converts values to PostgreSQL's text and back. Pure."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.types import INFINITE_DAYS, INFINITE_MICROS, Kind, kind_of
from workers.spark.types.binding import let

_DATE: Final = kind_of({"type": "int32", "name": "io.debezium.time.Date"})
_TIMESTAMP: Final = kind_of({"type": "int64", "name": "io.debezium.time.MicroTimestamp"})
_ZONED: Final = kind_of({"type": "string", "name": "io.debezium.time.ZonedTimestamp"})
_BYTES: Final = kind_of({"type": "bytes"})
_BOOLEAN: Final = kind_of({"type": "boolean"})


def to_text(value: SparkColumn, of: DataType) -> SparkColumn:
    """A value as PostgreSQL's text: infinite dates and years BC in PostgreSQL's words, arrays in braces."""
    match of:
        case ArrayType() if not isinstance(of.elementType, ArrayType | MapType | StructType):
            return F.when(value.isNotNull(), F.concat(F.lit("{"), F.array_join(F.transform(value, _item(of.elementType)), ","), F.lit("}")))
        case ArrayType() | MapType() | StructType():
            return F.to_json(value, {"ignoreNullFields": "false"})
        case BinaryType():
            return _BYTES.text(value)
        case DateType():
            return let(_DATE.text(value), lambda text: _year(text, ""))
        case TimestampNTZType():
            return let(_TIMESTAMP.text(value), lambda text: _year(text, ""))
        case TimestampType():
            return let(_ZONED.text(value), lambda text: _year(text, "+00"))
        case _:
            return value.cast("string")


def _item(of: DataType) -> object:
    def written(value: SparkColumn) -> SparkColumn:
        marked = F.regexp_replace(to_text(value, of), r'([\\"])', r"\\$1")
        return F.coalesce(F.concat(F.lit('"'), marked, F.lit('"')), F.lit("NULL"))

    return written


def _year(text: SparkColumn, zone: str) -> SparkColumn:
    """PostgreSQL's year. Spark has astronomical years, with a year 0, and a plus before years of five digits."""
    year = F.regexp_extract(text, r"^(-?\d+)-", 1).try_cast("int")
    behind = F.regexp_replace(text, r"^-?\d+", "")
    before = F.concat(F.lpad((1 - year).cast("string"), 4, "0"), behind, F.lit(f"{zone} BC"))
    return F.when(text.endswith("infinity"), text).when(year <= 0, before).otherwise(F.concat(F.ltrim(text, F.lit("+")), F.lit(zone)))


def from_text(text: SparkColumn, of: DataType) -> SparkColumn:
    """PostgreSQL's text as a value."""
    match of:
        case ArrayType() if not isinstance(of.elementType, ArrayType | MapType | StructType):
            return F.transform(F.from_json(text, "array<string>"), lambda item: from_text(item, of.elementType))
        case ArrayType() | MapType() | StructType():
            written = _written(of)
            document = F.from_json(text, written)
            return document if written == of else _read(document, of)
        case StringType():
            return text
        case BooleanType():
            return _BOOLEAN.read(text)
        case BinaryType():
            return _BYTES.read(text)
        case DateType():
            return _far(text, {name: F.date_from_unix_date(F.lit(days)) for days, name in INFINITE_DAYS.items()}, _DATE)
        case TimestampNTZType():
            far = {name: F.timestamp_micros(F.lit(micros)).cast("timestamp_ntz") for micros, name in INFINITE_MICROS.items()}
            return _far(text, far, _TIMESTAMP)
        case TimestampType():
            return _far(text, {name: F.timestamp_micros(F.lit(micros)) for micros, name in INFINITE_MICROS.items()}, _ZONED)
        case _:
            return text.try_cast(of)


def _far(text: SparkColumn, names: dict[str, SparkColumn], kind: Kind) -> SparkColumn:
    value = kind.read(text)
    for name, far in names.items():
        value = F.when(text == name, far).otherwise(value)
    return value


def _written(of: DataType) -> DataType:
    """The type in JSON, where the keys of maps are texts."""
    match of:
        case ArrayType():
            return ArrayType(_written(of.elementType), of.containsNull)
        case MapType():
            return MapType(StringType(), _written(of.valueType), of.valueContainsNull)
        case StructType():
            return StructType([StructField(field.name, _written(field.dataType), field.nullable) for field in of.fields])
        case _:
            return of


def _read(value: SparkColumn, of: DataType) -> SparkColumn:
    match of:
        case ArrayType():
            return F.transform(value, lambda item: _read(item, of.elementType))
        case MapType():
            values = F.transform_values(value, lambda _, item: _read(item, of.valueType))
            return F.transform_keys(values, lambda key, _: key.cast(of.keyType))
        case StructType():
            fields = (_read(value.getField(field.name), field.dataType).alias(field.name) for field in of.fields)
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value
