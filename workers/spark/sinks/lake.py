"""The common part of Delta's and Iceberg's mirrors: tables with SQL whose statements are each one commit."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from workers.spark.failure import TableError
from workers.spark.session import as_written
from workers.spark.sinks.conflicts import repeated
from workers.spark.sinks.incoming import Incoming, incoming, own_columns, side_by_side
from workers.spark.sinks.local_incoming import LocalIncoming
from workers.spark.sinks.merge_statement import gone, insert_statement, merge_statement
from workers.spark.sinks.refusals import placed, vanished
from workers.spark.tables.casts import rewritten
from workers.spark.tables.evolution import Add, Drop, Rename, Retype, Step, allowed, one_by_one, steps_along
from workers.spark.tables.names import quoted
from workers.spark.tables.partitions import partition_of
from workers.spark.tables.table import LSN, POSITION, Column, Effects, Table

Statement = Callable[[str, str, Incoming, Sequence[str]], str]
"""(The mirror's name, the name of a view of the batch's rows, the batch, the mirror's columns) → a statement."""


class LakeSink(ABC):
    """Applies a batch in few commits. After each one a repetition of the same batch completes the table correctly.

    Steps of the columns are first: steps in the format's metadata one by one, or all of them in one commit that rewrites
    the whole table when a default or a cast requires it. Then the batch itself, with its truncates, is one MERGE.
    """

    changes_partitions = True
    """Whether a table that is rewritten may have other partitions."""

    def __init__(self, spark: SparkSession, *, drop_columns: bool = True, threads: int = 4) -> None:
        as_written(spark)
        self._spark = spark
        self._drop_columns = drop_columns
        self._threads = threads
        self._local = LocalIncoming()

    @abstractmethod
    def identifier(self, table: Table) -> str:
        """The mirror's name in SQL."""

    @abstractmethod
    def create(self, session: SparkSession, table: Table, columns: str) -> None:
        """Create the mirror, and its schema or namespace, unless they exist."""

    @abstractmethod
    def rewrite(self, identifier: str, rows: DataFrame, table: Table) -> None:
        """Replace the mirror's rows and columns by ``rows``, which may be read from the mirror, in one commit.

        It has the partitions of ``table``.
        """

    @abstractmethod
    def widens(self, old: DataType, new: DataType) -> bool:
        """Whether the format changes this type in its metadata only."""

    def place(self, table: Table) -> str:
        """The mirror's place, for messages."""
        return self.identifier(table)

    def refusal(self, table: Table) -> str | None:
        """Why the format cannot hold the table, and the remedy; None if it can."""
        del table
        return None

    def held(self, of: DataType) -> DataType:
        """The type in which the format stores values of ``of``."""
        return of

    def check(self, session: SparkSession, table: Table, *, changes: bool) -> None:  # noqa: B027 - most formats have one kind of table
        """Raise JobError for an existing mirror that the sink cannot maintain. ``changes``: its columns are about to change."""

    def remove(self, session: SparkSession, identifier: str, name: str, table: Table) -> None:
        """Drop a column of the mirror of ``table``."""
        del table
        session.sql(f"ALTER TABLE {identifier} DROP COLUMN {quoted(name)}")

    def looked(self, table: Table, there: DataFrame) -> None:  # noqa: B027 - most formats need nothing of it
        """Called with the mirror as it is before each batch, except those that were :meth:`shortened`."""

    def evolved(self, identifier: str) -> None:  # noqa: B027 - the same
        """Called when the mirror's columns have changed."""

    def brought(self, session: SparkSession, identifier: str, batch: Incoming, *, new: bool) -> None:  # noqa: B027 - the same
        """Called when the batch is in the mirror. ``new``: the batch has created it, by SQL."""

    def begun(self, effects: Effects) -> bool:
        """As :meth:`created`, with rows that the effects have in Arrow, and before the mirror is looked for."""
        del effects
        return False

    def created(self, effects: Effects, batch: Incoming) -> bool:
        """Create the mirror with the batch's rows in a shorter way than by SQL. False: it may exist or not."""
        del effects, batch
        return False

    def shortened(self, effects: Effects, batch: Incoming) -> bool:
        """Apply the batch, which has the rows of the effects, in a shorter way than by a MERGE. False: nothing of it is applied."""
        del effects, batch
        return False

    def lacks(self, session: SparkSession, identifier: str, batch: Incoming) -> bool:
        """Whether the mirror is known to have none of the batch's keys, without a look at its rows."""
        del session, identifier, batch
        return False

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """Apply the effects to the tables, several at once. When all have ended, raise the first failure."""
        del batch  # Effects are safe to repeat, so the number is not stored.
        side_by_side(self._placed, effects, self._threads)

    def _placed(self, effects: Effects) -> None:
        with placed(effects.table, self.place(effects.table)):
            # Maintenance in another process may commit at the same time.
            repeated(partial(self._apply, effects))

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The present mirror; None if it does not exist. See :class:`workers.spark.tables.table.Sink`."""
        with placed(table, self.place(table)):
            return self._read(session or self._spark, self.identifier(table))

    @staticmethod
    def _read(session: SparkSession, identifier: str) -> DataFrame | None:
        try:
            found = session.table(identifier)
            own = [name for name in (LSN, POSITION) if name in found.columns]
            return found.select(*(quoted(name) for name in [*(name for name in found.columns if name not in own), *own]))
        except AnalysisException as error:
            # Delta and Iceberg have several conditions for a missing table, and Delta has another one for a path.
            if any(word in str(error.getCondition()) for word in ("NOT_FOUND", "MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST")):
                return None
            raise

    def _apply(self, effects: Effects) -> None:
        session, table = effects.session, effects.table
        as_written(session)
        refusal = self.refusal(table)
        if refusal is not None:
            raise TableError(table.full_name, refusal)
        if self.begun(effects):
            return
        given = self._local.batch(effects)
        with incoming(effects) if given is None else nullcontext(given) as batch:
            # Rows in the driver have been tried before.
            if given is not None or not self.shortened(effects, batch):
                self._apply_batch(session, effects, batch)

    def _apply_batch(self, session: SparkSession, effects: Effects, batch: Incoming) -> None:
        table, identifier, own = effects.table, self.identifier(effects.table), own_columns(effects.table)
        there = self._read(session, identifier)
        if there is None and effects.known:
            raise vanished(table, self.place(table))
        if there is None:
            if self.created(effects, batch):
                return
            # It may have failed after it had created the mirror.
            there = self._read(session, identifier)
        if there is None:
            shape = {column.name: self.held(column.kind.type) for column in table.columns} | own
            self.create(session, table, ", ".join(f"{quoted(name)} {of.simpleString()}" for name, of in shape.items()))
            columns = list(shape)
        else:
            self.looked(table, there)
            columns = self._evolve(session, identifier, effects, there)
        fresh = there is None or (batch.truncated is None and self.lacks(session, identifier, batch))
        self._bring(session, identifier, batch, columns, insert_statement if fresh else merge_statement)
        self.brought(session, identifier, batch, new=there is None)

    def _bring(self, session: SparkSession, identifier: str, batch: Incoming, columns: Sequence[str], statement: Statement) -> None:
        if batch.count == 0:
            if batch.truncated is not None:
                session.sql(f"DELETE FROM {identifier} WHERE {gone('', batch)}")
            return
        view = f"incoming_{uuid.uuid4().hex}"
        batch.rows.createOrReplaceTempView(view)
        try:
            session.sql(statement(identifier, view, batch, columns))
        finally:
            session.catalog.dropTempView(view)

    def _evolve(self, session: SparkSession, identifier: str, effects: Effects, there: DataFrame) -> list[str]:
        """Change the mirror's columns to the table's. Returns the new names."""
        table, path = effects.table, effects.path
        if LSN not in there.columns:
            said = f"{identifier} has no column {LSN}, so is not a mirror. Choose another place for {table.full_name}."
            raise TableError(table.full_name, said)
        own = own_columns(table)
        old = [(field.name, field.dataType) for field in there.schema.fields if field.name not in {LSN, POSITION}]
        # Other columns than those of the former form are there only if dropped columns stay.
        former = None if self._drop_columns else effects.former
        found = steps_along(old, path, self._held, extras=not self._drop_columns, former=former, again=effects.again)
        wanted = allowed(found, table, drop_columns=self._drop_columns)
        # If dropped columns stay, the columns after some of the steps do not show all of the remaining steps.
        apart = one_by_one(old, path, found, self._held, former=former, again=effects.again) and (self._drop_columns or not effects.passed)
        positioned = POSITION in there.columns
        self.check(session, table, changes=bool(wanted) or positioned != (POSITION in own))
        partitions = [name for step in wanted if (name := _partition_column(step, table)) is not None]
        if partitions and not self.changes_partitions:
            raise TableError(table.full_name, _fixed_partitions(table, identifier, partitions))
        if wanted and (partitions or any(self._rewrites(step) for step in wanted) or not apart):
            self.rewrite(identifier, rewritten(there, table, wanted), table)
        else:
            for step in wanted:
                session.sql(self._statement(identifier, step))
        if positioned and POSITION not in own:
            self.remove(session, identifier, POSITION, table)
        elif POSITION in own and not positioned:
            session.sql(f"ALTER TABLE {identifier} ADD COLUMN {quoted(POSITION)} string")
        changed = wanted or positioned != (POSITION in own)
        if changed:
            self.evolved(identifier)
        return list((session.table(identifier) if changed else there).columns)

    def _held(self, column: Column) -> DataType:
        return self.held(column.kind.type)

    def _rewrites(self, step: Step) -> bool:
        match step:
            case Add(column):
                return column.fills
            case Retype(column, DataType() as old):
                return not self.widens(old, self.held(column.kind.type))
            case _:
                return False

    def _statement(self, identifier: str, step: Step) -> str:
        match step:
            case Rename(old, new):
                return f"ALTER TABLE {identifier} RENAME COLUMN {quoted(old)} TO {quoted(new)}"
            case Drop(name):
                return f"ALTER TABLE {identifier} DROP COLUMN {quoted(name)}"
            case Add(column, after):
                place = "FIRST" if after is None else f"AFTER {quoted(after)}"
                return f"ALTER TABLE {identifier} ADD COLUMN {quoted(column.name)} {self._type(column)} {place}"
            case Retype(column):
                return f"ALTER TABLE {identifier} ALTER COLUMN {quoted(column.name)} TYPE {self._type(column)}"

    def _type(self, column: Column) -> str:
        return str(self.held(column.kind.type).simpleString())


def _partition_column(step: Step, table: Table) -> str | None:
    """The column that the step drops or gives another type, if the table is partitioned by it. The table is rewritten then, or refused."""
    match step:
        case Drop(name):
            changed = name
        case Retype(column):
            changed = column.name
        case _:
            return None
    return changed if any(partition_of(text).column == changed for text in table.partition_by) else None


def _fixed_partitions(table: Table, identifier: str, columns: Sequence[str]) -> str:
    return (
        f"The source has dropped {', '.join(columns)} of {table.full_name} or changed its type. {identifier} is partitioned by this "
        f"column, and the format cannot change that. Remove the table, correct partition_by, and start once with --rebuild "
        f"{table.full_name}."
    )
