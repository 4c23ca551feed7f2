"""PostgreSQL's type for a column of a mirror. Pure."""

from __future__ import annotations

import re
from typing import Final

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

from workers.spark.tables.table import Column
from workers.spark.types import Kind

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


def postgres_type(column: Column) -> str:
    """The column's type as ``format_type`` writes it. A decimal that Spark holds as text is a ``numeric``."""
    return _name(column.kind.type, column.kind)


def _name(of: DataType, kind: Kind | None) -> str:
    if isinstance(of, ArrayType):
        item = kind.item if kind is not None else None
        # PostgreSQL's arrays of arrays must be rectangular. Others are stored as documents.
        return "jsonb" if isinstance(of.elementType, ArrayType | MapType | StructType) else f"{_name(of.elementType, item)}[]"
    if isinstance(of, MapType | StructType):
        return "jsonb"
    if isinstance(of, DecimalType):
        return f"numeric({of.precision},{of.scale})"
    return "numeric" if kind is not None and _exact(kind) else _NAMES[type(of)]


def _exact(kind: Kind) -> bool:
    """Whether text is decimal text: that of a VariableScaleDecimal, or of a Decimal with more digits than Spark's decimals."""
    variable = isinstance(kind.raw, StructType) and {field.name for field in kind.raw.fields} == {"scale", "value"}
    return isinstance(kind.type, StringType) and (variable or "numeric" in kind.sql)


def spark_type(name: str) -> DataType:
    """The Spark type for a PostgreSQL type; text for types that mirrors do not have."""
    if name.endswith("[]"):
        return ArrayType(spark_type(name.removesuffix("[]")))
    digits = re.fullmatch(r"numeric\((\d+),(\d+)\)", name)
    return DecimalType(int(digits[1]), int(digits[2])) if digits else _TYPES.get(name, StringType())


def selected(quoted_name: str, name: str) -> str:
    """The SELECT item that gives a column of this type as the text that :func:`from_text` reads."""
    if name.endswith("[]"):
        return f"array_to_json({quoted_name}::text[])::text"
    if name == "timestamp with time zone":
        return f"({quoted_name} at time zone 'UTC')::text"
    return f"{quoted_name}::text"
