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


async def test_changes_wait_for_others(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connector = Connector(worker(), pg.database("linger"), "linger")
    topic = "linger.public.items"

    async def read(count: int) -> list[int]:
        values: list[Any] = [record.json for record in await connector.worker.read(topic, count)]
        return [value["after"]["id"] for value in values]

    connector.database.execute("CREATE TABLE items (id int PRIMARY KEY)")
    # An hour, so that what arrives in this test has not waited.
    connector.create({"producer.override.linger.ms": "3600000"})
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
