"""The converter of ``docs/extending.md`` changes the events of a real table, in the snapshot and in the stream alike."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator

import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker, properties_of
from tests.support.connector import Connector
from tests.support.project import DOCS

pytestmark = pytest.mark.pg_once

PAGE = DOCS / "extending.md"


@pytest.fixture(scope="module")
def extended_worker(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker that can import the page's module."""
    folder = tmp_path_factory.mktemp("extensions")
    example, *_ = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (folder / "cents.py").write_text(example, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    properties = {**properties_of(f"extended-{uuid.uuid4().hex[:12]}", kafka_bootstrap), "plugin.packages": "cents"}
    worker = Worker(tmp_path_factory.mktemp("worker"), properties, {**os.environ, "PYTHONPATH": path})
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def orders(pg: PgServer) -> Database:
    database = pg.database("cents")
    database.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2) NOT NULL, tax numeric(10,2) DEFAULT 0.50, weight numeric(6,3))",
        "INSERT INTO orders VALUES (1, 12.50, 2.38, 1.5), (2, 99.99, NULL, NULL)",
    )
    return database


SETTINGS = {
    "table.include.list": "public.orders",
    "converters": "cents",
    "cents.type": "cents:Cents",
    "cents.columns": r"public\.orders\.(total|tax)",
    "decimal.handling.mode": "string",
}


@pytest.mark.parametrize("threads", ["1", "2"])
async def test_snapshot_and_stream_are_converted_alike(orders: Database, extended_worker: Worker, threads: str) -> None:
    connector = Connector(extended_worker, orders, f"cents_{threads}")
    connector.create({**SETTINGS, "snapshot.max.threads": threads, "value.converter.schemas.enable": "true"})
    orders.execute(
        "INSERT INTO orders VALUES (3, 12.50, 2.38, 1.5), (4, 99.99, NULL, NULL)",
        "UPDATE orders SET total = -0.01 WHERE id = 4",
        "DELETE FROM orders WHERE id = 3",
    )
    connector.await_confirmed(connector.lsn())
    events = [value for _, value in await connector.events("public.orders") if value is not None]
    seen = [(event["payload"]["op"], event["payload"]["before"], event["payload"]["after"]) for event in events]
    assert sorted(seen[:2], key=lambda event: event[2]["id"]) == [
        ("r", None, {"id": 1, "total": 1250, "tax": 238, "weight": "1.500"}),
        ("r", None, {"id": 2, "total": 9999, "tax": 50, "weight": None}),
    ]
    assert seen[2:] == [
        ("c", None, {"id": 3, "total": 1250, "tax": 238, "weight": "1.500"}),
        ("c", None, {"id": 4, "total": 9999, "tax": 50, "weight": None}),
        ("u", None, {"id": 4, "total": -1, "tax": 50, "weight": None}),
        ("d", {"id": 3, "total": None, "tax": 50, "weight": None}, None),
    ]
    # One schema for all: the snapshot's and the stream's.
    [schema] = {json.dumps(event["schema"]) for event in events}
    [after] = [field for field in json.loads(schema)["fields"] if field["field"] == "after"]
    columns = {field["field"]: field for field in after["fields"]}
    assert columns["total"] == {"type": "int64", "optional": True, "name": "com.example.Cents", "field": "total"}
    assert columns["tax"] == {"type": "int64", "optional": True, "name": "com.example.Cents", "default": 50, "field": "tax"}
    assert columns["weight"]["type"] == "string"
    connector.delete()


def test_a_class_that_is_not_there_fails_the_task_and_says_so(orders: Database, extended_worker: Worker) -> None:
    connector = Connector(extended_worker, orders, "cents_lost")
    connector.post({**SETTINGS, "cents.type": "cents:Dollars"})
    assert "Module cents has no class Dollars of its own, which property cents.type names" in connector.trace()
    connector.delete()


def test_a_java_class_fails_the_task_as_one_that_is_not_installed_does_there(orders: Database, extended_worker: Worker) -> None:
    connector = Connector(extended_worker, orders, "cents_java")
    connector.post({**SETTINGS, "cents.type": "com.example.Cents"})
    assert "cents.type names the Java class com.example.Cents" in connector.trace()
    connector.delete()
