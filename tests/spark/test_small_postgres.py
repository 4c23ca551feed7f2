"""Few rows reach PostgreSQL as parameters, without a Spark job, and the tables are those that staging tables leave."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, Rows, down, effects, few, of_all_types, shown, table, up
from workers.spark.failure import TableError
from workers.spark.sinks import PostgresPlace
from workers.spark.sinks.postgres import sink as postgres
from workers.spark.sinks.postgres.rows import GivenRows, StagedRows
from workers.spark.sinks.postgres.sink import PostgresSink
from workers.spark.sinks.postgres.sql import inserts
from workers.spark.tables.local_rows import Projection, local
from workers.spark.tables.table import Column, Table

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

pytestmark = pytest.mark.pg_once


class Rig:
    """A sink into a database of its own, which notes where the rows of each table's part are."""

    def __init__(self, spark: SparkSession, pg: PgServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark = spark
        self.database = pg.database(f"few_{name}")
        self.sink = self.again()
        self.given: list[bool] = []
        for kind in (GivenRows, StagedRows):
            monkeypatch.setattr(kind, "drop", self._noting(kind.drop, given=kind is GivenRows))

    def again(self) -> PostgresSink:
        """The sink of another process."""
        return PostgresSink(self.spark, PostgresPlace(self.database.dsn).dsn, mirror="m")

    def _noting(self, drop: Any, *, given: bool) -> Any:
        def noted(rows: Any, connection: psycopg.Connection) -> None:
            drop(rows, connection)
            self.given.append(given)

        return noted

    def few(self, batch: int, of: Table, rows: Rows, **more: Any) -> None:
        self.sink.apply(batch, [replace(few(self.spark, of, rows, lsn=100 + batch), **more)])

    def rows(self, of: Table) -> list[tuple[Any, ...]]:
        """All columns as texts."""
        return sorted(self.database.execute(f'SELECT t::text FROM "{of.schema}"."{of.name}" t'), key=repr)


@pytest.fixture
def rig(spark: SparkSession, pg: PgServer, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(spark, pg, "rows", monkeypatch)


def test_few_rows_come_change_and_go_without_a_staging_table(rig: Rig) -> None:
    rig.few(0, PLAIN, [], known=False)
    rig.few(1, PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30)])
    for batch in (2, 3):
        rig.few(batch, PLAIN, [up(1, "x2", 11), down(2), up(4, None, 40), down(9)])
        assert shown(rig.sink, PLAIN) == [(1, "x2", 11), (3, "z", 30), (4, None, 40)]
    assert rig.database.execute("SELECT id, __lsn FROM s.t ORDER BY id") == [(1, 103), (3, 101), (4, 103)]
    # The batch is in the ledger.
    rig.few(3, PLAIN, [down(1)])
    assert len(shown(rig.sink, PLAIN)) == 3
    assert rig.database.execute("SELECT relname FROM pg_class WHERE relname LIKE 'batch_%'") == []
    assert rig.given == [True] * 3


