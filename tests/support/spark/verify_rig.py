"""Tables of a source and mirrors of them made by hand, for the tests of ``verify``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import AtomicType, BinaryType, LongType, StringType, StructField, StructType

from tests.support.spark.local_frame import local_frame
from tests.support.spark.source_table import source_table
from workers.spark.compare.verdict import Verdict
from workers.spark.compare.verify import verify
from workers.spark.source.relation import snapshot
from workers.spark.tables.table import LSN, POSITION, Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.fix_pg import Database

Rows = Sequence[tuple[str | None, ...]]

HELD: Rows = [("2", "b", None), ("9", "i", "x"), ("10", "j", "y"), ("11", None, "z")]
"""What a mirror equal to :func:`items_table` holds."""


def table_of(database: Database, name: str, schema: str = "public") -> Table:
    """The source's table of this name, which is there."""
    with snapshot(database.dsn) as connection:
        table = source_table(connection, (schema, name))
    assert table is not None
    return table


def mirror_of(spark: SparkSession, table: Table, rows: Rows) -> DataFrame:
    """A mirror with the types that a sink keeps, from text that Spark itself reads: bytes as hex digits, nested values as JSON."""
    text = StructType([StructField(f"c{at}", StringType()) for at in range(len(table.columns))])

    def value(at: int, column: Column) -> object:
        cell = F.col(f"c{at}")
        if isinstance(column.kind.type, BinaryType):
            return F.unhex(cell)
        return cell.cast(column.kind.type) if isinstance(column.kind.type, AtomicType) else F.from_json(cell, column.kind.type)

    frame = local_frame(spark, rows, text)
    frame = frame.select(*(value(at, column).alias(column.name) for at, column in enumerate(table.columns)))  # type: ignore[attr-defined]
    frame = frame.withColumn(LSN, F.lit(7).cast(LongType()))
    return frame if table.key else frame.withColumn(POSITION, F.uuid())


def found(spark: SparkSession, database: Database, table: Table, frame: DataFrame | None, **options: object) -> Verdict:
    """What ``verify`` finds of ``table`` when ``frame`` is its mirror, None for no mirror."""
    return verify(spark, database.dsn, table, lambda: frame, **options)  # type: ignore[arg-type]


def items_table(database: Database) -> Table:
    """A new table ``items`` of four rows, :data:`HELD`."""
    database.execute(
        "create table items(id int primary key, name text, note text)",
        "insert into items values (2, 'b', null), (9, 'i', 'x'), (10, 'j', 'y'), (11, null, 'z')",
    )
    return table_of(database, "items")
