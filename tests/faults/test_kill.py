"""Whatever ends without warning (the worker, the walsender, the broker), nothing committed is lost or turned around."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fix_pg import Database, PgServer
from fix_worker import Worker
from support.load import TABLES, Load, Seen, faults, seen
from support.topics import read_to_end

from workers.embedded.kafka import EmbeddedKafka
from workers.embedded.wait import wait_until

pytestmark = [pytest.mark.pg_once, pytest.mark.slow]

SEED = 20_240_229
KILLS = 20
SNAPSHOT_KILLS = 5
SETTLE = 60.0


def config(database: Database, name: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": "unused",
        "database.dbname": database.name,
        "topic.prefix": name,
        "slot.name": name,
        "publication.name": name,
        "table.include.list": "public.item,public.entry",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "1",
        "status.update.interval.ms": "1000",
        "retriable.restart.connector.wait.ms": "500",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def progress(worker: Worker, name: str) -> dict[str, object]:
    answer = worker.rest("GET", f"/connectors/{name}/progress")
    found: dict[str, object] = answer.json()
    return found


def await_phase(worker: Worker, name: str, phase: str) -> None:
    """Wait for the phase; the snapshot's counts only when it has announced itself in the offsets and knows its tables."""

    def look() -> bool:
        now = progress(worker, name)
        return now.get("phase") == phase and (phase != "snapshot" or bool(now.get("tables")))

    wait_until(look, lambda: f"{name} to be in phase {phase}: {progress(worker, name)}\n{worker.log[-6000:]}", 60)


def await_confirmed(database: Database, name: str, lsn: str, told: Callable[[], str]) -> None:
    """Wait until the slot is confirmed up to ``lsn``: by the design everything before it is in Kafka then."""

    def look() -> bool:
        query = f"SELECT confirmed_flush_lsn >= '{lsn}' FROM pg_replication_slots WHERE slot_name = '{name}'"
        return database.execute(query) == [(True,)]

    wait_until(look, lambda: f"slot {name} to be confirmed up to {lsn}\n{told()}", SETTLE)


@contextmanager
def running(load: Load) -> Iterator[None]:
    """The load runs inside; it ends with the block whatever happens there."""
    load.start()
    try:
        yield
    except BaseException:
        load.stop()
        raise


async def check(worker: Worker, load: Load, name: str, restarts: int) -> None:
    found: list[str] = []
    for table in TABLES:
        records: list[Seen] = []
        for record in await read_to_end(worker.bootstrap, f"{name}.public.{table}"):
            records.append(seen(json.loads(record.key or b"null"), json.loads(record.value) if record.value else None))
        found += faults(table, load.histories, records, load.rows(table), restarts)
    assert not found, f"seed {SEED}, {load.transactions} transactions: {len(found)} faults\n" + "\n".join(found[:30])


async def test_twenty_kills_lose_nothing(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database, name = pg.database("kill"), "kill_twenty"
    choice = random.Random(SEED)
    print(f"seed {SEED}")
    load = Load(database.dsn, seed=SEED)
    load.prepare()
    connect = worker()
    # A snapshot of about two seconds: every row of one table costs five milliseconds.
    slow = config(
        database,
        name,
        snapshot__select__statement__overrides="public.item",
        **{"snapshot.select.statement.overrides.public.item": "SELECT * FROM public.item WHERE pg_sleep(0.005) IS NOT NULL"},
    )
    connect.create(name, slow)
    await_phase(connect, name, "snapshot")
    with running(load):
        for kill in range(KILLS):
            if kill == SNAPSHOT_KILLS:
                await_phase(connect, name, "streaming")
            elif kill < SNAPSHOT_KILLS:
                await_phase(connect, name, "snapshot")
            pause(choice.uniform(0.0, 1.2))
            if kill < SNAPSHOT_KILLS:
                assert progress(connect, name)["phase"] == "snapshot"
            connect.kill()
            connect.start()
        await_phase(connect, name, "streaming")
        end = load.stop()
    await_confirmed(database, name, end, lambda: connect.log[-6000:])
    await check(connect, load, name, KILLS)
    assert load.transactions > 500


async def test_a_cut_walsender_loses_nothing(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database, name = pg.database("cut"), "cut_walsender"
    choice = random.Random(SEED)
    load = Load(database.dsn, seed=SEED)
    load.prepare()
    connect = worker()
    connect.create(name, config(database, name))
    await_phase(connect, name, "streaming")
    cut: set[int] = set()

    def terminate() -> bool:
        query = f"SELECT active_pid, pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{name}' AND active"
        for pid, _ in database.execute(query):
            fresh = pid not in cut
            cut.add(int(str(pid)))
            return fresh
        return False

    with running(load):
        for _ in range(6):
            pause(choice.uniform(0.1, 0.6))
            wait_until(terminate, lambda: f"a new walsender to cut\n{connect.log[-6000:]}", SETTLE)
        end = load.stop()
    await_confirmed(database, name, end, lambda: connect.log[-6000:])
    await check(connect, load, name, len(cut))
    connect.await_state(name, "RUNNING")


async def test_a_broker_that_goes_and_comes_loses_nothing(pg: PgServer, kafka: EmbeddedKafka, worker: Callable[..., Worker]) -> None:
    database, name = pg.database("broker"), "broker_away"
    load = Load(database.dsn, seed=SEED)
    load.prepare()
    connect = worker(bootstrap_servers=kafka.bootstrap)
    connect.create(name, config(database, name))
    await_phase(connect, name, "streaming")
    with running(load):
        for immediate in (True, False):
            pause(0.7)
            kafka.halt(immediate=immediate)
            pause(0.7)
            kafka.resume()
            # Its own row, to see that the stream is whole again before the broker goes the next time.
            [(lsn,)] = database.execute("SELECT pg_current_wal_insert_lsn()::text")
            await_confirmed(database, name, str(lsn), lambda: connect.log[-6000:])
        end = load.stop()
    await_confirmed(database, name, end, lambda: connect.log[-6000:])
    # A batch whose acknowledgement got lost may be sent again by the task's restart, once for each time the broker went.
    await check(connect, load, name, 2)
    connect.await_state(name, "RUNNING")


def pause(seconds: float) -> None:
    """Let the load and the worker run on: the moment of the fault is random, nothing is waited for."""
    threading.Event().wait(seconds)
