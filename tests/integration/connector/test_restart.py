"""Restarts: nothing twice after an orderly end, not in the middle of a transaction either, and no ghosts after a broken snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import psycopg
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.load import TABLES, Load, faults, seen
from tests.support.topics import topic_reader
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

ROWS = 60_000


def reached(load: Load, transactions: int) -> bool:
    return load.transactions > transactions


@pytest.mark.parametrize("linger_ms", ["0", pytest.param("50", marks=pytest.mark.long)])
async def test_orderly_restarts_under_load_repeat_nothing(pg: PgServer, worker: Callable[..., Worker], linger_ms: str) -> None:
    connector = Connector(worker(), pg.database("restart"), f"restart_orderly_{linger_ms}")
    load = Load(connector.database.dsn, seed=7)
    load.prepare()
    connector.create({"producer.override.linger.ms": linger_ms})
    load.start()
    try:
        for restart in range(4):
            goal = load.transactions + 100
            wait_until(partial(reached, load, goal), "the load to go on", SECONDS)
            if restart % 2:
                connector.worker.restart()
            else:
                connector.stop()
                connector.put("resume")
            connector.await_phase("streaming")
    finally:
        end = load.stop()
    connector.await_confirmed(end)
    for table in TABLES:
        records = [seen(key, value) for key, value in await connector.events(f"public.{table}")]
        assert faults(table, load.histories, records, load.rows(table), restarts=0) == []


@pytest.mark.parametrize("how", ["insert", pytest.param("copy", marks=pytest.mark.long)])
async def test_restart_inside_a_large_transaction(pg: PgServer, worker: Callable[..., Worker], how: str) -> None:
    """COPY writes many rows with one LSN, so an LSN does not show which of them were sent."""
    connector = Connector(worker(), pg.database("restart_inside"), f"restart_inside_{how}")
    connector.database.execute("CREATE TABLE big (id int PRIMARY KEY, body text)", "CREATE TABLE small (id int PRIMARY KEY)")
    connector.create()
    with psycopg.connect(connector.database.dsn) as connection:
        if how == "insert":
            connection.execute("INSERT INTO big SELECT i, repeat('x', 100) FROM generate_series(1, %s::int) i", (ROWS,))
        else:
            with connection.cursor() as cursor, cursor.copy("COPY big FROM STDIN") as copy:
                copy.write("".join(f"{number}\t{'x' * 100}\n" for number in range(1, ROWS + 1)))
        # A concurrent transaction that ends first must not be sent again.
        connector.database.execute("INSERT INTO small VALUES (1)")
    inside = []
    for _ in range(2):
        # The events of this run; some were sent by the run before.
        wait_until(lambda: connector.progress()["events"] > ROWS / 20, "some events", SECONDS, pause=0.002)
        connector.worker.stop()
        inside.append((await connector.stored())[-1])
        connector.worker.start()
        connector.await_phase("streaming")
    connector.database.execute("INSERT INTO small VALUES (2)")
    connector.await_confirmed(connector.lsn())
    assert [number for _, number in await connector.seen("public.big")] == list(range(1, ROWS + 1))
    assert await connector.seen("public.small") == [("c", 1), ("c", 2)]
    assert [offset["messageType"] for offset in inside] == ["INSERT", "INSERT"], "a restart came too late to prove anything"


async def test_rows_deleted_after_a_broken_snapshot_are_deleted_downstream(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connector = Connector(worker(), pg.database("ghosts"), "restart_ghosts")
    database = connector.database
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, body text)",
        "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i",
        # Rows after 500 wait until the gate is open.
        """CREATE FUNCTION gate(id int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
             IF id > 500 THEN PERFORM pg_advisory_lock_shared(42); PERFORM pg_advisory_unlock_shared(42); END IF; RETURN true; END $$""",
    )
    override = "snapshot.select.statement.overrides"
    topic = f"{connector.name}.public.t"
    with psycopg.connect(database.dsn, autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(42)")
        connector.post({override: "public.t", f"{override}.public.t": "SELECT * FROM public.t WHERE gate(id)"})
        connector.await_phase("snapshot")
        async with topic_reader(connector.worker.bootstrap) as reader:
            sent: set[int] = set()
            for _ in range(600):
                sent = {json.loads(raw.key or b"")["id"] for raw in await reader.read(topic)}
                if len(sent) >= 200:
                    break
        assert 200 <= len(sent) <= 500, f"{len(sent)} rows came of the snapshot that stands still"
        connector.worker.kill()
        database.execute("DELETE FROM t WHERE id <= 150", "UPDATE t SET body = 'changed' WHERE id BETWEEN 151 AND 180")
        database.execute("UPDATE t SET id = id + 10000 WHERE id BETWEEN 181 AND 190", "DELETE FROM t WHERE id > 990 AND id < 1001")
        gate.execute("SELECT pg_advisory_unlock(42)")
    connector.worker.start()
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    last: dict[int, object] = {}
    for key, value in await connector.events("public.t"):
        last[key["id"]] = None if value is None or value["after"] is None else value["after"]["body"]
    assert {key for key in sent if last[key] is None} >= {*range(1, 151)} & sent
    rows = database.execute("SELECT id, body FROM t")
    assert {key: body for key, body in last.items() if body is not None} == {row[0]: row[1] for row in rows}


async def test_resume_sends_what_came_while_the_worker_was_away(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connector = Connector(worker(), pg.database("away"), "restart_away")
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    connector.create()
    connector.worker.stop()
    connector.database.execute("INSERT INTO t VALUES (2)", "DELETE FROM t WHERE id = 1")
    connector.worker.start()
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1), ("c", 2), ("d", 1)]


async def test_a_key_changed_while_the_worker_was_stopped_is_reported(pg: PgServer, worker: Callable[..., Worker]) -> None:
    """The reference's events have the catalog's key too (its test of a key's columns dropped while it is down)."""
    connector = Connector(worker(), pg.database("awaykey"), "restart_key")
    connector.database.execute("CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))", "CREATE TABLE same (a int PRIMARY KEY, b int)")
    connector.create()
    connector.worker.stop()
    connector.database.execute(
        "INSERT INTO t VALUES (1, 1)", "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b)", "INSERT INTO t VALUES (2, 2)"
    )
    connector.database.execute("INSERT INTO same VALUES (1, 1)", "ALTER TABLE same ADD COLUMN c int", "INSERT INTO same VALUES (2, 2, 2)")
    connector.worker.start()
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    assert [key for key, _ in await connector.events("public.t")] == [{"b": 1}, {"b": 2}]
    [reported] = [line for line in connector.worker.log.splitlines() if "another key before its changes were read" in line]
    assert reported.endswith(" table=public.t key=b before=a,b")
    assert " connector=restart_key " in reported
