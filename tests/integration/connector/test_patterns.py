"""Patterns on real servers: names with the database in front, entries that match nothing, and patterns that never end."""

from __future__ import annotations

import uuid

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

LINEAR = r"([a-z.]+)+#"
"""Exponential for an engine that backtracks."""
ENDLESS = r"([a-z.]+)+(?=#)#"
"""The same for every engine."""


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> Connector:
    name = f"{request.node.originalname.removeprefix('test_')[:40]}_{uuid.uuid4().hex[:8]}"
    database = pg.database("patterns")
    long = "a" * 50
    database.execute(
        f"CREATE TABLE {long} (id int PRIMARY KEY)",
        "CREATE TABLE orders (id int PRIMARY KEY, email text, note text)",
        "INSERT INTO orders VALUES (1, 'a@example', 'one')",
        "CREATE TABLE signals (id text PRIMARY KEY, type text, data text)",
    )
    return Connector(shared_worker, database, name)


def await_line(connector: Connector, text: str) -> None:
    """Wait until the log has ``text`` for the connector."""

    def message() -> bool:
        return any(connector.name in line and text in line for line in connector.worker.log.splitlines())

    wait_until(message, lambda: f"{text}\n{connector.worker.log}", SECONDS)


async def test_names_may_begin_with_the_database_and_rules_without_a_match_are_reported(connector: Connector) -> None:
    database = connector.database.name
    changes = {
        "table.include.list": f"{database}.public.orders",
        "column.mask.with.3.chars": f"{database}.public.orders.email",
        "column.truncate.to.2.chars": f"{database}.public.orders.note,shop.public.orders.note",
        "message.key.columns": f"{database}.public.orders:email",
    }
    asked = connector.worker.rest(
        "PUT",
        "/connector-plugins/PostgresConnector/config/validate?warnings=true",
        {"name": connector.name, **connector.config(changes)},
    ).json()
    warnings = [warning for field in asked["configs"] for warning in field["value"]["warnings"]]
    assert asked["error_count"] == 0
    message = "Entry 'shop.public.orders.note' of column.truncate.to.2.chars matches no column of a captured table."
    assert [warning for warning in warnings if warning.startswith("Entry")] == [
        f"{message} Entries are matched with whole names: schema.table.column, or database.schema.table.column"
    ]
    connector.create(changes)
    [(key, value)] = await connector.events("public.orders")
    assert key == {"email": "a@example"}
    assert value["after"] == {"id": 1, "email": "***", "note": "on"}
    assert [
        line for line in connector.worker.log.splitlines() if connector.name in line and "rule matches nothing" in line and message in line
    ]
    connector.delete()


async def test_an_endless_pattern_fails_only_its_connector_and_its_signal(connector: Connector) -> None:
    connector.create({"table.include.list": rf"{LINEAR},public\..*", "signal.data.collection": "public.signals"})
    other = Connector(connector.worker, connector.database, f"{connector.name}_2")
    answer = connector.worker.rest("POST", "/connectors", {"name": other.name, "config": other.config({"table.include.list": ENDLESS})})
    message = answer.text if answer.status_code != httpx.codes.CREATED else other.trace()
    assert f"Property table.include.list holds '{ENDLESS}', which takes too long to match" in message
    for entry, said in (
        (ENDLESS, f"Property data-collections holds '{ENDLESS}', which takes too long to match"),
        ("(" * 600 + "a" + ")" * 600, "groups and classes may be nested 100 levels deep"),
        (r"public\\.orders", 'incremental snapshot requested" tables=public.orders'),
    ):
        data = f'{{"data-collections": ["{entry}"]}}'
        connector.database.execute(f"INSERT INTO signals VALUES ('{uuid.uuid4()}', 'execute-snapshot', '{data}')")
        await_line(connector, said)
    connector.delete()
    connector.worker.rest("DELETE", f"/connectors/{other.name}")
