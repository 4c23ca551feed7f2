"""Incremental snapshots of tables with thousands of rows whose surrogate keys are equal, by a worker, while rows change."""

from __future__ import annotations

import json
import random
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

ROWS = 12_000
GROUPS = 3
SIZE = 200
"""Rows of a chunk. A group is larger than what a chunk takes undivided, eight times as many."""
CONFIG = {
    "signal.data.collection": "public.sig",
    "snapshot.mode": "no_data",
    "incremental.snapshot.chunk.size": str(SIZE),
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "1",
}


@contextmanager
def changing(database: Database, seed: int, *statements: str) -> Iterator[None]:
    """Run the statements, each with a random id and group, in another session until the block ends."""
    choice, ended = random.Random(seed), threading.Event()
    failures: list[BaseException] = []

    def change() -> None:
        try:
            with psycopg.connect(database.dsn, autocommit=True) as connection:
                while not ended.is_set():
                    given = {"id": choice.randint(1, ROWS), "group": choice.choice([None, 0, 1, 2, 3])}
                    connection.execute(choice.choice(statements).encode(), given)
        except psycopg.Error as error:
            failures.append(error)

    thread = threading.Thread(target=change, name="changes")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not failures, failures[0]


def prepared(pg: PgServer, worker: Worker, key: str) -> Connector:
    connector = Connector(worker, pg.database("ties"), f"ties_{uuid.uuid4().hex[:10]}")
    connector.database.execute(
        "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        f"CREATE TABLE tied (id int {key}, k int, v int NOT NULL)",
        # One group of NULLs.
        f"INSERT INTO tied SELECT i, nullif(i % {GROUPS}, 0), 0 FROM generate_series(1, {ROWS}) i",
        "CREATE INDEX ON tied (k)",
        "ANALYZE tied",
    )
    return connector


def ask(connector: Connector) -> None:
    data = json.dumps({"data-collections": ["public.tied"], "surrogate-key": "k"})
    connector.database.execute(f"INSERT INTO sig VALUES ('ask', 'execute-snapshot', '{data}')")


def await_end(connector: Connector) -> int:
    """Wait for the end of the table; the number of rows that were read."""

    def look() -> int | None:
        lines = (line for line in connector.worker.log.splitlines() if f"connector={connector.name}" in line)
        ended = next((line for line in lines if 'table ends" table=public.tied' in line), None)
        if ended is None:
            return None
        assert "status=SUCCEEDED" in ended, ended
        return int(ended.split(" rows=")[1].split()[0])

    return wait_until(look, lambda: f"the snapshot: {connector.progress()}\n{connector.worker.log[-4000:]}", SECONDS)


async def latest(connector: Connector) -> dict[int, dict[str, Any]]:
    """Each row's last state in Kafka."""
    rows: dict[int, dict[str, Any]] = {}
    for key, value in await connector.events("public.tied"):
        if value is None or value["op"] == "d":
            rows.pop(key["id"], None)
        else:
            rows[key["id"]] = value["after"]
    return rows


@pytest.mark.parametrize("restarted", [False, True])
async def test_large_groups_of_ties_all_come_in_chunks_of_the_wanted_size(pg: PgServer, shared_worker: Worker, restarted: bool) -> None:
    connector = prepared(pg, shared_worker, "PRIMARY KEY")
    changes = (
        "UPDATE tied SET v = v + 1 WHERE id = %(id)s",
        # A row that goes to another group, whose rows may have been read.
        "UPDATE tied SET k = %(group)s, v = v + 1 WHERE id = %(id)s",
        "DELETE FROM tied WHERE id = %(id)s AND %(group)s = 3",
        "INSERT INTO tied VALUES (%(id)s, %(group)s, 1) ON CONFLICT DO NOTHING",
    )
    try:
        connector.create(CONFIG)
        with changing(connector.database, 1, *changes):
            ask(connector)
            if restarted:
                # In the midst of the first group.
                begun = lambda: (connector.progress()["incremental"] or {}).get("chunks", 0) >= 5  # noqa: E731
                wait_until(begun, lambda: f"some chunks: {connector.progress()}", SECONDS, pause=0.02)
                connector.stop()
                connector.put("resume")
            read = await_end(connector)
        connector.await_confirmed(connector.lsn())
        rows = await latest(connector)
        wanted = {int(str(row[0])): {"id": row[0], "k": row[1], "v": row[2]} for row in connector.database.execute("TABLE tied")}
        assert rows == wanted
        [(windows,)] = connector.database.execute("SELECT count(*) FROM sig WHERE type = 'snapshot-window-open'")
        # No chunk was larger: on average they had no more rows than wanted.
        assert int(str(windows)) >= read / SIZE
    finally:
        connector.delete()


async def test_ties_of_a_table_without_a_key_all_come_at_once(pg: PgServer, shared_worker: Worker) -> None:
    connector = prepared(pg, shared_worker, "NOT NULL")
    try:
        connector.create(CONFIG)
        with changing(connector.database, 2, f"INSERT INTO tied VALUES (%(id)s + {ROWS}, %(group)s, 1)"):
            ask(connector)
            await_end(connector)
        connector.await_confirmed(connector.lsn())
        came = {value["after"]["id"] for _, value in await connector.events("public.tied")}
        assert came == {row for (row,) in connector.database.execute("SELECT id FROM tied")}
    finally:
        connector.delete()
