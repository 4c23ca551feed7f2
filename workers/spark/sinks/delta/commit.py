"""Writes files of a Delta table, and commits them to the table's log in the driver, without a Spark job.

Delta's own classes do it: the writer that Spark's tasks use, and the naming of files. Arrow also writes files, of rows that it has
(:mod:`workers.spark.sinks.delta.arrow_files`). A commit adds a version to the log
(:mod:`workers.spark.sinks.delta.log_folder`), which fails if it exists. What it contains is Delta's protocol,
https://github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.java_items import items_of
from workers.spark.sinks.delta.arrow_files import ArrowFiles, arrow_schema
from workers.spark.sinks.delta.log_folder import LogFolder, Mark, information
from workers.spark.sinks.delta.vector_files import VectorFiles

NO_STATS: Final[Mapping[str, Any]] = MappingProxyType({})


def file_name(path: str) -> str:
    """The name of a file in its folder, from its path as Delta and Spark write it. Pure."""
    return unquote(path.rpartition("/")[2])


class Marked(NamedTuple):
    """A file with rows that its new deletion vector marks: its name, the vector, all marked rows, and those that it marks newly.

    ``vector`` may be None if all rows of the file are marked.
    """

    name: str
    vector: Any
    marked: int
    newly: int


class DeltaTableFiles:
    """The files and the log of the table in ``folder``, as its newest version is now.

    Files are written for the columns and properties of that version. It needs the settings that ``session`` has now.
    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        java: Any = session.sparkContext._jvm  # noqa: SLF001 - Delta has no API in Python for its log
        own: Any = session._jsparkSession  # noqa: SLF001 - the same
        sql, hadoop = java.org.apache.spark.sql, java.org.apache.hadoop
        self._none = java.scala.Option.empty()
        self._log = sql.delta.DeltaLog.forTable(own, folder)
        self._versions = LogFolder(session, self._log)
        self._snapshot = self._log.update(False, self._none, self._none)
        # A file of the log that Delta writes beside a version, which says what is in it. Without it a job reads the log.
        self._checksum = self._snapshot.checksumOpt()
        self._list = java.java.util.ArrayList
        self._as_scala = java.scala.jdk.javaapi.CollectionConverters.asScala
        self._action_of = sql.delta.actions.Action.fromJson
        self._sql = sql
        self._hadoop = hadoop
        self._java = java
        self._own = own
        self._session = session

    @property
    def version(self) -> int:
        """The number of the version."""
        return int(self._snapshot.version())

    @property
    def size(self) -> int:
        """The bytes of the version's files."""
        if self._checksum.isDefined():
            return int(self._checksum.get().tableSizeBytes())
        return int(str(self._snapshot.sizeInBytes()))

    @property
    def described(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The version's metadata and protocol, as the log has them."""
        metadata, protocol = json.loads(self._snapshot.metadata().json()), json.loads(self._snapshot.protocol().json())
        return metadata["metaData"], protocol["protocol"]

    def files(self) -> list[Any]:
        """The version's files, as Delta's ``AddFile``. Spark reads the log for them if its checksum does not list them."""
        listed = self._checksum.get().allFiles() if self._checksum.isDefined() else self._none
        if listed.isDefined():
            return items_of(self._java.scala.jdk.javaapi.CollectionConverters.asJava(listed.get()))
        return items_of(self._snapshot.allFiles().collectAsList())

    def rows(self, files: Sequence[Any]) -> DataFrame:
        """The rows of these files of the version, without those that it has marked as deleted."""
        listed = self._list()
        for file in files:
            listed.add(file)
        there = self._log.createDataFrame(self._snapshot, self._as_scala(listed).toSeq(), False, self._none)
        return DataFrame(there, self._session)

    def marked(self, files: Sequence[Any], places: DataFrame) -> list[Marked]:
        """Write deletion vectors for ``places``, rows of these files of the version. One Spark job does it.

        ``places`` has the columns ``file_path`` and ``row_index`` of Spark's ``_metadata``. A vector marks the rows, and those that
        the file's former vector marks. Delta writes all of them to one file for each task.
        """
        listed = self._list()
        for file in files:
            listed.add(file)
        commands, some = self._sql.delta.commands.DeletionVectorBitmapGenerator, self._java.scala.Some
        path, index = (some(places[name]._jc) for name in ("file_path", "row_index"))  # noqa: SLF001 - Delta has no API in Python for it
        every = self._sql.catalyst.expressions.Literal.TrueLiteral()
        folder, chosen = self._log.dataPath().toString(), places._jdf  # noqa: SLF001 - the same
        rows = commands.buildRowIndexSetsForFilesMatchingCondition(
            self._own, folder, True, chosen, self._as_scala(listed).toSeq(), every, path, index
        )
        found = commands.buildDeletionVectors(self._own, rows, self._log, 0)
        made = []
        for one in items_of(self._java.scala.jdk.javaapi.CollectionConverters.asJava(found)):
            vector = one.deletionVector()
            made.append(Marked(file_name(str(one.filePath())), vector, int(vector.cardinality()), int(one.matchedRowCount())))
        return made

    @property
    def folder(self) -> Path | None:
        """The table's folder if the driver itself creates files there (:attr:`LogFolder.local`)."""
        log = self._versions.local
        return None if log is None else log.parent

    @cached_property
    def vectors(self) -> VectorFiles:
        """The table's deletion vectors, if the table has a :attr:`folder`."""
        return VectorFiles(self._java, self._log)

    @property
    def arrow(self) -> ArrowFiles | None:
        """The table's files for Arrow; None if the table has no :attr:`folder`, or a column that Arrow does not write as Spark does."""
        folder = self.folder
        if folder is None or self._arrow_schema is None:
            return None
        return ArrowFiles(folder, self._arrow_schema, self._spark_version)

    @cached_property
    def _arrow_schema(self) -> pa.Schema | None:
        return arrow_schema(StructType.fromJson(json.loads(self.described[0]["schemaString"])))

    @cached_property
    def _spark_version(self) -> str:
        return str(self._session.version)

    def mark(self, version: int) -> Mark:
        """The mark of a version's file in the log. Raises Java's error when it does not exist."""
        return self._versions.mark(version)

    def exists(self, version: int) -> bool:
        """Whether the log has this version."""
        return self._versions.exists(version)

    def prepare(self) -> None:
        """Prepare what every file needs."""
        physical = self._sql.delta.DeltaColumnMapping.renameColumns(self._snapshot.metadata().schema())
        self._nothing = self._java.scala.Predef.Map().empty()
        self._job = self._hadoop.mapreduce.Job.getInstance(self._configuration())
        form = self._log.fileFormat(self._snapshot.protocol(), self._snapshot.metadata())
        self._factory = form.prepareWrite(self._own, self._job, self._nothing, physical)
        self._settings = self._java.org.apache.spark.util.SerializableConfiguration(self._job.getConfiguration())
        self._columns = self._sql.catalyst.types.DataTypeUtils.toAttributes(physical)
        self._folder = self._log.dataPath().toString()
        self._empty = self._as_scala(self._list()).toSeq()
        self._description = self._sql.execution.datasources.WriteJobDescription
        self._writer = self._sql.execution.datasources.SingleDirectoryDataWriter
        self._names = self._sql.delta.files.DelayedCommitProtocol
        attempt = self._hadoop.mapreduce.TaskAttemptID("understudy", 0, self._hadoop.mapreduce.TaskType.MAP, 0, 0)
        self._context = self._hadoop.mapreduce.task.TaskAttemptContextImpl(self._job.getConfiguration(), attempt)
        self._versions.prepare()

    def write(self, rows: Any, stats: Mapping[str, Any] = NO_STATS) -> Any:
        """Write a Java list of ``InternalRow`` as one file. Returns its ``AddFile``, which has ``stats`` besides the number of rows."""
        names = self._names("delta", self._folder, self._none, self._none)
        names.setupJob(self._context)
        names.setupTask(self._context)
        number = uuid.uuid4().hex
        columns, empty, none, nothing = self._columns, self._empty, self._none, self._nothing
        description = self._description(
            number, self._settings, self._factory, columns, columns, empty, none, self._folder, nothing, 0, "UTC", empty
        )
        writer = self._writer(description, self._context, names, nothing)
        try:
            writer.writeAll(rows.iterator())
            written = self._list()
            written.add(writer.commit().commitMsg())
        except BaseException:
            writer.abort()
            raise
        finally:
            writer.close()
        names.commitJob(self._context, self._as_scala(written).toSeq())
        document = json.loads(names.addedStatuses().head().json())
        document["add"]["stats"] = json.dumps({"numRecords": int(rows.size()), **stats})
        return self._action_of(json.dumps(document))

    def write_arrow(self, rows: pa.Table) -> Any:
        """As :meth:`write`, of rows that Arrow has. The table must have :attr:`arrow`. Raises ArrowException, ValueError or OSError."""
        files = self.arrow
        if files is None:
            raise ValueError("table has no files that Arrow writes")
        return self._action_of(files.write(rows))

    def read_arrow(self, files: Sequence[Any]) -> pa.Table | None:
        """The rows of these files of the version, without those that it has marked as deleted; None if the table has no :attr:`arrow`.

        Raises ArrowException, ValueError or OSError if a file is not as expected.
        """
        if self.arrow is None:
            return None
        found = [self.arrow.read(str(file.path()), self.vectors.read(file.deletionVector())) for file in files]
        return pa.concat_tables([self.arrow.schema.empty_table(), *found])

    def write_by_job(self, rows: DataFrame) -> list[Any]:
        """Write the rows as files, with all statistics that Delta's writer makes. Returns their ``AddFile``. One Spark job does it."""
        # Only the transaction's writer is used. It is that of the version whose columns and properties are known.
        writer = self._sql.delta.OptimisticTransaction(self._log, self._none, self._snapshot)
        return items_of(self._java.scala.jdk.javaapi.CollectionConverters.asJava(writer.writeFiles(rows._jdf)))  # noqa: SLF001 - the same

    def unchanged(self, files: Sequence[Any]) -> list[Any]:
        """These ``AddFile``, marked as having only rows that the table has already."""
        documents = [json.loads(str(file.json())) for file in files]
        return [self._action_of(json.dumps({"add": document["add"] | {"dataChange": False}})) for document in documents]

    def removed_unchanged(self, files: Sequence[Any]) -> list[Any]:
        """The ``RemoveFile`` of these ``AddFile``, whose rows stay in the table."""
        now = time.time_ns() // 1_000_000
        return [file.removeWithTimestamp(now, False) for file in files]

    def commit(self, version: int, removed: Sequence[Any], added: Sequence[Any], operation: str, counts: Mapping[str, int]) -> Mark:
        """Commit as ``version``: Delta's ``RemoveFile`` and ``AddFile``. Returns its mark.

        ``operation`` is its name in the history, and ``counts`` the metrics there. Raises Java's FileAlreadyExistsException when the
        version exists.
        """
        said = information(version, operation, counts, appends=False)
        self._versions.add(version, [said, *(action.json() for action in (*removed, *added))])
        return self.mark(version)

    def checkpoint(self) -> None:
        """Write a checkpoint of the log's newest version. Spark does it."""
        self._log.update(False, self._none, self._none)
        self._log.checkpoint()

    def _configuration(self) -> Any:
        return self._log.newDeltaHadoopConf()
