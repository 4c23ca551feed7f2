"""A source table and its mirror as rows of checksums that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, AtomicType, DataType, IntegralType, StringType

from workers.spark.compare.grid import WIDEST
from workers.spark.compare.verdict import MIRROR, SOURCE
from workers.spark.source.catalog import CatalogColumn
from workers.spark.tables.table import LSN, POSITION, Column, Table

BUCKETS: Final = 4096
"""The number of buckets of keys. With a hundred million rows one wrong key shuffles 25,000 rows of each side."""
SIGNS: Final = {SOURCE: 1, MIRROR: -1}


@dataclass(frozen=True, slots=True)
class Shape:
    """The compared ``columns``, and the ``key`` by which rows are matched. Without a key whole rows are matched."""

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    only_source: tuple[str, ...]
    only_mirror: tuple[str, ...]
    aside: dict[str, str]

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns that name a difference."""
        return self.key or tuple(column.name for column in self.columns)


def shape_of(table: Table, catalog: Sequence[CatalogColumn], frame: DataFrame) -> Shape:
    """The shape for a table. A column of both sides that cannot be compared gets a reason."""
    there = {column.name: column for column in catalog}
    fields = {field.name: field.dataType for field in frame.schema.fields if field.name not in {LSN, POSITION}}
    described = {column.name: column for column in table.columns}
    compared: list[Column] = []
    aside: dict[str, str] = {}
    for name, known in there.items():
        if name not in fields:
            continue
        column = described.get(name)
        reason = "its topic does not carry it" if column is None else _obstacle(column, known, fields[name])
        if reason is not None:
            aside[name] = reason
        elif column is not None:
            compared.append(column)
    names = {column.name for column in compared}
    return Shape(
        tuple(compared),
        table.key if names.issuperset(table.key) else (),
        tuple(name for name in there if name not in fields),
        tuple(name for name in fields if name not in there),
        aside,
    )


def _obstacle(column: Column, source: CatalogColumn, held: DataType) -> str | None:
    """Why the two sides of this column cannot be compared, or None."""
    if not column.kind.comparable:
        return "the source's text says something else than its events"
    if source.type == "bytea" and isinstance(_innermost(column.kind.type), StringType):
        return "bytes sent as text: nothing says in which encoding"
    own = column.kind.type
    alike = _same_type(held, own) or _whole_numbers(held, own) or (isinstance(held, AtomicType) and isinstance(own, AtomicType))
    return None if alike else f"the mirror holds {held.simpleString()}, not {column.kind.type.simpleString()}"


def _innermost(of: DataType) -> DataType:
    while isinstance(of, ArrayType):
        of = of.elementType
    return of


def _same_type(one: DataType, other: DataType) -> bool:
    """Whether the types are equal except for nullability."""
    return bool(one.simpleString() == other.simpleString())


def _whole_numbers(one: DataType, other: DataType) -> bool:
    """Whether both are arrays of integers: a place may lack small integer types."""
    while isinstance(one, ArrayType) and isinstance(other, ArrayType):
        one, other = one.elementType, other.elementType
        if isinstance(one, IntegralType) and isinstance(other, IntegralType):
            return True
    return False


def checksums(source: DataFrame, mirror: DataFrame, shape: Shape) -> DataFrame:
    """The rows of both sides: ``key``, ``bucket``, ``low`` and ``high`` (halves of the row's checksum), ``hashes``, ``sign``, ``cells``."""
    held = {field.name: field.dataType for field in mirror.schema.fields}

    def of_mirror(column: Column) -> SparkColumn:
        value = F.col("`" + column.name.replace("`", "``") + "`")
        of, own = held[column.name], column.kind.type
        if _same_type(of, own) or _whole_numbers(of, own):
            # A number that is too large for the type becomes null and therefore differs.
            return column.kind.text(value if _same_type(of, own) else value.try_cast(own))
        # A mirror may store a value in a wider type or as text. The kind reads both as it reads PostgreSQL's text.
        return column.kind.normal(value.cast("string"))

    texts = [column.kind.normal(F.col(f"c{at}")) for at, column in enumerate(shape.columns)]
    left = _side(source, texts, shape, SOURCE)
    return left.union(_side(mirror, [of_mirror(column) for column in shape.columns], shape, MIRROR))


def _side(frame: DataFrame, texts: Sequence[SparkColumn], shape: Shape, side: str) -> DataFrame:
    names = [column.name for column in shape.columns]
    cells = [F.col(f"t{names.index(name)}") for name in shape.cells]
    if not shape.key:
        cells = [F.substring(cell, 1, WIDEST + 1) for cell in cells]
    row = F.xxhash64("hashes")
    # xxhash64 of several arguments skips nulls and joins the bytes. So each text has its own checksum, in which null differs from ''.
    hashes = F.array(*(F.xxhash64(f"t{at}") for at in range(len(texts)))).cast("array<bigint>")
    hashed = (
        frame.select(*(text.alias(f"t{at}") for at, text in enumerate(texts)))
        .select(F.array(*cells).cast("array<string>").alias("cells"), hashes.alias("hashes"))
        .select("cells", "hashes", row.alias("row"))
        .select("cells", "hashes", "row", (F.col("cells") if shape.key else F.array(F.hex("row"))).alias("key"))
    )
    return hashed.select(
        "key",
        F.pmod(F.xxhash64("key"), F.lit(BUCKETS)).alias("bucket"),
        # Sums of halves fit a bigint up to 2^31 rows in a bucket.
        F.col("row").bitwiseAND(F.lit(0xFFFFFFFF)).alias("low"),
        F.shiftrightunsigned("row", 32).alias("high"),
        "hashes",
        F.lit(SIGNS[side]).alias("sign"),
        "cells",
    )
