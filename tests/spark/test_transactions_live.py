"""A mirror of whole transactions of a real connector: at no moment does it show a part of one, or a later one before an earlier one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.kill_rig import CONFIG, METADATA, Mirroring

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

ACCOUNTS = 40
TRANSFERS = 250
TABLES = ("savings", "checking", "journal")
STATE = (
    "select (select sum(amount) from savings) + (select sum(amount) from checking), (select count(*) from savings),"
    " (select count(*) from checking), (select count(*) from journal), (select max(n) from journal)"
)


def test_a_mirror_never_shows_a_part_of_a_transaction(
    spark: SparkSession, pg: PgServer, worker: Callable[..., Worker], tmp_path: Path
) -> None:
    source, target = pg.database("wholesource"), pg.database("wholetarget")
    for table in TABLES[:2]:
        source.execute(f"create table {table}(id int primary key, amount int not null)")
    source.execute("create table journal(n int primary key)")
    connector = Connector(worker(), source, "wholesource")
    connector.create(CONFIG | METADATA | {"topic.creation.wide.include": rf".*\.public\.({'|'.join(TABLES)})"})
    rng = Random(5)
    with psycopg.connect(source.dsn) as session:
        opened(session)
        for number in range(1, TRANSFERS + 1):
            transferred(session, number, rng)
            if number == TRANSFERS // 2:
                # Transactions are repeated, the last one possibly in part.
                connector.worker.kill()
                connector.worker.start()
    connector.await_confirmed(connector.lsn())
    mirror = Mirroring(tmp_path, connector, "postgres", target, batch_records=250, consistency="transaction")
    try:
        with Watch(target) as watch:
            mirror.finish(1200)
        verified = mirror.verify(1200, spark)
    finally:
        mirror.close()
    assert verified.code == 0, verified.said
    wrong = {state for state in watch.states if state != (2 * ACCOUNTS * 100, ACCOUNTS, ACCOUNTS, state[4] + 1, state[4])}
    assert not wrong, mirror.log[-4000:]
    assert len(watch.states) > 3, f"too few states were seen to prove anything: {watch.states}\n{mirror.log[-4000:]}"


def opened(session: psycopg.Connection[Any]) -> None:
    """All accounts, in one transaction, since a snapshot is none."""
    for table in TABLES[:2]:
        session.execute(f"insert into {table} select n, 100 from generate_series(1, {ACCOUNTS}) n".encode())
    session.execute("insert into journal values (0)")
    session.commit()


def transferred(session: psycopg.Connection[Any], number: int, rng: Random) -> None:
    """One transaction: an amount goes from one table to the other, a row may get another key, and the journal counts."""
    giver, taker = rng.sample(TABLES[:2], 2)
    amount, one, other = rng.randrange(1, 50), rng.randrange(1, ACCOUNTS + 1), rng.randrange(1, ACCOUNTS + 1)
    session.execute(f"update {giver} set amount = amount - {amount} where abs(id) = {one}".encode())
    if number % 7 == 0:
        session.execute(f"update {giver} set id = -id where abs(id) = {one}".encode())
    session.execute(f"update {taker} set amount = amount + {amount} where abs(id) = {other}".encode())
    session.execute(f"insert into journal values ({number})".encode())
    session.commit()


class Watch:
    """Looks at the mirror all the time, from the moment when its tables are there."""

    def __init__(self, target: Database) -> None:
        self.states: set[tuple[int, ...]] = set()
        self._target = target
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with psycopg.connect(self._target.dsn, autocommit=True) as session:
            while not self._over.wait(0.01):
                [(there,)] = session.execute("select count(*) from pg_tables where tablename = any(%s)", [list(TABLES)]).fetchall()
                if there == len(TABLES):
                    self.states.update(tuple(int(part) for part in row) for row in session.execute(STATE).fetchall())
