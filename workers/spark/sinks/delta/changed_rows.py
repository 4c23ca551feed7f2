"""The rows that a batch changes in a Delta table, as :mod:`workers.spark.sinks.delta.deletion_vectors` needs them.

They are in the driver (:class:`DriverRows`, and :class:`workers.spark.sinks.delta.arrow_changes.ArrowChanges`), or among those that Spark's
tasks keep (:class:`TaskRows`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.key_bounds import BoundedColumn, value_of
from workers.spark.sinks.delta.key_search import KeySearch, keys_of_texts
from workers.spark.sinks.delta.known_file import Bound, KnownFile
from workers.spark.sinks.incoming import Incoming, limits
from workers.spark.sinks.small_tables import described, mirrored, said
from workers.spark.tables.local_rows import Projection, collected, effects_kind, listed, local_frame
from workers.spark.tables.table import LSN, POSITION, UPSERT, Table, keys_of

Bounds = tuple[str, str, str]
ROWS_OF_A_FILE: Final = 50_000
"""So many rows are worth a file and a task. A cluster of many cores would otherwise write as many small files in each batch."""


class Writer(Protocol):
    """Writes files of a table by a Spark job."""

    def write_by_job(self, rows: DataFrame) -> list[Any]:
        """Returns Delta's ``AddFile`` of each."""


class ChangedRows(Protocol):
    """One row for each key that changed: a new one, or the key alone of a row that goes."""

    @property
    def count(self) -> int:
        """How many rows these are."""

    @property
    def upserts(self) -> int:
        """How many of them are new rows."""

    @property
    def bounds(self) -> Bounds | None:
        """A key column, and literals of a value that is not above those of the rows and of one that is not below them."""

    @property
    def nullable(self) -> Collection[int]:
        """The places in the key of columns that are null in some row."""

    def may_be_in(self, file: KnownFile) -> bool:
        """Whether the file may have a row with one of the keys."""

    def keys(self) -> DataFrame:
        """The keys, in columns ``s0``, ``s1`` and so on."""

    def search(self, columns: Sequence[BoundedColumn]) -> KeySearch | None:
        """The search for the keys, whose columns are these, by the driver; None if it does not have them, or if one has a null.

        Raises UnicodeError if a value cannot be known from the text that the driver has.
        """

    def written(self, files: DeltaTableFiles) -> list[Any]:
        """Write the new rows as files of the table. Returns Delta's ``AddFile`` of each."""


class DriverPlans:
    """The projections of a table's rows in the driver, which are kept from batch to batch."""

    def __init__(self, session: SparkSession, table: Table) -> None:
        kind = effects_kind(table)
        parts = [F.col("key").getField(name).alias(f"s{at}") for at, name in enumerate(keys_of(table))]
        self.session, self.table = session, table
        self.incoming = Projection(session, kind, lambda frame: described(frame, table, lambda of: of))
        self.keys = Projection(session, kind, lambda frame: frame.select(*parts))


