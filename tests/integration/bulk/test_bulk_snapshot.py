"""Spark reads a snapshot: every row once and of one moment, with the markers and source blocks of the connector's own snapshot."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.topics import Raw, read_to_end
from workers.quickstart.embedded.wait import wait_until
from workers.spark.failure import JobError
from workers.spark.session import find_java

pytestmark = pytest.mark.pg_once

Start = Callable[..., Worker]
ROWS: Final = 30_000
SECONDS: Final = 600.0
"""Spark starts within a few, on a busy machine within a minute."""
JSON: Final = {"Accept": "application/json"}
TABLES = f"""
CREATE TABLE bare (v text);
CREATE TABLE big (id bigint PRIMARY KEY, v text, n numeric(10, 2));
CREATE TABLE chosen (id int PRIMARY KEY, v text);
CREATE TABLE empty (id int PRIMARY KEY);
CREATE TABLE one (id int PRIMARY KEY);
CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (500) TO (100000);
CREATE TABLE signals (id text, type text, data text);
INSERT INTO big SELECT g, CASE WHEN g % 7 <> 0 THEN 'tab\t' || g END, g / 100.0 FROM generate_series(1, {ROWS}) g;
INSERT INTO bare SELECT 'row ' || g FROM generate_series(1, {ROWS}) g;
INSERT INTO chosen SELECT g, 'v' || g FROM generate_series(1, 100) g;
INSERT INTO one VALUES (1);
INSERT INTO parts SELECT g, 'p' || g FROM generate_series(1, 1000) g;
"""
COUNTS: Final = {"bare": ROWS, "big": ROWS, "chosen": 10, "empty": 0, "one": 1, "parts": 1000}
NAMES: Final = tuple(COUNTS)
TURN: Final = 4712
WAITING: Final = {
    "snapshot.select.statement.overrides": "public.chosen",
    "snapshot.select.statement.overrides.public.chosen": f"SELECT c.* FROM public.chosen c, (SELECT pg_advisory_lock_shared({TURN})) turn",
}
"""With these, reading the table chosen waits while :func:`blocked` lasts."""


@pytest.fixture(autouse=True)
def _java() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))


def config(database: Database, name: str) -> dict[str, str]:
    plain = {
        f"{side}.converter{key}": value
        for side in ("key", "value")
        for key, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "false"))
    }
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
        "publish.via.partition.root": "true",
        "table.exclude.list": "public.parts_low,public.parts_high",
        "signal.data.collection": "public.signals",
        "signal.enabled.channels": "source,http",
        "notification.enabled.channels": "sse",
        "snapshot.select.statement.overrides": "public.chosen",
        "snapshot.select.statement.overrides.public.chosen": "SELECT * FROM public.chosen WHERE id > 90 ORDER BY id DESC",
        **plain,
    }


def filled(pg: PgServer) -> Database:
    database = pg.database("bulk")
    database.execute(*filter(None, map(str.strip, TABLES.split(";\n"))))
    return database


def fresh(word: str) -> str:
    return f"bulk_{word}_{uuid.uuid4().hex[:8]}"


def reported(worker: Worker, name: str, kind: str) -> list[dict[str, Any]]:
    """Wait until a notification of a kind is there; all of them so far, which are forgotten."""

    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = httpx.get(f"{worker.url}/connectors/{name}/notifications", headers=JSON).json()
        return found if any(note["type"] == kind for note in found) else None

    notes = wait_until(look, lambda: f"{kind}\n{worker.log[-6000:]}", SECONDS)
    worker.rest("DELETE", f"/connectors/{name}/notifications")
    return notes


def ask(worker: Worker, name: str, kind: str) -> None:
    data = {"data-collections": ["public.*"], "type": kind}
    answer = worker.rest("POST", f"/connectors/{name}/signals", {"type": "execute-snapshot", "data": data})
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text


async def events(worker: Worker, name: str, table: str) -> list[dict[str, Any]]:
    records: list[Raw] = await read_to_end(worker.bootstrap, f"{name}.public.{table}")
    return [{"key": record.key, **json.loads(record.value)} for record in records if record.value]


def await_streaming(worker: Worker, name: str) -> None:
    wait_until(lambda: worker.rest("GET", f"/connectors/{name}/progress").json().get("phase") == "streaming", lambda: worker.log, SECONDS)


def content(records: list[dict[str, Any]]) -> list[str]:
    """Sorted keys, values and source blocks, without the fields that depend on the time."""
    moment = ("ts_ms", "ts_us", "ts_ns", "txId", "lsn", "sequence", "snapshot")
    kept = [
        {"key": (record["key"] or b"").decode(), "op": record["op"], "after": record["after"], "before": record["before"]}
        | {"source": {name: value for name, value in record["source"].items() if name not in moment}}
        for record in records
    ]
    return sorted(json.dumps(one, sort_keys=True) for one in kept)


def words(records: list[dict[str, Any]]) -> list[str]:
    return [record["source"]["snapshot"] for record in records]


def check_markers(read: dict[str, list[dict[str, Any]]], first: str) -> None:
    """The rules at the top of :mod:`connector.snapshot.parts`."""
    every = [word for records in read.values() for word in words(records)]
    assert every.count("last") == 1
    assert every.count("first") == 1
    for table, records in read.items():
        marks = words(records)
        if not marks:
            continue
        assert marks[0] == ("first" if table == first else marks[-1] if len(marks) == 1 else "first_in_data_collection")
        assert marks[-1] in ("last", "last_in_data_collection")
        assert set(marks[1:-1]) <= {"true"}


def group_of(pid: int) -> set[int]:
    """The processes in the group of ``pid``."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _parent, group = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:3]
            except OSError:
                continue
            if int(group) == pid and state != "Z":
                found.add(int(entry.name))
    return found


