"""Mirrors as Delta tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
)

from workers.spark.failure import UNREADABLE, JobError, TableError
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.deletion_vectors import DeletionVectors
from workers.spark.sinks.delta.highest_keys import HighestKeys
from workers.spark.sinks.delta.new_table import NewTables
from workers.spark.sinks.delta.readers import MICROSECONDS, PROPERTIES, refused_names, refused_table
from workers.spark.sinks.delta.small import SmallDelta
from workers.spark.sinks.delta.version import DeltaVersion, version_of
from workers.spark.sinks.incoming import Incoming
from workers.spark.sinks.lake import LakeSink
from workers.spark.sinks.merge_statement import at_least, between
from workers.spark.sinks.small_tables import FAILURES, SMALL, simple, without
from workers.spark.tables.evolution import Drop, Rename, Step
from workers.spark.tables.names import escaped, literal, quoted
from workers.spark.tables.partitions import partitioned, partitions_of
from workers.spark.tables.table import Effects, Table

UNASKED: Final = 20
"""See :meth:`DeltaSink.lacks`."""
_REWRITE: Final = {"spark.databricks.delta.merge.deletionVectors.persistent": "false"}
_WHOLE: Final = (ByteType, ShortType, IntegerType, LongType)


class DeltaSink(LakeSink):
    """A table for each source table at ``<folder>/<schema>/<table>``, names escaped (see :func:`~workers.spark.tables.names.escaped`).

    With a ``catalog`` the tables are ``catalog.schema.table``; ``folder``, if given, still holds their files. Delta's column names
    are not case-sensitive: a table with columns ``a`` and ``A`` is refused.

    ``readers`` is ``spark`` or ``all``. With ``all`` the tables have no feature that other readers lack. Then updates rewrite files, and
    renamed, dropped and widened columns rewrite the table.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: str | None,
        catalog: str | None = None,
        *,
        drop_columns: bool = True,
        threads: int = 4,
        readers: str = "spark",
    ) -> None:
        super().__init__(spark, drop_columns=drop_columns, threads=threads)
        if folder is None and catalog is None:
            raise JobError(UNREADABLE, "A Delta sink needs a folder or a catalog for its tables. Set one.")
        self._folder = None if folder is None else _absolute(spark, folder).rstrip("/")
        self._catalog = catalog
        self._readers = readers
        self._checked: set[str] = set()
        self._few = SmallDelta(readers)
        self._new = NewTables(readers)
        self._vectors = DeletionVectors(readers, self._few.leaves, self._few.given_up)
        self._sizes: dict[str, int] = {}
        """Identifier → the bytes of the table's files before or after its last batch."""
        self._versions: dict[str, DeltaVersion] = {}
        """Identifier → the version of the table before its last batch."""
        self._highest = HighestKeys()
        self._unasked: Counter[str] = Counter()
        """Identifier → the number of batches before :meth:`lacks` looks at the table again."""

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """See :meth:`LakeSink.apply`. A change of a row rewrites its file in a small table, and marks the row in the others."""
        effects = self._without_few(effects)
        small = [one for one in effects if self._sizes.get(self.identifier(one.table), SMALL + 1) <= SMALL]
        rest = without(effects, small)
        if small:
            # The setting is the session's, so the two parts cannot be written at the same time.
            with _set(small[0].session, _REWRITE):
                super().apply(batch, small)
        super().apply(batch, rest)

    def _without_few(self, effects: Sequence[Effects]) -> Sequence[Effects]:
        """The effects whose rows the driver does not hold. The others are applied: few rows of small tables, and such rows of others."""
        if self._folder is None:
            return effects
        if self._readers != "spark":
            rest = self._few.left(effects, self._path, self._size, self._threads)
            self._few.checkpoint()
            return rest
        self._vectors.begin()
        # The two parts have no table in common, so the effects on a table stay in order.
        large = [one for one in effects if self._sizes.get(self.identifier(one.table), 0) > SMALL]
        with ThreadPoolExecutor(1, thread_name_prefix="large") as pool:
            marked = pool.submit(inheritable_thread_target(self._spark)(self._vectors.left), large, self._path, self._threads)
            others = self._few.left(without(effects, large), self._path, self._size, self._threads, self._crowded)
        self._few.checkpoint()
        others = [*marked.result(), *others]
        self._vectors.tidy()
        return others

    def _crowded(self, effects: Effects, path: str) -> bool:
        """Apply the effects on a table that is small no longer, or of which they are too many rows. False: nothing of them is applied."""
        done = self._vectors.applied(effects, path)
        if done:
            self._is_large(effects.table)
        return done

    def _size(self, effects: Effects) -> int | None:
        """The bytes of the table's files. The first batch of a process looks at the log, if its rows are not in the driver yet."""
        identifier = self.identifier(effects.table)
        if identifier not in self._sizes and effects.octets is not None and simple(effects):
            # The usual way says what is wrong with a table that cannot be opened.
            with suppress(*FAILURES):
                self._sizes[identifier] = DeltaTableFiles(effects.session, self._path(effects.table)).size
        return self._sizes.get(identifier)

    def begun(self, effects: Effects) -> bool:
        """See :class:`NewTables`."""
        if self._catalog is not None or effects.arrow is None or effects.known or effects.former is not None:
            return False
        return self._new.begun(effects, effects.arrow, self._path(effects.table))

    def created(self, effects: Effects, batch: Incoming) -> bool:
        """See :class:`NewTables`. A catalog must learn of its tables by SQL."""
        if self._catalog is not None or not self._new.created(effects, batch, self._path(effects.table)):
            return False
        identifier = self.identifier(effects.table)
        now = version_of(effects.session.table(identifier))
        self._highest.brought(now.table, -1, now.number, batch)
        self._sizes[identifier] = now.size
        return True

    def shortened(self, effects: Effects, batch: Incoming) -> bool:
        """See :class:`DeletionVectors`."""
        if self._folder is None or self._readers != "spark":
            return False
        done = self._vectors.applied_by_jobs(effects, batch, self._path(effects.table))
        if done:
            self._is_large(effects.table)
        return done

    def _is_large(self, table: Table) -> None:
        # The next batch need not look at the log again to learn that the table is not small.
        self._sizes[self.identifier(table)] = SMALL + 1

    def looked(self, table: Table, there: DataFrame) -> None:
        """Remember the table's size, which decides how the next batch is written."""
        if self._folder is not None:
            self._vectors.forget(self._path(table))
        identifier, found = self.identifier(table), version_of(there)
        self._versions[identifier], self._sizes[identifier] = found, found.size

    def evolved(self, identifier: str) -> None:
        """Forget the table's keys."""
        self._highest.forget(self._versions[identifier].table)

    def brought(self, session: SparkSession, identifier: str, batch: Incoming, *, new: bool) -> None:
        """Remember the table's highest key."""
        # SQL creates a table in a commit of its own.
        before, commits = (-1, 2) if new else (self._versions[identifier].number, 1)
        now = version_of(session.table(identifier))
        self._highest.brought(now.table, before, now.number, batch, commits)
        if batch.truncated is not None:
            # New rows often follow a truncate.
            del self._unasked[identifier]

    def lacks(self, session: SparkSession, identifier: str, batch: Incoming) -> bool:
        """Whether no file can have the batch's keys. A snapshot of a new table has many such batches.

        If they are not above the table's highest key, or this is not known, the statistics in the log decide, a look of 0.5 to 1 CPU-s:
        an incremental snapshot brings keys below those of rows that came before it. A batch of changes has keys that are there. So after
        such a batch the next :data:`UNASKED` batches count as such without a look.
        """
        table, version, _ = self._versions[identifier]
        known = self._highest.lacks(table, version, batch)
        within = between("", batch.bounds)
        if known or batch.bounds is None or within is None:
            return bool(known)
        if self._unasked[identifier] > 0:
            self._unasked[identifier] -= 1
            return False
        there = session.table(identifier)
        found = not there.where(within).inputFiles()
        if not found:
            self._unasked[identifier] = UNASKED
        elif known is None and batch.ends is not None and not there.where(at_least(batch.bounds)).inputFiles():
            self._highest.below(table, version, batch)
        return found

    def identifier(self, table: Table) -> str:
        """``delta.`path```, or the name in the catalog."""
        if self._catalog is None:
            return f"delta.{quoted(self._path(table))}"
        return ".".join(quoted(part) for part in (self._catalog, escaped(table.schema), escaped(table.name)))

    def place(self, table: Table) -> str:
        """The folder, or the name in a catalog that has its own folder."""
        return self.identifier(table) if self._folder is None else self._path(table)

    def _path(self, table: Table) -> str:
        return f"{self._folder}/{escaped(table.schema)}/{escaped(table.name)}"

    def refusal(self, table: Table) -> str | None:
        """The refusal of a table with columns that differ only in case, or with names that the readers cannot have."""
        lower = [column.name.lower() for column in table.columns]
        twice = [column.name for column in table.columns if lower.count(column.name.lower()) > 1]
        if twice:
            return f"Delta cannot distinguish the columns {', '.join(twice)} of {table.full_name}. Use another format for it."
        return refused_names(table) if self._readers == "all" else None

    def check(self, session: SparkSession, table: Table, *, changes: bool) -> None:
        """Read the table's features, once, if it must have none of some or if its columns change."""
        identifier = self.identifier(table)
        if identifier in self._checked or not (changes or self._readers == "all"):
            return
        found = session.sql(f"DESCRIBE DETAIL {identifier}").select("tableFeatures").first()
        refusal = refused_table(self._readers, table, self.place(table), found[0] or (), changes=changes)
        if refusal is not None:
            raise TableError(table.full_name, refusal)
        self._checked.add(identifier)

    def _apply(self, effects: Effects) -> None:
        if self._readers == "all":
            # By default Spark writes times with time zone as INT96, which other readers convert to nanoseconds, so that far times overflow.
            effects.session.conf.set(*MICROSECONDS)
        super()._apply(effects)

    def remove(self, session: SparkSession, identifier: str, name: str, table: Table) -> None:
        """Without column mapping the table is rewritten."""
        if self._readers == "all":
            self.rewrite(identifier, session.table(identifier).drop(name), table)
        else:
            super().remove(session, identifier, name, table)

    def _rewrites(self, step: Step) -> bool:
        return (self._readers == "all" and isinstance(step, Rename | Drop)) or super()._rewrites(step)

    def create(self, session: SparkSession, table: Table, columns: str) -> None:
        """Create the table with the properties for its readers."""
        place = ""
        if self._catalog is not None:
            session.sql(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._catalog)}.{quoted(escaped(table.schema))}")
            place = f" LOCATION {literal(self._path(table))}" if self._folder is not None else ""
        made = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES[self._readers].items())
        kind = f"USING delta{partitioned(table)}{place}"
        session.sql(f"CREATE TABLE IF NOT EXISTS {self.identifier(table)} ({columns}) {kind} TBLPROPERTIES ({made})")

    def rewrite(self, identifier: str, rows: DataFrame, table: Table) -> None:
        """Overwrite rows and schema in one commit; the table's properties stay."""
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        parts = [part.column for part in partitions_of(table, rows.columns)]
        (writer.partitionBy(*parts) if parts else writer).saveAsTable(identifier)

    def widens(self, old: DataType, new: DataType) -> bool:
        """The rules of Delta's documentation, "Type widening"."""
        if self._readers == "all":
            return False
        match old, new:
            case ((ByteType() | ShortType() | IntegerType()), DecimalType()):
                return bool(new.precision - new.scale >= 10)
            case LongType(), DecimalType():
                return bool(new.precision - new.scale >= 20)
            case DecimalType(), DecimalType():
                return bool(new.scale >= old.scale and new.precision - old.precision >= new.scale - old.scale)
            case ((ByteType() | ShortType() | IntegerType() | FloatType()), DoubleType()) | (DateType(), TimestampNTZType()):
                return True
            case _:
                return type(old) in _WHOLE and type(new) in _WHOLE and _WHOLE.index(type(old)) < _WHOLE.index(type(new))


def _absolute(session: SparkSession, folder: str) -> str:
    """The folder. Delta takes a relative path for the name of a table."""
    if re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:", folder):
        return folder
    path = session._jvm.org.apache.hadoop.fs.Path(folder)  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
    return str(path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()).makeQualified(path).toString())  # noqa: SLF001


@contextmanager
def _set(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Let the session have the settings within the block."""
    former = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in former.items():
            if known is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, known)
