"""A table's values when its columns change: the defaults of new columns, and values converted to another type. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.tables.evolution import Add, Drop, Rename, Retype, Step, steps_along
from workers.spark.tables.names import quoted
from workers.spark.tables.postgres_text import from_text, to_text
from workers.spark.tables.table import LSN, POSITION, Again, Column, Table
from workers.spark.types import Kind
from workers.spark.types.binding import let
from workers.spark.types.digits import plain, with_point

_EXACT: Final = DecimalType(38, 10)


def default_of(column: Column) -> SparkColumn:
    """The column's value in older rows, in its type; null if it is unknown."""
    if column.filled is not None:
        return _read(F.lit(column.filled), column.kind).cast(column.kind.type)
    if column.default is None:
        return F.lit(None).cast(column.kind.type)
    document = F.from_json(F.lit(json.dumps({"v": column.default})), StructType([StructField("v", column.kind.raw)]))
    return column.kind.decode(document["v"])


def _read(text: SparkColumn, kind: Kind) -> SparkColumn:
    """PostgreSQL's text as a value of the kind, infinite dates and times too."""
    if kind.item is not None:
        item = kind.item
        return F.transform(F.from_json(text, "array<string>"), lambda one: _read(one, item))
    if isinstance(kind.type, DateType | TimestampType | TimestampNTZType):
        return F.when(text.endswith("infinity"), from_text(text, kind.type)).otherwise(kind.read(text))
    return kind.read(text)


def converted(value: SparkColumn, old: DataType, column: Column) -> SparkColumn:
    """A value of the type ``old`` in the type of ``column``, by the rules of PostgreSQL's casts; null if the cast is impossible.

    A number is rounded to a whole number (decimals half away from zero, floats half to even). Other casts go through PostgreSQL's text.
    """
    new = column.kind.type
    if isinstance(new, IntegralType) and isinstance(old, DecimalType | FloatType | DoubleType | StringType):
        if isinstance(old, FloatType | DoubleType):
            return F.rint(value.cast("double")).try_cast(new)
        exact = value.try_cast(_EXACT) if isinstance(old, StringType) else value
        return F.coalesce(column.kind.read(value.cast("string")), F.round(exact, 0).try_cast(new))
    if isinstance(new, NumericType) and isinstance(old, NumericType):
        return value.try_cast(new)
    if column.kind.read is plain and isinstance(old, FloatType | DoubleType):
        return _without_exponent(value)
    # Only the kind's own reader knows the names of infinite dates and times.
    if isinstance(new, DateType | TimestampType | TimestampNTZType):
        return let(to_text(value, old), lambda text: from_text(text, new))
    return let(to_text(value, old), column.kind.read)


def _without_exponent(value: SparkColumn) -> SparkColumn:
    """A floating-point number's text in the form of numeric. Spark writes large and small numbers with an exponent."""

    def digits(text: SparkColumn) -> SparkColumn:
        mantissa, exponent = F.split_part(text, F.lit("E"), F.lit(1)), F.split_part(text, F.lit("E"), F.lit(2)).try_cast("int")
        integer = F.replace(mantissa, F.lit("."), F.lit("")).try_cast("bigint").cast("string")
        scale = F.length(F.split_part(mantissa, F.lit("."), F.lit(2))) - F.coalesce(exponent, F.lit(0))
        # Infinity and NaN are no integers.
        return F.coalesce(plain(with_point(integer, scale)), text)

    return let(value.cast("string"), digits)


def rewritten(there: DataFrame, table: Table, wanted: Sequence[Step]) -> DataFrame:
    """The rows of a mirror after the steps. The mirror's own columns are not changed. Pure."""
    values = {name: F.col(quoted(name)) for name in there.columns}
    for step in wanted:
        match step:
            case Rename(old, new):
                values[new] = values.pop(old)
            case Drop(name):
                del values[name]
            case Add(column):
                values[column.name] = default_of(column)
            case Retype(column, DataType() as old):
                values[column.name] = converted(values[column.name], old, column)
    known = [column.name for column in table.columns]
    extra = [name for name in values if name not in known and name not in {LSN, POSITION}]
    own = [name for name in (LSN, POSITION) if name in values]
    return there.select(*(values[name].alias(name) for name in [*known, *extra, *own]))


def at_newest(there: DataFrame | None, path: Sequence[Table], former: Table | None, again: Again = Again.SHOWN) -> DataFrame | None:
    """A sink's table, which had the form ``former`` if that is known, in the last form of ``path``; None if there is no table."""
    if there is None:
        return None
    own = [(field.name, field.dataType) for field in there.schema.fields if field.name not in {LSN, POSITION}]
    return rewritten(there, path[-1], steps_along(own, path, former=former, again=again))
