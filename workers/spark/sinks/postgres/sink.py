"""Mirrors as PostgreSQL tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from workers.spark.failure import UNREADABLE, JobError, TableError
from workers.spark.sinks.incoming import Batch, incoming, own_columns, side_by_side
from workers.spark.sinks.postgres.rows import BatchRows, GivenTexts, StagedRows, staged_texts
from workers.spark.sinks.postgres.shape import bring_key, bring_schema, bring_shape, columns_of
from workers.spark.sinks.postgres.sql import deletes, inserts, run, sql_name, truncates, updates
from workers.spark.sinks.postgres.types import selected, spark_type
from workers.spark.sinks.refusals import placed, vanished
from workers.spark.source.jdbc import jdbc_access
from workers.spark.tables.postgres_text import from_text
from workers.spark.tables.table import LSN, POSITION, Again, Effects, Table

HOME: Final = "understudy"
"""The schema of the sink's own tables: the ledger, and the rows of a batch while it is applied."""
READ_SETTINGS: Final = "SET datestyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET extra_float_digits = 1"

_OWN: Final = frozenset({"0A", "21", "22", "23", "42", "54"})
"""The classes of SQLSTATE of errors in the data or the columns of one table."""


@dataclass(frozen=True, slots=True)
class _Staged:
    """A table's forms up to its present one, its batch, and the batch's rows, None without any.

    ``former``, ``known`` and ``again``: see :class:`Effects`.
    """

    path: tuple[Table, ...]
    former: Table | None
    batch: Batch
    rows: BatchRows | None
    known: bool
    again: Again


