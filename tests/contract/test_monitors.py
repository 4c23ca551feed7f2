"""Health checks and exporters: the published kafka-connect-healthcheck as it is, and what wakeful's exporter decodes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from kafka_connect_healthcheck.health import Health

from tests.fix_clients import repair
from tests.support.connector import Connector
from tests.support.wire import Wire, read

pytestmark = pytest.mark.pg_once


def health(connector: Connector, worker_id: str | None = None) -> dict[str, Any]:
    """What the check reports about all connectors of the worker, or about one of them."""
    url = connector.worker.url
    answer: dict[str, Any] = Health(url, worker_id, ["FAILED"], None, 0, ["connector", "task"]).get_health_result()
    return answer


def failures(answer: dict[str, Any], connector: Connector) -> list[dict[str, Any]]:
    return [failure for failure in answer["failures"] if failure["connector"] == connector.name]


def test_the_health_check_names_the_task_that_failed(failing: Connector) -> None:
    answer = health(failing)
    assert (answer["healthy"], answer["failure_rate"] > 0) == (False, True)
    [failure] = failures(answer, failing)
    assert (failure["type"], failure["connector"], failure["id"], failure["state"]) == ("task", failing.name, 0, "FAILED")
    assert failure["trace"]
    # The id is what worker_id says, and another worker is not to blame.
    assert health(failing, failure["worker_id"])["healthy"] is False
    assert health(failing, "10.0.0.9:8083")["failures"] == []
    repair(failing)
    failing.worker.rest("POST", f"/connectors/{failing.name}/restart?includeTasks=true&onlyFailed=true")
    failing.await_phase("streaming")
    assert failures(health(failing), failing) == []


class Stated(Wire):
    state: str
    worker_id: str


class Task(Stated):
    id: float


class Status(Wire):
    name: str
    connector: Stated
    tasks: list[Task]


def test_the_exporter_s_metrics(failing: Connector) -> None:
    """A value for each connector and each task: their lower-case state and worker are labels, the id is a number."""
    with httpx.Client(base_url=failing.worker.url) as http:
        names = read(list[str], http.get("/connectors"))
        statuses = {name: read(Status, http.get(f"/connectors/{name}/status")) for name in names}
    answer = statuses[failing.name]
    assert (answer.name, answer.connector.state.lower(), bool(answer.connector.worker_id)) == (failing.name, "running", True)
    known = {"unassigned", "running", "paused", "failed", "restarting"}
    states = {(int(task.id), task.state.lower()) for status in statuses.values() for task in status.tasks}
    assert (0, "failed") in states
    assert {state for _, state in states} <= known
