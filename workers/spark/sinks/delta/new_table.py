"""Creates Delta tables with their first rows in one commit, without SQL.

For ``CREATE TABLE`` and ``INSERT`` Spark parses and plans two statements, and Delta makes two commits. With them the first 100,000 rows of
a new process took 2.8 to 3.5 s (4.6 to 6.0 CPU-s), and in this way 1.9 s (3.4).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from workers.spark.fallback import RACE, Fallbacks, reason_of
from workers.spark.java_items import items_of
from workers.spark.sinks.delta.arrow_files import ArrowFiles, arrow_schema
from workers.spark.sinks.delta.changed_rows import TaskRows
from workers.spark.sinks.delta.log_folder import LogFolder, information
from workers.spark.sinks.delta.plain import is_plain
from workers.spark.sinks.delta.readers import PROPERTIES
from workers.spark.sinks.incoming import Incoming, own_columns
from workers.spark.sinks.small_tables import FAILURES, tell
from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.table import Effects, Table


class NewTables:
    """Creates tables for ``readers`` (see :class:`workers.spark.sinks.delta.sink.DeltaSink`)."""

    def __init__(self, readers: str) -> None:
        self._readers = readers
        self._fallbacks: Final = Fallbacks("The creation", "it is created by SQL")

    def created(self, effects: Effects, batch: Incoming, path: str) -> bool:
        """Create the table in the folder ``path`` with the batch's new rows. ``batch`` has the rows of the effects.

        False: SQL may create it, unless another process has done so by now. A failure of Spark or of the storage is raised. The table then
        exists with these rows or not at all; its folder may have files that no version has.
        """
        rows = TaskRows(batch)
        return self._made(effects, path, lambda new: new.commit(rows.written(new) if rows.upserts else [], rows.upserts))

    def begun(self, effects: Effects, rows: ArrowRows, path: str) -> bool:
        """As :meth:`created`, with ``rows``, those of the effects. Also False if the table is there, or Arrow does not write its files."""

        def made(new: _NewTable) -> None:
            new.commit(new.write_in_arrow(rows.whole) if rows.upserts else [], rows.upserts)
            tell(effects, rows.upserts, len(rows))

        return self._made(effects, path, made, in_arrow=True)

    def _made(self, effects: Effects, path: str, make: Callable[[_NewTable], None], *, in_arrow: bool = False) -> bool:
        table = effects.table
        if table.partition_by:
            return False
        try:
            new = _NewTable(effects.session, path, table, PROPERTIES[self._readers])
            if not is_plain(new.metadata, new.protocol, table, self._readers, path) or (in_arrow and new.files is None):
                return False
        except FileExistsError:
            return False
        except FAILURES as error:
            self._fallbacks.report(table.full_name, error)
            return False
        try:
            make(new)
        except (FileExistsError, pa.ArrowException, Py4JError) as error:
            # What is not Java's own error is a method that another version does not have. No file is written then.
            if isinstance(error, Py4JJavaError) and reason_of(error) not in RACE:
                raise
            self._fallbacks.report(table.full_name, error)
            return False
        return True


class _NewTable:
    """A transaction of Delta's that creates a table in ``folder``. It is only committed here."""

    def __init__(self, session: SparkSession, folder: str, table: Table, properties: Mapping[str, str]) -> None:
        java: Any = session.sparkContext._jvm  # noqa: SLF001 - Delta has no API in Python for its log
        own: Any = session._jsparkSession  # noqa: SLF001 - the same
        delta, none = java.org.apache.spark.sql.delta, java.scala.Option.empty()
        log = delta.DeltaLog.forTable(own, folder)
        snapshot = log.update(False, none, none)
        if int(snapshot.version()) >= 0:
            raise FileExistsError(folder)
        self._as_java = java.scala.jdk.javaapi.CollectionConverters.asJava
        self._version = session.version
        self._versions = LogFolder(session, log)
        self._versions.prepare()
        self._new = delta.OptimisticTransaction(log, none, snapshot)
        # Delta adds the session's defaults for new tables, the columns' physical names, and the features that all this needs.
        self._new.updateMetadata(delta.actions.Action.fromJson(json.dumps(_described(table, properties))), False)
        self.metadata: Mapping[str, Any] = json.loads(self._new.metadata().json())["metaData"]
        self.protocol: Mapping[str, Any] = json.loads(self._new.protocol().json())["protocol"]

    def write_by_job(self, rows: DataFrame) -> list[Mapping[str, Any]]:
        """Write the rows as files. Returns Delta's actions. One Spark job does it."""
        return [json.loads(file.json()) for file in items_of(self._as_java(self._new.writeFiles(rows._jdf)))]  # noqa: SLF001 - see above

    @property
    def files(self) -> ArrowFiles | None:
        """What writes the table's files in the driver; None if they are not on the local file system, or Arrow does not know a type."""
        schema = arrow_schema(StructType.fromJson(json.loads(self.metadata["schemaString"])))
        local = self._versions.local
        return None if local is None or schema is None else ArrowFiles(local.parent, schema, self._version)

    def write_in_arrow(self, rows: pa.Table) -> list[Mapping[str, Any]]:
        """Write the rows as a file. Returns Delta's action. The table must have :attr:`files`."""
        if self.files is None:
            raise ValueError("table has no files that Arrow writes")
        self._versions.make()
        return [json.loads(self.files.write(rows))]

    def commit(self, added: Sequence[Mapping[str, Any]], rows: int) -> None:
        """Commit the table with these files of new rows, of which there are so many. ``added`` are Delta's actions.

        Raises FileExistsError or Java's error if it exists by now.
        """
        sizes = [one["add"]["size"] for one in added]
        counts = {"numFiles": len(added), "numOutputRows": rows, "numOutputBytes": sum(sizes)}
        said = information(0, "WRITE" if added else "CREATE TABLE", counts, appends=True)
        self._versions.make()
        self._versions.add(0, [said, *(json.dumps(one) for one in ({"metaData": self.metadata}, {"protocol": self.protocol}, *added))])
        checksum = {
            "txnId": json.loads(said)["commitInfo"]["txnId"],
            "tableSizeBytes": sum(sizes),
            "numFiles": len(added),
            "numDeletedRecordsOpt": 0,
            "numDeletionVectorsOpt": 0,
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [],
            "domainMetadata": [],
            "metadata": self.metadata,
            "protocol": self.protocol,
            "allFiles": [one["add"] for one in added],
        }
        # Readers do without it.
        with suppress(*FAILURES):
            self._versions.describe(0, checksum)


def _described(table: Table, properties: Mapping[str, str]) -> Mapping[str, Any]:
    """The metadata of a new table, as the log has them. Pure."""
    shape: dict[str, DataType] = {column.name: column.kind.type for column in table.columns} | own_columns(table)
    schema = StructType([StructField(name, of) for name, of in shape.items()])
    return {
        "metaData": {
            "id": str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.json(),
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": time.time_ns() // 1_000_000,
        }
    }
