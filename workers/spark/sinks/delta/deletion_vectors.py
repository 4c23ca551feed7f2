"""Applies rows that the driver holds to Delta tables that are not small: one Spark job and one commit instead of a MERGE.

The job looks for the rows' keys in the table and marks those that it finds, in deletion vectors. The new rows are written as one file,
in the driver. The commit has both, and is made only if the table's files are still those that the process knows. So every other
commit is noticed: the files are then forgotten, and the batch is applied by a MERGE.

Delta's MERGE of the same rows has fourteen jobs. See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Deletion Vectors".
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import IntegerType, LongType, ShortType, StructType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta.checkpoints import Checkpoints
from workers.spark.sinks.delta.commit import DeltaTableFiles, Mark, Marked, file_name
from workers.spark.sinks.delta.plain import is_plain
from workers.spark.sinks.incoming import limits
from workers.spark.sinks.merge_statement import between
from workers.spark.sinks.small_tables import FAILURES, GATHERED, SMALL, described, not_applied, same_columns, simple
from workers.spark.tables.local_rows import Projection, collected, effects_kind, growing, local_frame, local_rows
from workers.spark.tables.names import quoted
from workers.spark.tables.table import UPSERT, Effects, Table, shape_of

CHANGES: Final = 30_000
"""The most changes that a batch reduces to rows in the driver. One core reads and writes these rows; a MERGE uses all."""
FILES: Final = 2_000
"""The most files of a table. The process holds their descriptions, and maintenance makes few files of many."""
AGAIN: Final = 200
"""After so many batches a table that had more files is looked at again."""
TABLES: Final = 200
"""The most tables whose files are held."""
_WHOLE: Final = (ShortType, IntegerType, LongType)
_VECTORS: Final = "delta.enableDeletionVectors"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a table: Delta's ``AddFile``, and what its statistics say of its rows; None where they do not say it.

    ``rows`` counts the marked rows too. ``lowest`` and ``highest`` are bounds of the key's first column.
    """

    add: Any
    rows: int | None
    lowest: int | None
    highest: int | None

    @classmethod
    def of(cls, add: Any, column: str | None) -> KnownFile:
        """The file of an ``AddFile``. ``column`` is the name, in the files, of the key's first column if it has whole numbers."""
        text = add.stats()
        found = json.loads(str(text)) if text else {}
        low, high = (found.get(side, {}).get(column) for side in ("minValues", "maxValues"))
        return cls(add, found.get("numRecords"), low, high)

    def may_hold(self, ordered: Sequence[int] | None) -> bool:
        """Whether the file may have a row with one of these keys, which are ordered; None if they are not whole numbers. Pure."""
        if ordered is None or self.lowest is None or self.highest is None:
            return True
        return bisect_left(ordered, self.lowest) < bisect_right(ordered, self.highest)


@dataclass(slots=True)
class OpenTable:
    """A table as of its newest version, whose file in the log has ``mark``. ``present`` has its files by their names.

    ``column`` is the key's first column as the files name it, if its values are whole numbers; else None.
    """

    table: Table
    files: DeltaTableFiles
    present: dict[str, KnownFile]
    version: int
    mark: Mark
    column: str | None
    incoming: Projection
    keys: Projection
    commits: int = 0


@dataclass(frozen=True, slots=True)
class _Changes:
    """The rows of effects. ``rows`` is a Java list of them, ``upserts`` the number of those that are not deletes.

    If the values of the key's first column are whole numbers, ``ordered`` has them in their order, and ``ends`` are the lowest and the
    highest of those that are not deletes; else both are None. ``nullable`` are the places in the key of columns that are null in some row.
    """

    rows: Any
    count: int
    upserts: int
    ordered: Sequence[int] | None
    ends: tuple[int, int] | None
    nullable: Collection[int]


