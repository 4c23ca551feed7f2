"""Connectors on a physical standby, on one that is promoted, and on a primary that is lost."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.fix_pg import Database
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.postgres_releases import release_programs, runs_here
from tests.support.standby import Standby
from tests.support.until import until
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

pytestmark = [pytest.mark.long, pytest.mark.skipif(not runs_here(), reason="the releases of PostgreSQL are pinned for Linux only")]

CONFIG = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A primary and its standby, with the same database of each."""

    primary: EmbeddedPostgres
    standby: Standby

    def on_primary(self) -> Database:
        return _database(self.primary)

    def on_standby(self) -> Database:
        return _database(self.standby)


def _database(server: EmbeddedPostgres) -> Database:
    return Database("postgres", server.host, server.port, server.user, server.dsn)


@pytest.fixture(params=[16, 18])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with EmbeddedPostgres(release_programs(request.param)) as primary, Standby(primary) as standby:
        yield Pair(primary, standby)


@pytest.fixture
def failover_pair() -> Iterator[Pair]:
    """With the first version whose standbys can copy the slots of their primary."""
    own = {"sync_replication_slots": "on"}
    with EmbeddedPostgres(release_programs(17)) as primary, Standby(primary, settings=own) as standby:
        yield Pair(primary, standby)


def named(worker: Worker, database: Database) -> Connector:
    return Connector(worker, database, f"standby_{uuid.uuid4().hex[:10]}")


def await_streaming(connector: Connector, pair: Pair) -> None:
    """Wait until it streams. A slot on a standby is ready when the primary has written the list of its transactions."""

    def look() -> bool:
        status = connector.worker.rest("GET", f"/connectors/{connector.name}/status").json()
        failed = [task["trace"] for task in status.get("tasks", ()) if task["state"] == "FAILED"]
        assert not failed, failed[0]
        pair.on_primary().execute("SELECT pg_log_standby_snapshot()")
        return bool(connector.progress().get("phase") == "streaming")

    wait_until(look, lambda: f"{connector.name} to stream\n{connector.worker.log[-6000:]}", SECONDS)


async def await_seen(connector: Connector, table: str, wanted: list[tuple[str, Any]]) -> None:
    async def look() -> bool:
        return len(await connector.seen(table)) >= len(wanted)

    await until(look, lambda: f"{wanted} in {table}: {connector.progress()}\n{connector.worker.log[-6000:]}", SECONDS)
    assert await connector.seen(table) == wanted


def remove(connector: Connector) -> None:
    if connector.worker.rest("GET", f"/connectors/{connector.name}").status_code == httpx.codes.OK:
        assert connector.worker.rest("DELETE", f"/connectors/{connector.name}").is_success


async def test_a_standby_is_read_and_still_is_after_its_promotion(pair: Pair, shared_worker: Worker) -> None:
    primary = pair.on_primary()
    connector = named(shared_worker, pair.on_standby())
    primary.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v int)",
        "CREATE TABLE many (id int PRIMARY KEY)",
        "INSERT INTO many SELECT generate_series(1, 25)",
        "INSERT INTO t VALUES (1, 1)",
        f"CREATE PUBLICATION {connector.name} FOR ALL TABLES",
    )
    pair.standby.caught_up()
    read_only = {"read.only": "true", "signal.enabled.channels": "http", "incremental.snapshot.chunk.size": "10"}
    try:
        connector.post({**CONFIG, **read_only})
        await_streaming(connector, pair)
        primary.execute("INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = 3 WHERE id = 1", "DELETE FROM t WHERE id = 2")
        await await_seen(connector, "public.t", [("r", 1), ("c", 2), ("u", 1), ("d", 2)])

        signal = {"type": "execute-snapshot", "data": {"data-collections": ["public.many"]}}
        assert connector.worker.rest("POST", f"/connectors/{connector.name}/signals", signal).is_success

        await await_count(connector, pair, 50)
        assert sorted(await connector.seen("public.many")) == sorted(("r", number) for number in range(1, 26) for _ in range(2))

        await read_without_a_slot(connector, pair)
        pair.primary.halt(immediate=True)
        pair.standby.promote()
        connector.database.execute("INSERT INTO many VALUES (100)")
        connector.await_confirmed(connector.lsn())
        assert (await connector.seen("public.many"))[75:] == [("c", 100)]
        connector.worker.await_state(connector.name, "RUNNING")
    finally:
        remove(connector)


async def read_without_a_slot(connector: Connector, pair: Pair) -> None:
    """Take a blocking snapshot, and one of initial_only by two processes: no slot exports them."""
    signal = {"type": "execute-snapshot", "data": {"type": "blocking", "data-collections": ["public.many"]}}
    assert connector.worker.rest("POST", f"/connectors/{connector.name}/signals", signal).is_success
    await await_count(connector, pair, 75)
    only = Connector(connector.worker, connector.database, f"{connector.name}_only")
    try:
        only.post({**CONFIG, "snapshot.mode": "initial_only", "snapshot.max.threads": "2", "table.include.list": "public.many"})
        await await_seen(only, "public.many", [("r", number) for number in range(1, 26)])
    finally:
        remove(only)


async def await_count(connector: Connector, pair: Pair, count: int) -> None:
    """Wait for so many records of the table, while the primary writes something."""

    async def look() -> bool:
        pair.on_primary().execute("UPDATE t SET v = v + 1 WHERE id = 1")
        return len(await connector.seen("public.many")) >= count

    await until(look, lambda: f"{count} records: {connector.progress()}\n{connector.worker.log[-6000:]}", SECONDS)


