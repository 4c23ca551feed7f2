"""Converts bytes into numbers of any length, with Spark's own functions.

Connect's Decimal and Debezium's VariableScaleDecimal hold the unscaled value in two's complement, big-endian.
Spark has no cast for this, and its decimals have at most 38 digits where PostgreSQL's numeric has 131072. So the value
becomes a string of decimal digits, which a caller may cast.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DecimalType

from workers.spark.types.binding import let

_LONG: Final = 8
"""Bytes of a bigint."""
LIMB: Final = 1_000_000_000
"""Long numbers are kept as limbs of nine decimal digits in an array<bigint>, lowest first."""
CHUNK: Final = 7
"""Hex digits per step: a limb times 16^7 fits a bigint, and the carry of the last limb fits one new limb."""


def scaled(value: Column, of: DecimalType) -> Column:
    """The integer in ``value`` with the scale of ``of``, as that Spark decimal; null when it has more digits.

    It uses no lambda, so it is part of the code that Spark generates.
    """
    length = F.octet_length(value)
    integer = F.when(length <= _LONG, _short(F.hex(value))).when(length <= 2 * _LONG, _double(F.hex(value)))
    return F.concat(integer, F.lit(f"E-{of.scale}")).try_cast(of)


def _short(digits: Column) -> Column:
    """Decimal text of at most 16 hex digits, the first of which has the sign; no digits mean 0."""
    return F.conv(F.lpad(digits, F.lit(2 * _LONG), _filler(digits)), 16, -10)


def _double(digits: Column) -> Column:
    """Decimal text of at most 32 hex digits; null when a Spark decimal cannot hold the number."""
    filled = F.lpad(digits, F.lit(4 * _LONG), _filler(digits))
    high = F.conv(F.left(filled, F.lit(2 * _LONG)), 16, -10).cast("decimal(20,0)")
    low = F.conv(F.right(filled, F.lit(2 * _LONG)), 16, 10).cast("decimal(20,0)")
    # Division truncates towards zero, so that no part has more digits than the whole.
    carry = F.when(high < 0, F.lit(1)).otherwise(F.lit(0))
    factor = F.lit(Decimal(2 ** (8 * _LONG)))
    return F.try_add(F.try_multiply(high + carry, factor), low - carry * factor).cast("string")


def _filler(digits: Column) -> Column:
    return F.when(digits >= "8", F.lit("F")).otherwise(F.lit("0"))


def unscaled(value: Column) -> Column:
    """The integer in ``value`` (binary, two's complement, big-endian) as decimal text such as ``-123``; no bytes mean 0."""

    def text(digits: Column) -> Column:
        long = let(digits.substr(1, 1) >= "8", lambda negative: _signed(digits, negative))
        return F.when(F.length(digits) <= 2 * _LONG, _short(digits)).when(digits.isNotNull(), long)

    return let(F.hex(value), text)


def _signed(digits: Column, negative: Column) -> Column:
    complement = F.translate(digits, "0123456789ABCDEF", "FEDCBA9876543210")
    magnitude = _decimal(F.when(negative, complement).otherwise(digits), F.when(negative, F.lit(1)).otherwise(F.lit(0)))
    return F.concat(F.when(negative, F.lit("-")).otherwise(F.lit("")), magnitude)


def with_point(integer: Column, scale: Column) -> Column:
    """Decimal text of ``integer`` (see :func:`unscaled`) with the point moved ``scale`` digits to the left; no digit is dropped."""

    def pointed(integer: Column, scale: Column) -> Column:
        sign = F.when(integer.startswith("-"), F.lit("-")).otherwise(F.lit(""))
        digits = F.ltrim(integer, F.lit("-"))
        filled = F.when(F.length(digits) > scale, digits).otherwise(F.lpad(digits, scale + 1, F.lit("0")))
        placed = let(filled, lambda all_: F.concat(F.left(all_, F.length(all_) - scale), F.lit("."), F.right(all_, scale)))
        zeros = F.when(integer == "0", F.lit("")).otherwise(F.repeat(F.lit("0"), F.negate(scale)))
        return F.when(scale > 0, F.concat(sign, placed)).otherwise(F.concat(integer, zeros))

    return let(integer, lambda number: let(scale, lambda places: pointed(number, places)))


def plain(number: Column) -> Column:
    """Decimal text without trailing zeros of the fraction, and without the point if no fraction remains: 10.0 → 10."""
    return let(number, lambda text: F.when(text.contains("."), F.rtrim(F.rtrim(text, F.lit("0")), F.lit("."))).otherwise(text))


def _decimal(digits: Column, more: Column) -> Column:
    """Decimal text of the hex number ``digits`` plus ``more``: Horner's rule over chunks of hex digits."""

    def chunks(digits: Column, width: Column) -> Column:
        return F.transform(
            F.sequence(F.lit(1), width, F.lit(CHUNK)),
            lambda at: _chunk(F.lit(16**CHUNK), F.conv(F.substring(F.lpad(digits, width, F.lit("0")), at, F.lit(CHUNK)), 16, 10)),
        )

    width = F.ceil(F.length(digits) / CHUNK).cast("int") * CHUNK
    steps = F.concat(let(digits, lambda text: let(width, lambda wide: chunks(text, wide))), F.array(_chunk(F.lit(1), more)))
    limbs = F.aggregate(steps, F.expr("cast(array() as array<bigint>)"), _step)
    texts = F.transform(F.reverse(limbs), lambda limb: F.lpad(limb.cast("string"), 9, "0"))
    # The number has more than 64 bits and is not zero, so all leading zeros can be removed.
    return F.ltrim(F.concat_ws("", texts), F.lit("0"))


def _chunk(factor: Column, add: Column) -> Column:
    return F.struct(factor.cast("bigint").alias("factor"), add.cast("bigint").alias("add"))


def _step(limbs: Column, chunk: Column) -> Column:
    """``limbs`` times chunk.factor plus chunk.add."""
    start = F.struct(F.expr("cast(array() as array<bigint>)").alias("done"), chunk["add"].alias("carry"))

    def multiply(state: Column, limb: Column) -> Column:
        return let(
            limb * chunk["factor"] + state["carry"],
            lambda total: F.struct(
                F.concat(state["done"], F.array(total % LIMB)).alias("done"),
                F.call_function("div", total, F.lit(LIMB)).alias("carry"),
            ),
        )

    return F.aggregate(limbs, start, multiply, lambda state: F.concat(state["done"], F.array(state["carry"])))
