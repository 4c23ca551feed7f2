"""A batch as PostgreSQL's statements. Pure, except :func:`run`.

Nulls are values of a key here, and ``IS NOT DISTINCT FROM`` uses neither a hash nor an index. So rows are grouped by the pattern of
nulls in their key: for each existing pattern, the null columns are compared with ``IS NULL`` and the others with ``=``.

``rows`` is what a FROM clause has for the batch's rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg

from workers.spark.sinks.incoming import Batch
from workers.spark.tables.table import DELETE, LSN, POSITION, UPSERT


def run(connection: psycopg.Connection, statement: str) -> None:
    """Execute a statement made of quoted names."""
    connection.execute(statement.encode())


def sql_name(*parts: str) -> str:
    """A quoted name for PostgreSQL."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def sql_text(text: str) -> str:
    """A text literal for PostgreSQL, valid for every standard_conforming_strings."""
    return " E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def patterns_query(rows: str, batch: Batch) -> str:
    """SELECT of the patterns of nulls: a boolean for each key column."""
    return f"SELECT DISTINCT {', '.join(f'k{at} IS NULL' for at in range(len(batch.keys)))} FROM {rows}"


def truncates(mirror: str, batch: Batch) -> str:
    """DELETE of the rows that the batch's truncate removes."""
    lsn, position = sql_name(LSN), f'{sql_name(POSITION)} COLLATE "C"'
    ranges = [f"({position} >= {sql_text(low)} AND {position} < {sql_text(high)})" for low, high in batch.replaced]
    return f"DELETE FROM {mirror} WHERE {' OR '.join([f'{lsn} IS NULL', f'{lsn} < {batch.truncated}', *ranges])}"


def deletes(mirror: str, rows: str, batch: Batch, types: Mapping[str, str], nulls: frozenset[str]) -> str:
    """DELETE of the batch's deleted rows."""
    return f"DELETE FROM {mirror} t USING {rows} s WHERE s.op = {sql_text(DELETE)} AND {_match(batch, types, nulls)}"


def updates(mirror: str, rows: str, batch: Batch, types: Mapping[str, str], nulls: frozenset[str]) -> str:
    """UPDATE of existing rows."""
    values = {
        name: f"CASE WHEN {_keeps(name)} THEN t.{sql_name(name)} ELSE {value} END" if name in batch.kept else value
        for name, value in _values(batch, types).items()
    }
    assigned = ", ".join(f"{sql_name(name)} = {value}" for name, value in values.items())
    return f"UPDATE {mirror} t SET {assigned} FROM {rows} s WHERE s.op = {sql_text(UPSERT)} AND {_match(batch, types, nulls)}"


def inserts(mirror: str, rows: str, batch: Batch, types: Mapping[str, str], nulls: frozenset[str]) -> str:
    """INSERT of missing rows."""
    values = {
        name: f"CASE WHEN NOT {_keeps(name)} THEN {value} END" if name in batch.kept else value
        for name, value in _values(batch, types).items()
    }
    if not batch.table.key:
        values[POSITION] = "s.k0"
    absent = f"NOT EXISTS (SELECT FROM {mirror} t WHERE {_match(batch, types, nulls)})"
    names = ", ".join(sql_name(name) for name in values)
    mine = " AND ".join([f"s.op = {sql_text(UPSERT)}", *_pattern(batch, nulls)])
    return f"INSERT INTO {mirror} ({names}) SELECT {', '.join(values.values())} FROM {rows} s WHERE {mine} AND {absent}"


def _values(batch: Batch, types: Mapping[str, str]) -> dict[str, str]:
    values = {column.name: f"s.c{at}::{types[column.name]}" for at, column in enumerate(batch.table.columns)}
    return {**values, LSN: "s.lsn::bigint"}


def _match(batch: Batch, types: Mapping[str, str], nulls: frozenset[str]) -> str:
    same = [
        f"t.{sql_name(name)} IS NULL" if name in nulls else f"t.{sql_name(name)} = s.k{at}::{types[name]}"
        for at, name in enumerate(batch.keys)
    ]
    return " AND ".join([*same, *_pattern(batch, nulls)])


def _pattern(batch: Batch, nulls: frozenset[str]) -> list[str]:
    """The conditions that a staged row has nulls in exactly these key columns."""
    return [f"s.k{at} IS {'' if name in nulls else 'NOT '}NULL" for at, name in enumerate(batch.keys) if name in batch.nullable]


def _keeps(name: str) -> str:
    return f"coalesce({sql_text(name)} = ANY(s.kept::text[]), false)"
