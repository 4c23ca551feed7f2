"""Whatever ends without warning (the worker, the walsender, the broker), nothing committed is lost or turned around."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.load import TABLES, Load, faults, seen
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

SEED = 20_240_229
FEW = 4
KILLS = 20
"""A quarter of them falls into the snapshot."""
SLOWLY = (
    "SELECT * FROM (SELECT * FROM public.item ORDER BY id) item"
    " WHERE pg_sleep(CASE WHEN id <= 350 THEN 0.003 ELSE (SELECT seconds FROM public.pace) END) IS NOT NULL"
)
"""Reads most rows in a second, and then waits at each of the others as long as the table pace says."""
CONFIG = {
    "table.include.list": "public.item,public.entry",
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "1",
}


@contextmanager
def running(load: Load) -> Iterator[None]:
    """The load runs inside; when the block fails it ends with it."""
    load.start()
    try:
        yield
    except BaseException:
        load.stop()
        raise


async def check(connector: Connector, load: Load, restarts: int) -> None:
    found: list[str] = []
    for table in TABLES:
        records = [seen(key, value) for key, value in await connector.events(f"public.{table}")]
        found += faults(table, load.histories, records, load.rows(table), restarts)
    assert not found, f"seed {SEED}, {load.transactions} transactions: {len(found)} faults\n" + "\n".join(found[:30])


@pytest.mark.parametrize("kills", [FEW, pytest.param(KILLS, marks=pytest.mark.long)])
async def test_kills_lose_nothing(pg: PgServer, worker: Callable[..., Worker], kills: int) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    choice = random.Random(SEED)
    connect = worker()
    connector = Connector(connect, pg.database("kill"), f"kill_{kills}")
    load = Load(connector.database.dsn, seed=SEED)
    load.prepare()
    connector.database.execute("CREATE TABLE pace (id int PRIMARY KEY, seconds float)", "INSERT INTO pace VALUES (1, 1)")
    override = "snapshot.select.statement.overrides"
    connector.post({**CONFIG, override: "public.item", f"{override}.public.item": SLOWLY})
    connector.await_phase("snapshot")
    with running(load):
        for kill in range(kills):
            if kill <= kills // 4:
                connector.await_phase("snapshot" if kill < kills // 4 else "streaming")
            pause(choice.uniform(0.0, 1.2))
            if kill < kills // 4:
                assert connector.progress()["phase"] == "snapshot"
            connect.kill()
            if kill == kills // 4 - 1:
                connector.database.execute("UPDATE pace SET seconds = 0")
            connect.start()
        connector.await_phase("streaming")
        end = load.stop()
    connector.await_confirmed(end)
    await check(connector, load, kills)
    assert load.transactions > 25 * kills


async def test_a_cut_walsender_loses_nothing(pg: PgServer, worker: Callable[..., Worker]) -> None:
    choice = random.Random(SEED)
    connector = Connector(worker(), pg.database("cut"), "cut_walsender")
    load = Load(connector.database.dsn, seed=SEED)
    load.prepare()
    connector.create(CONFIG)
    cut: set[int] = set()

    def terminate() -> bool:
        """Cut the walsender, unless it is still the one that was cut before."""
        pid = connector.slot()["active_pid"]
        if pid is None or pid in cut:
            return False
        cut.add(pid)
        connector.database.execute(f"SELECT pg_terminate_backend({pid})")
        return True

    with running(load):
        for _ in range(6):
            pause(choice.uniform(0.1, 0.6))
            wait_until(terminate, lambda: f"a new walsender to cut\n{connector.worker.log[-6000:]}", SECONDS, pause=0.02)
        end = load.stop()
    connector.await_confirmed(end)
    await check(connector, load, len(cut))
    connector.worker.await_state(connector.name, "RUNNING")


@pytest.mark.long
async def test_a_broker_that_goes_and_comes_loses_nothing(pg: PgServer, kafka: EmbeddedKafka, worker: Callable[..., Worker]) -> None:
    connector = Connector(worker(bootstrap_servers=kafka.bootstrap), pg.database("broker"), "broker_away")
    load = Load(connector.database.dsn, seed=SEED)
    load.prepare()
    connector.create(CONFIG)
    with running(load):
        for immediate in (True, False):
            pause(0.7)
            kafka.halt(immediate=immediate)
            pause(0.7)
            kafka.resume()
            # The stream is whole again before the broker goes the next time.
            connector.await_confirmed(connector.lsn())
        end = load.stop()
    connector.await_confirmed(end)
    # A batch whose acknowledgement got lost may be sent again by the task's restart, once for each time the broker went.
    await check(connector, load, 2)
    connector.worker.await_state(connector.name, "RUNNING")


def pause(seconds: float) -> None:
    """Let the load and the worker run on: the moment of the fault is random, nothing is waited for."""
    threading.Event().wait(seconds)
