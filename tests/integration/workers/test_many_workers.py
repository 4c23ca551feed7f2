"""Workers of one group share its connectors: any of them answers, and the end of one moves what it ran, without loss."""

from __future__ import annotations

import signal
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Self

import httpx
import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

SECONDS = 180.0
MANY, FEW = 12, 3
SHORT_SESSION_MS = "6000"
"""The shortest that a broker takes by default."""
LONG_SESSION_MS = "120000"
"""Longer than any wait here: what happens meanwhile does not happen because a session has ended."""

StartWorker = Callable[..., Worker]


class Writer:
    """Inserts a row into each table in turn, one after the other, until it is stopped."""

    def __init__(self, database: Database, tables: int) -> None:
        database.execute(*(f"CREATE TABLE t{number} (id int PRIMARY KEY)" for number in range(tables)))
        self.database = database
        self.tables = tables
        self.last = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        with psycopg.connect(self.database.dsn, autocommit=True) as connection:
            while not self._stop.wait(0.01):
                for number in range(self.tables):
                    connection.execute(f"INSERT INTO t{number} VALUES ({self.last + 1})".encode())
                self.last += 1


class Fleet:
    """Three workers and a connector for each table, created through all of them in turn."""

    def __init__(self, start: StartWorker, database: Database, connectors: int) -> None:
        group = f"many-{uuid.uuid4().hex[:12]}"
        self.workers = [start(group=group, session_timeout_ms=SHORT_SESSION_MS) for _ in range(3)]
        self.up = list(self.workers)
        await_members(self.up)
        self.database = database
        suffix = uuid.uuid4().hex[:6]
        self.names = [f"many_{suffix}_{number}" for number in range(connectors)]
        for number, name in enumerate(self.names):
            connector = self.connector(name, number)
            connector.post(settings(number))
        self.settled()

    def connector(self, name: str, worker: int = 0) -> Connector:
        return Connector(self.up[worker % len(self.up)], self.database, name)

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            self.workers[number].kill()
            self.up.remove(self.workers[number])

    def start(self, *numbers: int) -> None:
        for number in numbers:
            self.workers[number].start()
            self.up.append(self.workers[number])

    def owners(self) -> dict[str, str]:
        """Each connector's worker, after all tasks run. Any worker reports it."""
        listed = self.up[-1].rest("GET", "/connectors?expand=status").json()
        return {name: each["status"]["tasks"][0]["worker_id"] for name, each in listed.items() if is_running(each["status"])}

    def settled(self) -> dict[str, str]:
        """Wait until all connectors stream at workers that are up, equally shared; who runs what."""

        def look() -> dict[str, str] | None:
            owners = self.owners()
            shares = Counter(owners.values())
            shared = shares.keys() == {address(worker) for worker in self.up} and max(shares.values()) - min(shares.values()) <= 1
            if not shared or len(owners) < len(self.names):
                return None
            # Each is asked of another worker than its own as well.
            phases = {self.connector(name, number).progress().get("phase") for number, name in enumerate(self.names)}
            return owners if phases == {"streaming"} else None

        return wait_until(look, lambda: f"all connectors to run, evenly: {self.owners()}\n{self.logs()}", SECONDS)

    def logs(self) -> str:
        return "\n".join(worker.log[-4000:] for worker in self.workers)


