"""A source table as its newest events describe it, and the effects of a batch of events on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession

from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.later import Later
from workers.spark.types import Kind

UPSERT: Final = "upsert"
DELETE: Final = "delete"

LSN: Final = "__lsn"
"""The column of a mirror that holds the LSN of the change that wrote the row, as a number; null if the events do not have it.
Debezium's event flattening calls it the same (``add.fields=lsn``)."""
POSITION: Final = "__position"
"""The key column of the mirror of a table without a key: a permanent name of the change that inserted the row."""


ALL: Final = 2**63 - 1
"""An LSN above all others."""


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column as its topic describes it. ``default`` is the schema's default in JSON's form, None without one.

    ``filled`` is PostgreSQL's text (see :attr:`Kind.sql`) of the column's value in rows that are older than the column, None
    if the source was not queried or has no such value: then ``default`` is used.
    """

    name: str
    kind: Kind
    default: object = None
    filled: str | None = None

    @property
    def fills(self) -> bool:
        """Whether existing rows get a value when the column is added."""
        return self.default is not None or self.filled is not None


@dataclass(frozen=True, slots=True)
class Table:
    """``columns`` are in the source's order. ``key`` names those that identify a row; empty when the topic's records have no key.

    ``partition_by`` says how a lake divides the table's files (:mod:`workers.spark.tables.partitions`).
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partition_by: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``schema.name``, for people."""
        return f"{self.schema}.{self.name}"


def keys_of(table: Table) -> tuple[str, ...]:
    """The key's columns; :data:`POSITION` for a table without a key."""
    return table.key or (POSITION,)


def shape_of(table: Table) -> tuple[Sequence[tuple[str, str]], Sequence[str]]:
    """The columns with their types, and the key. Tables are not compared, because they have functions that each batch creates."""
    return [(column.name, column.kind.type.simpleString()) for column in table.columns], table.key


class Again(Enum):
    """The values, in existing rows, of a column that the source drops and adds again."""

    SHOWN = "shown"
    """Those of the new column if the columns show it. If they are the same as before, the column is the same."""
    CLEARED = "cleared"
    """Those of the new column also if only an earlier form without the column shows it. No other topic may fill the table."""
    KEPT = "kept"
    """Those of the former column, because the rows show earlier states."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of one batch on one table.

    ``later`` has one row for each key that changed: ``op`` (:data:`UPSERT` or :data:`DELETE`), ``key`` (struct of the key columns in
    ``table``'s types; of a table without key ``struct<__position string>``), ``row`` (struct of all columns, null for a delete), ``kept``
    (array of names: columns, also ``__lsn``, whose value in the target stays as it is, or null when there is no such row) and ``lsn``
    (bigint or null).
    ``truncated``: before the rows are applied, every row whose ``__lsn`` is null or below this is removed (:data:`ALL`: every row).
    ``replaced``: of a table without a key, ranges of ``__position`` (from the first text to before the second) of further rows that are
    removed then. ``passed`` are the table's earlier forms since the previous batch, oldest first. ``former`` is a form that the previous
    batch knew, if given: other columns that the target has are left from earlier forms. ``known``: an earlier batch filled the table, so a
    sink that does not find it refuses the effects. ``seen``, if given, is called with the numbers of upserts and deletes before these are
    written. ``again`` says what a column has that was dropped and added. ``forms``: if the rows
    may have changes of forms that no earlier batch knew, these and the forms between them, before and after, in the order of their
    commits; otherwise empty. ``octets``, if given, is the size of the changes that the rows are computed from, and says that each row is a
    whole one, or a delete, and comes from these changes alone. ``changes`` is their number then. ``arrow``, if given, has the same rows.
    Applying the same effects twice leaves the same table.
    """

    table: Table
    later: Later
    truncated: int | None = None
    replaced: tuple[tuple[str, str], ...] = ()
    passed: tuple[Table, ...] = ()
    former: Table | None = None
    known: bool = False
    seen: Callable[[int, int], None] | None = None
    again: Again = Again.SHOWN
    forms: tuple[Table, ...] = ()
    octets: int | None = None
    changes: int = 0
    arrow: ArrowRows | None = None

    @property
    def rows(self) -> DataFrame:
        """The rows of ``later``."""
        return self.later.rows

    @property
    def session(self) -> SparkSession:
        """The session of the rows."""
        return self.later.session

    def with_rows(self, rows: DataFrame) -> Effects:
        """The effects with other rows."""
        return replace(self, later=Later.of(rows), arrow=None)

    @property
    def path(self) -> tuple[Table, ...]:
        """The table's earlier forms, and then its present form."""
        return (*self.passed, self.table)


class Sink(Protocol):
    """The store of mirrors. A mirror has the source's columns in their order, then ``__lsn`` (and ``__position`` without a key)."""

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """Apply the effects to the tables; create tables and change their columns as needed. Safe to repeat for the same batch."""

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The present mirror, with its own columns; None if it does not exist yet.

        A DataFrame that becomes part of effects must be read in their ``session``, which a streaming query has for itself: Iceberg does not
        find the table's columns again in a plan that reads it in another session (MISSING_ATTRIBUTES).
        """
