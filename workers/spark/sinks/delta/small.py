"""Small Delta tables (:mod:`workers.spark.sinks.small_tables`): one file in place of all others, and one commit to Delta's log.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md. The file is written by Spark's own writer for Delta, and the commit by
Delta's own log store, which refuses a version that exists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.readers import MICROSECONDS, refused_table
from workers.spark.sinks.small_tables import FAILURES, SMALL, SmallTables
from workers.spark.tables.table import Table

CHECKPOINTS: Final = 50
"""After this number of commits a checkpoint of the table's log is due. One batch makes at most one for this number of tables."""
_FEATURES: Final = {"appendOnly", "invariants", "columnMapping", "deletionVectors", "typeWidening", "timestampNtz"}
"""The table features for which a commit of a file and its predecessors is complete."""
_SETTINGS: Final = {
    "delta.columnMapping.mode",
    "delta.columnMapping.maxColumnId",
    "delta.enableDeletionVectors",
    "delta.enableTypeWidening",
    "delta.checkpointPolicy",
    "delta.checkpointInterval",
    "delta.logRetentionDuration",
    "delta.deletedFileRetentionDuration",
}
"""The table properties that a commit of this module respects."""
_FIELDS: Final = {"delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.typeChanges"}
"""The properties of a column that a commit of this module respects. Others are constraints or generated values."""
_READER, _WRITER = 1, 2
"""The highest versions of the protocol whose features have no names, and are those of :data:`_FEATURES` without a name."""


class DeltaVersionFiles:
    """See :class:`workers.spark.sinks.small_tables.TableFiles`."""

    def __init__(self, files: DeltaTableFiles) -> None:
        self.files: Final = files
        self.size = files.size
        self.commits = 0
        """The commits since the last checkpoint."""
        self._version = files.version
        self._mark = files.mark(files.version)
        self._present = files.files()

    def rows(self) -> DataFrame:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        return self.files.rows(self._present)

    def prepare(self) -> None:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        self.files.prepare()

    def replace(self, rows: Any, counts: Mapping[str, int]) -> bool:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`. The history shows ``counts``."""
        # The version's own file shows that nobody has removed the table, or made another one in its place.
        if self.files.mark(self._version) != self._mark:
            return False
        added = [] if rows.isEmpty() else [self.files.write(rows)]
        self._mark = self.files.commit(self._version + 1, self._present, added, counts)
        self._version, self._present, self.commits = self._version + 1, added, self.commits + 1
        self.size = sum(int(file.size()) for file in added)
        return True


class SmallDelta(SmallTables):
    """The small tables of a sink for ``readers`` (see :class:`workers.spark.sinks.delta.sink.DeltaSink`)."""

    def __init__(self, readers: str) -> None:
        super().__init__()
        self._readers = readers
        self._checkpoints: Final = Fallbacks("The checkpoint")

    def opened(self, session: SparkSession, table: Table, place: str) -> DeltaVersionFiles | None:
        """See :class:`SmallTables`. ``place`` is the table's folder."""
        if self._readers == "all":
            session.conf.set(*MICROSECONDS)
        files = DeltaTableFiles(session, place)
        if files.size > SMALL:
            return None
        metadata, protocol = files.described
        if not _plain(metadata, protocol, table, self._readers, place):
            self._unfit.add(place)
            return None
        if not self.same_columns(StructType.fromJson(json.loads(metadata["schemaString"])), table):
            return None
        return DeltaVersionFiles(files)

    def checkpoint(self) -> None:
        """Write the checkpoints of the logs that are due, a few at a time, so that no batch waits for those of all tables."""
        with self._lock:
            known = [(held.table, held.files) for held in self._kept.values() if isinstance(held.files, DeltaVersionFiles)]
        due = sorted(((table, files) for table, files in known if files.commits >= CHECKPOINTS), key=lambda one: -one[1].commits)
        for table, files in due[: ceil(len(known) / CHECKPOINTS)]:
            files.commits = 0
            # A checkpoint only makes the log faster to read. The next one is due after as many commits.
            try:
                files.files.checkpoint()
            except FAILURES as error:
                self._checkpoints.report(table.full_name, error)


def _plain(metadata: Mapping[str, Any], protocol: Mapping[str, Any], table: Table, readers: str, path: str) -> bool:
    """Whether a commit of one file in place of all others is right for a table with this metadata and protocol. Pure."""
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    if "writerFeatures" not in protocol and (protocol["minReaderVersion"] > _READER or protocol["minWriterVersion"] > _WRITER):
        return False
    # The sink has a message for tables that are not for its readers.
    if features - _FEATURES or refused_table(readers, table, path, features, changes=False) is not None:
        return False
    if metadata.get("partitionColumns") or {*metadata["configuration"]} - _SETTINGS:
        return False
    fields = StructType.fromJson(json.loads(metadata["schemaString"])).fields
    return all(field.nullable and not {*field.metadata} - _FIELDS for field in fields)
