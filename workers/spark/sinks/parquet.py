"""Mirrors as plain folders of Parquet files, for readers without support for a table format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from workers.spark.failure import UNREADABLE, JobError, TableError
from workers.spark.sinks.incoming import Incoming, incoming, own_columns, side_by_side
from workers.spark.sinks.refusals import placed, vanished
from workers.spark.tables.casts import rewritten
from workers.spark.tables.evolution import allowed, steps_along
from workers.spark.tables.names import escaped, quoted
from workers.spark.tables.table import LSN, POSITION, UPSERT, Effects, Table

DONE: Final = "_SUCCESS"
"""The file that Spark writes last into a folder."""


class ParquetSink:
    """A folder ``<folder>/<schema>/<table>`` for each source table, with escaped names. Every batch rewrites the whole table.

    The new table is written to ``.<table>.next`` beside it. Two renames then swap the folders; the old one is
    ``.<table>.old`` in between. The next batch repairs the state after a crash, and :meth:`read` finds the table
    between the renames too. This needs a file system with atomic renames of folders: a local one, HDFS, or Azure's with
    hierarchical names. On plain object stores (S3) a rename copies file by file, and a reader may see half a table: use Delta or
    Iceberg there.
    """

    def __init__(self, spark: SparkSession, folder: str, *, drop_columns: bool = True, threads: int = 4) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._drop_columns = drop_columns
        self._threads = threads

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """Apply the effects to the tables, several at once. When all have ended, raise the first failure."""
        del batch  # Effects are safe to repeat, so the number is not stored.
        side_by_side(self._apply, effects, self._threads)

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The present mirror; None if it does not exist. Its files are removed after the next batch but one."""
        with placed(table, self._place(table)):
            place = _Folders(self._spark, self._folder, table).current()
            return None if place is None else (session or self._spark).read.parquet(place)

    def _place(self, table: Table) -> str:
        return f"{self._folder}/{escaped(table.schema)}/{escaped(table.name)}"

    def _apply(self, effects: Effects) -> None:
        with placed(effects.table, self._place(effects.table)):
            self._bring(effects)

    def _bring(self, effects: Effects) -> None:
        session, table = effects.session, effects.table
        folders = _Folders(session, self._folder, table)
        folders.repair()
        place = folders.current()
        if place is None and effects.known:
            raise vanished(table, folders.table)
        there = None if place is None else session.read.parquet(place)
        with incoming(effects) as batch:
            if there is not None:
                shaped = self._shaped(there, effects)
                if shaped is there and batch.count == 0 and batch.truncated is None:
                    return
                there = shaped
            after = batch_rows(batch, there)
            after.write.mode("overwrite").option("compression", "zstd").parquet(folders.next)
        folders.swap()

    def _shaped(self, there: DataFrame, effects: Effects) -> DataFrame:
        """The mirror's rows in the table's columns; ``there`` itself if no column has changed."""
        table = effects.table
        if LSN not in there.columns:
            said = f"The folder of {table.full_name} has no column {LSN}, so is not a mirror. Choose another folder."
            raise TableError(table.full_name, said)
        old = [(field.name, field.dataType) for field in there.schema.fields if field.name not in {LSN, POSITION}]
        former = None if self._drop_columns else effects.former
        found = steps_along(old, effects.path, extras=not self._drop_columns, former=former, again=effects.again)
        wanted = allowed(found, table, drop_columns=self._drop_columns)
        own = own_columns(table)
        if not wanted and (POSITION in own) == (POSITION in there.columns):
            return there
        shaped = rewritten(there, table, wanted)
        return shaped.withColumn(POSITION, F.lit(None).cast("string")) if POSITION in own and POSITION not in there.columns else shaped


