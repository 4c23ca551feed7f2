"""The source's tables: their columns, and their rows as PostgreSQL's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from workers.spark.source.catalog import Catalog, CatalogColumn
from workers.spark.tables.table import Column

SETTINGS: Final = (
    ("timezone", "UTC"),
    ("datestyle", "ISO, YMD"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
    # A policy that hides rows from this role must be an error, because the events hold all rows.
    ("row_security", "off"),
    # A reader may wait for its consumer, and the holder of a snapshot waits for its readers.
    ("statement_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
)
"""Text that does not depend on the role's or the database's settings (PostgreSQL manual, 19.11 Client Connection Defaults).

``lc_monetary`` stays the database's, because it decides how many digits of a stored amount are decimals. Amounts are read as numeric.
"""

_COLUMNS: Final = """
with recursive attribute as (
    select a.attnum, a.attname, t.oid, t.typname, t.typtype, t.typelem, t.typcategory, t.typbasetype, a.atttypmod as modifier, t.typtypmod
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = %s)
      and a.attnum > 0 and not a.attisdropped
    union all
    select d.attnum, d.attname, t.oid, t.typname, t.typtype, t.typelem, t.typcategory, t.typbasetype, d.typtypmod, t.typtypmod
    from attribute d join pg_type t on t.oid = d.typbasetype where d.typtype = 'd'
)
select b.attname, coalesce(e.typname, b.typname), coalesce(e.typtype, b.typtype)::text, b.modifier, e.oid is not null
from attribute b left join pg_type e on e.oid = b.typelem and b.typcategory = 'A'
where b.typtype <> 'd' order by b.attnum
"""


@contextmanager
def snapshot(dsn: str) -> Iterator[psycopg.Connection]:
    """A connection with one consistent, read-only view of the database (isolation level REPEATABLE READ)."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for name, value in SETTINGS:
            connection.execute("select set_config(%s, %s, false)", (name, value))
        yield connection


def table_columns(connection: psycopg.Connection, table: tuple[str, str]) -> list[CatalogColumn]:
    """The table's columns in their order; empty when there is no such table."""
    return [CatalogColumn(*row) for row in connection.execute(_COLUMNS, table).fetchall()]


def catalog_of(dsn: str) -> Catalog:
    """A function that returns a table's present columns. Raises psycopg's errors."""

    def columns(schema: str, name: str) -> Sequence[CatalogColumn]:
        with psycopg.connect(dsn) as connection:
            # Composite types are not sent by default.
            return [column for column in table_columns(connection, (schema, name)) if column.kind != "c"]

    return columns


def rows_as_text(spark: SparkSession, connection: psycopg.Connection, table: tuple[str, str], columns: Sequence[Column]) -> DataFrame:
    """All rows of the table, ``columns`` only, each as PostgreSQL's text (see :attr:`Kind.sql`). The rows pass through this process."""
    items = [sql.SQL(column.kind.sql.replace("{c}", sql.Identifier(column.name).as_string(connection))) for column in columns]
    query = sql.SQL("select {} from {}").format(sql.SQL(", ").join(items), sql.Identifier(*table))
    rows = connection.execute(query).fetchall()
    return spark.createDataFrame(rows, StructType([StructField(column.name, StringType()) for column in columns]))
