"""kafka-ui (kafbat): its client is generated, so that a word that its enums do not know, or a wrong type, empties the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import httpx
import pytest
from pydantic import Field

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from tests.support.wire import Wire, done, read, refused
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


class Task(Wire):
    connector: str
    task: int


class Definition(Wire):
    name: str
    config: dict[str, Any]
    tasks: list[Task]
    type: Literal["source", "sink", "unknown"]


class State(Wire):
    state: Literal["RUNNING", "FAILED", "PAUSED", "UNASSIGNED", "RESTARTING", "STOPPED"]
    worker_id: str
    trace: str | None = None


class TaskStatus(Wire):
    id: int
    state: Literal["RUNNING", "FAILED", "PAUSED", "RESTARTING", "UNASSIGNED"]
    worker_id: str
    trace: str | None = None


class Status(Wire):
    name: str
    connector: State
    tasks: list[TaskStatus]


class Expanded(Wire):
    status: Status
    info: Definition


class ConnectorTask(Wire):
    id: Task
    config: dict[str, Any]


class Key(Wire):
    name: str
    type: Literal["BOOLEAN", "CLASS", "DOUBLE", "INT", "LIST", "LONG", "PASSWORD", "SHORT", "STRING"]
    required: bool
    default_value: str | None
    importance: Literal["LOW", "MEDIUM", "HIGH"]
    documentation: str
    group: str | None
    width: Literal["SHORT", "MEDIUM", "LONG", "NONE"]
    display_name: str
    dependents: list[str]
    order: int | None = None


class Value(Wire):
    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool


class Checked(Wire):
    definition: Key
    value: Value


class Validation(Wire):
    name: str
    error_count: int
    groups: list[str]
    configs: list[Checked]


class Topics(Wire):
    topics: list[str]


class Plugin(Wire):
    class_: str = Field(alias="class")


@pytest.fixture
def http(target: Connector) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=target.worker.url, headers={"Accept": "application/json"}, timeout=SECONDS) as client:
        yield client


def listed(http: httpx.Client) -> dict[str, Expanded]:
    return read(dict[str, Expanded], http.get("/connectors", params={"expand": ["info", "status"]}))


def test_the_pages_of_a_connector(http: httpx.Client, target: Connector) -> None:
    name, path = target.name, f"/connectors/{target.name}"
    config: dict[str, Any] = {**target.config(), "tasks.max": 1, "tombstones.on.delete": False}
    # It looks whether the name is taken, creates, and reads what it has created.
    assert name not in listed(http)
    read(Definition, http.post("/connectors", json={"name": name, "config": config}), 201)
    read(Definition, http.get(path))
    target.await_phase("streaming")
    assert listed(http)[name].status.connector.state == "RUNNING"
    # The editor shows the configuration, and sends it back as the user left it: with numbers and booleans.
    kept = read(dict[str, Any], http.get(f"{path}/config"))
    assert (kept["tasks.max"], kept["tombstones.on.delete"], kept["name"]) == ("1", "false", name)
    read(Definition, http.put(f"{path}/config", json={**kept, "heartbeat.interval.ms": 10000}), 200)
    target.await_phase("streaming")
    [task] = read(list[ConnectorTask], http.get(f"{path}/tasks"))
    read(TaskStatus, http.get(f"{path}/tasks/{task.id.task}/status"))
    topics = f"{path}/topics"
    # The changed configuration asks for heartbeats, and the first is sent at once.
    used = {f"{name}.public.t", f"__debezium-heartbeat.{name}"}
    wait_until(lambda: set(read(dict[str, Topics], http.get(topics))[name].topics) == used, "both topics", SECONDS)
    done(http.delete(path), 204)
    refused(http.get(path), 404)


def test_each_state_has_a_word_that_it_knows(http: httpx.Client, target: Connector) -> None:
    target.create()
    for verb, code, state in (("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED"), ("resume", 202, "RUNNING")):
        done(http.put(f"/connectors/{target.name}/{verb}"), code)
        tasks = [] if state == "STOPPED" else [state]

        def look(state: str = state, tasks: list[str] = tasks) -> bool:
            # Every answer on the way is decoded too.
            status = listed(http)[target.name].status
            return status.connector.state == state and [task.state for task in status.tasks] == tasks

        wait_until(look, f"the state {state}", SECONDS)


def test_restart_of_failed_tasks(http: httpx.Client, failing: Connector) -> None:
    # The tasks to restart are those of /tasks whose /status is FAILED.
    path = f"/connectors/{failing.name}"
    failed = [
        task.id.task
        for task in read(list[ConnectorTask], http.get(f"{path}/tasks"))
        if read(TaskStatus, http.get(f"{path}/tasks/{task.id.task}/status")).state == "FAILED"
    ]
    assert failed == [0]
    assert listed(http)[failing.name].status.tasks[0].trace
    repair(failing)
    done(http.post(f"{path}/tasks/0/restart"), 204)
    wait_until(lambda: listed(http)[failing.name].status.tasks[0].state == "RUNNING", "the task to run", SECONDS)
    done(http.post(f"{path}/restart", params={"includeTasks": "false", "onlyFailed": "false"}), 204)


def test_offsets_are_reset_only_in_a_stopped_connector(http: httpx.Client, target: Connector) -> None:
    target.create()
    path = f"/connectors/{target.name}/offsets"
    # 400 becomes "make sure it is STOPPED", 404 "not found"; another code would be shown as a failure of the worker.
    refused(http.delete(path), 400)
    refused(http.delete("/connectors/none/offsets"), 404)
    target.stop()
    assert http.delete(path).status_code == httpx.codes.OK


def test_the_form_is_decoded_whole(http: httpx.Client, target: Connector) -> None:
    [plugin] = read(list[Plugin], http.get("/connector-plugins"))
    body = {**target.config({"snapshot.mode": "sometimes"}), "name": target.name, "max.batch.size": 512}
    answer = read(Validation, http.put(f"/connector-plugins/{plugin.class_}/config/validate", json=body))
    assert [checked.value.name for checked in answer.configs if checked.value.errors] == ["snapshot.mode"]
    assert len(answer.configs) > 100


def test_a_refused_configuration_has_the_body_that_it_insists_on(http: httpx.Client, target: Connector) -> None:
    target.create()
    bad = target.config({"snapshot.mode": "sometimes"})
    assert "snapshot.mode" in refused(http.put(f"/connectors/{target.name}/config", json=bad), 400)
    # Repeated five times, then shown as a conflict.
    assert refused(http.post("/connectors", json={"name": target.name, "config": target.config()}), 409)