class DeletionVectors:
    """The tables of a sink for Spark's readers that are changed by this module: those with more bytes than :data:`SMALL`.

    ``crowded`` are the folders of others, which may have too many rows for :mod:`workers.spark.sinks.small_tables`.
    """

    def __init__(self, readers: str, crowded: Container[str] = ()) -> None:
        self._readers = readers
        self._crowded = crowded
        self._open: OrderedDict[str, OpenTable] = OrderedDict()
        self._unfit: set[str] = set()
        self._waits: Counter[str] = Counter()
        """Folder → the number of batches before the table is opened again."""
        self._fallbacks: Final = Fallbacks("The commit")
        self._checkpoints: Final = Checkpoints()
        self._lock = threading.Lock()

    def left(
        self, effects: Sequence[Effects], place: Callable[[Table], str], size: Callable[[Table], int | None], threads: int
    ) -> Sequence[Effects]:
        """Apply those of the effects that can be, several at once. Return the others, which need a MERGE.

        ``place`` gives a table's folder, ``size`` the bytes of its files before the last MERGE of this process; None before the first.
        """

        def attempt(one: Effects, path: str) -> bool:
            known = size(one.table)
            return (known is None or known > SMALL or path in self._crowded) and self.applied(one, path)

        rest = not_applied(effects, place, attempt, threads)
        self.forget([place(one.table) for one in rest])
        return rest

    def applied(self, effects: Effects, path: str) -> bool:
        """Apply the effects to the table in the folder ``path``. False: nothing of them is applied.

        If the storage fails after the commit, False is returned too. Applying the effects again leaves the same table.
        """
        if not simple(effects) or path in self._unfit or self._waited(path):
            return False
        with self._lock:
            known = self._open.pop(path, None)
        if known is not None and len(known.present) > FILES:
            known = None
        try:
            rows = _rows(effects)
            if rows is None:
                return False
            if known is None or shape_of(known.table) != shape_of(effects.table):
                known = self._opened(effects.rows.sparkSession, effects.table, path)
            if known is None or not _changed(effects, known, rows):
                return False
        except FAILURES as error:
            self._fallbacks.report(effects.table.full_name, error)
            return False
        with self._lock:
            self._open[path] = known
            while len(self._open) > TABLES:
                self._open.popitem(last=False)
        return True

    def _waited(self, path: str) -> bool:
        """Whether the table is not opened for this batch, because it had too many files."""
        with self._lock:
            if not self._waits[path]:
                return False
            self._waits[path] -= 1
            return True

    def forget(self, paths: Collection[str]) -> None:
        """Forget the files of tables that are about to be changed in another way."""
        with self._lock:
            for path in paths:
                self._open.pop(path, None)

    def checkpoint(self) -> None:
        """Write the checkpoints of the logs that are due."""
        with self._lock:
            known = [(one.table, one) for one in self._open.values()]
        self._checkpoints.write(known)

    def _opened(self, session: SparkSession, table: Table, path: str) -> OpenTable | None:
        """The table as it is now; None if it is small, or if its features, columns or number of files do not allow such commits."""
        files = DeltaTableFiles(session, path)
        if files.size <= SMALL and path not in self._crowded:
            return None
        metadata, protocol = files.described
        there = StructType.fromJson(json.loads(metadata["schemaString"]))
        marks = metadata["configuration"].get(_VECTORS) == "true"
        if not marks or not is_plain(metadata, protocol, table, self._readers, path):
            self._unfit.add(path)
            return None
        if not same_columns(there, table, lambda of: of):
            return None
        mark, column = files.mark(files.version), _physical(there, table)
        found = files.files()
        present = {file_name(str(add.path())): KnownFile.of(add, column) for add in found}
        if len(present) < len(found):
            # A name that two folders have does not tell which file Spark has read.
            self._unfit.add(path)
            return None
        if len(present) > FILES:
            with self._lock:
                self._waits[path] = AGAIN
            return None
        files.prepare()
        kind = effects_kind(table)
        incoming = Projection(session, kind, lambda frame: described(frame, table, lambda of: of))
        parts = [F.col("key").getField(name).alias(f"s{at}") for at, name in enumerate(table.key)]
        keys = Projection(session, kind, lambda frame: frame.select(*parts))
        return OpenTable(table, files, present, files.version, mark, column, incoming, keys)


def _rows(effects: Effects) -> Any:
    """The rows of the effects, which one job computes if they are not in the driver; None if they may be many."""
    rows = local_rows(effects.rows)
    if rows is None and effects.octets is not None and effects.octets <= GATHERED and effects.changes <= CHANGES:
        rows = collected(effects.rows.to(effects_kind(effects.table)))
    return rows


def _physical(there: StructType, table: Table) -> str | None:
    """The name of the key's first column in the files, if its values are whole numbers. Pure."""
    first = next(one for one in there.fields if one.name == table.key[0])
    if not isinstance(first.dataType, _WHOLE):
        return None
    return str(first.metadata.get("delta.columnMapping.physicalName", first.name))


