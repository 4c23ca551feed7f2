"""The Terraform provider (Mongey) with the Go client below it: decoded as Go decodes, and waited for as it waits.

It asks again for two minutes after each change until the answer is what it sent, so that any property added, masked or changed
would keep ``terraform apply`` hanging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from tests.support.connector import SECONDS, Connector
from tests.support.wire import Refusal, Wire, read
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


class TaskId(Wire):
    connector: str = ""
    task: int = 0


class Info(Wire):
    name: str = ""
    config: dict[str, Any]
    tasks: list[TaskId]


class TaskStatus(Wire):
    id: int = 0
    state: str = ""
    worker_id: str = ""
    trace: str = ""


class Status(Wire):
    name: str = ""
    # Nothing but strings may be in here.
    connector: dict[str, str]
    tasks: list[TaskStatus]


class TaskDetails(Wire):
    id: TaskId
    config: dict[str, Any]


@pytest.fixture
def http(target: Connector) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=target.worker.url, headers={"Accept": "application/json"}, timeout=10) as client:
        yield client


def up_to_date(http: httpx.Client, name: str, config: Mapping[str, Any]) -> bool:
    """Same number of keys, and each the same when Go prints it."""
    answer = http.get(f"/connectors/{name}/config")
    if answer.status_code == httpx.codes.NOT_FOUND:
        return False
    wanted = {**config, "name": name}
    found = read(dict[str, Any], answer)
    return len(found) == len(wanted) and all(printed(wanted.get(key)) == printed(value) for key, value in found.items())


def printed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def await_state(http: httpx.Client, name: str, state: str) -> None:
    def look() -> bool:
        answer = http.get(f"/connectors/{name}/status")
        return answer.status_code == httpx.codes.OK and read(Status, answer).connector["state"] == state

    wait_until(look, f"{name} to be {state}", SECONDS)


def test_create_update_read_and_destroy(http: httpx.Client, target: Connector) -> None:
    name, path = target.name, f"/connectors/{target.name}"
    # In a resource "name" stands in the configuration as well, and sensitive values are merged into it.
    config: dict[str, Any] = {**target.config({"database.password": "${env:HOME}"}), "name": name}
    read(Info, http.post("/connectors", json={"name": name, "config": config}), 201)
    wait_until(lambda: http.get(path).status_code == httpx.codes.OK, "the connector", SECONDS)
    # What is read goes into Terraform's state: any difference would show in every plan.
    assert read(Info, http.get(path)).config == config
    await_state(http, name, "RUNNING")
    config |= {"heartbeat.interval.ms": "10000", "my.own.property": ""}
    read(Info, http.put(f"{path}/config", json=config), 200)
    wait_until(lambda: up_to_date(http, name, config), "the configuration", SECONDS)
    # Go's maps have no order.
    assert read(Info, http.put(f"{path}/config", json=dict(reversed(config.items()))), 200).config == config
    assert http.delete(path).status_code == httpx.codes.NO_CONTENT
    wait_until(lambda: http.get(path).status_code == httpx.codes.NOT_FOUND, "the connector to be gone", SECONDS)


def test_deploy_of_the_go_client(http: httpx.Client, target: Connector) -> None:
    """Its own ``deploy`` knows numbers and booleans, and writes only what differs."""
    config = {**target.config(), "tasks.max": 1, "tombstones.on.delete": False, "snapshot.fetch.size": 2000}
    assert not up_to_date(http, target.name, config)
    read(Info, http.put(f"/connectors/{target.name}/config", json=config), 201)
    wait_until(lambda: up_to_date(http, target.name, config), "the configuration", SECONDS)
    target.await_phase("streaming")
    for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING")):
        assert http.put(f"/connectors/{target.name}/{verb}").is_success
        await_state(http, target.name, state)
    [task] = read(list[TaskDetails], http.get(f"/connectors/{target.name}/tasks"))
    assert (task.id.connector, task.id.task) == (target.name, 0)
    wait_until(lambda: read(TaskStatus, http.get(f"/connectors/{target.name}/tasks/0/status")).state == "RUNNING", "the task", SECONDS)
    assert http.post(f"/connectors/{target.name}/tasks/0/restart").is_success
    assert http.post(f"/connectors/{target.name}/restart").is_success
    assert target.name in read(list[str], http.get("/connectors"))


def test_failures_are_not_reported_as_a_rebalance(http: httpx.Client, target: Connector) -> None:
    """The provider repeats a request while the answer has one of these words. A refusal must end ``apply`` at once."""
    config = target.config({"snapshot.mode": "sometimes"})
    answer = http.post("/connectors", json={"name": target.name, "config": config})
    assert not any(word in read(Refusal, answer, 400).message.lower() for word in ("rebalance", "conflicting operation", "409"))
    assert http.get(f"/connectors/{target.name}").status_code == httpx.codes.NOT_FOUND


def test_a_failed_task_s_connector_has_only_strings(http: httpx.Client, failing: Connector) -> None:
    status = read(Status, http.get(f"/connectors/{failing.name}/status"))
    assert status.connector.keys() >= {"state", "worker_id"}
    assert [(task.id, task.state, bool(task.trace)) for task in status.tasks] == [(0, "FAILED", True)]
