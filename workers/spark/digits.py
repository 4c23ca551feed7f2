"""Numbers of any length out of bytes, with Spark's own functions.

Connect's Decimal and Debezium's VariableScaleDecimal carry the unscaled value as two's complement, big end first.
Spark has no cast for that, and its decimals end at 38 digits where PostgreSQL's numeric has 131072; so the value is
made a string of decimal digits, from which a caller may cast.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

LIMB: Final = 1_000_000_000
"""Long numbers are kept as limbs of nine decimal digits in an array<bigint>, lowest first."""
CHUNK: Final = 7
"""Hex digits per step: limb × 16^7 fits a bigint, and what is carried out of the last limb fits one new limb."""


def unscaled(value: Column) -> Column:
    """The integer in ``value`` (binary, two's complement, big-endian) as decimal text such as ``-123``; no bytes are 0."""
    digits = F.hex(value)
    negative = F.substring(digits, 1, 1) >= "8"
    sixteen = F.right(F.concat(F.when(negative, F.lit("F" * 16)).otherwise(F.lit("0" * 16)), digits), F.lit(16))
    complement = F.translate(digits, "0123456789ABCDEF", "FEDCBA9876543210")
    return (
        F.when(F.length(value) <= 8, F.conv(sixteen, 16, -10))
        .when(negative, F.concat(F.lit("-"), _decimal(complement, 1)))
        .otherwise(_decimal(digits, 0))
    )


def with_point(integer: Column, scale: Column) -> Column:
    """Decimal text of ``integer`` (as from :func:`unscaled`) × 10^-scale, with all ``scale`` digits after the point."""
    sign = F.when(integer.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    digits = F.ltrim(integer, F.lit("-"))
    filled = F.when(F.length(digits) > scale, digits).otherwise(F.lpad(digits, scale + 1, F.lit("0")))
    split = F.length(filled) - scale
    pointed = F.concat(sign, F.left(filled, split), F.lit("."), F.right(filled, scale))
    zeros = F.when(digits == "0", F.lit("")).otherwise(F.repeat(F.lit("0"), F.negate(scale)))
    return F.when(scale > 0, pointed).otherwise(F.concat(integer, zeros))


def plain(number: Column) -> Column:
    """Decimal text without the zeros that end its fraction, and without a point when nothing follows it: 10.0 → 10."""
    return F.regexp_replace(F.regexp_replace(number, r"(\.\d*?)0+$", "$1"), r"\.$", "")


def _decimal(digits: Column, more: int) -> Column:
    """Decimal text of the hex number ``digits`` plus ``more``: Horner's rule over chunks of hex digits."""
    width = F.ceil(F.length(digits) / CHUNK).cast("int") * CHUNK
    filled = F.lpad(digits, width, F.lit("0"))
    chunks = F.transform(
        F.sequence(F.lit(1), width, F.lit(CHUNK)),
        lambda at: F.struct(
            F.lit(16**CHUNK).cast("bigint").alias("factor"),
            F.conv(F.substring(filled, at, F.lit(CHUNK)), 16, 10).cast("bigint").alias("add"),
        ),
    )
    last = F.array(F.struct(F.lit(1).cast("bigint").alias("factor"), F.lit(more).cast("bigint").alias("add")))
    limbs = F.aggregate(F.concat(chunks, last), F.expr("cast(array() as array<bigint>)"), _step)
    texts = F.transform(F.reverse(limbs), lambda limb: F.lpad(limb.cast("string"), 9, "0"))
    stripped = F.ltrim(F.concat_ws("", texts), F.lit("0"))
    return F.when(stripped == "", F.lit("0")).otherwise(stripped)


def _step(limbs: Column, chunk: Column) -> Column:
    """``limbs`` × chunk.factor + chunk.add."""
    start = F.struct(F.expr("cast(array() as array<bigint>)").alias("done"), chunk["add"].alias("carry"))

    def multiply(state: Column, limb: Column) -> Column:
        total = limb * chunk["factor"] + state["carry"]
        return F.struct(
            F.concat(state["done"], F.array(total % LIMB)).alias("done"),
            F.call_function("div", total, F.lit(LIMB)).alias("carry"),
        )

    return F.aggregate(limbs, start, multiply, lambda state: F.concat(state["done"], F.array(state["carry"])))