def take_over(pair: Pair) -> None:
    """Lose the primary, and let the promoted standby answer at its address."""
    pair.primary.halt(immediate=True)
    pair.standby.promote()
    pair.standby.halt()
    pair.standby.port = pair.primary.port
    pair.standby.resume()


async def test_a_failover_slot_continues_on_the_new_primary(failover_pair: Pair, shared_worker: Worker) -> None:
    primary, standby = failover_pair.on_primary(), failover_pair.on_standby()
    connector = named(shared_worker, primary)
    primary.execute("CREATE TABLE t (id serial PRIMARY KEY)", "INSERT INTO t DEFAULT VALUES")
    try:
        connector.create({**CONFIG, "slot.failover": "true"})

        def copied() -> bool:
            # The copy stays when the slot has moved past the standby's own position.
            primary.execute("SELECT pg_log_standby_snapshot()", "INSERT INTO t DEFAULT VALUES")
            connector.await_confirmed(connector.lsn())
            failover_pair.standby.caught_up()
            return standby.execute("SELECT synced AND NOT temporary FROM pg_replication_slots WHERE slot_type = 'logical'") == [(True,)]

        wait_until(copied, lambda: f"the standby to have the slot: {connector.slot()}", SECONDS)
        primary.execute("INSERT INTO t DEFAULT VALUES")
        # Kafka need not have the row when the primary is lost, but the standby has.
        failover_pair.standby.caught_up()
        take_over(failover_pair)
        primary.execute("INSERT INTO t SELECT max(id) + 1 FROM t")
        connector.await_confirmed(connector.lsn())
        rows = sorted(int(str(row)) for (row,) in primary.execute("SELECT id FROM t"))
        # The last rows before the failover may come twice.
        assert list(dict.fromkeys(await connector.seen("public.t"))) == [("r", 1), *(("c", number) for number in rows[1:])]
    finally:
        remove(connector)


async def test_a_slot_that_the_new_primary_lacks_needs_a_new_snapshot(pair: Pair, shared_worker: Worker) -> None:
    primary = pair.on_primary()
    connector = named(shared_worker, primary)
    primary.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    try:
        connector.create(CONFIG)
        primary.execute("INSERT INTO t VALUES (2)")
        connector.await_confirmed(connector.lsn())
        pair.standby.caught_up()
        take_over(pair)
        primary.execute("INSERT INTO t VALUES (3)")
        trace = connector.trace()
        assert "the replication slot is gone" in trace
        assert "snapshot.mode=when_needed" in trace
        changed = connector.config({**CONFIG, "snapshot.mode": "when_needed"})
        assert connector.worker.rest("PUT", f"/connectors/{connector.name}/config", changed).is_success
        wait_until(lambda: connector.progress().get("phase") == "streaming", "the new snapshot", SECONDS)
        assert await connector.seen("public.t") == [("r", 1), ("c", 2), ("r", 1), ("r", 2), ("r", 3)]
    finally:
        remove(connector)


def test_a_slot_that_waits_for_an_idle_primary_says_so(pair: Pair, shared_worker: Worker) -> None:
    connector = named(shared_worker, pair.on_standby())
    pair.on_primary().execute("CREATE TABLE t (id int PRIMARY KEY)", f"CREATE PUBLICATION {connector.name} FOR ALL TABLES", "CHECKPOINT")
    pair.standby.caught_up()
    try:
        connector.post({**CONFIG, "internal.create.slot.command.timeout": "2"})
        named_remedy = "SELECT pg_log_standby_snapshot();"
        wait_until(
            lambda: any(named_remedy in line and connector.name in line for line in connector.worker.log.splitlines()),
            lambda: f"the remedy\n{connector.worker.log[-3000:]}",
            SECONDS,
        )
        await_streaming(connector, pair)
    finally:
        remove(connector)


async def test_a_snapshot_that_conflicts_with_recovery_is_taken_again(pair: Pair, shared_worker: Worker) -> None:
    primary = pair.on_primary()
    connector = named(shared_worker, pair.on_standby())
    pair.on_standby().execute("ALTER SYSTEM SET max_standby_streaming_delay = '100ms'", "SELECT pg_reload_conf()")
    primary.execute(
        "CREATE TABLE pace (seconds int)",
        "INSERT INTO pace VALUES (600)",
        "CREATE TABLE t (id int PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        f"CREATE PUBLICATION {connector.name} FOR TABLE t",
    )
    pair.standby.caught_up()
    override = "snapshot.select.statement.overrides"
    slow = {override: "public.t", f"{override}.public.t": "SELECT * FROM t WHERE pg_sleep((SELECT seconds FROM pace)) IS NOT NULL"}
    try:
        connector.post({**CONFIG, **slow, "table.include.list": "public.t"})

        def reading() -> bool:
            primary.execute("SELECT pg_log_standby_snapshot()")
            return bool(connector.database.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))

        wait_until(reading, lambda: f"the snapshot to read\n{connector.worker.log[-6000:]}", SECONDS)
        # The standby cannot replay this while somebody reads the table.
        primary.execute("UPDATE pace SET seconds = 0", "ALTER TABLE t ADD v int")
        await_streaming(connector, pair)
        assert "conflict with recovery" in next(
            line for line in connector.worker.log.splitlines() if connector.name in line and "trying again" in line
        )
        assert await connector.seen("public.t") == [("r", 1)]
    finally:
        remove(connector)
