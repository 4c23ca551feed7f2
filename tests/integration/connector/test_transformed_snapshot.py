"""A snapshot in several processes, and the stream after it, pass through the connector's transforms."""

from __future__ import annotations

import uuid

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector, parsed

pytestmark = pytest.mark.pg_once

ROWS = 3_000
FLAT = {
    "snapshot.max.threads": "2",
    "transforms": "unwrap,route",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.add.fields": "op",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "(.*)\\.public\\.(.*)",
    "transforms.route.replacement": "$1-$2",
}


async def test_every_row_is_flat_and_in_its_new_topic(pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("flat")
    for table in ("a", "b"):
        database.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, name text)",
            f"INSERT INTO {table} SELECT i, 'n' || i FROM generate_series(1, {ROWS}) i",
        )
    connector = Connector(shared_worker, database, f"flat_{uuid.uuid4().hex[:8]}")
    connector.create(FLAT)
    database.execute("UPDATE a SET name = 'new' WHERE id = 1", "INSERT INTO b VALUES (0, NULL)")
    connector.await_confirmed(connector.lsn())
    for table, last in (("a", {"id": 1, "name": "new", "__op": "u"}), ("b", {"id": 0, "name": None, "__op": "c"})):
        values = [parsed(raw.value) for raw in await connector.raw(f"{connector.name}-{table}")]
        assert sorted(value["id"] for value in values[:-1]) == list(range(1, ROWS + 1))
        assert {value["__op"] for value in values[:-1]} == {"r"}
        assert values[-1] == last
    connector.delete()
