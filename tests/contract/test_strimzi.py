"""Strimzi's operator, by the HTTP client that it uses: Java's own, which offers HTTP/2 with every request to a plain address.

A reconciliation compares configurations as whole maps and takes one status code for each call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from tests.support.wire import Refusal, Wire
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"


class State(Wire):
    state: str
    worker_id: str


class TaskState(State):
    id: int


class Status(Wire):
    name: str
    connector: State
    tasks: list[TaskState]
    type: str


@dataclass(frozen=True, slots=True)
class Operator:
    """The calls of the operator's client; each accepts the codes that the operator accepts."""

    jvm: Any
    url: str
    client: Any

    def call(self, method: str, path: str, body: object = None, *, accepted: int | tuple[int, ...] = 200) -> str:
        http = self.jvm.java.net.http
        publisher = http.HttpRequest.BodyPublishers
        content = publisher.noBody() if body is None else publisher.ofString(json.dumps(body))
        request = http.HttpRequest.newBuilder().uri(self.jvm.java.net.URI.create(self.url + path)).method(method, content)
        request = request.setHeader("Accept", "application/json")
        if body is not None:
            request = request.setHeader("Content-Type", "application/json")
        answer = self.client.send(request.build(), http.HttpResponse.BodyHandlers.ofString())
        codes = (accepted,) if isinstance(accepted, int) else accepted
        assert answer.statusCode() in codes, f"{method} {path}: {answer.statusCode()} {answer.body()}"
        text: str = answer.body()
        return text

    def config(self, name: str) -> dict[str, str] | None:
        """None means that the connector is to be created."""
        shown = json.loads(self.call("GET", f"/connectors/{name}/config", accepted=(200, 404)))
        return None if "error_code" in shown else shown

    def status(self, name: str) -> Status:
        return Status.model_validate_json(self.call("GET", f"/connectors/{name}/status"))

    def awaited(self, name: str) -> Status:
        """The status is asked for again while it is 404."""

        def look() -> Status | None:
            shown = self.call("GET", f"/connectors/{name}/status", accepted=(200, 404))
            return None if "error_code" in json.loads(shown) else Status.model_validate_json(shown)

        return wait_until(look, f"the status of {name}", SECONDS)


@pytest.fixture
def operator(jvm: Any, target: Connector) -> Operator:
    return Operator(jvm, target.worker.url, jvm.java.net.http.HttpClient.newHttpClient())


def desired(config: Mapping[str, str], name: str) -> dict[str, str]:
    """What the operator adds to a resource's own ``config`` before it compares."""
    return {**config, "tasks.max": "1", "name": name, "connector.class": CLASS}


def reconcile(operator: Operator, name: str, config: Mapping[str, str], state: str = "RUNNING") -> list[str]:
    """One round; what it changed. It accepts four states of a connector, and these codes for each move from one to the other."""
    changes = []
    current = operator.config(name)
    body = {"connector.class": CLASS, "tasks.max": 1, **config}
    if current is None:
        operator.call("POST", "/connectors", {"name": name, "config": body, "initial_state": state}, accepted=201)
        changes.append("created")
    elif current != desired(config, name):
        operator.call("PUT", f"/connectors/{name}/config", body, accepted=(200, 201))
        changes.append("configured")
    found = operator.awaited(name).connector.state
    verbs: dict[str, Callable[[], str]] = {
        "RUNNING": lambda: operator.call("PUT", f"/connectors/{name}/resume", accepted=202),
        "PAUSED": lambda: operator.call("PUT", f"/connectors/{name}/pause", accepted=202),
        "STOPPED": lambda: operator.call("PUT", f"/connectors/{name}/stop", accepted=204),
    }
    assert found in {*verbs, "UNASSIGNED", "RESTARTING", "FAILED"}
    if found in verbs and found != state:
        assert verbs[state]() == ""
        changes.append(f"{found} to {state}")
    return changes


def test_a_resource_is_created_once_and_then_not_changed(operator: Operator, target: Connector) -> None:
    config = target.config({"heartbeat.interval.ms": "10000", "database.password": "${env:HOME}", "_unknown.property": "stays"})
    del config["connector.class"]
    assert reconcile(operator, target.name, config) == ["created"]
    target.await_phase("streaming")
    assert reconcile(operator, target.name, config) == []
    assert [task.state for task in operator.status(target.name).tasks] == ["RUNNING"]
    # A change is written once.
    config["heartbeat.interval.ms"] = "20000"
    assert reconcile(operator, target.name, config) == ["configured"]
    target.await_phase("streaming")
    assert reconcile(operator, target.name, config) == []
    # Topics go into the resource's status.
    path = f"/connectors/{target.name}/topics"
    wait_until(lambda: f"{target.name}.public.t" in json.loads(operator.call("GET", path))[target.name]["topics"], "the topic", SECONDS)


