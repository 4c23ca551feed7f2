"""The replication slot: created with pgoutput, kept or dropped as configured, awaited when in use, and reported when unusable."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.topics import read_to_end
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> Connector:
    database = pg.database("slot")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    return Connector(shared_worker, database, f"{request.node.originalname.removeprefix('test_')[:40]}_{uuid.uuid4().hex[:8]}")


def test_slot_is_logical_pgoutput_and_stays(connector: Connector) -> None:
    connector.create()
    slot = connector.slot()
    assert (slot["plugin"], slot["slot_type"], slot["database"]) == ("pgoutput", "logical", connector.database.name)
    assert (slot["temporary"], slot["active"], slot["two_phase"]) == (False, True, False)
    connector.stop()
    assert connector.slot()["active"] is False
    connector.delete()


def test_slot_is_dropped_on_stop_when_asked(connector: Connector) -> None:
    connector.create({"slot.drop.on.stop": "true"})
    assert connector.slot()["active"] is True
    connector.put("pause")
    connector.worker.await_state(connector.name, "PAUSED", tasks=1)
    wait_until(lambda: connector.slot()["active"] is False, "the slot of the paused connector", SECONDS)
    connector.put("resume")
    connector.worker.await_state(connector.name, "RUNNING", tasks=1)
    connector.await_phase("streaming")
    connector.put("stop")
    wait_until(lambda: connector.slot() == {}, "the slot to be dropped", SECONDS)
    connector.delete()


def test_stream_parameters_reach_the_server(connector: Connector) -> None:
    connector.post({"slot.stream.params": "no_such_option=1"})
    # pgoutput itself refuses it.
    assert "no_such_option" in connector.trace()
    connector.delete()


async def test_stream_parameters_change_the_stream(connector: Connector) -> None:
    connector.create({"slot.stream.params": "messages=true"})
    connector.database.execute("SELECT pg_logical_emit_message(true, 'p', 'a message that nobody asked for')", "INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1)]
    connector.delete()


async def test_busy_slot_is_waited_for(connector: Connector) -> None:
    connector.create()
    second = Connector(connector.worker, connector.database, f"{connector.name}_second")
    # A free slot is used at once, whatever the limit of the wait.
    own = {"slot.name": connector.name, "publication.name": connector.name, "slot.retry.delay.ms": "600000", "slot.max.retries": "1"}
    second.post(own)
    wait_until(lambda: "slot busy" in connector.worker.log, "the second connector to say that the slot is busy", SECONDS)
    connector.worker.await_state(second.name, "RUNNING")
    holder = connector.slot()["active_pid"]
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert connector.slot()["active_pid"] == holder
    assert connector.worker.rest("DELETE", f"/connectors/{connector.name}").is_success
    second.await_phase("streaming")
    connector.database.execute("INSERT INTO t VALUES (2)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1)]
    assert ("c", 2) in await second.seen("public.t")
    assert connector.worker.rest("DELETE", f"/connectors/{second.name}").is_success
    wait_until(lambda: not connector.slot()["active"], "the slot to be free", SECONDS)
    connector.database.execute(f"SELECT pg_drop_replication_slot('{connector.name}')")


def test_slot_of_another_plugin(connector: Connector) -> None:
    connector.create()
    connector.stop()
    connector.drop_slot()
    connector.database.execute(f"SELECT pg_create_logical_replication_slot('{connector.name}', 'test_decoding')")
    connector.put("resume")
    message = connector.trace()
    assert f"Replication slot {connector.name} was made for plugin test_decoding, not pgoutput" in message
    assert f"SELECT pg_drop_replication_slot('{connector.name}');" in message
    connector.delete()


def test_slot_of_another_database(connector: Connector, pg: PgServer) -> None:
    other = pg.database("slot_other")
    connector.create()
    connector.stop()
    connector.drop_slot()
    other.execute(f"SELECT pg_create_logical_replication_slot('{connector.name}', 'pgoutput')")
    connector.put("resume")
    assert f"Replication slot {connector.name} belongs to database {other.name}" in connector.trace()
    connector.delete()


def test_missing_slot(connector: Connector) -> None:
    connector.create()
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    connector.stop()
    connector.database.execute(f"SELECT pg_drop_replication_slot('{connector.name}')")
    connector.put("resume")
    message = connector.trace()
    assert "the replication slot is gone" in message
    assert "snapshot.mode=when_needed" in message
    # Nobody has made a new one that would hide the gap.
    assert connector.slot() == {}
    connector.delete()


async def test_a_missing_slot_is_created_again_when_needed(connector: Connector) -> None:
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.create({"snapshot.mode": "when_needed"})
    connector.await_confirmed(connector.lsn())
    connector.stop()
    connector.database.execute(f"SELECT pg_drop_replication_slot('{connector.name}')", "INSERT INTO t VALUES (2)")
    connector.put("resume")
    connector.await_phase("streaming")
    assert await connector.seen("public.t") == [("r", 1), ("r", 1), ("r", 2)]
    connector.delete()


def test_slot_that_lost_its_wal(shared_worker: Worker) -> None:
    with EmbeddedPostgres(settings={"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB", "max_wal_size": "32MB"}) as server:
        database = Database("postgres", server.host, server.port, server.user, server.dsn)
        database.execute("CREATE TABLE t (id int PRIMARY KEY)")
        connector = Connector(shared_worker, database, "slot_that_lost_its_wal")
        connector.create()
        connector.stop()
        churn = ("INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()", "DELETE FROM t", "SELECT pg_switch_wal()", "CHECKPOINT")

        def lost() -> bool:
            database.execute(*churn)
            return bool(connector.slot()["wal_status"] == "lost")

        wait_until(lost, "the slot to lose its WAL", SECONDS)
        connector.put("resume")
        message = connector.trace()
        assert f"removed WAL that replication slot {connector.name} needs" in message
        assert f"SELECT pg_drop_replication_slot('{connector.name}');" in message
        assert "max_slot_wal_keep_size" in message
        connector.delete()


def test_server_without_logical_decoding(shared_worker: Worker) -> None:
    with EmbeddedPostgres() as server:
        database = Database("postgres", server.host, server.port, server.user, server.dsn)
        connector = Connector(shared_worker, database, "server_without_logical")
        connector.create()
        connector.stop()
        # A server with a logical slot would not start.
        connector.drop_slot()
        database.execute("ALTER SYSTEM SET wal_level = replica")
        server.halt()
        server.resume()
        connector.put("resume")
        message = connector.trace()
        assert "Postgres server wal_level property must be 'logical' but is: 'replica'" in message
        assert "ALTER SYSTEM SET wal_level = 'logical';" in message
        assert shared_worker.rest("DELETE", f"/connectors/{connector.name}").is_success


async def test_a_snapshot_alone_needs_no_logical_decoding(shared_worker: Worker) -> None:
    with EmbeddedPostgres(settings={"wal_level": "replica"}) as server:
        database = Database("postgres", server.host, server.port, server.user, server.dsn)
        database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        connector = Connector(shared_worker, database, "snapshot_without_logical")
        connector.post({"snapshot.mode": "initial_only"})
        connector.await_phase("idle")
        assert len(await connector.raw(f"{connector.name}.public.t")) == 1
        assert shared_worker.rest("DELETE", f"/connectors/{connector.name}").is_success


async def test_idle_slot_moves_with_what_others_write(connector: Connector, pg: PgServer) -> None:
    connector.database.execute("CREATE TABLE unpublished (id int)")
    connector.create({"publication.autocreate.mode": "filtered", "table.include.list": "public.t"})
    elsewhere = pg.database("slot_elsewhere")
    elsewhere.execute("CREATE TABLE busy (id int)")
    for database, table in ((connector.database, "unpublished"), (elsewhere, "busy")):
        database.execute(f"INSERT INTO {table} SELECT generate_series(1, 1000)")
        # Nothing of it is an event; the slot must not pin the WAL all the same.
        connector.await_confirmed(connector.lsn())
    assert await connector.raw(f"{connector.name}.public.t") == []
    assert connector.offset()["lsn"] > 0
    connector.delete()


async def test_offset_and_slot_follow_the_acknowledgements(connector: Connector, kafka: EmbeddedKafka) -> None:
    """Only the events' broker stops. Offsets and the slot could still advance, but must not."""
    own = {f"{client}.override.bootstrap.servers": kafka.bootstrap for client in ("producer", "admin")}
    connector.create({**own, "status.update.interval.ms": "200"})
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    kafka.halt()
    connector.database.execute("INSERT INTO t VALUES (2)")
    [(before, after)] = connector.database.execute("SELECT pg_current_wal_insert_lsn()::text, pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    times: set[object] = set()

    def message_often() -> bool:
        query = f"SELECT reply_time FROM pg_stat_replication WHERE pid = {connector.slot()['active_pid']}"
        times.update(row[0] for row in connector.database.execute(query))
        return len(times) >= 4

    wait_until(message_often, "some status updates", SECONDS)
    behind = f"SELECT confirmed_flush_lsn < '{before}' FROM pg_replication_slots WHERE slot_name = '{connector.name}'"
    assert connector.database.execute(behind) == [(True,)]
    assert connector.offset()["lsn"] < int(str(after))
    kafka.resume()
    connector.await_confirmed(str(before))
    topic = f"{connector.name}.public.t"
    events = [json.loads(raw.value or b"null")["after"]["id"] for raw in await read_to_end(kafka.bootstrap, topic)]
    assert (events[0], set(events)) == (1, {1, 2})
    connector.delete()
