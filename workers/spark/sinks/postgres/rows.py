"""Where a batch's rows are while PostgreSQL's statements apply them: in a staging table, or in the parameters of the statements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.incoming import Batch, flat
from workers.spark.sinks.postgres.sql import patterns_query, run
from workers.spark.tables.local_rows import NotLocal, Plans, joined_text, keyable, local_rows
from workers.spark.tables.postgres_text import to_text
from workers.spark.tables.table import DELETE, Effects, Table

_NUL: Final = "\\u0000"
"""A character that PostgreSQL's texts cannot have, as JSON has it."""


class BatchRows(Protocol):
    """The rows of a batch, with the columns of :class:`workers.spark.sinks.incoming.Incoming` as texts."""

    @property
    def relation(self) -> str:
        """What a FROM clause has for the rows."""

    def patterns(self, connection: psycopg.Connection, batch: Batch) -> list[frozenset[str]]:
        """The sets of key columns that are null together in some row."""

    def execute(self, connection: psycopg.Connection, statement: str) -> None:
        """Execute a statement that has :attr:`relation` once."""

    def drop(self, connection: psycopg.Connection) -> None:
        """Remove the rows."""


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The rows in the staging table ``relation``."""

    relation: str

    def patterns(self, connection: psycopg.Connection, batch: Batch) -> list[frozenset[str]]:
        """See :class:`BatchRows`. The table is analyzed first, because it is new."""
        run(connection, f"ANALYZE {self.relation}")
        found = connection.execute(patterns_query(self.relation, batch).encode()).fetchall() if batch.nullable else [()]
        return [frozenset(name for name, missing in zip(batch.keys, row, strict=False) if missing) for row in found]

    def execute(self, connection: psycopg.Connection, statement: str) -> None:
        """See :class:`BatchRows`."""
        run(connection, statement)

    def drop(self, connection: psycopg.Connection) -> None:
        """See :class:`BatchRows`."""
        run(connection, f"DROP TABLE {self.relation}")


@dataclass(frozen=True, slots=True)
class GivenRows:
    """A few rows, by column. ``names`` are those of the columns."""

    names: Sequence[str]
    columns: Sequence[Sequence[str | None]]

    @property
    def relation(self) -> str:
        """See :class:`BatchRows`. The parameters have numbers."""
        arrays = ", ".join(f"${at}::text[]" for at in range(1, len(self.names) + 1))
        return f"(SELECT * FROM unnest({arrays}) AS given({', '.join(self.names)}))"

    def patterns(self, connection: psycopg.Connection, batch: Batch) -> list[frozenset[str]]:
        """See :class:`BatchRows`."""
        del connection
        keys = [self.columns[self.names.index(f"k{at}")] for at in range(len(batch.keys))]
        return list(
            {frozenset(name for name, value in zip(batch.keys, row, strict=True) if value is None) for row in zip(*keys, strict=True)}
        )

    def execute(self, connection: psycopg.Connection, statement: str) -> None:
        """See :class:`BatchRows`."""
        # A statement is seldom the same twice, and a pooler may not know prepared ones.
        psycopg.RawCursor(connection).execute(statement.encode(), [list(column) for column in self.columns], prepare=False)

    def drop(self, connection: psycopg.Connection) -> None:
        """See :class:`BatchRows`. There is nothing to remove."""


class GivenTexts:
    """Makes a batch's rows that are in the driver (:func:`workers.spark.tables.local_rows.local_rows`) into texts, without a Spark job.

    The texts are those of a staging table, by the same expressions. Their plans are kept, one for each table.
    """

    def __init__(self) -> None:
        self._plans: Final = Plans(_texts)
        self._fallbacks: Final = Fallbacks("The writing of rows")

    def batch(self, effects: Effects) -> tuple[Batch, GivenRows] | None:
        """The effects and their rows; None if the rows are not in the driver, some columns stay as they are, or a step fails."""
        rows = local_rows(effects.rows) if keyable(effects.table) else None
        if rows is None:
            return None
        table = effects.table
        try:
            plan = self._plans.plan(effects)
            lines = plan.texts(plan.run(rows), 0)
        except (NotLocal, Py4JError, PySparkException) as error:
            self._fallbacks.report(table.full_name, error)
            return None
        found = [json.loads(line) for line in lines]
        # The server refuses the character, and its message is the same for all rows if they take the usual way.
        if not found or any(kept != "0" for kept, *_ in found) or any(_NUL in line for line in lines):
            return None
        names = ["op", "lsn", *(f"k{at}" for at in range(len(table.key))), *(f"c{at}" for at in range(len(table.columns)))]
        given = GivenRows(names, list(zip(*found, strict=True))[1:])
        nullable = frozenset(name for name, values in zip(table.key, given.columns[2:], strict=False) if None in values)
        batch = Batch(table, len(found), effects.truncated, effects.replaced, frozenset(), nullable)
        if effects.seen is not None:
            deletes = given.columns[0].count(DELETE)
            effects.seen(batch.count - deletes, deletes)
        return batch, given


def staged_texts(rows: DataFrame) -> DataFrame:
    """The rows as PostgreSQL's texts, with the same names."""
    return rows.select(*(to_text(F.col(name), rows.schema[name].dataType).alias(name) for name in rows.columns))


def _texts(effects: DataFrame, table: Table) -> DataFrame:
    """A text of the number of kept columns and the texts of all other columns."""
    rows = flat(effects, table)
    kept = F.coalesce(F.size("kept"), F.lit(0)).cast("string")
    texts = (to_text(F.col(name), rows.schema[name].dataType) for name in rows.columns if name != "kept")
    return rows.select(joined_text([kept, *texts]).alias("row"))
