"""A user's snapshotter, query and lock on real servers. What is asked when is as recorded from Debezium 3.6.3."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker, properties_of
from tests.support.connector import SECONDS, Connector
from tests.support.project import ROOT
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

MODULE = "tests.support.probe_snapshotters"
MODE = {"snapshot.mode": "custom", "snapshot.mode.custom.name": f"{MODULE}:Probe"}
# The rows show the lock mode that a reader sees on the table.
HELD = "(SELECT string_agg(DISTINCT mode, ' ') FROM pg_locks WHERE relation = '{0}'::regclass AND mode <> 'AccessShareLock')"
PARTS = {
    **MODE,
    "snapshot.query.mode": "custom",
    "snapshot.query.mode.custom.name": f"{MODULE}:Query",
    'probe.query."public"."a"': f"SELECT {HELD.format('public.a')} AS v, id FROM public.a WHERE id > 1;",
    'probe.query."public"."Odd b"': f"""SELECT id, {HELD.format('public."Odd b"')} AS v FROM public."Odd b" """,
    "snapshot.locking.mode": "custom",
    "snapshot.locking.mode.custom.name": f"{MODULE}:Lock",
    "probe.lock": "LOCK TABLE %t IN SHARE MODE;",
    "probe.unlocked": '"public"."Odd b"',
}


@pytest.fixture(scope="module")
def extended_worker(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker that can import the tests' own snapshotters."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    properties = {**properties_of(f"snapshotters-{uuid.uuid4().hex[:12]}", kafka_bootstrap), "plugin.packages": MODULE}
    worker = Worker(tmp_path_factory.mktemp("worker"), properties, {**os.environ, "PYTHONPATH": path})
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def connector(pg: PgServer, extended_worker: Worker) -> Connector:
    database = pg.database("snapshotters")
    for table in ("a", '"Odd b"', "c"):
        database.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text)", f"INSERT INTO {table} VALUES (1, 'x'), (2, 'x'), (3, 'x')")
    return Connector(extended_worker, database, f"custom_{uuid.uuid4().hex[:8]}")


async def values(connector: Connector, table: str) -> list[tuple[str, Any, Any]]:
    events = [value for _, value in await connector.events(table) if value is not None]
    return [(value["op"], value["after"]["id"], value["after"]["v"]) for value in events]


def restart(connector: Connector, changes: dict[str, str], *meanwhile: str) -> None:
    connector.stop()
    connector.database.execute(*meanwhile)
    answer = connector.worker.rest("PUT", f"/connectors/{connector.name}/config", connector.config(changes))
    assert answer.is_success, answer.text
    connector.put("resume")


@pytest.mark.parametrize("threads", ["1", "2"])
async def test_some_tables_by_their_own_query_under_their_own_lock_and_then_the_stream(connector: Connector, threads: str) -> None:
    connector.create({**PARTS, "snapshot.max.threads": threads})
    for table in ("a", '"Odd b"', "c"):
        connector.database.execute(f"INSERT INTO {table} VALUES (4, 'y')")
    connector.await_confirmed(connector.lsn())
    assert await values(connector, "public.a") == [("r", 2, "ShareLock"), ("r", 3, "ShareLock"), ("c", 4, "y")]
    assert await values(connector, "public.Odd_b") == [("r", 1, None), ("r", 2, None), ("r", 3, None), ("c", 4, "y")]
    assert await values(connector, "public.c") == [("c", 4, "y")]
    assert 'msg="table skipped" table=public.c' in connector.worker.log
    # Its end has freed the tables.
    assert connector.database.execute("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND relation = 'a'::regclass") == [(0,)]
    connector.delete()


async def test_a_statement_of_the_configuration_goes_before_the_query(connector: Connector) -> None:
    settings = {
        **PARTS,
        "snapshot.select.statement.overrides": "public.a,public.c",
        "snapshot.select.statement.overrides.public.a": "SELECT * FROM a WHERE id = 1",
        "snapshot.select.statement.overrides.public.c": "SELECT * FROM c WHERE id = 2",
    }
    connector.create(settings)
    assert await values(connector, "public.a") == [("r", 1, "x")]
    assert await values(connector, "public.c") == [("r", 2, "x")]
    connector.delete()


async def test_the_snapshot_is_taken_again_where_the_stream_was(connector: Connector) -> None:
    settings = {**MODE, "table.include.list": "public.a"}
    connector.create({**settings, "probe.data": "first"})
    connector.await_confirmed(connector.lsn())
    restart(connector, {**settings, "probe.data": "first"}, "INSERT INTO a VALUES (4, 'y')")
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    assert [event[:2] for event in await values(connector, "public.a")] == [("r", 1), ("r", 2), ("r", 3), ("c", 4)]
    restart(connector, {**settings, "probe.data": "true"}, "INSERT INTO a VALUES (5, 'y')", "DELETE FROM a WHERE id < 4")
    connector.await_phase("streaming")
    connector.database.execute("INSERT INTO a VALUES (6, 'y')")
    connector.await_confirmed(connector.lsn())
    assert [event[:2] for event in await values(connector, "public.a")][4:] == [("r", 4), ("r", 5), ("c", 6)]
    connector.delete()


async def test_the_changes_until_now_may_come_before_the_rows(connector: Connector) -> None:
    settings = {**MODE, "table.include.list": "public.a", "probe.fromsnapshot": "false", "heartbeat.interval.ms": "1000"}
    connector.create(settings)
    connector.await_confirmed(connector.lsn())
    many = "INSERT INTO a SELECT n, 'y' FROM generate_series(10, 2009) n"
    restart(connector, settings, "INSERT INTO a VALUES (4, 'y')", many, "DELETE FROM a WHERE id > 9", "UPDATE a SET v = 'z' WHERE id = 2")
    connector.await_phase("streaming")
    connector.database.execute("INSERT INTO a VALUES (5, 'y')")
    connector.await_confirmed(connector.lsn())
    seen = await connector.seen("public.a")
    assert seen[:3] == [("r", 1), ("r", 2), ("r", 3)]
    assert seen[3:] == [
        ("c", 4),
        *(("c", n) for n in range(10, 2010)),
        *(("d", n) for n in range(10, 2010)),
        ("u", 2),
        # In the order of the heap: the changed row is the last.
        ("r", 1),
        ("r", 3),
        ("r", 4),
        ("r", 2),
        ("c", 5),
    ]
    assert "catching up before the snapshot" in connector.worker.log
    # The slot that the snapshot was exported with has gone: it would hold WAL.
    slots = "SELECT slot_name::text FROM pg_replication_slots WHERE database = current_database()"
    wait_until(lambda: connector.database.execute(slots) == [(connector.name,)], "the temporary slot to go", SECONDS)
    connector.delete()


async def test_a_stop_on_the_way_loses_and_repeats_no_change(connector: Connector) -> None:
    settings = {**MODE, "table.include.list": "public.a", "probe.fromsnapshot": "false"}
    connector.create(settings)
    connector.await_confirmed(connector.lsn())
    inserts = [f"INSERT INTO a SELECT n, 'y' FROM generate_series({first}, {first + 99}) n" for first in range(100, 3100, 100)]
    restart(connector, settings, *inserts, "DELETE FROM a WHERE id BETWEEN 100 AND 3000")
    # Wherever it is by now.
    restart(connector, settings)
    restart(connector, settings)
    connector.await_phase("streaming")
    connector.database.execute("INSERT INTO a VALUES (5, 'y')")
    connector.await_confirmed(connector.lsn())
    seen = await connector.seen("public.a")
    changes = [event for event in seen if event[0] != "r"]
    assert changes == [*(("c", n) for n in range(100, 3100)), *(("d", n) for n in range(100, 3001)), ("c", 5)]
    # The rows of the last snapshot come after every change that they hold.
    rows = [("r", n) for n in (1, 2, 3, *range(3001, 3100))]
    assert seen[-len(rows) - 1 :] == [*rows, ("c", 5)]
    connector.delete()


async def test_a_blocking_snapshot_asks_too(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE signals (id text PRIMARY KEY, type text, data text)")
    connector.create({**PARTS, "signal.data.collection": "public.signals", "table.include.list": "public.a,public.c,public.signals"})
    log = connector.worker.log
    only = '[{"data-collection": "public.c", "filter": "SELECT * FROM public.c WHERE id = 3"}]'
    signal = f'{{"type": "blocking", "data-collections": ["public.a", "public.c"], "additional-conditions": {only}}}'
    connector.database.execute(f"INSERT INTO signals VALUES ('1', 'execute-snapshot', '{signal}')")

    def reported() -> bool:
        return "probe informed that the snapshot is completed" in connector.worker.log[len(log) :]

    wait_until(reported, lambda: connector.worker.log[-4000:], SECONDS)
    connector.database.execute("INSERT INTO c VALUES (4, 'y')")
    connector.await_confirmed(connector.lsn())
    assert await values(connector, "public.a") == [("r", 2, "ShareLock"), ("r", 3, "ShareLock")] * 2
    assert await values(connector, "public.c") == [("r", 3, "x"), ("c", 4, "y")]
    connector.delete()


async def test_lost_changes_are_read_again_if_the_snapshotter_says_so(connector: Connector) -> None:
    settings = {**MODE, "table.include.list": "public.a", "probe.data": "first"}
    connector.create(settings)
    connector.await_confirmed(connector.lsn())
    restart(connector, settings, f"SELECT pg_drop_replication_slot('{connector.name}')")
    assert "the replication slot is gone" in connector.trace()
    restart(connector, {**settings, "probe.ondata": "true"})
    connector.await_phase("streaming")
    assert [op for op, _ in await connector.seen("public.a")] == ["r"] * 6
    connector.delete()


def test_the_snapshotter_gets_the_outcome_of_the_snapshot(connector: Connector) -> None:
    log = connector.worker.log
    connector.post({**PARTS, 'probe.query."public"."a"': "throw"})
    assert f"The custom snapshotter {MODULE}:Query raised KeyError at " in connector.trace()
    assert "probe informed that the snapshot is aborted" in connector.worker.log[len(log) :]
    assert "probe informed that the snapshot is completed" not in connector.worker.log[len(log) :]
    log = connector.worker.log
    restart(connector, PARTS)
    connector.await_phase("streaming")
    log_after = connector.worker.log[len(log) :]
    assert "probe looks offset=True slot=True" in log_after
    assert "probe asked about data offset=True broken=True" in log_after
    assert log_after.count("probe informed that the snapshot is completed") == 1
    assert "probe informed that the snapshot is aborted" not in log_after
    connector.delete()


async def test_a_snapshot_alone_needs_no_slot(connector: Connector) -> None:
    settings = {**MODE, "probe.stream": "false", "table.include.list": "public.a"}
    connector.post(settings)
    connector.await_phase("idle")
    assert connector.slot() == {}
    assert [op for op, _ in await connector.seen("public.a")] == ["r"] * 3
    connector.delete()


def test_a_lock_that_is_not_given_in_time_ends_it(connector: Connector) -> None:
    with_lock = {**PARTS, "probe.lock": "LOCK TABLE %t IN ACCESS EXCLUSIVE MODE", "snapshot.lock.timeout.ms": "200"}
    connector.post({**with_lock, "snapshot.max.threads": "2"})

    def reported() -> bool:
        return "canceling statement due to lock timeout" in connector.worker.log

    # The readers may not wait for ever for what the worker itself has locked.
    wait_until(reported, lambda: connector.worker.log[-4000:], SECONDS)
    connector.delete()


def test_a_class_that_cannot_be_loaded_is_named_in_the_trace(connector: Connector) -> None:
    connector.post({"snapshot.mode": "custom", "snapshot.mode.custom.name": "com.example.Mine"})
    assert "names the Java class com.example.Mine" in connector.trace()
    connector.delete()
    connector.post({"snapshot.mode": "custom", "snapshot.mode.custom.name": "mine"})
    assert "There is no entry point in the group understudy.snapshotters" in connector.trace()
    restart(connector, {**MODE, "probe.data": "throw"})
    wait_until(lambda: "Probe raised ValueError at " in connector.trace(), lambda: connector.worker.log[-4000:], SECONDS)
    assert "nobody may see" not in connector.worker.log
    connector.delete()