def batch_rows(batch: Incoming, there: DataFrame | None) -> DataFrame:
    """The whole table after the batch: ``there`` (None: no table yet) in the table's columns, with the batch's rows applied. Pure."""
    own = own_columns(batch.table)
    shape = {column.name: column.kind.type for column in batch.table.columns}
    if there is not None:
        shape = {field.name: field.dataType for field in there.schema.fields if field.name not in {LSN, POSITION}}
    columns = [*shape, *own]
    old = _empty(batch, shape | own) if there is None else there
    lsn = F.col("old").getField(LSN)
    absent = F.lit(False) if batch.truncated is None else lsn.isNull() | (lsn < batch.truncated)
    for low, high in batch.replaced:
        position = F.col("old").getField(POSITION)
        absent |= F.coalesce((position >= low) & (position < high), F.lit(False))
    before = old.select(F.struct(*(F.col(quoted(name)) for name in columns)).alias("old"))
    condition = F.lit(True)
    for at, name in enumerate(batch.keys):
        condition &= F.col("old").getField(name).eqNullSafe(F.col(f"k{at}"))
    joined = before.join(batch.rows, condition, "full_outer")
    come, there_is = F.col("op").isNotNull(), F.col("old").isNotNull() & ~F.coalesce(absent, F.lit(False))
    # An existing row of a table without a key is the same row.
    changed = come if batch.table.key else come & ~there_is
    places = {column.name: at for at, column in enumerate(batch.table.columns)}

    def value(name: str, of: DataType) -> SparkColumn:
        mine = F.when(there_is, F.col("old").getField(name))
        if name not in places:
            return mine
        sent = F.col(f"c{places[name]}")
        if name in batch.kept:
            sent = F.when(F.coalesce(F.array_contains("kept", name), F.lit(False)), mine).otherwise(sent)
        return F.when(changed, sent).otherwise(mine).cast(of)

    values = {name: value(name, of) for name, of in shape.items()}
    sent_lsn = F.col("lsn")
    if LSN in batch.kept:
        sent_lsn = F.when(F.coalesce(F.array_contains("kept", LSN), F.lit(False)), F.when(there_is, lsn)).otherwise(sent_lsn)
    values[LSN] = F.when(changed, sent_lsn).otherwise(lsn)
    if POSITION in own:
        values[POSITION] = F.coalesce(F.col("k0"), F.col("old").getField(POSITION))
    remains = F.when(come, F.col("op") == UPSERT).otherwise(there_is)
    return joined.where(remains).select(*(values[name].alias(name) for name in columns))


def _empty(batch: Incoming, shape: dict[str, DataType]) -> DataFrame:
    return batch.rows.sparkSession.range(0).select(*(F.lit(None).cast(of).alias(name) for name, of in shape.items()))


class _Folders:
    """A table's folder and the two beside it, on Hadoop's file systems."""

    def __init__(self, session: SparkSession, folder: str, table: Table) -> None:
        name = escaped(table.name)
        parent = f"{folder}/{escaped(table.schema)}"
        self.table, self.next, self.old = f"{parent}/{name}", f"{parent}/.{name}.next", f"{parent}/.{name}.old"
        self._path = session._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        self._files: Any = self._path(parent).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def current(self) -> str | None:
        """The folder that holds the table. Between the two renames of a swap it is the new one, which is complete."""
        if self._is(self.table):
            return self.table
        if self._is(f"{self.next}/{DONE}"):
            return self.next
        return self.old if self._is(self.old) else None

    def repair(self) -> None:
        """Repair the folders after a crash: the table is in its place, with no folder beside it."""
        if not self._is(self.table):
            if self._is(f"{self.next}/{DONE}"):
                self._rename(self.next, self.table)
            elif self._is(self.old):
                self._rename(self.old, self.table)
        for rest in (self.next, self.old):
            if self._is(rest):
                self._files.delete(self._path(rest), True)

    def swap(self) -> None:
        """Replace the table's folder by ``next``."""
        if self._is(self.table):
            self._rename(self.table, self.old)
        self._rename(self.next, self.table)
        if self._is(self.old):
            self._files.delete(self._path(self.old), True)

    def _is(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def _rename(self, old: str, new: str) -> None:
        if not self._files.rename(self._path(old), self._path(new)):
            raise JobError(UNREADABLE, f"The folder {old} could not be renamed to {new}. Find the program that uses it, then start again.")