def test_a_resource_goes_through_the_states(operator: Operator, target: Connector) -> None:
    config = target.config()
    del config["connector.class"]
    assert reconcile(operator, target.name, config, "STOPPED") == ["created"]
    assert operator.status(target.name).tasks == []
    assert reconcile(operator, target.name, config, "STOPPED") == []
    found = "STOPPED"
    for state in ("RUNNING", "PAUSED", "STOPPED", "PAUSED", "RUNNING"):
        assert reconcile(operator, target.name, config, state) == [f"{found} to {state}"]
        wait_until(lambda state=state: operator.status(target.name).connector.state == state, f"the state {state}", SECONDS)  # type: ignore[misc]
        assert reconcile(operator, target.name, config, state) == []
        found = state


def test_a_failed_task_is_restarted_automatically(operator: Operator, failing: Connector) -> None:
    status = operator.status(failing.name)
    assert (status.connector.state, [(task.id, task.state) for task in status.tasks]) == ("RUNNING", [(0, "FAILED")])
    repair(failing)
    shown = operator.call("POST", f"/connectors/{failing.name}/restart?includeTasks=true&onlyFailed=true", accepted=202)
    assert isinstance(json.loads(shown), dict)
    failing.await_phase("streaming")
    # By annotation: with tasks or without, and a task alone.
    assert operator.call("POST", f"/connectors/{failing.name}/restart?includeTasks=false&onlyFailed=false", accepted=204) == ""
    assert operator.call("POST", f"/connectors/{failing.name}/tasks/0/restart", accepted=204) == ""


def test_offsets_are_listed_altered_and_reset(operator: Operator, target: Connector) -> None:
    target.create()
    path = f"/connectors/{target.name}/offsets"
    wait_until(lambda: json.loads(operator.call("GET", path))["offsets"], "an offset", SECONDS)
    operator.call("PUT", f"/connectors/{target.name}/stop", accepted=204)
    wait_until(lambda: operator.status(target.name).connector.state == "STOPPED", "the stop", SECONDS)
    listed = json.loads(operator.call("GET", path))
    for method, body in (("DELETE", None), ("PATCH", listed)):
        shown = json.loads(operator.call(method, path, body))
        assert {type(value) for value in shown.values()} == {str}  # read as a map of strings
        assert shown["message"]
    assert json.loads(operator.call("GET", path)) == listed


def test_loggers_of_a_resource(operator: Operator, target: Connector) -> None:
    # The list is what the operator compares with; it sets every difference for all workers.
    before = json.loads(operator.call("GET", "/admin/loggers/"))
    assert all(isinstance(logger["level"], str) for logger in before.values())
    assert "root" in before
    operator.call("PUT", "/admin/loggers/io.debezium.contract?scope=cluster", {"level": "WARN"}, accepted=(200, 204))
    assert json.loads(operator.call("GET", "/admin/loggers/"))["io.debezium.contract"]["level"] == "WARN"


def test_deletion_is_over_when_the_status_is_gone(operator: Operator, target: Connector) -> None:
    target.create()
    assert operator.call("DELETE", f"/connectors/{target.name}", accepted=204) == ""
    shown = wait_until(
        lambda: (
            text if (text := operator.call("GET", f"/connectors/{target.name}/status", accepted=(200, 404))).startswith('{"error') else None
        ),
        "the status to be gone",
        SECONDS,
    )
    assert Refusal.model_validate_json(shown).message == f"No status found for connector {target.name}"
    assert target.name not in json.loads(operator.call("GET", "/connectors"))


def test_a_refusal_is_shown_in_the_resource(operator: Operator, target: Connector) -> None:
    body = {"name": target.name, "config": target.config({"snapshot.mode": "sometimes"})}
    shown = Refusal.model_validate_json(operator.call("POST", "/connectors", body, accepted=400))
    assert "snapshot.mode" in shown.message
    [plugin] = json.loads(operator.call("GET", "/connector-plugins"))
    assert plugin.keys() >= {"class", "type", "version"}


def test_mirror_names_keep_their_arrow(operator: Operator, target: Connector) -> None:
    # A connector's name may hold "->", which the operator sends escaped.
    assert operator.config("a%2D%3Eb") is None
    shown = operator.call("GET", "/connectors/a%2D%3Eb/status", accepted=404)
    assert "a->b" in Refusal.model_validate_json(shown).message


def test_probes_of_the_pod(operator: Operator) -> None:
    assert json.loads(operator.call("GET", "/health"))["status"] == "healthy"
