"""A source table as its newest events describe it, and what a batch of them does to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession

from workers.spark.kinds import Kind

UPSERT: Final = "upsert"
DELETE: Final = "delete"

LSN: Final = "__lsn"
"""The column of a mirror that says which change made the row: its LSN as a number, null where the events do not tell.
Debezium's event flattening calls it the same (``add.fields=lsn``)."""
POSITION: Final = "__position"
"""The key of a mirror of a table without one: what names the change that brought the row, once and for all."""


ALL: Final = 2**63 - 1
"""An LSN beyond all others."""


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column as its topic carries it. ``default`` is the schema's default as JSON carries values, None without one.

    ``filled`` is PostgreSQL's text (see :attr:`Kind.sql`) of what it shows for the column in rows that are older than the column, None
    where the source was not asked or does not tell: then ``default`` stands for it.
    """

    name: str
    kind: Kind
    default: object = None
    filled: str | None = None

    @property
    def fills(self) -> bool:
        """Whether rows that are there get a value when the column is added."""
        return self.default is not None or self.filled is not None


@dataclass(frozen=True, slots=True)
class Table:
    """``columns`` in the source's order; ``key`` names those that identify a row, none when the topic's records have no key."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """``schema.name``, for people."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Effects:
    """What one batch does to one table.

    ``rows`` has one row for each key that changed: ``op`` (:data:`UPSERT` or :data:`DELETE`), ``key`` (struct of the key columns in
    ``table``'s types; of a table without key ``struct<__position string>``), ``row`` (struct of all columns, null for a delete), ``kept``
    (array of names: columns whose value in the target stays as it is, or null when there is no such row) and ``lsn`` (bigint or null).
    ``truncated``: first every row whose ``__lsn`` is null or below this goes (:data:`ALL`: every row). ``passed`` are the
    table's forms since the batch before, oldest first, before it came to this one. ``known``: an earlier batch filled the table, so a sink
    that finds none refuses the effects, which lack its rows. Applying the same effects twice leaves the same table.
    """

    table: Table
    rows: DataFrame
    truncated: int | None = None
    passed: tuple[Table, ...] = ()
    known: bool = False

    @property
    def path(self) -> tuple[Table, ...]:
        """The table's forms up to this one."""
        return (*self.passed, self.table)


class Sink(Protocol):
    """Where mirrors are kept. A mirror has the source's columns in their order, then ``__lsn`` (and ``__position`` without a key)."""

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """Bring the effects into the tables, making and changing the tables as their columns ask. Safe to repeat for the same batch."""

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The mirror as it is now, with its own columns; None when there is none yet.

        What becomes part of effects must be read in their ``session``, which for a streaming query is one of its own: Iceberg does not
        find the table's columns again in a plan that reads it in another session (MISSING_ATTRIBUTES).
        """