def test_all_types_are_those_of_a_staging_table(spark: SparkSession, pg: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    of, made = of_all_types()
    staged, given = (Rig(spark, pg, name, monkeypatch) for name in ("staged", "given"))
    for batch, rows in enumerate(((1, 2), (2, 3))):
        staged.sink.apply(batch, [replace(made(spark, *rows), known=batch > 0)])
        effects_ = made(spark, *rows)
        given.sink.apply(batch, [replace(effects_.with_rows(local(effects_.rows)), known=batch > 0)])
    assert len(given.rows(of)) == 3
    assert given.rows(of) == staged.rows(of)
    # Both note all batches.
    assert given.given == [False, True] * 2


@pytest.mark.long
def test_sequences_of_batches_leave_the_table_of_staging_tables(spark: SparkSession, pg: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    narrow = table(Column("x", INT), Column("$1 %s", TEXT), Column("v", LONG), key=("x", "$1 %s"), name="a 'c' $2 %")
    wide = replace(narrow, columns=(*narrow.columns, Column("n", TEXT, "new")))
    staged, given = (Rig(spark, pg, name, monkeypatch) for name in ("staged", "given"))
    former = None
    for batch in range(8):
        of = narrow if batch < 4 else wide
        keys = {(chance.choice((None, 1, 2)), chance.choice((None, "", "a,b", '"{}\\NULL'))) for _ in range(6)}
        rows = [
            up(*key, batch, *(["n"] if of is wide else []), key=2) if chance.random() < 0.7 else down(*key)
            for key in sorted(keys, key=repr)
        ]
        truncated = 100 + chance.randrange(batch) if batch in (3, 6) else None
        for rig in (staged, given):
            one = replace(effects(spark, of, rows, truncated, lsn=100 + batch), known=batch > 0, former=former)
            rig.sink.apply(batch, [one.with_rows(local(one.rows)) if rig is given else one])
        assert given.rows(of) == staged.rows(of)
        former = of
    assert given.given == [False, True] * 8
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 's'"
    assert given.database.execute(indexes) == staged.database.execute(indexes)


def test_batch_that_was_interrupted_is_repeated(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(PLAIN, name="other")
    rig.sink.apply(0, [replace(few(rig.spark, of, [up(1, "x", 10)]), known=False) for of in (PLAIN, other)])
    batch = [few(rig.spark, of, [up(1, "x2", 11), up(2, "y", 20)]) for of in (PLAIN, other)]
    calls: list[Any] = []

    def stopping(*arguments: Any) -> str:
        calls.append(arguments)
        if len(calls) == 2:
            raise InterruptedError("the machine stopped")
        return inserts(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(postgres, "inserts", stopping)
        with pytest.raises(InterruptedError):
            rig.sink.apply(1, batch)
    assert (shown(rig.sink, PLAIN), shown(rig.sink, other)) == ([(1, "x", 10)], [(1, "x", 10)])
    sink = rig.again()
    for _ in range(2):
        sink.apply(1, batch)
        assert (shown(sink, PLAIN), shown(sink, other)) == ([(1, "x2", 11), (2, "y", 20)],) * 2


def test_everything_else_is_staged(rig: Rig) -> None:
    rig.few(0, PLAIN, [up(1, "x", 10)], known=False)
    seen: list[tuple[int, int]] = []
    rig.few(1, PLAIN, [up(1, "ignored", 11, kept=["a"]), up(2, "y", 20)], seen=lambda *counts: seen.append(counts))
    assert shown(rig.sink, PLAIN) == [(1, "x", 11), (2, "y", 20)]
    rig.sink.apply(2, [replace(effects(rig.spark, PLAIN, [down(1)]), known=True)])
    floats = table(Column("id", LONG), Column("a", TEXT), key=(), name="k")
    rig.few(3, floats, [("upsert", ("p1",), (1, "x"), [])], known=False)
    assert rig.given == [True, False, False, False]
    rig.few(4, PLAIN, [up(3, "z", 30), down(2)], seen=lambda *counts: seen.append(counts))
    assert shown(rig.sink, PLAIN) == [(3, "z", 30)]
    assert seen == [(2, 0), (1, 1)]
    assert rig.given[4:] == [True]


@pytest.mark.long
def test_failure_of_the_cheap_way_is_reported(rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig.few(0, PLAIN, [up(1, "x", 10)], known=False)
    with monkeypatch.context() as patch:
        # As another version of Spark would.
        patch.setattr(Projection, "run", lambda self, rows: rows.methodOfAnotherVersion())
        rig.few(1, PLAIN, [up(2, "y", 20)])
    rig.few(2, PLAIN, [up(3, "z", 30)])
    assert caplog.messages == ["The writing of rows of table s.t failed with Py4JError: they take the slower way"]
    assert shown(rig.sink, PLAIN) == [(1, "x", 10), (2, "y", 20), (3, "z", 30)]
    assert rig.given == [True, False, True]


def test_refused_rows_are_refused_as_staged_ones(rig: Rig) -> None:
    rig.few(0, PLAIN, [up(1, "secret", 1)], known=False)
    rig.database.execute("ALTER TABLE s.t ADD CHECK (a <> 'secret2')")
    with pytest.raises(TableError, match="23514") as refusal:
        rig.few(1, PLAIN, [up(1, "secret2", 1)])
    assert "secret" not in str(refusal.value)
    # The server itself refuses this character.
    with pytest.raises(Py4JJavaError, match="invalid byte sequence"):
        rig.few(1, PLAIN, [up(1, "a\0", 1)])
    assert shown(rig.sink, PLAIN) == [(1, "secret", 1)]
