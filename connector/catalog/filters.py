"""Filters of schemas, tables and columns (Debezium documentation, properties ``*.include.list`` and ``*.exclude.list``).

The lists hold regular expressions that must match the whole name, ignoring case: ``schema``, ``schema.table``, ``schema.table.column``. The
last two may begin with the database; Debezium does not match that form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from connector.catalog.name_matcher import LongForm, include_exclude
from connector.ports import Backtracking, no_backtracking

BUILTIN_SCHEMAS: Final = ("pg_catalog", "information_schema")

TABLE_DOTS: Final = 2
"""The number of dots in ``database.schema.table``."""
COLUMN_DOTS: Final = 3
"""The number of dots in ``database.schema.table.column``."""


class TableFilter:
    """The connector's schema and table lists. Built once for each task."""

    def __init__(
        self,
        *,
        schema_include: Iterable[str] = (),
        schema_exclude: Iterable[str] = (),
        table_include: Iterable[str] = (),
        table_exclude: Iterable[str] = (),
        ignore_builtin: bool = True,
        database: str = "",
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        self._schema = include_exclude(schema_include, schema_exclude, "schema", backtrack=backtrack)
        self._table = include_exclude(table_include, table_exclude, "table", long_form=LongForm(database, TABLE_DOTS), backtrack=backtrack)
        self._ignore_builtin = ignore_builtin

    def learn(self, tables: Iterable[tuple[str, str]]) -> None:
        """Match many tables (schema, table) at once, which is faster where patterns need a backtracking engine."""
        listed = list(tables)
        self._schema.listed.learn(schema for schema, _ in listed)
        self._table.listed.learn(f"{schema}.{table}" for schema, table in listed)

    def captures(self, schema: str, table: str) -> bool:
        """Return whether changes of the table are sent."""
        if self._ignore_builtin and (schema in BUILTIN_SCHEMAS or schema.startswith(("pg_temp", "pg_toast")) or table == "spatial_ref_sys"):
            return False
        return self._schema(schema) and self._table(f"{schema}.{table}")

    def in_list_order(self, names: Iterable[str]) -> list[str]:
        """Return ``names`` (schema.table) sorted; with a list of included tables in its order, and those of one pattern sorted.

        Names that no pattern matches are last.
        """
        listed = sorted(names)
        if not self._table.includes:
            return listed
        first = self._table.listed.first(listed)
        return sorted(listed, key=lambda name: first.get(name, math.inf))


class ColumnFilter:
    """The columns of captured tables that values contain. Keys contain excluded columns nevertheless."""

    def __init__(
        self, *, include: Iterable[str] = (), exclude: Iterable[str] = (), database: str = "", backtrack: Backtracking = no_backtracking
    ) -> None:
        self._column = include_exclude(include, exclude, "column", long_form=LongForm(database, COLUMN_DOTS), backtrack=backtrack)

    def learn(self, names: Iterable[str]) -> None:
        """Match many columns (``schema.table.column``) at once."""
        self._column.listed.learn(names)

    def includes(self, schema: str, table: str, column: str) -> bool:
        """Return whether the column is part of ``before`` and ``after``."""
        return self._column(f"{schema}.{table}.{column}")
