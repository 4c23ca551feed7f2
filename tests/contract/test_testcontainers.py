"""Debezium's Testcontainers module: the calls of its container class, and the words that its enum knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import httpx
import pytest

from tests.support.connector import SECONDS, Connector
from tests.support.wire import Wire, read
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

Word = Literal["UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING", "DESTROYED"]


class State(Wire):
    state: Word


class Status(Wire):
    connector: State
    tasks: list[State]


class Container:
    """What tests written against the module call; any code below 300 will do to it."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def call(self, method: str, path: str, body: str | None = None) -> None:
        # Its bodies, even the empty ones of pause and resume, carry the encoding in their type.
        headers = {} if body is None else {"Content-Type": "application/json; charset=utf-8"}
        answer = self.http.request(method, path, content=body, headers=headers)
        assert answer.is_success, answer.text

    def registered(self) -> list[str]:
        return read(list[str], self.http.get("/connectors/"))

    def configured(self, name: str) -> bool:
        return self.http.get(f"/connectors/{name}").is_success

    def task(self, name: str, number: int) -> Word | None:
        """By place in the list; None beyond its end."""
        tasks = read(Status, self.http.get(f"/connectors/{name}/status")).tasks
        return tasks[number].state if number < len(tasks) else None

    def connector(self, name: str) -> Word:
        return read(Status, self.http.get(f"/connectors/{name}/status")).connector.state

    def prop(self, name: str, key: str) -> str:
        return read(dict[str, str], self.http.get(f"/connectors/{name}/config"))[key]


@pytest.fixture
def container(target: Connector) -> Iterator[Container]:
    with httpx.Client(base_url=target.worker.url, timeout=SECONDS) as http:
        yield Container(http)


def test_a_test_s_connector(container: Container, target: Connector) -> None:
    name = target.name
    # It writes what is a number or a boolean as such.
    config = {**target.config(), "tasks.max": 1, "tombstones.on.delete": False}
    container.call("POST", "/connectors/", json.dumps({"name": name, "config": config}))
    wait_until(lambda: container.configured(name), "the connector", SECONDS)
    target.await_phase("streaming")
    wait_until(lambda: container.task(name, 0) == "RUNNING", "the task to run", SECONDS)
    assert container.task(name, 1) is None
    assert container.prop(name, "tombstones.on.delete") == "false"
    container.call("PUT", f"/connectors/{name}/config", json.dumps({**config, "heartbeat.interval.ms": 10000}))
    wait_until(lambda: container.prop(name, "heartbeat.interval.ms") == "10000", "the property", SECONDS)
    for verb, word in (("pause", "PAUSED"), ("resume", "RUNNING")):
        container.call("PUT", f"/connectors/{name}/{verb}", "")
        wait_until(lambda word=word: container.connector(name) == word, f"the state {word}", SECONDS)  # type: ignore[misc]
    assert name in container.registered()
    container.call("DELETE", f"/connectors/{name}")
    wait_until(lambda: not container.configured(name), "the connector to be gone", SECONDS)
    assert name not in container.registered()


def test_a_failed_task_has_a_word_too(container: Container, failing: Connector) -> None:
    assert (container.connector(failing.name), container.task(failing.name, 0)) == ("RUNNING", "FAILED")
