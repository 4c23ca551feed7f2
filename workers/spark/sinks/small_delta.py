"""Applies a few rows to a small Delta table without a Spark job.

The process holds the rows of small tables. A batch changes them, writes them as one file that replaces the table's files, and adds one
commit to Delta's log (https://github.com/delta-io/delta/blob/master/PROTOCOL.md). The file is written by Spark's own writer for Delta, and
the commit by Delta's own log store, which refuses a version that exists. So every other commit is noticed: the rows are then forgotten,
and the batch is applied by a MERGE.

Spark's MERGE of a few rows takes about a second of CPU time, nearly all of it for planning and for reading Delta's log with Spark.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta_commit import DeltaTableFiles, Mark
from workers.spark.sinks.delta_readers import MICROSECONDS, refused_table
from workers.spark.sinks.incoming import own_columns
from workers.spark.tables.local_rows import (
    NotLocal,
    Projection,
    collected,
    effects_kind,
    growing,
    joined_text,
    key_text,
    keyable,
    local_rows,
)
from workers.spark.tables.names import quoted
from workers.spark.tables.table import LSN, UPSERT, Effects, Table, shape_of

SMALL: Final = 256 * 1024
"""The most bytes of a small table's files."""
ROWS: Final = 5_000
"""The most rows of a small table. Each batch writes all of them."""
HELD: Final = 16 * 1024 * 1024
"""The most bytes of all held tables' files. In memory they take several times as much."""
GATHERED: Final = 16 * 1024 * 1024
"""The most bytes of a small table's changes that a batch reduces to rows in the driver.

With 25,000 changes of pgbench's four tables in a batch, the MERGEs of its tellers and branches took 3.7 CPU-s of 9.5; this takes 0.3.
"""
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
_FAILURES: Final = (Py4JError, PySparkException, NotLocal, TypeError, FileExistsError)
"""What a table that is not as expected, another version of Delta, and a failed storage raise."""


@dataclass(slots=True)
class _Held:
    """A table's rows as of a version of its log.

    ``rows`` is a Java list of ``InternalRow``. ``keys`` has the key of each row, ``places`` the place of each key. ``present`` are the
    version's files.
    """

    table: Table
    files: DeltaTableFiles
    version: int
    mark: Mark
    present: list[Any]
    size: int
    rows: Any
    keys: list[str]
    places: dict[str, int]
    incoming: Projection
    commits: int = 0
    """The commits since the last checkpoint."""

    def put(self, key: str, row: Any) -> str:
        """Add a row, or replace the one with its key. Returns the word for it in Delta's history."""
        place = self.places.get(key)
        if place is not None:
            self.rows.set(place, row)
            return "Updated"
        self.places[key] = len(self.keys)
        self.keys.append(key)
        self.rows.add(row)
        return "Inserted"

    def take(self, key: str) -> str | None:
        """Remove the row with this key. The last row takes its place. Returns as :meth:`put`, None without such a row."""
        place = self.places.pop(key, None)
        if place is None:
            return None
        last = self.keys.pop()
        row = self.rows.pop()
        if last != key:
            self.rows.set(place, row)
            self.keys[place], self.places[last] = last, place
        return "Deleted"