def reader_of(worker: Worker) -> int:
    """The process that reads with Spark for the worker."""
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_reader(entry, worker.process.pid)]
    assert len(found) == 1, found
    return found[0]


def _is_reader(entry: Path, parent: int) -> bool:
    try:
        return (
            int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent
            and "workers.bulk.reader_process" in (entry / "cmdline").read_text()
        )
    except OSError:
        return False


def showing(word: str) -> list[str]:
    """Processes whose arguments or environment hold ``word``."""
    found = []
    for entry in Path("/proc").iterdir():
        for name in ("cmdline", "environ") if entry.name.isdigit() else ():
            try:
                if word.encode() in (entry / name).read_bytes():
                    found.append((entry / "cmdline").read_text())
            except OSError:
                continue
    return found


@contextmanager
def blocked(database: Database) -> Iterator[None]:
    """Whoever reads the table chosen with :data:`TURN` waits."""
    with psycopg.connect(database.dsn, autocommit=True) as holder:
        holder.execute(f"SELECT pg_advisory_lock({TURN})".encode())
        yield


def readers(database: Database, more: str = "") -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'Understudy Snapshot Reader'"
    return int(str(database.execute(f"{query} AND datname = current_database() {more}")[0][0]))


def await_blocked(database: Database, log: Callable[[], str]) -> None:
    wait_until(lambda: readers(database, "AND wait_event_type = 'Lock'") > 0, lambda: f"a reader to wait\n{log()[-6000:]}", SECONDS)


@pytest.mark.long
async def test_a_signal_gives_what_a_blocking_snapshot_gives(pg: PgServer, worker: Start) -> None:
    database, name = filled(pg), fresh("signal")
    running = worker(understudy_spark_master="local[2]")
    running.create(name, config(database, name) | {"snapshot.mode": "no_data"})
    await_streaming(running, name)
    reported(running, name, "SKIPPED")
    ask(running, name, "blocking")
    own_notes = reported(running, name, "COMPLETED")
    own = {table: await events(running, name, table) for table in NAMES}
    ask(running, name, "spark")
    bulk_notes = reported(running, name, "COMPLETED")
    bulk = {table: (await events(running, name, table))[len(own[table]) :] for table in NAMES}
    assert {table: len(records) for table, records in bulk.items()} == COUNTS
    for table in NAMES:
        assert content(bulk[table]) == content(own[table]), table
    for read in (own, bulk):
        check_markers(read, "bare")
        places = {
            (record["source"]["lsn"], record["source"]["sequence"], record["source"]["txId"]) for table in NAMES for record in read[table]
        }
        assert len(places) == 1

    def seen(notes: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps([note["type"], note["additionalData"]], sort_keys=True) for note in notes)

    assert seen(bulk_notes) == seen(own_notes)
    tables = running.rest("GET", f"/connectors/{name}/progress").json()["tables"]
    assert {table["table"].removeprefix("public."): (table["rows"], table["done"]) for table in tables} == {
        table: (count, True) for table, count in COUNTS.items()
    }
    database.execute("INSERT INTO one VALUES (2)")
    records = await running.read(f"{name}.public.one", 3)
    assert json.loads(records[-1].value or b"")["op"] == "c"


@pytest.mark.long
@pytest.mark.parametrize("victim", ["jvm", "driver", "worker"])
async def test_a_killed_spark_ends_the_snapshot_and_nothing_else(pg: PgServer, worker: Start, victim: str) -> None:
    database, name = filled(pg), fresh("kill")
    running = worker(understudy_spark_master="local[2]")
    running.create(name, config(database, name) | WAITING | {"snapshot.mode": "no_data"})
    await_streaming(running, name)
    reported(running, name, "SKIPPED")
    with blocked(database):
        ask(running, name, "spark")
        await_blocked(database, lambda: running.log)
        driver = reader_of(running)
        group = group_of(driver)
        assert len(group) > 1, "Spark's JVM is in the group"
        assert not showing("very-secret-word")
        victims = {"worker": running.process.pid, "driver": driver, "jvm": min(group - {driver})}
        os.kill(victims[victim], signal.SIGKILL)
        if victim == "worker":
            wait_until(lambda: not group_of(driver), lambda: f"{group_of(driver)} to end", 20)
    if victim == "worker":
        # What PostgreSQL still did for them ends when it notices that they have gone.
        wait_until(lambda: readers(database) == 0, lambda: "the readers to end", SECONDS)
        return
    kinds = [note["type"] for note in reported(running, name, "ABORTED")]
    assert kinds[0] == "STARTED"
    assert kinds[-1] == "ABORTED"
    assert {"jvm": "Spark's JVM has gone", "driver": "was killed by SIGKILL"}[victim] in running.log
    assert "COMPLETED" not in kinds
    assert readers(database) == 0
    assert not group_of(driver)
    sent = len(await events(running, name, "one"))
    database.execute("INSERT INTO one VALUES (2)")
    records = await running.read(f"{name}.public.one", sent + 1)
    assert json.loads(records[-1].value or b"")["op"] == "c"
    assert running.rest("GET", f"/connectors/{name}/status").json()["tasks"][0]["state"] == "RUNNING"