class PostgresSink:
    """A table for each source table, in the schema that ``schemas`` maps the source's schema to (by default the same name).

    All tables of a batch change in one transaction: readers see all of it or nothing. The rows are first written to staging tables,
    in parallel by JDBC, then moved by SQL. Rows that are in the driver are parameters of the same SQL instead. ``mirror``, if given,
    names the ledger's row in which the transaction stores the batch's number and the tables that it changed: these are skipped if the
    batch is repeated. So it must differ between streams whose numbers begin again (Spark's query id does). The role needs CREATE on the
    schemas, and on the database for missing ones. ``connections`` is the number of concurrent writers.
    """

    def __init__(
        self,
        spark: SparkSession,
        dsn: str,
        schemas: Mapping[str, str] = MappingProxyType({}),
        *,
        mirror: str = "",
        drop_columns: bool = True,
        threads: int = 4,
        connections: int = 8,
    ) -> None:
        self._spark = spark
        self._dsn = dsn
        self._schemas = dict(schemas)
        self._mirror = mirror
        self._drop_columns = drop_columns
        self._threads = threads
        self._connections = connections
        self._given = GivenTexts()

    def target(self, table: Table) -> tuple[str, str]:
        """The mirror's schema and name."""
        return self._schemas.get(table.schema, table.schema), table.name

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """Apply all effects or none. Raises JobError(UNREADABLE), without values of rows, when the database refuses.

        It is a TableError if the data or the columns of one table are the cause.
        """
        try:
            self._apply(batch, effects)
        except psycopg.Error as error:
            raise JobError(UNREADABLE, _refusal(error)) from None

    def _apply(self, batch: int, effects: Sequence[Effects]) -> None:
        with self._connect() as connection:
            effects = self._left(connection, batch, effects)
            if not effects:
                return
            bring_schema(connection, HOME)
            connection.commit()
            staged: dict[int, _Staged] = {}
            access = jdbc_access(connection)
            targets = [self.target(one.table) for one in effects]
            # Several topics may fill one table.
            turns = {id(one): targets[:at].count(targets[at]) for at, one in enumerate(effects)}

            def stage(one: Effects) -> None:
                with placed(one.table, ".".join(self.target(one.table))):
                    staged[id(one)] = self._stage(one, access, turns[id(one)])

            side_by_side(stage, effects, self._threads)
            with connection.transaction():
                # The lock waits for an old run of this mirror that is still busy.
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{HOME} {self._mirror}"])
                for one in effects:
                    with _refused(one.table):
                        self._bring(connection, staged[id(one)])
                self._note(connection, batch, [one.table.full_name for one in effects])

    def _left(self, connection: psycopg.Connection, batch: int, effects: Sequence[Effects]) -> Sequence[Effects]:
        """The effects on tables that the ledger does not list for the batch. A refused table is not listed, so that it is refused again."""
        columns = [name for name, _ in columns_of(connection, (HOME, "ledger"))] if self._mirror else []
        if not columns:
            return effects
        # A ledger of an earlier version does not list the tables: a batch in it counts as applied to all.
        tables = "tables" if "tables" in columns else "NULL::text[]"
        query = f"SELECT {tables} FROM {sql_name(HOME, 'ledger')} WHERE mirror = %s AND batch = %s"
        row = connection.execute(query.encode(), [self._mirror, batch]).fetchone()
        return effects if row is None else [one for one in effects if row[0] is not None and one.table.full_name not in row[0]]

    def _note(self, connection: psycopg.Connection, batch: int, tables: list[str]) -> None:
        if not self._mirror:
            return
        ledger = sql_name(HOME, "ledger")
        run(connection, f"CREATE TABLE IF NOT EXISTS {ledger} (mirror text PRIMARY KEY, batch bigint NOT NULL, tables text[])")
        # IF NOT EXISTS alone would require the table's owner even then.
        if "tables" not in dict(columns_of(connection, (HOME, "ledger"))):
            run(connection, f"ALTER TABLE {ledger} ADD COLUMN IF NOT EXISTS tables text[]")
        upsert = (
            f"INSERT INTO {ledger} AS known (mirror, batch, tables) VALUES (%s, %s, %s) ON CONFLICT (mirror) DO UPDATE SET "
            "batch = excluded.batch, "
            "tables = CASE WHEN known.batch = excluded.batch THEN known.tables || excluded.tables ELSE excluded.tables END"
        )
        connection.execute(upsert.encode(), [self._mirror, batch, tables])

    def _stage(self, effects: Effects, access: Mapping[str, str], turn: int) -> _Staged:
        """The batch's rows, in a staging table if they are not in the driver. ``turn`` counts the effects on one table, from 0."""
        own_columns(effects.table)
        given = self._given.batch(effects)
        if given is not None:
            return _Staged(effects.path, effects.former, *given, effects.known, effects.again)
        with incoming(effects) as batch:
            if batch.count == 0:
                return _Staged(effects.path, effects.former, batch, None, effects.known, effects.again)
            place = "\0".join([self._mirror, *self.target(effects.table), *([str(turn)] if turn else [])])
            stage = sql_name(HOME, f"batch_{hashlib.sha256(place.encode()).hexdigest()[:24]}")
            rows = staged_texts(batch.rows)
            with self._connect() as connection:
                run(connection, f"DROP TABLE IF EXISTS {stage}")
                run(connection, f"CREATE UNLOGGED TABLE {stage} ({', '.join(f'{name} text' for name in rows.columns)})")
            writer = rows.write.format("jdbc").mode("append").options(**access).option("dbtable", stage)
            (
                writer.option("reWriteBatchedInserts", "true")
                .option("batchsize", "5000")
                .option("isolationLevel", "READ_COMMITTED")
                .option("numPartitions", str(self._connections))
                .save()
            )
            return _Staged(effects.path, effects.former, batch, StagedRows(stage), effects.known, effects.again)

    def _bring(self, connection: psycopg.Connection, staged: _Staged) -> None:
        batch, target = staged.batch, self.target(staged.batch.table)
        if staged.known and not columns_of(connection, target):
            raise vanished(batch.table, ".".join(target))
        bring_shape(connection, self._spark, target, staged.path, staged.former, staged.again, drop_columns=self._drop_columns)
        mirror = sql_name(*target)
        if batch.truncated is not None:
            run(connection, truncates(mirror, batch))
        bring_key(connection, target, batch)
        rows = staged.rows
        if rows is None:
            return
        there = dict(columns_of(connection, target))
        for nulls in rows.patterns(connection, batch):
            rows.execute(connection, deletes(mirror, rows.relation, batch, there, nulls))
            if batch.table.key:
                rows.execute(connection, updates(mirror, rows.relation, batch, there, nulls))
            rows.execute(connection, inserts(mirror, rows.relation, batch, there, nulls))
        rows.drop(connection)

    def _connect(self) -> psycopg.Connection:
        # The statements' names are UTF-8. libpq's default is the database's encoding.
        return psycopg.connect(self._dsn, client_encoding="utf8")

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The present mirror, read by one JDBC connection; None if it does not exist."""
        target = self.target(table)
        try:
            with self._connect() as connection:
                there, access = columns_of(connection, target), jdbc_access(connection)
        except psycopg.Error as error:
            raise JobError(UNREADABLE, _refusal(error)) from None
        if not there:
            return None
        documents = {
            column.name: column.kind.type for column in table.columns if isinstance(column.kind.type, ArrayType | MapType | StructType)
        }
        there.sort(key=lambda column: column[0] in {LSN, POSITION})
        items = [f'{selected(sql_name(name), of)} AS "v{at}"' for at, (name, of) in enumerate(there)]
        rows = (
            (session or self._spark)
            .read.format("jdbc")
            .options(**access)
            .option("query", f"SELECT {', '.join(items)} FROM {sql_name(*target)}")
            .option("sessionInitStatement", READ_SETTINGS)
            .option("fetchsize", "10000")
            .schema(StructType([StructField(f"v{at}", StringType()) for at in range(len(there))]))
            .load()
        )
        types = [documents.get(name, spark_type(of)) if of == "jsonb" else spark_type(of) for name, of in there]
        return rows.select(*(from_text(F.col(f"v{at}"), types[at]).alias(name) for at, (name, _) in enumerate(there)))


@contextmanager
def _refused(table: Table) -> Iterator[None]:
    """Convert errors in the data or the columns of the table to a TableError. Other errors pass unchanged."""
    try:
        yield
    except psycopg.Error as error:
        if (error.sqlstate or "")[:2] not in _OWN:
            raise
        raise TableError(table.full_name, f"The table {table.full_name} could not be written. {_refusal(error)}") from None


def _refusal(error: psycopg.Error) -> str:
    """A sentence for the error, without PostgreSQL's message if it may quote a row."""
    if error.sqlstate is None:
        said = str(error).strip().splitlines()
        return f"The mirror's database could not be reached: {said[0] if said else type(error).__name__}. Check the sink's dsn."
    return f"The mirror's database refused a statement with {error.sqlstate} ({type(error).__name__}). Its log has the statement."
