"""``linger.ms``: changes wait for others that come soon after them, but none that comes alone, and no full burst."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once

ROWS = 600
"""More than a burst has."""
FULL = 500
"""Fewer than a burst has."""
# So that what arrives in a test has not waited.
HOUR = {"producer.override.linger.ms": "3600000"}


async def test_changes_wait_for_others(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connector = Connector(worker(), pg.database("linger"), "linger")
    topic = "linger.public.items"

    async def read(count: int) -> list[int]:
        values: list[Any] = [record.json for record in await connector.worker.read(topic, count)]
        return [value["after"]["id"] for value in values]

    connector.database.execute("CREATE TABLE items (id int PRIMARY KEY)")
    connector.create(HOUR)
    connector.database.execute("INSERT INTO items VALUES (1)")
    assert await read(1) == [1]
    connector.database.execute("INSERT INTO items VALUES (2)", f"INSERT INTO items SELECT generate_series(3, {ROWS})")
    assert await read(FULL) == list(range(1, FULL + 1))
    assert len(await connector.events("public.items")) < ROWS
    connector.stop()
    assert connector.worker.rest("PUT", "/connectors/linger/config", connector.config()).is_success
    connector.put("resume")
    assert await read(ROWS) == list(range(1, ROWS + 1))
    assert len(await connector.events("public.items")) == ROWS


async def test_chunks_do_not_wait(pg: PgServer, worker: Callable[..., Worker]) -> None:
    """Each chunk waits for two watermarks, which come alone."""
    connector = Connector(worker(), pg.database("linger"), "linger_chunks")
    connector.database.execute(
        "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        "CREATE TABLE items (id int PRIMARY KEY)",
        "INSERT INTO items SELECT generate_series(1, 25)",
    )
    chunks = {"incremental.snapshot.chunk.size": "10", "signal.data.collection": "public.sig", "snapshot.mode": "no_data"}
    connector.create(HOUR | chunks)
    connector.database.execute("""INSERT INTO sig VALUES ('s', 'execute-snapshot', '{"data-collections": ["public.items"]}')""")
    found: list[Any] = [record.json for record in await connector.worker.read("linger_chunks.public.items", 25)]
    assert [(value["op"], value["after"]["id"]) for value in found] == [("r", number) for number in range(1, 26)]
