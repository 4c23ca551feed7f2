"""Which schemas, tables and columns are captured (Debezium documentation, properties ``*.include.list``/``*.exclude.list``).

Lists hold regular expressions that must match the whole name without regard to case: ``schema``, ``schema.table``,
``schema.table.column``. The last two may begin with the database, which the reference's do not match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connector.name_matcher import LongForm, include_exclude
from connector.ports import Backtracking, no_backtracking

BUILTIN_SCHEMAS: Final = ("pg_catalog", "information_schema")

TABLE_DOTS: Final = 2
"""Dots in ``database.schema.table``."""
COLUMN_DOTS: Final = 3
"""Dots in ``database.schema.table.column``."""


class TableFilter:
    """Decides by the connector's schema and table lists. Built once per task."""

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
        """Decide about many tables (schema, table) at once, which is faster where patterns take a backtracking engine."""
        listed = list(tables)
        self._schema.listed.learn(schema for schema, _ in listed)
        self._table.listed.learn(f"{schema}.{table}" for schema, table in listed)

    def captures(self, schema: str, table: str) -> bool:
        """Whether changes of the table are sent."""
        if self._ignore_builtin and (schema in BUILTIN_SCHEMAS or schema.startswith(("pg_temp", "pg_toast")) or table == "spatial_ref_sys"):
            return False
        return self._schema(schema) and self._table(f"{schema}.{table}")


class ColumnFilter:
    """Decides which columns of a captured table appear in values; keys hold excluded columns all the same."""

    def __init__(
        self, *, include: Iterable[str] = (), exclude: Iterable[str] = (), database: str = "", backtrack: Backtracking = no_backtracking
    ) -> None:
        self._column = include_exclude(include, exclude, "column", long_form=LongForm(database, COLUMN_DOTS), backtrack=backtrack)

    def learn(self, names: Iterable[str]) -> None:
        """Decide about many columns (``schema.table.column``) at once."""
        self._column.listed.learn(names)

    def includes(self, schema: str, table: str, column: str) -> bool:
        """Whether the column is part of ``before`` and ``after``."""
        return self._column(f"{schema}.{table}.{column}")
