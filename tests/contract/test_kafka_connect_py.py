"""kafka-connect-py: the published client and its command, as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from kafka_connect import KafkaConnect
from kafka_connect.cli import cli
from requests.exceptions import HTTPError

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@pytest.fixture
def client(target: Connector) -> KafkaConnect:
    return KafkaConnect(url=target.worker.url)


def await_state(client: KafkaConnect, name: str, state: str, tasks: int = 1) -> None:
    def look() -> bool:
        # By the list: for a moment after its making a connector has no status, and the client raises what is 404.
        status = client.list_connectors(expand="status").get(name, {}).get("status")
        return bool(status) and status["connector"]["state"] == state and [task["state"] for task in status["tasks"]] == [state] * tasks

    wait_until(look, lambda: f"{name} to be {state}: {client.list_connectors(expand='status')}", SECONDS)


def test_a_connector_from_its_making_to_its_end(client: KafkaConnect, target: Connector) -> None:
    name, config = target.name, target.config()
    assert client.create_connector({"name": name, "config": config})["config"] == {**config, "name": name}
    await_state(client, name, "RUNNING")
    assert client.list_connectors(pattern=name) == [name]
    assert client.list_connectors(pattern=name, state="running") == [name]
    assert client.list_connectors(expand="status", pattern=name, state="running")[name]["status"]["name"] == name
    assert client.list_connectors(expand="info", pattern=name)[name]["info"]["config"] == {**config, "name": name}
    assert client.update_connector(name, {**config, "tasks.max": 1})["config"]["tasks.max"] == "1"
    assert client.get_connector_config(name)["tasks.max"] == "1"
    assert client.get_connector(name)["type"] == "source"
    await_state(client, name, "RUNNING")
    for verb, state, tasks in (("pause", "PAUSED", 1), ("resume", "RUNNING", 1), ("stop", "STOPPED", 0), ("resume", "RUNNING", 1)):
        assert getattr(client, f"{verb}_connector")(name) is None
        await_state(client, name, state, tasks)
    client.delete_connector(name)
    with pytest.raises(HTTPError, match="404"):
        client.get_connector(name)


def test_restarts(client: KafkaConnect, failing: Connector) -> None:
    assert client.get_connector_task_status(failing.name, 0)["state"] == "FAILED"
    repair(failing)
    # It sends Python's True and False.
    answer = client.restart_connector(failing.name, include_tasks=True, only_failed=True)
    assert [task["state"] for task in answer["tasks"]] == ["RESTARTING"]
    await_state(client, failing.name, "RUNNING")
    assert client.restart_connector(failing.name) is None
    client.restart_connector_task(failing.name, 0)
    client.restart_all_connectors(include_tasks=True, pattern=failing.name)
    await_state(client, failing.name, "RUNNING")
    [task] = client.list_connector_tasks(failing.name)
    assert task["id"] == {"connector": failing.name, "task": 0}
    with pytest.raises(HTTPError, match="Unknown connector: none"):
        client.restart_connector("none", include_tasks=True)


def test_topics(client: KafkaConnect, target: Connector) -> None:
    target.create()
    topics = {target.name: {"topics": [f"{target.name}.public.t"]}}
    wait_until(lambda: client.list_connector_topics(target.name) == topics, "the topic", SECONDS)
    target.await_confirmed(target.lsn())
    client.reset_connector_topics(target.name)
    assert client.list_connector_topics(target.name) == {target.name: {"topics": []}}


def test_validation(client: KafkaConnect, target: Connector) -> None:
    [plugin] = client.list_connector_plugins()
    body = {"name": target.name, **target.config({"snapshot.mode": "sometimes"})}
    for name in (plugin["class"], plugin["class"].rpartition(".")[2]):
        answer = client.validate_connector_config(name, body)
        wrong = [config["value"]["name"] for config in answer["configs"] if config["value"]["errors"]]
        assert (wrong, answer["error_count"]) == (["snapshot.mode"], 1)


@pytest.fixture
def kc(target: Connector) -> Callable[..., Any]:
    """The command ``kc``; what it prints, parsed."""

    def run(*words: str) -> Any:
        done = CliRunner().invoke(cli, ["--url", target.worker.url, *words])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


def test_the_command(kc: Callable[..., Any], target: Connector) -> None:
    assert kc("info")["version"] == "4.3.0"
    assert [plugin["type"] for plugin in kc("list-plugins")] == ["source"]
    kc("create", "--config-data", json.dumps({"name": target.name, "config": target.config()}))
    wait_until(lambda: kc("list", "--pattern", target.name, "--state", "RUNNING") == [target.name], "the connector to run", SECONDS)
    wait_until(lambda: [task["state"] for task in kc("status", target.name)["tasks"]] == ["RUNNING"], "the task to run", SECONDS)
    assert kc("config", target.name) == {**target.config(), "name": target.name}
    kc("delete", target.name)
    assert kc("list", "--pattern", target.name) == []
