"""Small Iceberg tables (:mod:`workers.spark.sinks.small_tables`): one file in place of all others, and one commit by Iceberg's own API.

The file is written by Iceberg's writer for Spark's rows, with the table's properties. The commit is an overwrite of all rows, which
Iceberg refuses if the table got or lost rows after the snapshot that the held rows come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from workers.spark.java_items import items_of
from workers.spark.sinks.small_tables import SMALL, SmallTables
from workers.spark.tables.table import Table

ENGINE: Final = "Understudy"
"""The value of :data:`WRITER` in the summary of these snapshots."""
WRITER: Final = "written-by"
FORMATS: Final = (1, 2)
"""The versions of the format in which a row has no identity besides its values."""
_REFUSED: Final = (
    "org.apache.iceberg.exceptions.CommitFailedException",
    "org.apache.iceberg.exceptions.ValidationException",
)
"""Another process has committed first. Nothing is changed then."""
_KEY: Final = "encryption.key-id"
_SIZE: Final = "total-files-size"
_WRITER: Final = "org.apache.iceberg.io.FileWriter"
_ROWS: Final = "org.apache.spark.sql.catalyst.InternalRow"
Mark = tuple[object, ...]
"""The snapshot, the schema, the partitions and the properties of a table."""


def size_of(there: DataFrame) -> int | None:
    """The bytes of the files of the Iceberg table ``there``; None without a snapshot, or if Iceberg does not show them."""
    plan: Any = there._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark does not show a table's metadata
    try:
        return _size(plan.collectLeaves().head().table().table().currentSnapshot())
    except Py4JError:
        # Another version of Iceberg may not have these.
        return None


def _size(snapshot: Any) -> int | None:
    text = None if snapshot is None else snapshot.summary().get(_SIZE)
    return None if text is None else int(text)


class IcebergFiles:
    """See :class:`workers.spark.sinks.small_tables.TableFiles`. ``table`` is Iceberg's, ``identifier`` its name in SQL."""

    def __init__(self, session: SparkSession, table: Any, identifier: str) -> None:
        java: Any = session.sparkContext._jvm  # noqa: SLF001 - Iceberg has no API in Python for Spark's catalogs
        self._iceberg = java.org.apache.iceberg
        self._session = session
        self._table = table
        self._identifier = identifier
        self._mark = self._now()
        self.size = _size(table.currentSnapshot()) or 0

    @property
    def columns(self) -> StructType:
        """The columns that the next file has."""
        return StructType.fromJson(json.loads(self._iceberg.spark.SparkSchemaUtil.convert(self._table.schema()).json()))

    def rows(self) -> DataFrame:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`. They have the columns that the table had when it got them."""
        return self._session.read.option("versionAsOf", str(self._mark[0])).table(self._identifier)

    def prepare(self) -> None:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        java: Any = self._session.sparkContext._jvm  # noqa: SLF001 - the same
        own: Any = self._session._jsparkSession  # noqa: SLF001 - the same
        settings = self._iceberg.spark.SparkWriteConf(own, self._table)
        self._format = settings.dataFileFormat()
        self._properties = settings.writeProperties()
        self._summary = {str(entry.getKey()): str(entry.getValue()) for entry in items_of(settings.extraSnapshotMetadata().entrySet())}
        self._names = self._iceberg.io.OutputFileFactory.builderFor(self._table, 0, 0).format(self._format).build()
        self._writers = self._iceberg.formats.FormatModelRegistry.dataWriteBuilder
        of_name = java.org.apache.spark.util.Utils.classForName
        self._kind = of_name(_ROWS, True, False)
        # Py4J would choose the method of this name that writes one row.
        self._arrays, self._object = self._session.sparkContext._gateway.new_array, java.java.lang.Object  # noqa: SLF001 - the same
        kinds = self._arrays(java.java.lang.Class, 1)
        kinds[0] = of_name("java.lang.Iterable", True, False)
        self._all_rows = of_name(_WRITER, True, False).getMethod("write", kinds)
        self._schema = self._table.schema()
        self._columns = self._iceberg.spark.SparkSchemaUtil.convert(self._schema)
        self._metrics = self._iceberg.MetricsConfig.forTable(self._table)
        self._all = self._iceberg.expressions.Expressions.alwaysTrue()

    def replace(self, rows: Any, keys: Sequence[str], counts: Mapping[str, int]) -> bool:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        del keys, counts  # Iceberg's history shows the rows of files, and its writer makes all statistics.
        self._table.refresh()
        if self._now() != self._mark:
            return False
        added = None if rows.isEmpty() else self._written(rows)
        change = self._table.newOverwrite().overwriteByRowFilter(self._all)
        if added is not None:
            change.addFile(added)
        for name, value in {**self._summary, WRITER: ENGINE}.items():
            change.set(name, value)
        # Files that came or went after the snapshot are a conflict.
        change.validateFromSnapshot(self._mark[0]).conflictDetectionFilter(self._all)
        change.validateNoConflictingData().validateNoConflictingDeletes()
        try:
            change.commit()
        except Py4JJavaError as error:
            if str(error.java_exception.getClass().getName()) not in _REFUSED:
                raise
            if added is not None:
                self._table.io().deleteFile(added.location())
            return False
        # The table may have a later snapshot already.
        self._mark = (int(change.updateEvent().snapshotId()), *self._mark[1:])
        self.size = 0 if added is None else int(added.fileSizeInBytes())
        return True

    def _written(self, rows: Any) -> Any:
        """Write the rows as one file. Returns its ``DataFile``."""
        file, spec = self._names.newOutputFile(), self._table.spec()
        making = self._writers(self._format, self._kind, file).schema(self._schema).engineSchema(self._columns).spec(spec)
        writer = making.setAll(self._table.properties()).setAll(self._properties).metricsConfig(self._metrics).build()
        try:
            given = self._arrays(self._object, 1)
            given[0] = rows
            self._all_rows.invoke(writer, given)
        finally:
            writer.close()
        return writer.toDataFile()

    def _now(self) -> Mark:
        """The mark of the table as it was refreshed last."""
        metadata = self._table.operations().current()
        snapshot = metadata.currentSnapshot()
        return (
            None if snapshot is None else int(snapshot.snapshotId()),
            metadata.currentSchemaId(),
            metadata.defaultSpecId(),
            metadata.formatVersion(),
            metadata.properties().hashCode(),
        )


class SmallIceberg(SmallTables):
    """The small tables of a sink that stores values in the types that ``stored`` gives."""

    def __init__(self, stored: Callable[[DataType], DataType]) -> None:
        super().__init__()
        self._stored = stored

    def stored(self, of: DataType) -> DataType:
        """See :class:`SmallTables`."""
        return self._stored(of)

    def opened(self, session: SparkSession, table: Table, place: str) -> IcebergFiles | None:
        """See :class:`SmallTables`. ``place`` is the table's name in SQL."""
        java: Any = session.sparkContext._jvm  # noqa: SLF001 - Iceberg has no API in Python for Spark's catalogs
        own: Any = session._jsparkSession  # noqa: SLF001 - the same
        iceberg = java.org.apache.iceberg
        found = iceberg.spark.Spark3Util.loadIcebergTable(own, place)
        size = _size(found.currentSnapshot())
        if size is None or size > SMALL:
            return None
        columns = found.schema().columns()
        plain = found.spec().isUnpartitioned() and all(column.isOptional() for column in items_of(columns))
        # Otherwise commits go to another branch until they are published, or rows have numbers of their own.
        if (
            not plain
            or iceberg.spark.SparkWriteConf(own, found).wapEnabled()
            or found.operations().current().formatVersion() not in FORMATS
        ):
            self.unfit.add(place)
            return None
        files = IcebergFiles(session, found, place)
        same = self.same_columns(files.columns, table) and self.same_columns(files.rows().schema, table)
        return files if same else None
