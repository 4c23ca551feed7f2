"""The values that PostgreSQL shows for a column in rows that are older than the column.

``ALTER TABLE … ADD COLUMN … DEFAULT`` writes no row. PostgreSQL evaluates the default once and keeps the value beside the column
(PostgreSQL manual, "pg_attribute": ``atthasmissing``, ``attmissingval``) until the table is rewritten. Events show only a part: for
arrays, hstore, bytea, ranges and user-defined types they have no default, and otherwise the newest default, which may have been set
after the column was added. They have no default at all if the column was renamed before the connector read the event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import psycopg
from psycopg import sql

from workers.spark.source.catalog import connect_schema
from workers.spark.source.present_names import Place, present_names
from workers.spark.source.relation import snapshot, table_columns
from workers.spark.tables.table import Column
from workers.spark.types import kind_of

MISSING_SINCE: Final = 110000
"""The first server version that keeps such values. Earlier ones rewrote the table."""
_MISSING: Final = """
select a.attname, a.attmissingval::text, format_type(a.atttypid, a.atttypmod), t.typcategory = 'A'
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace join pg_type t on t.oid = a.atttypid
where n.nspname = %s and c.relname = %s and a.attnum > 0 and not a.attisdropped and a.atthasmissing
"""
_PLACES: Final = """
select case when not a.attisdropped then a.attname end
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and a.attnum > 0 order by a.attnum
"""

Missing = Callable[[tuple[str, str], Sequence[Column]], Mapping[str, str]]
"""For a table (schema, name) and the columns of its events, in their order: name → the text (see :attr:`Kind.sql`) shown in older rows, for
columns that have one."""


def missing_of(dsn: str) -> Missing:
    """A function that queries the source at ``dsn`` in its present state. Raises psycopg's errors."""

    def missing(table: tuple[str, str], columns: Sequence[Column]) -> Mapping[str, str]:
        with snapshot(dsn) as connection:
            if connection.info.server_version < MISSING_SINCE:
                return {}
            values: dict[str, str] = {}
            for name, array, of, is_array in connection.execute(_MISSING, table).fetchall():
                # The value is in an array of one element. SQL has no arrays of arrays, so an array is extracted as text first.
                held = sql.Literal(array).as_string(connection)
                values[name] = f"(({held}::text::text[])[1])::{of}" if is_array else f"({held}::text::{of}[])[1]"
            if not values:
                return {}
            names = present_names(columns, _places(connection, table))
            # A kind that cannot be compared with PostgreSQL's text cannot be read from it.
            wanted = [column for column in columns if column.kind.comparable and names.get(column.name) in values]
            items = {column.name: column.kind.sql.replace("{c}", f"({values[names[column.name]]})") for column in wanted}
            if not items:
                return {}
            [texts] = connection.execute(f"select {', '.join(items.values())}".encode()).fetchall()
        return {name: text for name, text in zip(items, texts, strict=True) if text is not None}

    return missing


def _places(connection: psycopg.Connection, table: tuple[str, str]) -> list[Place]:
    kinds = {column.name: kind_of(connect_schema(column)) for column in table_columns(connection, table)}
    names = [name for (name,) in connection.execute(_PLACES, table).fetchall()]
    return [Place(name, kinds[name].type if name in kinds else None) for name in names]