class SmallDelta:
    """The small tables of a sink for ``readers`` (see :class:`workers.spark.sinks.delta.DeltaSink`)."""

    def __init__(self, readers: str) -> None:
        self._readers = readers
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._unfit: set[str] = set()
        self._fallbacks: Final = Fallbacks("The commit")
        self._checkpoints: Final = Fallbacks("The checkpoint")
        self._lock = threading.Lock()

    def applied(self, effects: Effects, path: str, *, small: bool) -> bool:
        """Apply the effects to the table at ``path`` if they and the table are small. False: nothing of them is applied.

        Rows that are not in the driver yet are computed by a Spark job if the table is known to be ``small``.

        If the storage fails after the commit, False is returned too. Applying the effects again leaves the same table.
        """
        # Columns that changed are the large way's: an equal name does not show that the column is the same.
        same = effects.former is None or shape_of(effects.former) == shape_of(effects.table)
        simple = same and effects.known and effects.truncated is None and not effects.passed and keyable(effects.table)
        if not simple or path in self._unfit:
            return False
        with self._lock:
            held = self._held.pop(path, None)
        session = effects.rows.sparkSession
        try:
            rows = local_rows(effects.rows)
            if rows is None and (held is not None or small):
                rows = _gathered(effects)
            if rows is None:
                return False
            if held is None or shape_of(held.table) != shape_of(effects.table):
                held = self._loaded(session, effects.table, path)
            if held is None or not self._changed(held, rows, effects.seen):
                return False
        except _FAILURES as error:
            self._fallbacks.report(effects.table.full_name, error)
            return False
        with self._lock:
            if held.size <= SMALL and len(held.places) <= ROWS:
                self._held[path] = held
            while sum(one.size for one in self._held.values()) > HELD:
                self._held.popitem(last=False)
        return True

    def forget(self, paths: Collection[str]) -> None:
        """Forget the rows of tables that are about to be changed in another way."""
        with self._lock:
            for path in paths:
                self._held.pop(path, None)

    def checkpoint(self) -> None:
        """Write the checkpoints of the logs that are due, a few at a time, so that no batch waits for those of all tables."""
        with self._lock:
            due = sorted((one for one in self._held.values() if one.commits >= CHECKPOINTS), key=lambda one: -one.commits)
            due = due[: ceil(len(self._held) / CHECKPOINTS)]
        for held in due:
            held.commits = 0
            # A checkpoint only makes the log faster to read. The next one is due after as many commits.
            try:
                held.files.checkpoint()
            except _FAILURES as error:
                self._checkpoints.report(held.table.full_name, error)

    def _loaded(self, session: SparkSession, table: Table, path: str) -> _Held | None:
        """The table's present rows; None if it is not small, or is not as this module's commits expect it."""
        if self._readers == "all":
            session.conf.set(*MICROSECONDS)
        files = DeltaTableFiles(session, path)
        if files.size > SMALL:
            return None
        metadata, protocol = files.described
        if not _plain(metadata, protocol, table, self._readers, path):
            self._unfit.add(path)
            return None
        if not _same_columns(metadata, table):
            # The MERGE changes the table's columns first.
            return None
        present = files.files()
        there = files.rows(present)
        rows = collected(there)
        if rows.size() > ROWS:
            self._unfit.add(path)
            return None
        files.prepare()
        projection = Projection(session, there.schema, lambda frame: frame.select(_key(table, lambda name: F.col(quoted(name)))))
        keys = projection.texts(projection.run(rows), 0)
        places = {text: place for place, text in enumerate(keys)}
        if len(places) < len(keys):
            return None
        incoming = Projection(session, effects_kind(table), lambda frame: _flat(frame, table))
        return _Held(
            table, files, files.version, files.mark(files.version), present, files.size, growing(session, rows), keys, places, incoming
        )

    @staticmethod
    def _changed(held: _Held, rows: Any, seen: Callable[[int, int], None] | None = None) -> bool:
        """Apply the rows of effects to the held rows, and commit. False if that is not possible; the held rows are wrong then.

        ``seen``: see :class:`Effects`.
        """
        made = held.incoming.run(rows)
        described = [json.loads(text) for text in held.incoming.texts(made, 0)]
        if any(kept != "0" for _, kept, _ in described):
            return False
        if seen is not None:
            upserts = sum(op == UPSERT for op, _, _ in described)
            seen(upserts, len(described) - upserts)
        flat = held.incoming.columns(made, range(1, len(held.table.columns) + 2))
        done = Counter(held.put(key, flat.apply(at)) if op == UPSERT else held.take(key) for at, (op, _, key) in enumerate(described))
        counts = {word: done[word] for word in ("Inserted", "Updated", "Deleted")}
        if any(counts.values()):
            # The version's own file shows that nobody has removed the table, or made another one in its place.
            if held.files.mark(held.version) != held.mark:
                return False
            added = [held.files.write(held.rows)] if held.keys else []
            held.mark = held.files.commit(held.version + 1, held.present, added, counts)
            held.version, held.present, held.commits = held.version + 1, added, held.commits + 1
            held.size = sum(int(file.size()) for file in added)
        return True


def _gathered(effects: Effects) -> Any:
    """The rows of the effects, computed by one job; None if they may be many."""
    if effects.octets is None or effects.octets > GATHERED:
        return None
    rows = collected(effects.rows.to(effects_kind(effects.table)).limit(ROWS + 1))
    return None if rows.size() > ROWS else rows


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


def _same_columns(metadata: Mapping[str, Any], table: Table) -> bool:
    """Whether the mirror has the table's present columns, and no others. Pure."""
    fields = StructType.fromJson(json.loads(metadata["schemaString"])).fields
    wanted = {column.name: column.kind.type for column in table.columns} | own_columns(table)
    there = [(field.name, field.dataType.simpleString()) for field in fields]
    return there == [(name, of.simpleString()) for name, of in wanted.items()]


def _key(table: Table, value: Callable[[str], Column]) -> Column:
    kinds = {column.name: column.kind.type for column in table.columns}
    return key_text([value(name) for name in table.key], [kinds[name] for name in table.key]).alias("key")


def _flat(effects: DataFrame, table: Table) -> DataFrame:
    """A text with the operation, the number of kept columns and the key; then the columns of the mirror."""
    key = _key(table, lambda name: F.col("key").getField(name))
    described = joined_text([F.col("op"), F.coalesce(F.size("kept"), F.lit(0)).cast("string"), key])
    columns = (F.col("row").getField(column.name).alias(f"c{at}") for at, column in enumerate(table.columns))
    return effects.select(described.alias("described"), *columns, F.col("lsn").cast("bigint").alias(LSN))
