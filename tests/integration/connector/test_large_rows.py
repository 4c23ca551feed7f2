"""Rows of 1,600 columns, which is PostgreSQL's limit, and rows of 50 MB: through snapshot, stream and incremental snapshot."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

COLUMNS: Final = 1_600
LARGE: Final = 50_000_000
ROOM: Final = str(256 * 1024 * 1024)
TOPICS: Final = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


@contextmanager
def running(pg: PgServer, worker: Worker, *ddl: str, **config: str) -> Iterator[Connector]:
    connector = Connector(worker, pg.database("large"), f"large_{uuid.uuid4().hex[:10]}")
    connector.database.execute("CREATE TABLE sig (id text PRIMARY KEY, type text NOT NULL, data text)", *ddl)
    changes = {key.replace("__", "."): value for key, value in config.items()}
    connector.post({**TOPICS, "signal.data.collection": "public.sig", **changes})
    try:
        yield connector
    finally:
        connector.delete()


def read_again(connector: Connector) -> None:
    """Take an incremental snapshot of table ``a``, and wait until Kafka has it."""
    connector.database.execute("""INSERT INTO sig VALUES ('s', 'execute-snapshot', '{"data-collections": ["public.a"]}')""")

    def look() -> bool:
        log = shared_lines(connector)
        return any('table ends" table=public.a' in line and "status=SUCCEEDED" in line for line in log)

    wait_until(look, lambda: f"the incremental snapshot: {connector.progress()}\n{connector.worker.log[-4000:]}", SECONDS)
    connector.await_confirmed(connector.lsn())


def shared_lines(connector: Connector) -> list[str]:
    return [line for line in connector.worker.log.splitlines() if f"connector={connector.name}" in line]


async def test_a_row_of_1600_columns(pg: PgServer, shared_worker: Worker) -> None:
    columns = [f"c{number} int NOT NULL DEFAULT {number}" for number in range(1, COLUMNS)]
    ddl = (f"CREATE TABLE a (id int PRIMARY KEY, {', '.join(columns)})", "INSERT INTO a (id) VALUES (1)")
    with running(pg, shared_worker, *ddl) as connector:
        connector.await_phase("streaming")
        connector.database.execute("INSERT INTO a (id, c7) VALUES (2, 70)", "UPDATE a SET c1599 = 0 WHERE id = 1")
        connector.await_confirmed(connector.lsn())
        read_again(connector)
        events = [(value["op"], value["after"]) for _, value in await connector.events("public.a")]
    plain = {"id": 1, **{f"c{number}": number for number in range(1, COLUMNS)}}
    changed, new = {**plain, "c1599": 0}, {**plain, "id": 2, "c7": 70}
    assert events == [("r", plain), ("c", new), ("u", changed), ("r", changed), ("r", new)]


VALUES: Final = {
    "t": (f"repeat('t', {LARGE})", "t" * LARGE),
    "b": (f"decode(repeat('ff', {LARGE}), 'hex')", base64.b64encode(b"\xff" * LARGE).decode()),
    "j": (f"to_jsonb(repeat('j', {LARGE}))", f'"{"j" * LARGE}"'),
}
"""By column: SQL, and what the event holds."""


@pytest.mark.long
async def test_rows_of_50_mb(pg: PgServer, shared_worker: Worker) -> None:
    ddl = ["CREATE TABLE a (id text PRIMARY KEY, t text, b bytea, j jsonb)"]
    ddl += [f"INSERT INTO a (id, {name}) VALUES ('{name}', {value})" for name, (value, _) in VALUES.items()]
    room = {"topic__creation__default__max__message__bytes": ROOM, "producer__override__max__request__size": ROOM}
    with running(pg, shared_worker, *ddl, **room) as connector:
        connector.await_phase("streaming")
        for name, (value, _) in VALUES.items():
            connector.database.execute(f"INSERT INTO a (id, {name}) VALUES ('{name}2', {value})")
        connector.await_confirmed(connector.lsn())
        found = [(value["op"], value["after"]) for _, value in await connector.events("public.a")]
    assert [(op, row["id"]) for op, row in found] == [("r", "t"), ("r", "b"), ("r", "j"), ("c", "t2"), ("c", "b2"), ("c", "j2")]
    for _, row in found:
        # Compared apart: a failure must not print 50 MB.
        equal = [name for name, (_, wanted) in VALUES.items() if row[name] == wanted]
        assert equal == [row["id"][0]]


async def test_a_row_that_kafka_does_not_take_fails_the_task_with_the_remedy(pg: PgServer, shared_worker: Worker) -> None:
    ddl = (
        "CREATE TABLE a (id int PRIMARY KEY, t text)",
        "INSERT INTO a SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 99999) i",
    )
    with running(pg, shared_worker, *ddl) as connector:
        message = connector.trace()
    assert "is larger than Kafka takes" in message
    assert f"{connector.name}.public.a" in message
    assert "max.message.bytes" in message
    assert "producer.override.max.request.size" in message
