"""Applies rows to Delta tables that are not small: the rows' former versions are marked, and one commit is made, instead of a MERGE.

The rows' keys are looked for in the table, and the rows that have them are marked in deletion vectors, by the driver
(:mod:`workers.spark.sinks.delta.marked_rows`) or by a job. The new rows are written as one file, in the driver, or as several ones, by a
second job, if they are many (:mod:`workers.spark.sinks.delta.changed_rows`). The commit has both, and is made only if the table's files are
still those that the process knows. So every other commit is noticed: the files are then forgotten, and the batch is applied by a MERGE.

Delta's MERGE of the same rows has fourteen jobs. See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Deletion Vectors".
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from workers.spark.fallback import RACE, Fallbacks, reason_of
from workers.spark.sinks.delta.arrow_changes import ArrowChanges
from workers.spark.sinks.delta.changed_rows import ChangedRows, DriverRows, TaskRows
from workers.spark.sinks.delta.checkpoints import Checkpoints
from workers.spark.sinks.delta.commit import DeltaTableFiles, Marked, file_name
from workers.spark.sinks.delta.joined_files import joined, small_files
from workers.spark.sinks.delta.key_bounds import bounded_columns
from workers.spark.sinks.delta.known_file import KnownFile
from workers.spark.sinks.delta.marked_rows import MarkedRows
from workers.spark.sinks.delta.open_table import OpenTable
from workers.spark.sinks.delta.plain import is_plain
from workers.spark.sinks.delta.version_files import DeltaVersionFiles
from workers.spark.sinks.incoming import Incoming
from workers.spark.sinks.merge_statement import between
from workers.spark.sinks.small_tables import CHANGES, FAILURES, GATHERED, SMALL, in_java, not_applied, same_columns, simple, tell
from workers.spark.tables.local_rows import local_rows
from workers.spark.tables.names import quoted
from workers.spark.tables.table import Effects, Table, keys_of, shape_of

FILES: Final = 2_000
"""The most files of a table. The process holds their descriptions, and maintenance makes few files of many."""
AGAIN: Final = 200
"""After so many batches a table that had more files is looked at again."""
TABLES: Final = 200
"""The most tables whose files are held."""
_VECTORS: Final = "delta.enableDeletionVectors"


class DeletionVectors:
    """The tables of a sink for Spark's readers that are changed by this module: those with more bytes than :data:`SMALL`.

    So are others if ``crowded`` is true of their folder: they, or their batch, have too many rows for
    :mod:`workers.spark.sinks.small_tables`. ``given`` returns the newest files of those that were changed by it before.
    """

    def __init__(
        self,
        readers: str,
        crowded: Callable[[str], bool] = lambda _: False,
        given: Callable[[str], DeltaVersionFiles | None] = lambda _: None,
    ) -> None:
        self._readers = readers
        self._crowded = crowded
        self._given = given
        self._open: OrderedDict[str, OpenTable] = OrderedDict()
        self._unfit: set[str] = set()
        self._batch = 0
        self._waits: dict[str, int] = {}
        """Folder of a table that had too many files → the last batch for which it is not opened."""
        self._fallbacks: Final = Fallbacks("The commit of rows")
        self._search: Final = MarkedRows()
        self._checkpoints: Final = Checkpoints()
        self._joins: Final = Fallbacks("The joining of small files", "they are left for maintenance")
        self._apart: set[str] = set()
        """The folders of tables whose small files could not be joined."""
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Begin a batch."""
        self._batch += 1

    def left(self, effects: Sequence[Effects], place: Callable[[Table], str], threads: int) -> Sequence[Effects]:
        """Apply those of the effects whose rows the driver can hold, several at once. Return the others.

        ``place`` gives a table's folder.
        """
        return not_applied(effects, place, self.applied, threads)

    def applied(self, effects: Effects, path: str) -> bool:
        """Apply the effects to the table in the folder ``path`` if the driver can hold their rows. False: nothing of them is applied.

        If the storage fails after the commit, False is returned too. Applying the effects again leaves the same table.
        """
        if effects.arrow is None and local_rows(effects.rows) is None and not _gathers(effects):
            return False

        def changed(known: OpenTable) -> bool:
            changes = _changes(known, effects)
            if changes is None:
                return False
            tell(effects, changes.upserts, changes.count)
            return self._changed(known, changes)

        return self._done(effects, path, changed)

    def applied_by_jobs(self, effects: Effects, batch: Incoming, path: str) -> bool:
        """As :meth:`applied`, with ``batch``, whose rows are those of the effects, but not in the driver."""
        if batch.kept or not batch.count:
            return False
        return self._done(effects, path, lambda known: self._changed(known, TaskRows(batch)))

    def _done(self, effects: Effects, path: str, changed: Callable[[OpenTable], bool]) -> bool:
        """Whether the table in the folder is open, or can be opened, and ``changed`` has changed it."""
        if not simple(effects) or path in self._unfit or self._batch <= self._waits.get(path, -1):
            return False
        with self._lock:
            known = self._open.pop(path, None)
        if known is not None and len(known.present) > FILES:
            known = None
        try:
            if known is None or shape_of(known.table) != shape_of(effects.table):
                known = self._opened(effects.session, effects.table, path)
            if known is None or not changed(known):
                return False
        except FAILURES as error:
            self._fallbacks.report(effects.table.full_name, error)
            return False
        with self._lock:
            self._open[path] = known
            while len(self._open) > TABLES:
                self._open.popitem(last=False)
        return True

    def forget(self, path: str) -> None:
        """Forget the files of a table that is about to be changed in another way."""
        with self._lock:
            self._open.pop(path, None)

    def tidy(self) -> None:
        """Write the checkpoints of the logs that are due, and join small files of one table that has many."""
        with self._lock:
            known = dict(self._open)
        self._checkpoints.write([(one.table, one) for one in known.values()])
        path = next((path for path, one in known.items() if path not in self._apart and small_files(one.present.values())), None)
        if path is None:
            return
        # A batch that finds the table closed applies its rows in another way.
        self.forget(path)
        try:
            done = joined(known[path])
        except FAILURES as error:
            self._joins.report(known[path].table.full_name, error)
            if reason_of(error) not in RACE:
                self._apart.add(path)
            return
        if done:
            with self._lock:
                self._open[path] = known[path]

    def _changed(self, known: OpenTable, changes: ChangedRows) -> bool:
        """Apply the changes to the table. False if it has another version."""
        if not known.is_newest():
            return False
        candidates = [file for file in known.present.values() if changes.may_be_in(file)]
        marked: Sequence[Marked] = []
        if candidates:
            found = self._search.found(known, candidates, changes)
            marked = _marked_by_job(known, candidates, changes) if found is None else found
        added = known.known(changes.written(known.files)) if changes.upserts else []
        if marked or added:
            _commit(known, changes, marked, added)
        return True

    def _opened(self, session: SparkSession, table: Table, path: str) -> OpenTable | None:
        """The table as it is now; None if it is small, or if its features, columns or number of files do not allow such commits."""
        given = self._given(path)
        files = DeltaTableFiles(session, path) if given is None else given.files
        if given is None and files.size <= SMALL and not self._crowded(path):
            return None
        metadata, protocol = files.described
        there = StructType.fromJson(json.loads(metadata["schemaString"]))
        marks = metadata["configuration"].get(_VECTORS) == "true"
        if not marks or not is_plain(metadata, protocol, table, self._readers, path):
            self._unfit.add(path)
            return None
        if not same_columns(there, table, lambda of: of):
            return None
        columns = bounded_columns(there, table)
        name = None if columns[0] is None else columns[0].name
        if given is not None:
            present = {file_name(str(add.path())): KnownFile.of(add, name) for add in given.present}
            return OpenTable(table, files, present, given.version, given.mark, columns, given.commits)
        mark = files.mark(files.version)
        found = files.files()
        present = {file_name(str(add.path())): KnownFile.of(add, name) for add in found}
        if len(present) < len(found):
            # A name that two folders have does not tell which file Spark has read.
            self._unfit.add(path)
            return None
        if len(present) > FILES:
            self._waits[path] = self._batch + AGAIN
            return None
        files.prepare()
        return OpenTable(table, files, present, files.version, mark, columns)


