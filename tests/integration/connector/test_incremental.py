"""Incremental snapshots of tables that are not as simple as they might be, by a worker on real servers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

COLLECTIONS = "incremental_snapshot_collections"
SIGNALS = "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))"
CONFIG = {
    "signal.data.collection": "public.sig",
    "snapshot.mode": "no_data",
    "incremental.snapshot.chunk.size": "10",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "1",
}


@contextmanager
def running(pg: PgServer, worker: Worker, *ddl: str, **config: str) -> Iterator[Connector]:
    connector = Connector(worker, pg.database("incremental"), f"inc_{uuid.uuid4().hex[:10]}")
    connector.database.execute(SIGNALS, *ddl)
    connector.create({**CONFIG, **{key.replace("__", "."): value for key, value in config.items()}})
    try:
        yield connector
    finally:
        connector.delete()


def ask(connector: Connector, table: str, *more: str, **data: object) -> None:
    """Send execute-snapshot, and signals of the types ``more`` with it."""
    body = json.dumps({"data-collections": [table], **{key.replace("_", "-"): value for key, value in data.items()}})
    values = [f"('s', 'execute-snapshot', '{body}')", *(f"('{kind}', '{kind}', NULL)" for kind in more)]
    connector.database.execute(f"INSERT INTO sig VALUES {', '.join(values)}")


def await_read(connector: Connector, table: str, rows: int) -> None:
    """Wait until so many rows of the table have been read and all of them are in Kafka."""

    def look() -> bool:
        log = [line for line in connector.worker.log.splitlines() if f"connector={connector.name}" in line]
        return any(f'table ends" table={table} rows={rows} status=SUCCEEDED' in line for line in log)

    wait_until(look, lambda: f"{rows} rows of {table}: {connector.progress()}\n{connector.worker.log[-4000:]}", SECONDS)
    connector.await_confirmed(connector.lsn())


async def test_a_table_whose_key_changes_in_the_middle_is_read_from_its_beginning(pg: PgServer, shared_worker: Worker) -> None:
    ddl = ("CREATE TABLE a (id int PRIMARY KEY, k int NOT NULL)", "INSERT INTO a SELECT i, 100 - i FROM generate_series(1, 25) i")
    with running(pg, shared_worker, *ddl) as connector:
        ask(connector, "public.a", "pause-snapshot")

        def paused() -> bool:
            now = connector.progress()["incremental"]
            return now is not None and now["paused"] and now["chunks"] == 1

        wait_until(paused, lambda: f"the first chunk: {connector.progress()}", SECONDS)
        connector.database.execute(
            "ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (k, id)", "INSERT INTO sig VALUES ('go', 'resume-snapshot')"
        )
        await_read(connector, "public.a", 35)
        keys = [key for key, value in await connector.events("public.a") if value["op"] == "r"]
    assert keys[:10] == [{"id": number} for number in range(1, 11)]
    assert sorted(key["id"] for key in keys[10:]) == list(range(1, 26))
    assert all(set(key) == {"id", "k"} for key in keys[10:])


async def test_rows_that_share_a_message_key_all_come(pg: PgServer, shared_worker: Worker) -> None:
    ddl = ("CREATE TABLE a (id int PRIMARY KEY, k int)", "INSERT INTO a SELECT i, i % 3 FROM generate_series(1, 25) i")
    with running(pg, shared_worker, *ddl, message__key__columns="public.a:k") as connector:
        ask(connector, "public.a")
        await_read(connector, "public.a", 25)
        rows = [value["after"]["id"] for _, value in await connector.events("public.a")]
    assert sorted(rows) == list(range(1, 26))


async def test_a_surrogate_key_that_ties_loses_no_row(pg: PgServer, shared_worker: Worker) -> None:
    ddl = ("CREATE TABLE a (id int, k int)", "INSERT INTO a SELECT i, nullif(i % 3, 0) FROM generate_series(1, 25) i")
    with running(pg, shared_worker, *ddl) as connector:
        ask(connector, "public.a", surrogate_key="k")
        await_read(connector, "public.a", 25)
        rows = [value["after"]["id"] for _, value in await connector.events("public.a")]
    assert sorted(rows) == list(range(1, 26))


async def test_a_row_that_cannot_be_sent_fails_the_task_as_the_stream_would(pg: PgServer, shared_worker: Worker) -> None:
    ddl = ("CREATE TABLE a (id int PRIMARY KEY, v numeric(5, 2))", "INSERT INTO a VALUES (1, 'NaN')")
    with running(pg, shared_worker, *ddl, event__converting__failure__handling__mode="fail") as connector:
        ask(connector, "public.a")
        assert "column v of table public.a" in connector.trace()


async def test_the_end_is_stored_on_an_idle_server_too(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path) -> None:
    signals = tmp_path / "signals"
    signals.touch()
    connector = Connector(worker(), pg.database("idle"), "inc_idle")
    connector.database.execute(
        "CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a SELECT generate_series(1, 20000)", "CREATE TABLE b (id int)"
    )
    connector.create(
        {
            "snapshot.mode": "no_data",
            "read.only": "true",
            "signal.enabled.channels": "file",
            "signal.file": str(signals),
            "signal.poll.interval.ms": "100",
            # Enough chunks for one of them to be stored.
            "incremental.snapshot.chunk.size": "50",
        }
    )
    connector.database.execute("INSERT INTO b VALUES (1)")
    connector.await_confirmed(connector.lsn())
    signal = {"id": "s", "type": "execute-snapshot", "data": {"data-collections": ["public.a"]}}
    signals.write_text(json.dumps(signal) + "\n", encoding="utf-8")
    wait_until(
        lambda: COLLECTIONS in connector.offset(), lambda: f"a chunk to be stored\n{connector.worker.log[-4000:]}", SECONDS, pause=0.02
    )
    wait_until(lambda: COLLECTIONS not in connector.offset(), lambda: f"the end to be stored: {connector.offset()}", SECONDS)
    assert 'table ends" table=public.a rows=20000' in connector.worker.log