def settings(number: int, **more: str) -> dict[str, str]:
    return {
        "table.include.list": f"public.t{number}",
        "publication.autocreate.mode": "filtered",
        "signal.enabled.channels": "source,http",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def address(worker: Worker) -> str:
    return f"127.0.0.1:{worker.port}"


def is_running(status: dict[str, Any]) -> bool:
    return [task["state"] for task in status["tasks"]] == ["RUNNING"]


def await_members(workers: list[Worker]) -> None:
    """Wait until all know of each other."""

    def look() -> bool:
        return all(f"workers={len(workers)} " in worker.log for worker in workers)

    wait_until(look, lambda: f"{len(workers)} workers in the group\n" + "\n".join(worker.log for worker in workers), SECONDS)


@pytest.fixture
def database(pg: PgServer) -> Database:
    return pg.database("many")


@pytest.fixture
def fleet(worker: StartWorker, database: Database) -> Iterator[Fleet]:
    with Writer(database, FEW):
        made = Fleet(worker, database, FEW)
        yield made
    for name in made.names:
        made.connector(name).delete()


async def check(fleet: Fleet) -> None:
    """Every row is in its topic, and the first appearances are in the order of the commits."""
    lsn = fleet.connector(fleet.names[0]).lsn()
    for number, name in enumerate(fleet.names):
        connector = fleet.connector(name)
        connector.await_confirmed(lsn)
        rows = [row[0] for row in fleet.database.execute(f"SELECT id FROM t{number} ORDER BY id")]
        seen = list(dict.fromkeys(identity for _, identity in await connector.seen(f"public.t{number}")))
        assert seen == rows


@pytest.mark.long
async def test_three_workers_twelve_connectors_and_kills(worker: StartWorker, database: Database) -> None:
    with Writer(database, MANY) as writer:
        fleet = Fleet(worker, database, MANY)
        fleet.kill(0)
        # The one that led is gone: this waits for the group and then goes to its next leader.
        changed = fleet.connector(fleet.names[0]).config(settings(0, heartbeat_interval_ms="1000"))
        answer = fleet.up[0].rest("PUT", f"/connectors/{fleet.names[0]}/config", changed)
        assert answer.status_code == httpx.codes.OK, answer.text
        fleet.settled()
        fleet.start(0)
        fleet.settled()
        fleet.kill(1, 2)
        fleet.settled()
        fleet.start(1, 2)
        fleet.settled()
    assert writer.last > 100
    await check(fleet)
    for name in fleet.names:
        fleet.connector(name).delete()
    wait_until(lambda: fleet.up[-1].rest("GET", "/connectors").json() == [], "the deletions to be known everywhere")


async def test_a_change_touches_only_its_connector_and_any_worker_takes_it(fleet: Fleet) -> None:
    before = fleet.settled()
    starts = Counter({address(each): each.log.count('"task starting"') for each in fleet.workers})
    chosen = fleet.names[1]
    away = next(each for each in fleet.workers if address(each) != before[chosen])
    changed = fleet.connector(chosen).config(settings(1, heartbeat_interval_ms="750"))
    assert away.rest("PUT", f"/connectors/{chosen}/config", changed).status_code == httpx.codes.OK
    # What a worker has passed on, it knows of afterwards.
    assert away.rest("GET", f"/connectors/{chosen}/config").json()["heartbeat.interval.ms"] == "750"

    def started() -> Counter[str]:
        return Counter({address(each): each.log.count('"task starting"') for each in fleet.workers}) - starts

    wait_until(lambda: bool(started()), "the change to reach the connector's task", SECONDS)
    assert fleet.settled() == before
    assert started() == Counter({before[chosen]: 1})


async def test_any_worker_answers_every_call(fleet: Fleet) -> None:
    owners = fleet.settled()
    name = fleet.names[0]
    away = next(each for each in fleet.workers if address(each) != owners[name])
    connector = Connector(away, fleet.database, name)
    sent = away.rest("POST", f"/connectors/{name}/signals", {"type": "log", "data": {"message": "hello"}})
    assert sent.is_success, sent.text
    assert away.rest("POST", f"/connectors/{name}/restart").status_code == httpx.codes.NO_CONTENT
    assert away.rest("POST", f"/connectors/{name}/tasks/0/restart").status_code == httpx.codes.NO_CONTENT
    assert away.rest("POST", f"/connectors/{name}/restart?includeTasks=true").status_code == httpx.codes.ACCEPTED
    assert away.rest("PUT", f"/connectors/{name}/pause").status_code == httpx.codes.ACCEPTED
    away.await_state(name, "PAUSED")
    assert away.rest("PUT", f"/connectors/{name}/resume").status_code == httpx.codes.ACCEPTED
    away.await_state(name, "RUNNING")
    connector.stop()
    assert away.rest("GET", f"/connectors/{name}/offsets").json()["offsets"]
    assert away.rest("DELETE", f"/connectors/{name}/offsets").status_code == httpx.codes.OK
    wait_until(lambda: away.rest("GET", f"/connectors/{name}/offsets").json() == {"offsets": []}, "the offsets to be gone")
    assert away.rest("DELETE", f"/connectors/{name}/notifications").status_code == httpx.codes.NO_CONTENT
    assert away.rest("PATCH", f"/connectors/{name}/config", {"tasks.max": "1"}).json()["config"]["tasks.max"] == "1"
    duplicate = away.rest("POST", "/connectors", {"name": name, "config": connector.config()})
    assert (duplicate.status_code, duplicate.json()["message"]) == (409, f"Connector {name} already exists")
    assert away.rest("DELETE", "/connectors/none").json() == {"error_code": 404, "message": "Connector none not found"}
    connector.put("resume")
    away.await_state(name, "RUNNING")


async def test_an_orderly_end_hands_over_before_the_session_ends(worker: StartWorker, database: Database) -> None:
    first = worker(session_timeout_ms=LONG_SESSION_MS)
    second = worker(group=first.group, session_timeout_ms=LONG_SESSION_MS)
    await_members([first, second])
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connectors = [Connector(second, database, f"over_{uuid.uuid4().hex[:6]}") for _ in range(2)]
    for connector in connectors:
        connector.create()
    first.stop()
    for connector in connectors:
        connector.await_phase("streaming")
        assert second.rest("GET", f"/connectors/{connector.name}/status").json()["tasks"][0]["worker_id"] == address(second)
        connector.delete()


async def test_a_killed_worker_that_comes_back_has_its_connectors_at_once(worker: StartWorker, database: Database) -> None:
    alone = worker(session_timeout_ms=LONG_SESSION_MS)
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connectors = [Connector(alone, database, f"back_{uuid.uuid4().hex[:6]}") for _ in range(2)]
    for connector in connectors:
        connector.create()
    alone.kill()
    alone.start()
    for connector in connectors:
        connector.await_phase("streaming")
        connector.delete()


@pytest.mark.long
async def test_a_worker_that_slept_gives_up_what_others_took(worker: StartWorker, database: Database) -> None:
    # PostgreSQL releases the slot of a silent client after this time. Until then no other client can use the slot.
    database.execute(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '3s'")
    with Writer(database, FEW) as writer:
        fleet = Fleet(worker, database, FEW)
        asleep = fleet.workers[0]
        asleep.process.send(signal.SIGSTOP)
        fleet.up.remove(asleep)
        fleet.settled()
        asleep.process.send(signal.SIGCONT)
        fleet.up.append(asleep)
        # Until then it tells what it knew before it slept.
        wait_until(lambda: "worker was removed from its group" in asleep.log, lambda: f"it to notice\n{asleep.log}", SECONDS)
        fleet.settled()
    assert writer.last > 100
    await check(fleet)
    for name in fleet.names:
        fleet.connector(name).delete()


@pytest.mark.long
async def test_the_first_worker_does_not_wait_for_the_broker_s_first_rebalance(worker: StartWorker, database: Database) -> None:
    with EmbeddedKafka(settings={"group.initial.rebalance.delay.ms": "10000"}) as kafka:
        first = worker(bootstrap_servers=kafka.bootstrap)
        connectors = [Connector(first, database, f"first_{uuid.uuid4().hex[:6]}") for _ in range(2)]
        for connector in connectors:
            connector.create()
        second = worker(group=first.group, bootstrap_servers=kafka.bootstrap)
        await_members([first, second])
        owners = [address(first), address(second)]

        def shared() -> bool:
            listed = second.rest("GET", "/connectors?expand=status").json().values()
            return sorted(each["status"]["tasks"][0]["worker_id"] for each in listed if is_running(each["status"])) == sorted(owners)

        wait_until(shared, lambda: f"the two to share\n{first.log}\n{second.log}", SECONDS)
        for connector in connectors:
            connector.await_phase("streaming")
            connector.delete()
        assert ("no other worker" in first.log, "no other worker" in second.log) == (True, False)
        # One of the two ran on, and the other had ended before it began elsewhere.
        assert first.log.count("to_move=True") == 1, first.log
        assert (first.log + second.log).count('"task starting"') == len(connectors) + 1
        second.stop()
        first.stop()