@pytest.mark.long
async def test_a_part_that_an_executor_cannot_read_fails_with_the_connector_s_message(pg: PgServer, worker: Start) -> None:
    database, name = filled(pg), fresh("fail")
    running = worker(understudy_spark_master="local[2]")
    broken = {"snapshot.select.statement.overrides.public.chosen": "SELECT id / (id - 7) AS id, v FROM public.chosen"}
    running.create(name, config(database, name) | broken | {"snapshot.mode": "no_data"})
    await_streaming(running, name)
    reported(running, name, "SKIPPED")
    ask(running, name, "spark")
    notes = reported(running, name, "ABORTED")
    failed = [note["additionalData"] for note in notes if note["additionalData"].get("status") == "SQL_EXCEPTION"]
    assert [note["scanned_collection"] for note in failed] == ["public.chosen"]
    reason = 'not completed" reason="PostgreSQL refused while reading table public.chosen: division by zero'
    assert reason in running.log
    assert readers(database) == 0
    assert running.rest("GET", f"/connectors/{name}/status").json()["tasks"][0]["state"] == "RUNNING"


class Command:
    """``bulk-snapshot`` against a worker, of a connector's name or configuration."""

    def __init__(self, worker: Worker, folder: Path, *arguments: str) -> None:
        self.log = folder / "command.log"
        self.local = folder / "spark"
        settings = ["--master", "local[2]", "--conf", f"spark.local.dir={self.local}"]
        command = [sys.executable, "-P", "-m", "workers.bulk", "bulk-snapshot", "--connect", worker.url, *settings, *arguments]
        properties = folder / "kafka.properties"
        properties.write_text(f"bootstrap.servers={worker.bootstrap}\n", encoding="utf-8")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, "--worker", str(properties)], stdout=log, stderr=log)

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def ends(self) -> int:
        return self.process.wait(SECONDS)


async def test_the_command_takes_the_initial_snapshot_and_the_connector_continues(pg: PgServer, worker: Start, tmp_path: Path) -> None:
    database, name = filled(pg), fresh("command")
    running = worker()
    asked = tmp_path / "connector.json"
    asked.write_text(json.dumps({"name": name, "config": config(database, name) | WAITING}), encoding="utf-8")
    with blocked(database):
        first = Command(running, tmp_path, "--config", str(asked))
        await_blocked(database, first.text)
        wait_until(lambda: "table read table=public.big" in first.text(), first.text, SECONDS)
        assert not showing("very-secret-word")
        written = [path for path in first.local.rglob("*") if path.is_file()]
        assert not [path for path in written if b"very-secret-word" in path.read_bytes()]
        assert not [path for path in [first.local, *written] if path.stat().st_mode & 0o077]
        first.process.terminate()
    assert first.ends() == 4, first.text()
    assert f"run the command again ({running.url}, --name {name})" in first.text()
    assert readers(database) == 0
    # The row is sent, then deleted before the second attempt. Only the stream from the first attempt's position has the delete.
    database.execute("DELETE FROM big WHERE id = 5")
    end = threading.Event()

    def write() -> None:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            number = ROWS
            # A hundred transactions a second: Spark needs the machine too.
            while not end.wait(0.01):
                number += 1
                connection.execute("INSERT INTO big VALUES (%s, 'late', 0)", [number])
                connection.execute("UPDATE big SET v = 'changed' WHERE id = %s", [number - ROWS + 10])
                connection.execute("DELETE FROM big WHERE id = %s", [number - ROWS + 9])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        second = Command(running, tmp_path, "--name", name)
        assert second.ends() == 0, second.text()
        await_streaming(running, name)
    finally:
        end.set()
        writer.join()
    assert "streams from the snapshot on" in second.text()
    assert "rows/s." in second.text()
    there = {row[0]: row[1] for row in database.execute("SELECT id, v FROM big")}
    mirror: dict[int, str] = {}

    async def look() -> bool:
        mirror.clear()
        for event in await events(running, name, "big"):
            if event["op"] == "d":
                mirror.pop(event["before"]["id"], None)
            else:
                mirror[event["after"]["id"]] = event["after"]["v"]
        return mirror == there

    async with asyncio.timeout(SECONDS):
        while not await look():
            continue
    running.rest("PUT", f"/connectors/{name}/stop")
    running.await_state(name, "STOPPED", tasks=0)
    third = Command(running, tmp_path, "--name", name)
    assert third.ends() == 4
    assert "No initial snapshot is to be taken" in third.text()
