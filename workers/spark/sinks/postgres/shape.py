"""A PostgreSQL mirror's columns, and the index on its key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import psycopg
from pyspark.sql import SparkSession

from workers.spark.failure import TableError
from workers.spark.sinks.incoming import Batch, own_columns
from workers.spark.sinks.postgres.sql import run, sql_name, sql_text
from workers.spark.sinks.postgres.types import NUMBERS, WHOLE, postgres_type
from workers.spark.tables.casts import default_of
from workers.spark.tables.evolution import Add, Drop, Rename, Retype, Step, allowed, steps_along
from workers.spark.tables.postgres_text import to_text
from workers.spark.tables.table import LSN, POSITION, Again, Column, Table, keys_of

MARK: Final = "Made for the mirror's key"
"""The comment of an index that :func:`bring_key` created and may drop."""
DISTINCT_NULLS_ONLY: Final = 150000
"""The first version with unique indexes in which nulls are equal."""

ORDER: Final = "Columns in the order of the source: "
"""The beginning of the comment on :data:`LSN`. A JSON list of the names follows."""

_REMARK: Final = """
SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE a.attname = %s AND n.nspname = %s AND c.relname = %s
"""
_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_INDEX: Final = """
SELECT i.relname, x.indisprimary,
    ARRAY(SELECT a.attname::text FROM unnest(x.indkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number ORDER BY k.place)
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND obj_description(x.indexrelid, 'pg_class') = %s
"""


def columns_of(connection: psycopg.Connection, target: tuple[str, str]) -> list[tuple[str, str]]:
    """Names and types (``format_type``) of a table's columns in order; empty when there is no such table."""
    return [(str(name), str(of)) for name, of in connection.execute(_COLUMNS.encode(), target).fetchall()]


def bring_schema(connection: psycopg.Connection, name: str) -> None:
    """Create the schema unless it exists. IF NOT EXISTS alone would require the CREATE privilege even then."""
    if connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [name]).fetchone() is None:
        run(connection, f"CREATE SCHEMA IF NOT EXISTS {sql_name(name)}")


def bring_shape(
    connection: psycopg.Connection,
    spark: SparkSession,
    target: tuple[str, str],
    path: Sequence[Table],
    former: Table | None,
    again: Again,
    *,
    drop_columns: bool,
) -> None:
    """Create the mirror, or change it from ``former`` (see :class:`Effects`, also for ``again``) along ``path``.

    Raises TableError for a table that is not a mirror.
    """
    table = path[-1]
    own = {name: "bigint" if name == LSN else "text" for name in own_columns(table)}
    there, mirror = columns_of(connection, target), sql_name(*target)
    if not there:
        shape = {column.name: postgres_type(column) for column in table.columns} | own
        bring_schema(connection, target[0])
        run(connection, f"CREATE TABLE {mirror} ({', '.join(f'{sql_name(name)} {of}' for name, of in shape.items())})")
        _note_order(connection, mirror, table)
        return
    names = {name for name, _ in there}
    if LSN not in names:
        said = f"{'.'.join(target)} has no column {LSN}, so it is not a mirror. Choose another schema for it."
        raise TableError(table.full_name, said)
    old = [(name, of) for name, of in there if name not in {LSN, POSITION}]
    order = _order(connection, target)
    old.sort(key=lambda column: order.index(column[0]) if column[0] in order else len(order))
    found = steps_along(old, path, postgres_type, extras=not drop_columns, former=None if drop_columns else former, again=again)
    for step in allowed(found, table, drop_columns=drop_columns):
        _take(connection, spark, mirror, step)
    if POSITION in names and POSITION not in own:
        run(connection, f"ALTER TABLE {mirror} DROP COLUMN {sql_name(POSITION)}")
    if POSITION in own and POSITION not in names:
        run(connection, f"ALTER TABLE {mirror} ADD COLUMN {sql_name(POSITION)} text")
    if order != [column.name for column in table.columns]:
        _note_order(connection, mirror, table)


def _order(connection: psycopg.Connection, target: tuple[str, str]) -> list[str]:
    """The source's order of the columns. In the mirror new columns are always at the end."""
    row = connection.execute(_REMARK.encode(), [LSN, *target]).fetchone()
    remark = str(row[0]) if row is not None and row[0] is not None else ""
    return [str(name) for name in json.loads(remark.removeprefix(ORDER))] if remark.startswith(ORDER) else []


def _note_order(connection: psycopg.Connection, mirror: str, table: Table) -> None:
    remark = ORDER + json.dumps([column.name for column in table.columns])
    run(connection, f"COMMENT ON COLUMN {mirror}.{sql_name(LSN)} IS{sql_text(remark)}")


