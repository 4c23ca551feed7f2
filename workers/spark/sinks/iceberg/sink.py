"""Mirrors as Iceberg tables."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
)

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.sinks.iceberg.small import SmallIceberg, size_of
from workers.spark.sinks.lake import LakeSink
from workers.spark.tables.names import escaped, quoted
from workers.spark.tables.partitions import partitioned, partitions_of
from workers.spark.tables.table import Effects, Table

PROPERTIES: Final = {
    "format-version": "2",
    # An update marks rows instead of rewriting their files.
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
}


class IcebergSink(LakeSink):
    """A table ``catalog.schema.table`` for each source table, names escaped (see :func:`~workers.spark.tables.names.escaped`).

    ``settings`` are the catalog's, without their prefix ``spark.sql.catalog.<catalog>.`` (``type`` and ``warehouse`` at least); without
    any the session must have the catalog, preferably with ``cache-enabled=false``. Raises JobError(UNREADABLE) if it does not.
    """

    # The partitions of former files stay in the table's metadata. A MERGE of Iceberg 1.11 fails if their column is gone.
    changes_partitions = False

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        *,
        drop_columns: bool = True,
        threads: int = 4,
    ) -> None:
        super().__init__(spark, drop_columns=drop_columns, threads=threads)
        self._few = SmallIceberg(self.held)
        self._sizes: dict[str, int | None] = {}
        """Identifier → the bytes of the table's files before its last MERGE. The first batch of a process does not know them."""
        self.catalog = catalog
        self._warehouse = settings.get("warehouse")
        prefix = f"spark.sql.catalog.{catalog}"
        if settings:
            spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
            # Each streaming query has its own catalog: a cached table would not show the writes of another one.
            for key, value in {"cache-enabled": "false", **settings}.items():
                spark.conf.set(f"{prefix}.{key}", value)
        elif spark.conf.get(prefix, None) is None:
            raise JobError(UNREADABLE, f"The session has no catalog {catalog}. Give the sink its settings (type, warehouse, uri).")

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """See :meth:`LakeSink.apply`. Few rows of small tables are commits without a MERGE."""
        super().apply(batch, self._few.left(effects, self.identifier, self._size, self._threads))

    def _size(self, effects: Effects) -> int | None:
        """The bytes of the table's files before the last ``MERGE``. The first batch of a process does not know them."""
        return self._sizes.get(self.identifier(effects.table))

    def looked(self, table: Table, there: DataFrame) -> None:
        """Remember the table's size."""
        self._sizes[self.identifier(table)] = size_of(there)

    def identifier(self, table: Table) -> str:
        """The name in the catalog."""
        return ".".join(quoted(part) for part in (self.catalog, escaped(table.schema), escaped(table.name)))

    def place(self, table: Table) -> str:
        """The name in the catalog, with the warehouse if it is known."""
        return self.identifier(table) + ("" if self._warehouse is None else f" in {self._warehouse}")

    def create(self, session: SparkSession, table: Table, columns: str) -> None:
        """Create the table with format version 2 and merge-on-read."""
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(self.catalog)}.{quoted(escaped(table.schema))}")
        made = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
        kind = f"USING iceberg{partitioned(table)}"
        session.sql(f"CREATE TABLE IF NOT EXISTS {self.identifier(table)} ({columns}) {kind} TBLPROPERTIES ({made})")

    def rewrite(self, identifier: str, rows: DataFrame, table: Table) -> None:
        """Replace rows and schema in one commit; the table's properties stay."""
        parts = ", ".join(part.sql for part in partitions_of(table, rows.columns))
        view = f"rewritten_{uuid.uuid4().hex}"
        rows.createOrReplaceTempView(view)
        try:
            # PySpark's writer does not have all of Iceberg's transforms.
            clause = f" PARTITIONED BY ({parts})" if parts else ""
            rows.sparkSession.sql(f"REPLACE TABLE {identifier} USING iceberg{clause} AS SELECT * FROM {view}")
        finally:
            rows.sparkSession.catalog.dropTempView(view)

    def widens(self, old: DataType, new: DataType) -> bool:
        """The rules of Iceberg's specification, "Schema Evolution"."""
        match old, new:
            case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
                return True
            case DecimalType(), DecimalType():
                return bool(new.scale == old.scale and new.precision > old.precision)
            case _:
                return False

    def held(self, of: DataType) -> DataType:
        """The type in Iceberg, which has no integers of 8 and 16 bits."""
        match of:
            case ByteType() | ShortType():
                return IntegerType()
            case ArrayType():
                return ArrayType(self.held(of.elementType))
            case MapType():
                return MapType(self.held(of.keyType), self.held(of.valueType))
            case StructType():
                return StructType([type(field)(field.name, self.held(field.dataType)) for field in of.fields])
            case _:
                return of
