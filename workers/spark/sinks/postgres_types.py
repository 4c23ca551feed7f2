"""PostgreSQL's type for a column of a mirror, and values on their way there and back, as text. Pure."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.binding import let
from workers.spark.kinds import INFINITE_DAYS, INFINITE_MICROS, Kind, kind_of
from workers.spark.table import Column

_NAMES: Final[dict[type[DataType], str]] = {
    BooleanType: "boolean",
    ShortType: "smallint",
    IntegerType: "integer",
    LongType: "bigint",
    FloatType: "real",
    DoubleType: "double precision",
    StringType: "text",
    BinaryType: "bytea",
    DateType: "date",
    TimestampNTZType: "timestamp without time zone",
    TimestampType: "timestamp with time zone",
}
_TYPES: Final = {name: of() for of, name in _NAMES.items()}
WHOLE: Final = frozenset({"smallint", "integer", "bigint"})
NUMBERS: Final = WHOLE | {"real", "double precision", "numeric"}

_DATE: Final = kind_of({"type": "int32", "name": "io.debezium.time.Date"})
_TIMESTAMP: Final = kind_of({"type": "int64", "name": "io.debezium.time.MicroTimestamp"})
_ZONED: Final = kind_of({"type": "string", "name": "io.debezium.time.ZonedTimestamp"})
_BYTES: Final = kind_of({"type": "bytes"})
_BOOLEAN: Final = kind_of({"type": "boolean"})


def postgres_type(column: Column) -> str:
    """The column's type as ``format_type`` writes it. A decimal that Spark holds as text is a ``numeric``."""
    return _name(column.kind.type, column.kind)


def _name(of: DataType, kind: Kind | None) -> str:
    if isinstance(of, ArrayType):
        item = kind.item if kind is not None else None
        # PostgreSQL's arrays of arrays are rectangles; others are documents.
        return "jsonb" if isinstance(of.elementType, ArrayType | MapType | StructType) else f"{_name(of.elementType, item)}[]"
    if isinstance(of, MapType | StructType):
        return "jsonb"
    if isinstance(of, DecimalType):
        return f"numeric({of.precision},{of.scale})"
    return "numeric" if kind is not None and _exact(kind) else _NAMES[type(of)]


def _exact(kind: Kind) -> bool:
    """Whether text is decimal text: that of a VariableScaleDecimal, or of a Decimal with more digits than Spark's have."""
    variable = isinstance(kind.raw, StructType) and {field.name for field in kind.raw.fields} == {"scale", "value"}
    return isinstance(kind.type, StringType) and (variable or "numeric" in kind.sql)


def spark_type(name: str) -> DataType:
    """What Spark reads a PostgreSQL type as; text for those that mirrors do not have."""
    if name.endswith("[]"):
        return ArrayType(spark_type(name.removesuffix("[]")))
    digits = re.fullmatch(r"numeric\((\d+),(\d+)\)", name)
    return DecimalType(int(digits[1]), int(digits[2])) if digits else _TYPES.get(name, StringType())


def to_text(value: SparkColumn, of: DataType) -> SparkColumn:
    """A value as PostgreSQL reads it: infinite dates and years before Christ by PostgreSQL's names, arrays by its braces."""
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
    """Spark counts years as astronomers do, with a year 0, and marks those of five digits with a plus."""
    year = F.regexp_extract(text, r"^(-?\d+)-", 1).try_cast("int")
    behind = F.regexp_replace(text, r"^-?\d+", "")
    before = F.concat(F.lpad((1 - year).cast("string"), 4, "0"), behind, F.lit(f"{zone} BC"))
    return F.when(text.endswith("infinity"), text).when(year <= 0, before).otherwise(F.concat(F.ltrim(text, F.lit("+")), F.lit(zone)))


def selected(quoted_name: str, name: str) -> str:
    """The SELECT item that gives a column of this type as the text that :func:`from_text` reads."""
    if name.endswith("[]"):
        return f"array_to_json({quoted_name}::text[])::text"
    if name == "timestamp with time zone":
        return f"({quoted_name} at time zone 'UTC')::text"
    return f"{quoted_name}::text"


def from_text(text: SparkColumn, of: DataType) -> SparkColumn:
    """PostgreSQL's text as a value."""
    match of:
        case ArrayType() if not isinstance(of.elementType, ArrayType | MapType | StructType):
            return F.transform(F.from_json(text, "array<string>"), lambda item: from_text(item, of.elementType))
        case ArrayType() | MapType() | StructType():
            return F.from_json(text, of)
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
