"""Checking a configuration by REST on a real worker, with a real database to look at; and the status of a 2.3.4."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once

VALIDATE = "/connector-plugins/PostgresConnector/config/validate"


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Connector:
    database = pg.database("validation")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    return Connector(shared_worker, database, f"validation_{uuid.uuid4().hex[:8]}")


def checked(connector: Connector, changes: dict[str, str]) -> dict[str, Any]:
    answer = connector.worker.rest("PUT", VALIDATE, {**connector.config(changes), "name": connector.name})
    assert answer.status_code == httpx.codes.OK, answer.text
    body: dict[str, Any] = answer.json()
    return body


def errors(body: dict[str, Any]) -> dict[str, list[str]]:
    return {config["value"]["name"]: config["value"]["errors"] for config in body["configs"] if config["value"]["errors"]}


def test_a_valid_configuration_leaves_no_objects(connector: Connector) -> None:
    body = checked(connector, {})
    assert (body["error_count"], errors(body)) == (0, {})
    assert connector.name not in connector.worker.rest("GET", "/connectors").json()
    assert connector.slot() == {}


def test_the_database_is_asked(connector: Connector) -> None:
    body = checked(connector, {"database.dbname": "no_such_database"})
    assert body["error_count"] == 1
    [line] = errors(body)["database.hostname"]
    assert line.startswith("Error while validating connector config: ")
    assert "no_such_database" in line


def test_post_returns_the_same_errors(connector: Connector) -> None:
    changes = {"slot.name": "Bad Name", "max.batch.size": "x", "tasks.max": "0"}
    body = checked(connector, changes)
    message = [line for lines in errors(body).values() for line in lines]
    assert body["error_count"] == len(message) == 4
    refused = connector.worker.rest("POST", "/connectors", {"name": connector.name, "config": connector.config(changes)})
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert refused.json()["message"].splitlines()[1:-1] == message


def test_a_connector_of_2_3_4_has_that_versions_properties_and_status(connector: Connector) -> None:
    former = checked(connector, {"connector.plugin.version": "[2.3,2.4)"})
    names = {config["value"]["name"] for config in former["configs"]}
    listed = connector.worker.rest("GET", "/connector-plugins/Postgres/config?version=2.3.4.Final").json()
    assert {key["name"] for key in listed} <= names
    assert "lsn.flush.mode" not in names
    connector.create({"connector.plugin.version": "2.3.4.Final"})
    status = connector.worker.await_state(connector.name, "RUNNING")
    assert status["connector"] == {"state": "RUNNING", "worker_id": f"127.0.0.1:{connector.worker.port}"}
    assert status["tasks"] == [{"id": 0, "state": "RUNNING", "worker_id": f"127.0.0.1:{connector.worker.port}"}]
    connector.delete()