def _take(connection: psycopg.Connection, spark: SparkSession, mirror: str, step: Step) -> None:
    match step:
        case Rename(old, new):
            run(connection, f"ALTER TABLE {mirror} RENAME COLUMN {sql_name(old)} TO {sql_name(new)}")
        case Drop(name):
            run(connection, f"ALTER TABLE {mirror} DROP COLUMN {sql_name(name)}")
        case Add(column):
            # The default is for existing rows. Later rows have their own values.
            run(connection, f"ALTER TABLE {mirror} ADD COLUMN {sql_name(column.name)} {postgres_type(column)}{_default(spark, column)}")
            run(connection, f"ALTER TABLE {mirror} ALTER COLUMN {sql_name(column.name)} DROP DEFAULT")
        case Retype(column, str() as old):
            _retype(connection, mirror, column, old)


def _default(spark: SparkSession, column: Column) -> str:
    if not column.fills:
        return ""
    text = spark.range(1).select(to_text(default_of(column), column.kind.type)).collect()[0][0]
    return "" if text is None else f" DEFAULT{sql_text(text)}"


def _retype(connection: psycopg.Connection, mirror: str, column: Column, old: str) -> None:
    """Cast the column. Values that cannot be cast become null; PostgreSQL itself would refuse the statement."""
    new = postgres_type(column)
    base_old, base_new = old.partition("(")[0], new.partition("(")[0]
    if base_old in NUMBERS and base_new in NUMBERS:
        cast = f"v::{new}"
    elif base_new in WHOLE:
        cast = f"round(v::text::numeric)::{new}"
    else:
        cast = f"v::text::{new}"
    body = f"BEGIN RETURN {cast}; EXCEPTION WHEN OTHERS THEN RETURN NULL; END"
    function = "pg_temp.cast_or_null"
    run(connection, f"CREATE FUNCTION {function}(v {old}) RETURNS {new} LANGUAGE plpgsql AS{sql_text(body)}")
    name = sql_name(column.name)
    run(connection, f"ALTER TABLE {mirror} ALTER COLUMN {name} TYPE {new} USING {function}({name})")
    run(connection, f"DROP FUNCTION {function}({old})")


def bring_key(connection: psycopg.Connection, target: tuple[str, str], batch: Batch) -> None:
    """Create an index on the table's key: the primary key as long as no key had a null, then one in which nulls are equal.

    If existing rows prevent this (the source's key has changed, and its events are not applied yet), the index is not unique.
    """
    table = batch.table
    mirror, keys = sql_name(*target), list(keys_of(table))
    found = connection.execute(_INDEX.encode(), [*target, MARK]).fetchone()
    if found is not None:
        name, primary, indexed = str(found[0]), bool(found[1]), [str(column) for column in found[2]]
        if indexed == keys and not (primary and batch.nullable):
            return
        _drop_index(connection, target, name, indexed, primary=primary)
    names = ", ".join(sql_name(name) for name in keys)
    unique = f"CREATE UNIQUE INDEX ON {mirror} ({names}) NULLS NOT DISTINCT"
    plain = f"CREATE INDEX ON {mirror} ({names})"
    if not table.key:
        # Rows from the time when the table had a key have no position.
        wanted = [f"CREATE UNIQUE INDEX ON {mirror} ({names})"]
    elif batch.nullable:
        wanted = [unique, plain] if connection.info.server_version >= DISTINCT_NULLS_ONLY else [plain]
    else:
        wanted = [f"ALTER TABLE {mirror} ADD PRIMARY KEY ({names})", plain]
    before = _indexes(connection, target)
    for statement in wanted:
        try:
            with connection.transaction():
                run(connection, statement)
        except (psycopg.errors.UniqueViolation, psycopg.errors.NotNullViolation):
            continue
        break
    for name in _indexes(connection, target) - before:
        run(connection, f"COMMENT ON INDEX {sql_name(target[0], name)} IS{sql_text(MARK)}")


def _drop_index(connection: psycopg.Connection, target: tuple[str, str], name: str, columns: list[str], *, primary: bool) -> None:
    mirror = sql_name(*target)
    if not primary:
        run(connection, f"DROP INDEX {sql_name(target[0], name)}")
        return
    run(connection, f"ALTER TABLE {mirror} DROP CONSTRAINT {sql_name(name)}")
    for column in columns:
        run(connection, f"ALTER TABLE {mirror} ALTER COLUMN {sql_name(column)} DROP NOT NULL")


def _indexes(connection: psycopg.Connection, target: tuple[str, str]) -> set[str]:
    rows = connection.execute(b"SELECT indexname FROM pg_indexes WHERE schemaname = %s AND tablename = %s", target).fetchall()
    return {str(row[0]) for row in rows}
