"""Pause, resume, stop, restart and delete on a real stream, and the reported states of a connector."""

from __future__ import annotations

import uuid

import httpx
import pytest

from connector.wire.lsn import parse_lsn
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> Connector:
    database = pg.database("lifecycle")
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 3)"
    )
    return Connector(shared_worker, database, f"{request.node.originalname.removeprefix('test_')[:40]}_{uuid.uuid4().hex[:8]}")


@pytest.mark.parametrize(("verb", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
async def test_changes_during_a_pause_or_stop_are_sent_afterwards(connector: Connector, verb: str, state: str) -> None:
    connector.create()
    connector.put(verb)
    connector.worker.await_state(connector.name, state, tasks=1 if verb == "pause" else 0)
    wait_until(lambda: not connector.slot()["active"], "the slot to be free", SECONDS)
    connector.database.execute("INSERT INTO t VALUES (4)", "DELETE FROM t WHERE id = 1")
    assert [op for op, _ in await connector.seen("public.t")] == ["r", "r", "r"]
    connector.put("resume")
    connector.worker.await_state(connector.name, "RUNNING")
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1), ("r", 2), ("r", 3), ("c", 4), ("d", 1)]
    connector.delete()


@pytest.mark.parametrize("path", ["restart?includeTasks=true", "tasks/0/restart"])
async def test_restart_repeats_nothing(connector: Connector, path: str) -> None:
    connector.create()
    holder = connector.slot()["active_pid"]
    assert connector.worker.rest("POST", f"/connectors/{connector.name}/{path}").is_success
    wait_until(lambda: connector.slot()["active_pid"] not in (None, holder), "a new walsender", SECONDS)
    connector.database.execute("INSERT INTO t VALUES (4)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1), ("r", 2), ("r", 3), ("c", 4)]
    connector.delete()


async def test_delete_leaves_slot_topic_and_offsets(connector: Connector) -> None:
    connector.create()
    connector.await_confirmed(connector.lsn())
    offset = connector.offset()
    assert connector.worker.rest("DELETE", f"/connectors/{connector.name}").status_code == httpx.codes.NO_CONTENT
    wait_until(lambda: connector.slot()["active"] is False, "the slot to be free", SECONDS)
    assert connector.worker.rest("GET", f"/connectors/{connector.name}/status").status_code == httpx.codes.NOT_FOUND
    # A connector created again with the same name continues at its offset, without a second snapshot.
    connector.database.execute("INSERT INTO t VALUES (4)")
    connector.create()
    connector.await_confirmed(connector.lsn())
    assert connector.offset()["lsn"] > offset["lsn"]
    assert await connector.seen("public.t") == [("r", 1), ("r", 2), ("r", 3), ("c", 4)]
    connector.delete()


def test_progress(connector: Connector) -> None:
    connector.create()
    reported = connector.progress()
    assert [(table["table"], table["rows"], table["done"]) for table in reported["tables"]] == [
        ("public.t", 3, True),
        ("public.u", 0, True),
    ]
    assert reported["snapshot_seconds"] > 0
    events = reported["events"]
    connector.database.execute("INSERT INTO u VALUES (1), (2)", "DELETE FROM u WHERE id = 1")
    lsn = connector.lsn()
    connector.await_confirmed(lsn)
    reported = connector.progress()
    # Two creates, a delete and its tombstone.
    assert reported["events"] - events == 4
    # More may have been received since: the server's other databases write to the same WAL.
    assert min(reported["acknowledged_lsn"], reported["received_lsn"]) >= parse_lsn(lsn)
    assert reported["last_event_source_ms"] > 1_600_000_000_000
    connector.stop()
    assert connector.progress()["phase"] == "stopped"
    connector.delete()
    assert connector.worker.rest("GET", f"/connectors/{connector.name}/progress").status_code == httpx.codes.NOT_FOUND


async def test_offsets_are_what_the_reference_reads(connector: Connector) -> None:
    """Names, types and partition as Debezium stores them, in the record format of Kafka Connect's offset topic."""
    connector.create({"status.update.interval.ms": "60000"})
    wait_until(
        lambda: connector.offset().get("snapshot_completed") is True, lambda: f"the snapshot's offset: {connector.offset()}", SECONDS
    )
    first = connector.offset()
    assert {key: type(value) for key, value in first.items()} == {
        "last_snapshot_record": bool,
        "lsn": int,
        "txId": int,
        "ts_usec": int,
        "snapshot": str,
        "snapshot_completed": bool,
    }
    assert (first["snapshot"], first["last_snapshot_record"]) == ("INITIAL", True)
    connector.database.execute("INSERT INTO t VALUES (4)")
    wait_until(lambda: connector.offset().get("messageType") == "COMMIT", lambda: f"the event's offset: {connector.offset()}", SECONDS)
    [(key, event)] = [(key, value) for key, value in await connector.events("public.t") if value["op"] == "c"]
    offset = connector.offset()
    assert key == {"id": 4}
    assert {name: type(value) for name, value in offset.items()} == {
        "lsn_proc": int,
        "messageType": str,
        "lsn_commit": int,
        "lsn": int,
        "txId": int,
        "ts_usec": int,
    }
    assert offset["txId"] == event["source"]["txId"]
    assert offset["ts_usec"] == event["source"]["ts_us"]
    assert offset["lsn"] == offset["lsn_proc"] == offset["lsn_commit"] > event["source"]["lsn"] > first["lsn"]
    # The topic itself, which a real worker would read.
    assert (await connector.stored())[-1] == offset
    connector.delete()
