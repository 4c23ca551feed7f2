"""Small Delta tables (:mod:`workers.spark.sinks.small_tables`): one file in place of all others, and one commit to Delta's log.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md. The file is written with Arrow, or by Spark's own writer for Delta, and the
commit by the driver or by Delta's own log store, both of which refuse a version that exists.
"""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta.checkpoints import Checkpoints
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.held_arrow import HeldInArrow
from workers.spark.sinks.delta.key_bounds import bounded_column
from workers.spark.sinks.delta.plain import is_plain
from workers.spark.sinks.delta.readers import MICROSECONDS
from workers.spark.sinks.delta.version_files import DeltaVersionFiles
from workers.spark.sinks.small_tables import FAILURES, SMALL, Held, SmallTables, TableFiles
from workers.spark.tables.table import Effects, Table

GIVEN_UP: Final = 200
"""The most tables whose files are kept for another way."""


class SmallDelta(SmallTables):
    """The small tables of a sink for ``readers`` (see :class:`workers.spark.sinks.delta.sink.DeltaSink`)."""

    def __init__(self, readers: str) -> None:
        super().__init__()
        self._readers = readers
        self._given_up: Final[dict[str, DeltaVersionFiles]] = {}
        self._checkpoints: Final = Checkpoints()
        self._reading: Final = Fallbacks("The reading of files", "Spark reads them")

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

    def loaded(self, effects: Effects, place: str) -> Held | None:
        """See :class:`SmallTables`. Rows that come in Arrow are held so, if the driver can read and write the table's files."""
        files, table = self.opened(effects.session, effects.table, place), effects.table
        if files is None:
            return None
        files.prepare()
        if effects.arrow is not None:
            try:
                rows = files.files.read_arrow(files.present)
            except FAILURES as error:
                self._reading.report(table.full_name, error)
                rows = None
            if rows is not None:
                return None if self.has_too_many(rows.num_rows, place) else HeldInArrow.of(table, files, rows)
        return self.in_java(effects.session, table, files, place)

    def outgrown(self, path: str, files: TableFiles) -> None:
        """See :class:`SmallTables`. Rows are marked in the table from now on. To find out again how large it is may take a Spark job."""
        if self._readers == "spark":
            self.unfit.add(path)
        super().outgrown(path, files)

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
