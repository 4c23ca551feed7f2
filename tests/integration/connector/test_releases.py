"""Each major version of PostgreSQL that is supported: a handful of features that ask the server for what versions do differently."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from connector.incremental.chunk_query import chunk_order
from connector.io.postgres import catalog as pg_catalog
from connector.preflight.server import OLDEST
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.chunk_walk import connected, table_of, walk
from tests.support.connector import SECONDS, Connector
from tests.support.postgres_releases import RELEASES
from tests.support.until import until
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.long

SIGNALS = "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))"
CONFIG = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
PARTITIONED = (
    "CREATE TABLE m (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE m_2026 PARTITION OF m FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
    "INSERT INTO m VALUES (1, '2026-05-01')",
)
ROOTS_SINCE = 13
"""The first version that publishes partitioned tables (PostgreSQL 13's release notes, "Logical Replication")."""
MESSAGES_SINCE = 14
SCHEMAS_SINCE = 15
"""The first version with publications of whole schemas (PostgreSQL 15's release notes, "Logical Replication")."""
TYPES = {
    "i": ("int", "7", 7),
    "n": ("numeric(8,2)", "12.30", "BM4="),
    "t": ("text", "ä", "ä"),
    "b": ("bytea", "\\x00ff", "AP8="),
    "d": ("date", "2026-02-03", 20487),
    "z": ("timestamptz", "2026-02-03 04:05:06+00", "2026-02-03T04:05:06.000000Z"),
    "u": ("uuid", "6fa459ea-ee8a-3ca4-894e-db77e160355e", "6fa459ea-ee8a-3ca4-894e-db77e160355e"),
    "j": ("jsonb", '{"a": 1}', '{"a": 1}'),
    "a": ("int[]", "{1,NULL}", [1, None]),
    "h": ("hstore", "k=>v", '{"k":"v"}'),
    "e": ("mood", "sad", "sad"),
    "g": ("int GENERATED ALWAYS AS (i * 2) STORED", None, 14),
}


def test_the_matrix_begins_with_the_oldest_that_is_read_and_has_no_gap() -> None:
    assert list(RELEASES) == list(range(OLDEST // 10_000, 19))


@pytest.fixture
def connector(pg_release: PgServer, shared_worker: Worker) -> Iterator[Connector]:
    """A connector that is not created yet, with its own database. It is deleted at the end."""
    made = Connector(shared_worker, pg_release.database("release"), f"release_{uuid.uuid4().hex[:10]}")
    yield made
    if shared_worker.rest("GET", f"/connectors/{made.name}").status_code == httpx.codes.OK:
        made.delete()


async def test_values_are_equal_in_snapshot_and_stream(connector: Connector) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in TYPES.items())
    given = {name: text for name, (_, text, _) in TYPES.items() if text is not None}
    texts = ", ".join(f"'{text}'" for text in given.values())
    insert = f"INSERT INTO v ({', '.join(given)}) VALUES ({texts})"
    types = ("CREATE EXTENSION hstore", "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    connector.database.execute(*types, f"CREATE TABLE v ({columns})", insert)
    connector.create(CONFIG)
    connector.database.execute(insert)
    connector.await_confirmed(connector.lsn())
    first, second = [value for _, value in await connector.events("public.v")]
    expected = {name: value for name, (_, _, value) in TYPES.items()}
    assert (first["op"], first["after"]) == ("r", expected)
    # PostgreSQL sends the values of generated columns from version 18 on, when the publication says so.
    assert (second["op"], {**second["after"], "g": 14}) == ("c", expected)


async def test_changes_of_all_kinds_come_over_a_restart(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY, body text)", "INSERT INTO t VALUES (1, 'one')")
    connector.create({**CONFIG, "skipped.operations": "none"})
    connector.database.execute("INSERT INTO t VALUES (2, 'two')", "UPDATE t SET body = 'II' WHERE id = 2")
    connector.await_confirmed(connector.lsn())
    connector.stop()
    connector.database.execute(
        "DELETE FROM t WHERE id = 1", "TRUNCATE t", "ALTER TABLE t ADD more int DEFAULT 3", "INSERT INTO t VALUES (4, 'x')"
    )
    connector.put("resume")
    connector.await_confirmed(connector.lsn())
    events = [value for _, value in await connector.events("public.t") if value is not None]
    assert [value["op"] for value in events] == ["r", "c", "u", "d", "t", "c"]
    assert events[2]["after"] == {"id": 2, "body": "II"}
    assert events[-1]["after"] == {"id": 4, "body": "x", "more": 3}


@pytest.mark.parametrize(("read_only", "surrogate"), [(False, None), (True, None), (False, "v")])
async def test_an_incremental_snapshot_reads_every_row(connector: Connector, read_only: bool, surrogate: str | None) -> None:
    connector.database.execute(
        SIGNALS, "CREATE TABLE a (id int PRIMARY KEY, v int)", "INSERT INTO a SELECT i, nullif(i / 7, 2) FROM generate_series(1, 25) i"
    )
    ways = {"read.only": "true", "signal.enabled.channels": "http"} if read_only else {"signal.data.collection": "public.sig"}
    connector.create({**CONFIG, **ways, "snapshot.mode": "no_data", "incremental.snapshot.chunk.size": "10"})
    data: dict[str, Any] = {"data-collections": ["public.a"]} | ({"surrogate-key": surrogate} if surrogate else {})
    if read_only:
        # Signals by REST need a task that streams.
        connector.await_phase("streaming")
        signal = {"type": "execute-snapshot", "data": data}
        answer = connector.worker.rest("POST", f"/connectors/{connector.name}/signals", signal)
        assert answer.is_success, answer.text
    else:
        connector.database.execute(f"INSERT INTO sig VALUES ('s', 'execute-snapshot', '{json.dumps(data)}')")

    def look() -> bool:
        lines = [line for line in connector.worker.log.splitlines() if f"connector={connector.name}" in line]
        return any('table ends" table=public.a' in line and "status=SUCCEEDED" in line for line in lines)

    wait_until(look, lambda: f"the snapshot to end: {connector.progress()}\n{connector.worker.log[-4000:]}", SECONDS)

    async def rows() -> set[int]:
        return {value["after"]["id"] for _, value in await connector.events("public.a") if value["op"] == "r"}

    async def arrived() -> bool:
        return len(await rows()) >= 25

    # Not await_confirmed(): a read-only snapshot writes nothing to the WAL, so that its end is confirmed before Kafka has the rows.
    await until(arrived, lambda: f"25 rows in Kafka: {connector.progress()}", SECONDS)
    assert await rows() == set(range(1, 26))


@pytest.mark.parametrize("key", ["", "PRIMARY KEY"])
async def test_rows_that_tie_come_once(pg_release: PgServer, key: str) -> None:
    database = pg_release.database("ties")
    database.execute(
        f"CREATE TABLE tied (id int {key}, v int, w int NOT NULL)",
        "INSERT INTO tied SELECT i, nullif(i / 50, 1), i / 30 FROM generate_series(1, 200) i",
    )
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        types = await pg_catalog.read_types(connection)
        for names in (["v"], ["w"], ["w", "v"]):
            order = chunk_order(table, names, types)
            # Ties of 50 rows are divided by a primary key if a chunk is to have 3.
            for size in (1, 3, 20, 500):
                came = [int(row) for chunk in await walk(connection, table, order, size) for row in chunk]
                assert sorted(came) == list(range(1, 201)), (names, size)


def test_a_good_configuration_has_no_findings(connector: Connector) -> None:
    connector.database.execute(SIGNALS, "CREATE TABLE t (id int PRIMARY KEY)")
    config = connector.config({**CONFIG, "signal.data.collection": "public.sig", "heartbeat.interval.ms": "1000"})
    config["heartbeat.action.query"] = "INSERT INTO t VALUES (1)"
    body = {**config, "name": connector.name}
    answer = connector.worker.rest("PUT", "/connector-plugins/PostgresConnector/config/validate", body)
    assert answer.json()["error_count"] == 0, answer.text


async def test_partitions_come_under_their_root_where_the_server_can(connector: Connector, pg_release: PgServer) -> None:
    connector.database.execute(*PARTITIONED)
    root = {"publication.autocreate.mode": "filtered", "publish.via.partition.root": "true", "table.include.list": "public.m"}
    if pg_release.major < ROOTS_SINCE:
        connector.post({**CONFIG, **root})
        assert "publish_via_partition_root" in connector.trace()
        return
    connector.create({**CONFIG, **root})
    connector.database.execute("INSERT INTO m VALUES (2, '2026-06-01')")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.m") == [("r", 1), ("c", 2)]


async def test_partitions_come_as_tables_of_their_own(connector: Connector) -> None:
    connector.database.execute(*PARTITIONED)
    connector.create({**CONFIG, "publication.autocreate.mode": "filtered", "table.include.list": "public.m_2026"})
    connector.database.execute("INSERT INTO m VALUES (2, '2026-06-01')")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.m_2026") == [("r", 1), ("c", 2)]


async def test_logical_messages_come_where_the_server_sends_them(connector: Connector, pg_release: PgServer) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.create(CONFIG)
    connector.database.execute("SELECT pg_logical_emit_message(true, 'p', 'hello')", "INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1)]
    message = await connector.raw(f"{connector.name}.message") if pg_release.major >= MESSAGES_SINCE else []
    assert len(message) == (pg_release.major >= MESSAGES_SINCE)


def published(connector: Connector) -> list[str]:
    query = f"SELECT tablename::text FROM pg_publication_tables WHERE pubname = '{connector.name}' ORDER BY 1"
    return [str(name) for (name,) in connector.database.execute(query)]


PAIR = ("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")


async def both_seen(connector: Connector, number: int) -> list[list[Any]]:
    """Insert the number into both tables; what their topics have of it."""
    connector.database.execute(f"INSERT INTO a VALUES ({number})", f"INSERT INTO b VALUES ({number})")
    connector.await_confirmed(connector.lsn())
    return [[event for event in await connector.seen(table) if event[1] == number] for table in ("public.a", "public.b")]


async def test_a_filtered_publication_follows_the_captured_tables(connector: Connector) -> None:
    connector.database.execute(*PAIR)
    filtered = {**CONFIG, "publication.autocreate.mode": "filtered", "skipped.operations": "t,d"}
    connector.create({**filtered, "table.include.list": "public.a"})
    assert published(connector) == ["a"]
    assert await both_seen(connector, 1) == [[("c", 1)], []]
    connector.stop()
    changed = connector.config({**filtered, "table.include.list": "public.a,public.b"})
    assert connector.worker.rest("PUT", f"/connectors/{connector.name}/config", changed).is_success
    connector.put("resume")
    connector.await_phase("streaming")
    assert published(connector) == ["a", "b"]
    assert await both_seen(connector, 2) == [[("c", 2)], [("c", 2)]]
    operations = f"SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication WHERE pubname = '{connector.name}'"
    assert connector.database.execute(operations) == [(True, True, False, False)]


async def test_a_publication_of_all_tables_has_tables_that_are_made_later(connector: Connector) -> None:
    connector.database.execute(PAIR[0])
    connector.create({**CONFIG, "publication.autocreate.mode": "all_tables"})
    connector.database.execute(PAIR[1])
    assert published(connector) == ["a", "b"]
    assert await both_seen(connector, 1) == [[("c", 1)], [("c", 1)]]


async def test_a_publication_of_no_tables_has_those_that_are_added(connector: Connector) -> None:
    connector.database.execute(*PAIR)
    connector.create({**CONFIG, "publication.autocreate.mode": "no_tables"})
    assert published(connector) == []
    assert await both_seen(connector, 1) == [[], []]
    connector.database.execute(f"ALTER PUBLICATION {connector.name} ADD TABLE b")
    assert await both_seen(connector, 2) == [[], [("c", 2)]]


@pytest.mark.parametrize("mode", ["filtered", "all_tables", "no_tables", "disabled"])
async def test_a_publication_that_fits_is_left_alone_in_every_mode(connector: Connector, pg_release: PgServer, mode: str) -> None:
    schemas = pg_release.major >= SCHEMAS_SINCE
    connector.database.execute(*PAIR, f"CREATE PUBLICATION {connector.name} FOR {'TABLES IN SCHEMA public' if schemas else 'TABLE a, b'}")
    made = "SELECT p.oid, p.xmin::text, (SELECT count(*) FROM pg_publication_rel WHERE prpubid = p.oid) FROM pg_publication p"
    before = connector.database.execute(made)
    connector.create({**CONFIG, "publication.autocreate.mode": mode})
    assert connector.database.execute(made) == before
    assert await both_seen(connector, 1) == [[("c", 1)], [("c", 1)]]