def _changed(effects: Effects, known: OpenTable, rows: Any) -> bool:
    """Apply the rows to the table. False if some columns stay as they are, or the table has another version."""
    made = known.incoming.run(rows)
    found = [json.loads(text) for text in known.incoming.texts(made, 0)]
    if any(kept != "0" for _, kept, _ in found):
        return False
    changes = _changes(known, rows, found)
    if effects.seen is not None:
        effects.seen(changes.upserts, changes.count - changes.upserts)
    # The version's own file shows that nobody has removed the table, or made another one in its place. After another process's commit the
    # files may have been removed.
    if known.files.mark(known.version) != known.mark or known.files.exists(known.version + 1):
        return False
    candidates = [file for file in known.present.values() if file.may_hold(changes.ordered)]
    marked = known.files.marked([file.add for file in candidates], _places(effects, known, candidates, changes)) if candidates else []
    added = _written(effects, known, changes, made)
    if not marked and added is None:
        return True
    _commit(known, changes, marked, added)
    return True


def _changes(known: OpenTable, rows: Any, found: Sequence[Sequence[str]]) -> _Changes:
    keys = [json.loads(key) for _, _, key in found]
    nullable = {at for key in keys for at, value in enumerate(key) if value is None}
    upserts = [key for (op, _, _), key in zip(found, keys, strict=True) if op == UPSERT]
    if known.column is None or 0 in nullable:
        return _Changes(rows, len(found), len(upserts), None, None, nullable)
    written = [int(key[0]) for key in upserts]
    ends = (min(written), max(written)) if written else None
    return _Changes(rows, len(found), len(upserts), sorted(int(key[0]) for key in keys), ends, nullable)


def _places(effects: Effects, known: OpenTable, candidates: Sequence[KnownFile], changes: _Changes) -> DataFrame:
    """The places of the rows in the candidates that have one of the keys."""
    session, names = effects.rows.sparkSession, known.table.key
    there = known.files.rows([file.add for file in candidates])
    place = there.metadataColumn("_metadata")
    held = there.select(
        *(F.col(quoted(name)).alias(f"k{at}") for at, name in enumerate(names)),
        *(place.getField(name).alias(name) for name in ("file_path", "row_index")),
    )
    if changes.ordered:
        of = next(column.kind.type for column in known.table.columns if column.name == names[0])
        within = between("", limits("k0", of, str(changes.ordered[0]), str(changes.ordered[-1]))[1])
        held = held if within is None else held.where(within)
    keys = local_frame(session, known.keys.output, known.keys.run(changes.rows))
    same = reduce(
        Column.__and__,
        (
            F.col(f"k{at}").eqNullSafe(F.col(f"s{at}")) if at in changes.nullable else F.col(f"k{at}") == F.col(f"s{at}")
            for at in range(len(names))
        ),
    )
    return held.join(F.broadcast(keys), same, "left_semi").select("file_path", "row_index")


def _written(effects: Effects, known: OpenTable, changes: _Changes, made: Any) -> KnownFile | None:
    """Write the new rows, if there are any. ``made`` are the changes with the mirror's columns."""
    if not changes.upserts:
        return None
    session = effects.rows.sparkSession
    if changes.upserts < changes.count:
        there = local_frame(session, known.incoming.output, made).where(F.get_json_object("described", "$[0]") == UPSERT)
        # Spark filters rows of the driver without a job.
        made = collected(there)
    flat = known.incoming.columns(made, range(1, len(known.table.columns) + 2))
    stats: dict[str, Any] = {}
    if changes.ends is not None:
        values = dict(zip(("minValues", "maxValues", "nullCount"), (*changes.ends, 0), strict=True))
        stats = {name: {known.column: value} for name, value in values.items()} | {"tightBounds": True}
    return KnownFile.of(known.files.write(growing(session, flat), stats), known.column)


def _commit(known: OpenTable, changes: _Changes, marked: Sequence[Marked], added: KnownFile | None) -> None:
    """Commit the marked rows and the new file, and remember the version."""
    left, removed, again = dict(known.present), [], []
    for one in marked:
        file = left.pop(one.name)
        if one.marked == file.rows:
            removed.append(file.add.remove())
            continue
        # The statistics count marked rows too, so that they are bounds only.
        pair = file.add.removeRows(one.vector, True, True)
        again.append(pair.productElement(0))
        removed.append(pair.productElement(1))
        left[one.name] = replace(file, add=pair.productElement(0))
    new = [] if added is None else [added.add]
    if added is not None:
        left[file_name(str(added.add.path()))] = added
    matched = sum(one.newly for one in marked)
    # With deletes it is not known which of the matched rows were updated.
    counts = {"Inserted": changes.count - matched, "Updated": matched} if changes.upserts == changes.count else {}
    known.mark = known.files.commit(known.version + 1, removed, [*again, *new], counts)
    known.version, known.present, known.commits = known.version + 1, left, known.commits + 1
