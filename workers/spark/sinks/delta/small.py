"""Small Delta tables (:mod:`workers.spark.sinks.small_tables`): one file in place of all others, and one commit to Delta's log.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md. The file is written by Spark's own writer for Delta, and the commit by
Delta's own log store, which refuses a version that exists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.sinks.delta.checkpoints import Checkpoints
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.key_bounds import BoundedColumn, bounded_column
from workers.spark.sinks.delta.plain import is_plain
from workers.spark.sinks.delta.readers import MICROSECONDS
from workers.spark.sinks.small_tables import SMALL, SmallTables, TableFiles
from workers.spark.tables.table import Table

GIVEN_UP: Final = 200
"""The most tables whose files are kept for another way."""


class DeltaVersionFiles:
    """See :class:`workers.spark.sinks.small_tables.TableFiles`."""

    def __init__(self, files: DeltaTableFiles, column: BoundedColumn | None = None) -> None:
        self.files: Final = files
        self._column = column
        self.size = files.size
        self.commits = 0
        """The commits since the last checkpoint."""
        self.version = files.version
        self.mark = files.mark(files.version)
        """The mark of the version's file in the log."""
        self.present = files.files()
        """Delta's ``AddFile`` of each file of the version."""

    def rows(self) -> DataFrame:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        return self.files.rows(self.present)

    def prepare(self) -> None:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        self.files.prepare()

    def replace(self, rows: Any, keys: Sequence[str], counts: Mapping[str, int]) -> bool:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`. The history shows ``counts``."""
        # The version's own file shows that nobody has removed the table, or made another one in its place.
        if self.files.mark(self.version) != self.mark:
            return False
        # With bounds, later batches of a table that has outgrown this way need not look for their keys in the file.
        stats = {} if self._column is None else self._column.stats_of(keys)
        added = [] if rows.isEmpty() else [self.files.write(rows, stats)]
        metrics = {f"numTargetRows{what}": number for what, number in counts.items()}
        self.mark = self.files.commit(self.version + 1, [file.remove() for file in self.present], added, "MERGE", metrics)
        self.version, self.present, self.commits = self.version + 1, added, self.commits + 1
        self.size = sum(int(file.size()) for file in added)
        return True


class SmallDelta(SmallTables):
    """The small tables of a sink for ``readers`` (see :class:`workers.spark.sinks.delta.sink.DeltaSink`)."""

    def __init__(self, readers: str) -> None:
        super().__init__()
        self._readers = readers
        self._given_up: Final[dict[str, DeltaVersionFiles]] = {}
        self._checkpoints: Final = Checkpoints()

    def opened(self, session: SparkSession, table: Table, place: str) -> DeltaVersionFiles | None:
        """See :class:`SmallTables`. ``place`` is the table's folder."""
        if self._readers == "all":
            session.conf.set(*MICROSECONDS)
        files = DeltaTableFiles(session, place)
        if files.size > SMALL:
            return None
        metadata, protocol = files.described
        if not is_plain(metadata, protocol, table, self._readers, place):
            self.unfit.add(place)
            return None
        there = StructType.fromJson(json.loads(metadata["schemaString"]))
        if not self.same_columns(there, table):
            return None
        return DeltaVersionFiles(files, bounded_column(there, table) if self._readers == "spark" else None)

    def gave_up(self, path: str, files: TableFiles) -> None:
        """See :class:`SmallTables`."""
        if isinstance(files, DeltaVersionFiles) and len(self._given_up) < GIVEN_UP:
            self._given_up[path] = files

    def given_up(self, path: str) -> DeltaVersionFiles | None:
        """The files of a table that this class had until its last batch. They are returned once."""
        return self._given_up.pop(path, None)

    def checkpoint(self) -> None:
        """Write the checkpoints of the logs that are due."""
        with self._lock:
            known = [(held.table, held.files) for held in self._kept.values() if isinstance(held.files, DeltaVersionFiles)]
        self._checkpoints.write(known)
