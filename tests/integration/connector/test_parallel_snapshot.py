"""Several processes read one snapshot: every row once, of one point in time, with correct markers, and no process remains."""

from __future__ import annotations

import json
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.topics import Raw, read_to_end
from workers.quickstart.embedded.wait import wait_until

THREADS = 3
ROWS = 60_000
READER = "connector.runner.snapshot.reader_process"

Start = Callable[..., Worker]


def config(database: Database, name: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": "very-secret-word",
        "database.dbname": database.name,
        "topic.prefix": name,
        "slot.name": name,
        "publication.name": name,
        "slot.drop.on.stop": "true",
        "snapshot.max.threads": str(THREADS),
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def fresh(word: str) -> str:
    return f"par_{word}_{uuid.uuid4().hex[:8]}"


def children(pid: int) -> set[int]:
    """The processes that ``pid`` has started to read for it."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == pid and READER in (entry / "cmdline").read_text():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and READER in Path(f"/proc/{pid}/cmdline").read_text()}


def await_gone(pids: set[int]) -> None:
    wait_until(lambda: not alive(pids), lambda: f"processes {alive(pids)} to end")


TURN = 4711
BLOCKED = {
    "snapshot.select.statement.overrides": "public.chosen",
    "snapshot.select.statement.overrides.public.chosen": f"SELECT c.* FROM public.chosen c, (SELECT pg_advisory_lock_shared({TURN})) turn",
}
"""With these, reading the table chosen waits while :func:`blocked` lasts."""


@contextmanager
def blocked(database: Database) -> Iterator[None]:
    with psycopg.connect(database.dsn, autocommit=True) as holder:
        holder.execute(f"SELECT pg_advisory_lock({TURN})".encode())
        yield


def await_waiting(database: Database, count: int = 1) -> None:
    """Readers of the snapshot wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'Understudy Snapshot Reader' AND wait_event_type = 'Lock'"
    wait_until(lambda: database.execute(query) == [(count,)], f"{count} readers to wait for a lock")


def await_snapshot(worker: Worker, name: str, seconds: float = 180) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        status = worker.rest("GET", f"/connectors/{name}/status").json()
        assert all(task["state"] != "FAILED" for task in status.get("tasks", [])), [task.get("trace") for task in status["tasks"]]
        progress: dict[str, Any] = worker.rest("GET", f"/connectors/{name}/progress").json()
        return progress if progress.get("phase") in ("streaming", "idle") else None

    return wait_until(look, lambda: f"the snapshot of {name} to end\n{worker.log}", seconds)


def snapshot_of(records: list[Raw]) -> list[dict[str, Any]]:
    return [value for record in records if (value := orjson.loads(record.value or b"null")) and value["op"] == "r"]


def words(records: list[dict[str, Any]]) -> list[str]:
    return [record["source"]["snapshot"] for record in records]


TABLES = f"""
CREATE TABLE big (id bigint PRIMARY KEY, v text, n numeric(10, 2));
CREATE TABLE bare (v text);
CREATE TABLE empty (id int PRIMARY KEY);
CREATE TABLE chosen (id int PRIMARY KEY, v text);
CREATE TABLE one (id int PRIMARY KEY);
CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (500) TO (100000);
INSERT INTO big SELECT g, CASE WHEN g % 7 <> 0 THEN 'tab\t' || g END, g / 100.0 FROM generate_series(1, {ROWS}) g;
INSERT INTO bare SELECT 'row ' || g FROM generate_series(1, {ROWS}) g;
INSERT INTO chosen SELECT g, 'v' || g FROM generate_series(1, 100) g;
INSERT INTO one VALUES (1);
INSERT INTO parts SELECT g, 'p' || g FROM generate_series(1, 1000) g;
"""


def filled(pg: PgServer) -> Database:
    database = pg.database("parallel")
    database.execute(*filter(None, map(str.strip, TABLES.split(";\n"))))
    return database


async def test_every_row_once_and_of_one_moment(pg: PgServer, worker: Start) -> None:
    database, name, running = filled(pg), fresh("rows"), worker()
    end = threading.Event()
    overrides = {
        "snapshot.select.statement.overrides": "public.chosen",
        "snapshot.select.statement.overrides.public.chosen": "SELECT * FROM public.chosen WHERE id > 90 ORDER BY id DESC",
        "snapshot.max.threads.multiplier.public.big": "2",
        "table.exclude.list": "public.parts_low,public.parts_high",
        "publish.via.partition.root": "true",
    }

    def write() -> None:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            number = ROWS
            while not end.is_set():
                # Row and twin change together: a snapshot of two moments would show one without the other.
                number += 1
                with connection.transaction():
                    connection.execute("INSERT INTO big VALUES (%s, 'late', 0)", [number])
                    connection.execute("INSERT INTO bare VALUES (%s)", [f"row {number}"])
                    connection.execute("DELETE FROM big WHERE id = %s", [number - ROWS])
                    connection.execute("DELETE FROM bare WHERE v = %s", [f"row {number - ROWS}"])

    database.execute("ALTER TABLE bare REPLICA IDENTITY FULL", "CREATE INDEX ON bare (v)")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        running.create(name, config(database, name) | overrides)
        progress = await_snapshot(running, name)
    finally:
        end.set()
        writer.join()
    assert f"processes={THREADS}" in running.log
    rows = {table: await read_to_end(running.bootstrap, f"{name}.public.{table}") for table in ("big", "bare", "chosen", "one", "parts")}
    read = {table: snapshot_of(records) for table, records in rows.items()}
    big = sorted(record["after"]["id"] for record in read["big"])
    assert big == list(range(big[0], big[0] + ROWS)), "every row once"
    assert sorted(int(record["after"]["v"].split()[1]) for record in read["bare"]) == big, "both tables at one moment"
    assert {record["after"]["v"] for record in read["big"] if record["after"]["id"] <= ROWS} > {"tab\t59999", None}
    assert [record["after"]["id"] for record in read["chosen"]] == list(range(100, 90, -1))
    assert sorted(record["after"]["id"] for record in read["parts"]) == list(range(1, 1001))

    every = [word for records in read.values() for word in words(records)]
    assert every.count("last") == 1
    assert every.count("first") == 1
    for table, records in read.items():
        marks = words(records)
        # bare is the first table by name.
        assert marks[0] == ("first" if table == "bare" else marks[-1] if table == "one" else "first_in_data_collection")
        assert marks[-1] in ("last", "last_in_data_collection")
        assert set(marks[1:-1]) <= {"true"}
    assert len({record["source"]["lsn"] for records in read.values() for record in records}) == 1
    headers = {dict(raw.headers).get("__debezium.context.runId") for records in rows.values() for raw in records}
    assert len(headers) == 1

    tables = {table["table"]: table for table in progress["tables"]}
    assert {table: shown["rows"] for table, shown in tables.items()} == {
        "public.big": ROWS,
        "public.bare": ROWS,
        "public.chosen": 10,
        "public.empty": 0,
        "public.one": 1,
        "public.parts": 1000,
    }
    assert all(shown["done"] for shown in tables.values())
    assert not children(running.process.pid)
    # What came after the snapshot is streamed: nothing between the two is lost.
    last = database.execute("SELECT max(id) FROM big")[0][0]
    assert isinstance(last, int)
    # Each later transaction is an insert, a delete and its tombstone.
    whole = await running.read(f"{name}.public.big", ROWS + 3 * (last - big[-1]))
    late = [value["after"]["id"] for record in whole if (value := orjson.loads(record.value or b"null")) and value["op"] == "c"]
    assert late == list(range(big[-1] + 1, last + 1))
    assert "very-secret-word" not in running.log


@pytest.mark.pg_once
async def test_the_same_records_as_one_process(pg: PgServer, worker: Start) -> None:
    database, running = filled(pg), worker()
    found = []
    for threads in ("1", str(THREADS)):
        name = fresh("same")
        running.create(name, config(database, name, snapshot__max__threads=threads, table__include__list="public.big"))
        await_snapshot(running, name)
        records = await read_to_end(running.bootstrap, f"{name}.public.big")
        found.append(sorted((raw.key or b"", json.dumps(json.loads(raw.value or b"null")["after"])) for raw in records))
        running.rest("DELETE", f"/connectors/{name}")
    assert len(found[0]) == ROWS
    assert found[0] == found[1]


@pytest.mark.pg_once
@pytest.mark.long
async def test_one_reader_a_table_when_asked(pg: PgServer, worker: Start) -> None:
    database, running, name = filled(pg), worker(), fresh("legacy")
    running.create(name, config(database, name, legacy__snapshot__max__threads="true", table__include__list="public.big,public.bare"))
    await_snapshot(running, name)
    assert "parts=2" in running.log
    for table in ("big", "bare"):
        marks = words(snapshot_of(await read_to_end(running.bootstrap, f"{name}.public.{table}")))
        assert len(marks) == ROWS
        assert marks[0] == "first_in_data_collection"


@pytest.mark.pg_once
def test_a_readers_error_is_the_tasks(pg: PgServer, worker: Start) -> None:
    database, running, name = filled(pg), worker(), fresh("error")
    statement = "SELECT * FROM public.parts WHERE 1 / (id - 500) < 2"
    more = {"snapshot.select.statement.overrides": "public.parts", "snapshot.select.statement.overrides.public.parts": statement}
    answer = running.rest("POST", "/connectors", {"name": name, "config": config(database, name) | more})
    assert answer.is_success, answer.text

    def look() -> str | None:
        status = running.rest("GET", f"/connectors/{name}/status").json()
        return next((str(task["trace"]) for task in status.get("tasks", []) if task["state"] == "FAILED"), None)

    trace = wait_until(look, lambda: f"the task to fail\n{running.log}")
    assert trace.splitlines()[0] == ("PostgreSQL refused while reading table public.parts: division by zero. (SQLSTATE 22012)")
    assert not children(running.process.pid)


@pytest.mark.pg_once
def test_a_connector_that_is_stopped_ends_its_readers(pg: PgServer, worker: Start) -> None:
    database, running, name = filled(pg), worker(), fresh("stop")
    with blocked(database):
        running.create(name, config(database, name) | BLOCKED)
        await_waiting(database)
        readers = wait_until(lambda: children(running.process.pid), "reader processes")
        assert running.rest("PUT", f"/connectors/{name}/stop").is_success
        # They end while the lock that they wait for is still held.
        await_gone(readers)


@pytest.mark.pg_once
@pytest.mark.long
async def test_a_killed_worker_leaves_no_readers_and_reads_again(pg: PgServer, worker: Start) -> None:
    database, running, name = filled(pg), worker(), fresh("kill")
    with blocked(database):
        running.create(name, config(database, name) | BLOCKED)
        await_waiting(database)
        readers = wait_until(lambda: children(running.process.pid), "reader processes")
        os.kill(running.process.pid, signal.SIGKILL)
        await_gone(readers)
        running.kill()
    running.start()
    await_snapshot(running, name)
    records = snapshot_of(await read_to_end(running.bootstrap, f"{name}.public.big"))
    assert {record["after"]["id"] for record in records} == set(range(1, ROWS + 1))


@pytest.mark.pg_once
def test_a_killed_reader_fails_the_task_by_name(pg: PgServer, worker: Start) -> None:
    database, running, name = filled(pg), worker(), fresh("oom")
    with blocked(database):
        running.create(name, config(database, name) | BLOCKED)
        await_waiting(database)
        readers = children(running.process.pid)
        os.kill(min(readers), signal.SIGKILL)

        def look() -> str | None:
            (task,) = running.rest("GET", f"/connectors/{name}/status").json()["tasks"]
            return str(task["trace"]) if task["state"] == "FAILED" else None

        trace = wait_until(look, lambda: f"the task to fail\n{running.log}")
        assert "A process that reads the snapshot was killed by SIGKILL" in trace
        assert "lower snapshot.max.threads" in trace
        await_gone(readers)
