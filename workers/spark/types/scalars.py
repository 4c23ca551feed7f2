"""Text, bytes, booleans, numbers and decimals."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from workers.spark.types.arrow_values import decimals, numbers, scaled_numbers
from workers.spark.types.digits import plain, scaled, unscaled, with_point
from workers.spark.types.kind import Builder, Kind, Placeholder, Schema, Sign, fixed, parameter

SPARK_DIGITS: Final = 38
"""The most digits of a Spark decimal."""


def _text(_schema: Schema, placeholder: Placeholder) -> Kind:
    return Kind(StringType(), StringType(), held=lambda raw: raw == placeholder.text, signs=(Sign.TEXT,))


def _bytea(text: Column) -> Column:
    return F.unhex(F.when(text.startswith("\\x"), F.substr(text, F.lit(3))))


def _bytes(_schema: Schema, placeholder: Placeholder) -> Kind:
    return Kind(
        BinaryType(),
        BinaryType(),
        text=lambda value: F.concat(F.lit("\\x"), F.lower(F.hex(value))),
        read=_bytea,
        held=lambda raw: raw == F.lit(placeholder.octets),
        signs=(Sign.OCTETS,),
    )


def _number(of: DataType) -> Builder:
    return fixed(Kind(of, of, read=lambda text: text.try_cast(of)))


def _boolean(text: Column) -> Column:
    return F.when(text.isin("t", "true", "1"), F.lit(True)).when(text.isin("f", "false", "0"), F.lit(False))


PLAIN: Final[dict[str, Builder]] = {
    "boolean": fixed(Kind(BooleanType(), BooleanType(), read=_boolean)),
    "int8": _number(ShortType()),
    "int16": _number(ShortType()),
    "int32": _number(IntegerType()),
    "int64": _number(LongType()),
    "float": _number(FloatType()),
    "double": _number(DoubleType()),
    "string": _text,
    "bytes": _bytes,
}
"""Connect type → builder, for schemas without a name and those whose name needs no rule: Enum, Uuid, Xml, Ltree, Tsvector, Year."""


def decimal(schema: Schema, _placeholder: Placeholder) -> Kind:
    """Connect's Decimal: a Spark decimal of up to 38 digits, decimal text for more. money has no precision."""
    scale = int(parameter(schema, "scale") or 0)
    precision = int(parameter(schema, "connect.decimal.precision") or SPARK_DIGITS)
    sql = "{c}::numeric::text"
    if 0 <= scale <= precision <= SPARK_DIGITS:
        exact = DecimalType(precision, scale)
        return Kind(
            BinaryType(), exact, lambda raw: scaled(raw, exact), read=lambda text: text.try_cast(exact), sql=sql, arrow=decimals(exact)
        )
    return Kind(
        BinaryType(),
        StringType(),
        lambda raw: plain(with_point(unscaled(raw), F.lit(scale))),
        read=plain,
        sql=sql,
        arrow=numbers(scale),
    )


def _variable(raw: Column) -> Column:
    return plain(with_point(unscaled(raw["value"]), raw["scale"]))


_VARIABLE_TYPE: Final = StructType([StructField("scale", IntegerType()), StructField("value", BinaryType())])

VARIABLE_DECIMAL: Final = Kind(_VARIABLE_TYPE, StringType(), _variable, read=plain, sql="{c}::numeric::text", arrow=scaled_numbers)
"""numeric without a declared precision: exact decimal text of up to 131072 digits, without trailing zeros of the fraction."""
