"""kafka-connect-ui (Landoop): what its pages fetch, and the members that they show. They send both headers with every call."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from pydantic import Field

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from tests.support.wire import Wire, done, read, refused
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


class TaskId(Wire):
    connector: str
    task: int


class Task(Wire):
    id: TaskId
    config: dict[str, str]


class Info(Wire):
    name: str
    config: dict[str, str]


class State(Wire):
    state: str


class TaskState(Wire):
    id: int
    state: str
    trace: str | None = None


class Status(Wire):
    connector: State
    tasks: list[TaskState]


class Plugin(Wire):
    class_: str = Field(alias="class")


class Definition(Wire):
    name: str
    required: bool
    default_value: str | None
    documentation: str


class Value(Wire):
    name: str
    errors: list[str]


class Checked(Wire):
    definition: Definition
    value: Value


class Validation(Wire):
    error_count: int
    configs: list[Checked]


@pytest.fixture
def http(target: Connector) -> Iterator[httpx.Client]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    with httpx.Client(base_url=target.worker.url, headers=headers, timeout=SECONDS) as client:
        yield client


def state(http: httpx.Client, name: str) -> tuple[str, list[str]]:
    status = read(Status, http.get(f"/connectors/{name}/status"))
    return status.connector.state, [task.state for task in status.tasks]


def test_the_pages_of_a_connector(http: httpx.Client, target: Connector) -> None:
    name, path = target.name, f"/connectors/{target.name}"
    [plugin] = read(list[Plugin], http.get("/connector-plugins/"))
    # The form validates by class while one types, and shows what is wrong beside its line.
    body = {**target.config(), "name": name, "snapshot.mode": "sometimes"}
    answer = read(Validation, http.put(f"/connector-plugins/{plugin.class_}/config/validate", json=body))
    shown = [error for checked in answer.configs for error in checked.value.errors]
    assert (answer.error_count, len(shown)) == (1, 1)
    # Name apart from the configuration, as its form makes it.
    read(Info, http.post("/connectors", json={"name": name, "config": target.config()}), 201)
    target.await_phase("streaming")
    # The list: names, then each connector and its status.
    assert name in read(list[str], http.get("/connectors"))
    assert read(Info, http.get(path)).config["connector.class"] == plugin.class_
    assert state(http, name) == ("RUNNING", ["RUNNING"])
    assert [task.id.task for task in read(list[Task], http.get(f"{path}/tasks"))] == [0]
    # The editor sends the whole configuration, with the name in it.
    config = read(dict[str, str], http.get(f"{path}/config"))
    read(Info, http.put(f"{path}/config", json={**config, "heartbeat.interval.ms": "10000"}), 200)
    for verb, word in (("pause", "PAUSED"), ("resume", "RUNNING")):
        done(http.put(f"{path}/{verb}"), 202)
        wait_until(lambda word=word: state(http, name) == (word, [word]), f"{name} to be {word}", SECONDS)  # type: ignore[misc]
    done(http.delete(path), 204)
    # Its page of a connector that is gone looks for this number.
    assert refused(http.get(path), 404)


def test_restarts_from_the_page(http: httpx.Client, failing: Connector) -> None:
    status = read(Status, http.get(f"/connectors/{failing.name}/status"))
    assert status.tasks[0].trace
    repair(failing)
    done(http.post(f"/connectors/{failing.name}/tasks/0/restart"), 204)
    wait_until(lambda: state(http, failing.name) == ("RUNNING", ["RUNNING"]), "it to run", SECONDS)
    done(http.post(f"/connectors/{failing.name}/restart"), 204)