def _gathers(effects: Effects) -> bool:
    """Whether the driver can hold the rows of the effects, which a job computes. Pure."""
    return effects.octets is not None and effects.octets <= GATHERED and effects.changes <= CHANGES


def _changes(known: OpenTable, effects: Effects) -> ChangedRows | None:
    """The rows of the effects, in the driver; None if some columns stay as they are in the table."""
    if effects.arrow is not None and known.files.arrow is not None:
        return ArrowChanges.of(effects.session, effects.table, effects.arrow, known.column)
    return DriverRows.made_of(known.planned(effects.session), in_java(effects), known.column)


def _marked_by_job(known: OpenTable, candidates: Sequence[KnownFile], changes: ChangedRows) -> list[Marked]:
    """Mark the rows of the candidates that have one of the keys, by a Spark job."""
    return known.files.marked([file.add for file in candidates], _places(known, candidates, changes))


def _places(known: OpenTable, candidates: Sequence[KnownFile], changes: ChangedRows) -> DataFrame:
    """The places of the rows in the candidates that have one of the keys."""
    names = keys_of(known.table)
    there = known.files.rows([file.add for file in candidates])
    place, within = there.metadataColumn("_metadata"), between("", changes.bounds)
    held = (there if within is None else there.where(within)).select(
        *(F.col(quoted(name)).alias(f"k{at}") for at, name in enumerate(names)),
        *(place.getField(name).alias(name) for name in ("file_path", "row_index")),
    )
    same = reduce(
        Column.__and__,
        (
            F.col(f"k{at}").eqNullSafe(F.col(f"s{at}")) if at in changes.nullable else F.col(f"k{at}") == F.col(f"s{at}")
            for at in range(len(names))
        ),
    )
    return held.join(changes.keys(), same, "left_semi").select("file_path", "row_index")


def _commit(known: OpenTable, changes: ChangedRows, marked: Sequence[Marked], added: Sequence[KnownFile]) -> None:
    """Commit the marked rows and the new files."""
    removed, again = [], []
    for one in marked:
        file = known.present[one.name]
        if one.marked == file.rows:
            removed.append(file.add.remove())
            continue
        # The statistics count marked rows too, so that they are bounds only.
        pair = file.add.removeRows(one.vector, True, True)
        again.append(replace(file, add=pair.productElement(0)))
        removed.append(pair.productElement(1))
    matched = sum(one.newly for one in marked)
    # With deletes it is not known which of the matched rows were updated.
    counts = {"Inserted": changes.count - matched, "Updated": matched} if changes.upserts == changes.count else {}
    known.commit(removed, [*again, *added], "MERGE", {f"numTargetRows{what}": number for what, number in counts.items()})
