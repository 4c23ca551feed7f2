"""Mirrors of real tables that change while the connector takes snapshots on demand; the worker dies in the midst of one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from aiokafka import AIOKafkaProducer

from tests.support.connector import SECONDS, Connector
from tests.support.spark.kill_rig import CONFIG
from tests.support.spark.own_session import present_session
from workers.quickstart.embedded.wait import wait_until
from workers.spark.commands import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.fix_pg import Database, PgServer
    from tests.fix_worker import Worker

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

ROWS = 40
SIGNALS = "create table sig(id varchar(42) primary key, type varchar(32) not null, data varchar(2048))"
SIGNALED = {
    "signal.data.collection": "public.sig",
    "table.exclude.list": "public.sig",
    "topic.creation.wide.include": r".*\.(items|spread)",
}
LONG = "repeat(md5(n::text), 100)"
"""Long enough to be kept out of line, so that updates of other columns do not send it again."""


ITEMS = (
    "create table items(id int primary key, n int, long text)",
    "alter table items alter long set storage external",
    f"insert into items select n, n, {LONG} from generate_series(1, {ROWS}) n",
)


class Mirrored:
    """A connector and the mirror of its tables, which reads in batches of ``batch_records`` until nothing is left."""

    def __init__(self, connector: Connector, folder: Path, batch_records: int) -> None:
        self._connector = connector
        self._config = folder / "mirror.toml"
        self._config.write_text(
            f"""
            name = "{connector.name}"
            bootstrap = "{connector.worker.bootstrap}"
            topics = "{connector.name}.public.(items|visits|spread)"
            checkpoint = "{folder}/checkpoint"
            trigger = "available-now"
            batch_records = {batch_records}
            dsn = "{connector.database.dsn}"
            [sink]
            path = "{folder}/tables"
            """,
            encoding="utf-8",
        )

    def read(self) -> None:
        assert main(["mirror", "--config", str(self._config)]) == 0

    def differing(self, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
        """The tables that are not equal, with the columns that differ."""
        capsys.readouterr()
        main(["verify", "--config", str(self._config), "--json"])
        said = capsys.readouterr().out
        tables = json.loads(said[said.index("{") :])["tables"]
        return {table["table"]: sorted(table["columns"]) for table in tables if not table["equal"]}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with present_session(spark) as found:
        yield found


def execute(kind: str, *tables: str) -> str:
    return json.dumps({"type": kind, "data-collections": [f"public.{name}" for name in tables]})


def changes(step: int) -> list[str]:
    """Rows that come, go, change, and move to other keys, each time at other places."""
    return [
        f"update items set n = n + 1 where id % 7 = {step}",
        f"delete from items where id % 11 = {step}",
        f"update items set id = -id where id % 13 = {step}",
        f"insert into items select n, n, {LONG} from generate_series({1000 * step}, {1000 * step + 20}) n",
    ]


@pytest.mark.usefixtures("session")
async def test_blocking_snapshots_of_tables_that_change(
    pg: PgServer, worker: Callable[..., Worker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = pg.database("snapsource")
    source.execute(SIGNALS, *ITEMS, "create table held(id int primary key)", "insert into held values (1)")
    for name in ("visits", "spread"):
        source.execute(f"create table {name}(id int, n int)", f"insert into {name} select n % 5, n % 3 from generate_series(1, {ROWS}) n")
    connector = Connector(worker(), source, "snapsource")
    kafka = {"signal.kafka.topic": "snapsource-signals", "signal.kafka.bootstrap.servers": connector.worker.bootstrap}
    connector.create(CONFIG | SIGNALED | kafka | {"signal.enabled.channels": "source,kafka"})
    mirrored = Mirrored(connector, tmp_path, 1000)
    source.execute(*changes(1), "insert into visits values (1, 1), (1, 1)")
    connector.await_confirmed(connector.lsn())
    whole = execute("blocking", "items", "visits", "spread", "held")

    connector.stop()
    source.execute(f"insert into sig values ('1', 'execute-snapshot', '{whole}')")
    source.execute(*changes(2), *(f"insert into {name} values (2, 2), (2, 2)" for name in ("visits", "spread")))
    # The snapshot waits for the lock when it has read the tables before it. The worker dies then, and takes all of it again.
    with psycopg.connect(source.dsn) as lock:
        lock.execute("lock table held")
        connector.put("resume")
        await_waiting(source, "held")
        source.execute(*changes(3))
        mirrored.read()
        connector.worker.kill()
    connector.worker.start()
    connector.await_confirmed(connector.lsn())
    mirrored.read()

    producer = AIOKafkaProducer(bootstrap_servers=connector.worker.bootstrap)
    await producer.start()
    try:
        with psycopg.connect(source.dsn) as lock:
            lock.execute("lock table held")
            body = {"id": "2", "type": "execute-snapshot", "data": json.loads(whole)}
            await producer.send_and_wait("snapsource-signals", json.dumps(body).encode(), b"snapsource")
            await_waiting(source, "held")
            source.execute(*changes(4), "insert into visits values (2, 2), (2, 2)")
    finally:
        await producer.stop()
    source.execute(*changes(5))
    connector.await_confirmed(connector.lsn())
    mirrored.read()
    assert mirrored.differing(capsys) == {}


@pytest.mark.usefixtures("session")
async def test_an_incremental_snapshot_while_keys_change_in_its_windows(
    pg: PgServer, shared_worker: Worker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = pg.database("incsource")
    source.execute(SIGNALS, *ITEMS)
    connector = Connector(shared_worker, source, "incsource")
    connector.create(CONFIG | SIGNALED | {"incremental.snapshot.chunk.size": "10", "snapshot.mode": "no_data"})
    mirrored = Mirrored(connector, tmp_path, 100)
    with psycopg.connect(source.dsn) as window, psycopg.connect(source.dsn) as change:
        change.execute("lock table items")
        source.execute(f"insert into sig values ('1', 'execute-snapshot', '{execute('incremental', 'items')}')")
        # The window is open, and the first chunk is not read yet: it reads what these changes leave.
        await_waiting(source, "items")
        for statement in changes(1):
            change.execute(statement)
        # The window cannot be closed: the chunk is read before these changes, and sent after them.
        window.execute("lock table sig in exclusive mode")
        change.commit()
        await_waiting(source, "sig")
        source.execute(*changes(2))
    source.execute(*changes(3))
    connector.await_confirmed(connector.lsn())
    wait_until(lambda: connector.progress()["incremental"] is None, lambda: f"the end: {connector.progress()}", SECONDS)
    source.execute(*changes(4))
    connector.await_confirmed(connector.lsn())
    mirrored.read()
    # PostgreSQL did not send them again, and rows that moved to keys before those that were read next were not read.
    assert mirrored.differing(capsys) == {"public.items": ["long"]}
    source.execute(f"insert into sig values ('2', 'execute-snapshot', '{execute('incremental', 'items')}')")
    # The stream stores the progress with the offset that confirms the signal.
    connector.await_confirmed(connector.lsn())
    wait_until(lambda: connector.progress()["incremental"] is None, lambda: f"the end: {connector.progress()}", SECONDS)
    connector.await_confirmed(connector.lsn())
    mirrored.read()
    assert mirrored.differing(capsys) == {}
    connector.delete()


def await_waiting(database: Database, table: str) -> None:
    """Wait until someone waits for a lock of the table."""
    query = f"select count(*) from pg_locks where not granted and relation = '{table}'::regclass"
    wait_until(lambda: database.execute(query) != [(0,)], f"someone to wait for a lock of {table}", SECONDS)