@dataclass(frozen=True, slots=True)
class DriverRows:
    """``rows`` is a Java list of the rows of effects, ``made`` of the same rows with the mirror's columns.

    If the key's first column, ``column``, can bound files, ``ordered`` has its values as bounds, in their order, and ``ends`` are the
    lowest and the highest value of rows that are not deletes; else they are None. ``texts`` are the keys, as Spark writes their values.
    """

    plans: DriverPlans
    rows: Any
    made: Any
    count: int
    upserts: int
    nullable: Collection[int]
    column: BoundedColumn | None
    ordered: Sequence[Bound] | None
    ends: tuple[Bound, Bound] | None
    texts: Sequence[Sequence[str]]

    @classmethod
    def made_of(cls, plans: DriverPlans, rows: Any, column: BoundedColumn | None) -> DriverRows | None:
        """The rows; None if some columns stay as they are in the table."""
        made = plans.incoming.run(rows)
        found = said(plans.incoming.texts(made, 0))
        if any(kept != "0" for _, kept, _ in found):
            return None
        keys = [json.loads(key) for _, _, key in found]
        nullable = {at for key in keys for at, value in enumerate(key) if value is None}
        upserts = [key for (op, _, _), key in zip(found, keys, strict=True) if op == UPSERT]
        if column is None or 0 in nullable:
            return cls(plans, rows, made, len(found), len(upserts), nullable, None, None, None, keys)
        written = [column.bound(key[0]) for key in upserts]
        ends = (min(written), max(written)) if written else None
        ordered = sorted(column.bound(key[0]) for key in keys)
        return cls(plans, rows, made, len(found), len(upserts), nullable, column, ordered, ends, keys)

    @property
    def bounds(self) -> Bounds | None:
        """See :class:`ChangedRows`."""
        if self.column is None or not self.ordered:
            return None
        return bounds_of(self.plans.table, self.column, self.ordered)

    def may_be_in(self, file: KnownFile) -> bool:
        """See :class:`ChangedRows`."""
        return file.may_hold(self.ordered)

    def keys(self) -> DataFrame:
        """See :class:`ChangedRows`."""
        return F.broadcast(local_frame(self.plans.session, self.plans.keys.output, self.plans.keys.run(self.rows)))

    def search(self, columns: Sequence[BoundedColumn]) -> KeySearch | None:
        """See :class:`ChangedRows`."""
        if self.nullable or self.ordered is None:
            return None
        return KeySearch(columns, keys_of_texts(columns, self.texts), self.ordered)

    def written(self, files: DeltaTableFiles) -> list[Any]:
        """See :class:`ChangedRows`. The driver writes one file."""
        session, incoming, made = self.plans.session, self.plans.incoming, self.made
        if self.upserts < self.count:
            there = local_frame(session, incoming.output, made).where(F.col("described").startswith(f"{UPSERT} "))
            # Spark filters rows of the driver without a job.
            made = collected(there)
        flat = incoming.columns(made, mirrored(self.plans.table))
        return [files.write(listed(session, flat), {} if self.column is None else self.column.stats(self.ends))]


def bounds_of(table: Table, column: BoundedColumn, ordered: Sequence[Bound]) -> Bounds | None:
    """:attr:`ChangedRows.bounds` of the values ``ordered`` of ``column``, the first one of the key of ``table``. Pure."""
    lowest, highest = (str(value_of(ordered[at])) for at in (0, -1))
    return limits(keys_of(table)[0], column.of, lowest, highest)[1]


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The rows of ``batch``, of which no column stays as it is in the table."""

    batch: Incoming

    @property
    def count(self) -> int:
        """See :class:`ChangedRows`."""
        return self.batch.count

    @property
    def upserts(self) -> int:
        """See :class:`ChangedRows`."""
        return self.batch.count - self.batch.deletes

    @property
    def bounds(self) -> Bounds | None:
        """See :class:`ChangedRows`."""
        return self.batch.wide

    @property
    def nullable(self) -> Collection[int]:
        """See :class:`ChangedRows`."""
        return [at for at, name in enumerate(self.batch.keys) if name in self.batch.nullable]

    def may_be_in(self, file: KnownFile) -> bool:
        """See :class:`ChangedRows`."""
        of_first = self.batch.bounds is not None and self.batch.bounds[0] == self.batch.keys[0]
        match self.batch.ends:
            case (low, high) if of_first:
                return file.may_hold_between((low, high))
            case _:
                return True

    def keys(self) -> DataFrame:
        """See :class:`ChangedRows`."""
        return self.batch.rows.select(*(F.col(f"k{at}").alias(f"s{at}") for at in range(len(self.batch.keys))))

    def search(self, columns: Sequence[BoundedColumn]) -> KeySearch | None:
        """See :class:`ChangedRows`."""
        del columns
        return None

    def written(self, files: Writer) -> list[Any]:
        """See :class:`ChangedRows`. The tasks of a job write one file each."""
        table, tasks = self.batch.table, ceil(self.upserts / ROWS_OF_A_FILE)
        values = [F.col(f"c{at}").cast(column.kind.type).alias(column.name) for at, column in enumerate(table.columns)]
        own = [F.col("lsn").alias(LSN), *([] if table.key else [F.col("k0").alias(POSITION)])]
        return files.write_by_job(self.batch.rows.where(F.col("op") == UPSERT).select(*values, *own).coalesce(tasks))
