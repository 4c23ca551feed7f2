"""The rows that a batch changes in a Delta table, as columns of Arrow in the driver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StringType, StructField, StructType

from workers.spark.sinks.delta.changed_rows import Bounds, bounds_of
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.key_bounds import BoundedColumn
from workers.spark.sinks.delta.key_search import KeySearch
from workers.spark.sinks.delta.known_file import Bound, KnownFile
from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.table import Table, keys_of


@dataclass(frozen=True, slots=True)
class ArrowChanges:
    """See :class:`workers.spark.sinks.delta.changed_rows.ChangedRows`. ``rows`` are those of effects on ``table``.

    If the key's first column, ``column``, can bound files, ``ordered`` has its values as bounds, in their order; else both are None.
    """

    session: SparkSession
    table: Table
    rows: ArrowRows
    upserts: int
    column: BoundedColumn | None
    ordered: Sequence[Bound] | None

    @classmethod
    def of(cls, session: SparkSession, table: Table, rows: ArrowRows, column: BoundedColumn | None) -> ArrowChanges:
        """The changes of ``rows``."""
        first = rows.keys.column(0)
        if column is None or first.null_count:
            return cls(session, table, rows, rows.upserts, None, None)
        return cls(session, table, rows, rows.upserts, column, sorted(column.bounds(first)))

    @property
    def count(self) -> int:
        """See :class:`ChangedRows`."""
        return len(self.rows)

    @property
    def bounds(self) -> Bounds | None:
        """See :class:`ChangedRows`."""
        return None if self.column is None or not self.ordered else bounds_of(self.table, self.column, self.ordered)

    @property
    def nullable(self) -> Collection[int]:
        """See :class:`ChangedRows`."""
        return [at for at, column in enumerate(self.rows.keys.columns) if column.null_count]

    def may_be_in(self, file: KnownFile) -> bool:
        """See :class:`ChangedRows`."""
        return file.may_hold(self.ordered)

    def keys(self) -> DataFrame:
        """See :class:`ChangedRows`."""
        kinds = {column.name: column.kind.type for column in self.table.columns}
        names = [f"s{at}" for at in range(len(keys_of(self.table)))]
        of = [StructField(name, kinds.get(key, StringType())) for name, key in zip(names, keys_of(self.table), strict=True)]
        return F.broadcast(self.session.createDataFrame(self.rows.keys.rename_columns(names), StructType(of)))

    def search(self, columns: Sequence[BoundedColumn]) -> KeySearch | None:
        """See :class:`ChangedRows`."""
        return None if self.nullable or self.ordered is None else KeySearch(columns, self.rows.keys, self.ordered)

    def written(self, files: DeltaTableFiles) -> list[Any]:
        """See :class:`ChangedRows`. The driver writes one file."""
        return [files.write_arrow(self.rows.whole)]
