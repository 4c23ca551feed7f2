"""A PostgreSQL that refuses a statement or a connection because one of its limits is reached."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

ROWS = 20_000
TABLES = (
    "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
    "CREATE TABLE wide (id int PRIMARY KEY, v text NOT NULL)",
    f"INSERT INTO wide SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, {ROWS}) i",
    "CREATE TABLE small (id int PRIMARY KEY)",
    "CREATE SEQUENCE room",
    # A statement that finds no room on the disk, until there is.
    """CREATE FUNCTION written() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
    IF NOT (SELECT is_called FROM room) THEN RAISE 'No space left on device' USING ERRCODE = 'disk_full'; END IF; RETURN true;
    END $$""",
)
CONFIG = {
    "signal.data.collection": "public.sig",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "1",
}
REMEDY = "Raise temp_file_limit or work_mem"


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Iterator[Connector]:
    """A connector whose database sorts in files of at most 100 kB."""
    made = Connector(shared_worker, pg.database("limits"), f"limits_{uuid.uuid4().hex[:10]}")
    limits = (f'ALTER DATABASE "{made.database.name}" SET {limit}' for limit in ("temp_file_limit = '100kB'", "work_mem = '64kB'"))
    made.database.execute(*TABLES, *limits)
    yield made
    made.delete()


async def test_a_snapshot_that_needs_too_many_temporary_files_fails_until_the_limit_is_raised(connector: Connector) -> None:
    override = "snapshot.select.statement.overrides"
    sorting = {override: "public.wide", f"{override}.public.wide": "SELECT * FROM wide ORDER BY v"}
    connector.post({**CONFIG, **sorting, "table.include.list": "public.wide"})
    trace = connector.trace()
    assert "temporary file size exceeds" in trace
    assert REMEDY in trace
    assert "max_replication_slots" not in trace
    connector.database.execute(f'ALTER DATABASE "{connector.database.name}" RESET temp_file_limit')
    assert connector.worker.rest("POST", f"/connectors/{connector.name}/restart?includeTasks=true").is_success
    wait_until(lambda: connector.progress().get("phase") == "streaming", lambda: f"a snapshot: {connector.progress()}", SECONDS)
    assert len(await connector.raw(f"{connector.name}.public.wide")) == ROWS


async def test_a_chunk_that_needs_too_many_temporary_files_ends_only_its_snapshot(connector: Connector) -> None:
    connector.create({**CONFIG, "snapshot.mode": "no_data"})
    data = json.dumps({"data-collections": ["public.wide"], "surrogate-key": "v"})
    ask = f"INSERT INTO sig VALUES (gen_random_uuid()::text, 'execute-snapshot', '{data}')"
    connector.database.execute(ask)
    await_line(connector, "public.wide", "temp_file_limit", REMEDY)
    connector.database.execute("INSERT INTO small VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.small") == [("c", 1)]
    connector.worker.await_state(connector.name, "RUNNING")
    assert connector.progress()["incremental"] is None
    # The same signal finds the limit raised: the connection of the chunks must be a new one.
    connector.database.execute(
        f'ALTER DATABASE "{connector.database.name}" RESET temp_file_limit',
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'Understudy Incremental'",
        ask,
    )
    await_line(connector, f'table ends" table=public.wide rows={ROWS} status=SUCCEEDED')
    connector.await_confirmed(connector.lsn())
    rows = {value["after"]["id"] for _, value in await connector.events("public.wide")}
    assert rows == set(range(1, ROWS + 1))


def await_line(connector: Connector, *parts: str) -> None:
    """Wait for a line of the connector in the log."""

    def look() -> bool:
        lines = (line for line in connector.worker.log.splitlines() if f"connector={connector.name}" in line)
        return any(all(part in line for part in parts) for line in lines)

    wait_until(look, lambda: f"{parts} in the log\n{connector.worker.log[-4000:]}", SECONDS)


async def test_a_snapshot_on_a_full_disk_is_taken_again_until_there_is_room(connector: Connector) -> None:
    override = "snapshot.select.statement.overrides"
    writing = {override: "public.wide", f"{override}.public.wide": "SELECT * FROM wide WHERE written()"}
    connector.post({**CONFIG, **writing, "table.include.list": "public.wide"})
    for failures in (1, 2):
        await_line(connector, "No space left on device", "disk space that it lacks", "source_interrupted", f"failures={failures}")
    connector.database.execute("SELECT nextval('room')")
    connector.await_phase("streaming")
    assert len(await connector.raw(f"{connector.name}.public.wide")) == ROWS


async def test_a_chunk_on_a_full_disk_ends_only_its_snapshot(connector: Connector) -> None:
    connector.create({**CONFIG, "snapshot.mode": "no_data"})
    data = {"data-collections": ["public.wide"], "additional-conditions": [{"data-collection": "public.wide", "filter": "written()"}]}
    connector.database.execute(f"INSERT INTO sig VALUES ('s', 'execute-snapshot', '{json.dumps(data)}')")
    await_line(connector, "public.wide", "No space left on device", "disk space that it lacks")
    connector.database.execute("INSERT INTO small VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.small") == [("c", 1)]
    connector.worker.await_state(connector.name, "RUNNING")


@pytest.mark.long
async def test_a_server_without_free_slots_and_senders(shared_worker: Worker) -> None:
    with EmbeddedPostgres(settings={"max_wal_senders": "1", "max_replication_slots": "1"}) as server:
        database = Database("postgres", server.host, server.port, server.user, server.dsn)
        connector = Connector(shared_worker, database, f"full_{uuid.uuid4().hex[:10]}")
        database.execute("CREATE TABLE t (id int PRIMARY KEY)", "SELECT pg_create_physical_replication_slot('other')")
        try:
            connector.post(CONFIG | {"signal.data.collection": ""})
            trace = connector.trace()
            assert "all replication slots are in use" in trace
            assert "Raise max_replication_slots on the server, or drop a slot" in trace
            database.execute("SELECT pg_drop_replication_slot('other')")
            with psycopg.connect(server.dsn, replication="database", autocommit=True):
                assert connector.worker.rest("POST", f"/connectors/{connector.name}/restart?includeTasks=true").is_success
                await_line(connector, "standby connections exceeds", "Raise max_connections, max_wal_senders")
            # The task tries by itself until a sender is free.
            wait_until(lambda: connector.progress().get("phase") == "streaming", lambda: f"{connector.progress()}", SECONDS)
            database.execute("INSERT INTO t VALUES (1)")
            connector.await_confirmed(connector.lsn())
            assert await connector.seen("public.t") == [("c", 1)]
        finally:
            connector.delete()
