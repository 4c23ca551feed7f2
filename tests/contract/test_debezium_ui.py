"""Debezium UI: its calls to Connect itself. What it asks of Debezium's own REST extension is not there, and 404 says so."""

from __future__ import annotations

import httpx
import pytest

from tests.support.connector import Connector
from tests.support.wire import Wire, read, refused

pytestmark = pytest.mark.pg_once


class State(Wire):
    state: str
    worker_id: str


class TaskState(State):
    id: int
    trace: str | None = None


class Status(Wire):
    name: str
    connector: State
    tasks: list[TaskState]
    type: str


class Info(Wire):
    name: str
    config: dict[str, str]
    type: str


class Expanded(Wire):
    info: Info
    status: Status


def test_the_list_and_the_wizard(target: Connector) -> None:
    with httpx.Client(base_url=target.worker.url) as http:
        read(Info, http.post("/connectors/", json={"name": target.name, "config": target.config()}), 201)
        target.await_phase("streaming")
        listed = read(dict[str, Expanded], http.get("/connectors/", params={"expand": ["info", "status"]}))
        assert listed[target.name].status.connector.state == "RUNNING"
        read(Info, http.put(f"/connectors/{target.name}/config", json=target.config({"heartbeat.interval.ms": "10000"})), 200)


@pytest.mark.parametrize(
    "path", ["/debezium/connector-plugins", "/debezium/transforms", "/debezium/topic-creation-enabled", "/debezium/postgres/schema"]
)
def test_the_extension_is_not_there(target: Connector, path: str) -> None:
    with httpx.Client(base_url=target.worker.url) as http:
        assert refused(http.get(path), 404)
