"""kcctl: what its commands call, in their order, and what they take for granted of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from pydantic import Field

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from tests.support.wire import Wire, done, read, refused
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

PLUGIN_TYPES = {"SOURCE", "SINK", "TRANSFORMATION", "CONVERTER", "HEADER_CONVERTER", "PREDICATE"}
# Failures of apply and validate are recognised by how they begin.
NO_CLASS = "Failed to find any class that implements Connector"


class ConnectorState(Wire):
    state: str
    worker_id: str


class TaskState(Wire):
    id: int
    state: str
    worker_id: str
    trace: str | None = None


class Status(Wire):
    name: str
    connector: ConnectorState
    type: str
    tasks: list[TaskState]


class TaskId(Wire):
    connector: str
    task: int


class Info(Wire):
    name: str
    config: dict[str, str]
    tasks: list[TaskId]
    type: str


class Expanded(Wire):
    status: Status


class TaskConfig(Wire):
    id: TaskId
    config: dict[str, str]


class Cluster(Wire):
    version: str
    commit: str
    kafka_cluster_id: str


class Plugin(Wire):
    class_: str = Field(alias="class")
    type: str
    version: str | None


class Key(Wire):
    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    dependents: list[str]


class Value(Wire):
    name: str
    value: str | None
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


class Logger(Wire):
    level: str
    last_modified: int | None


class Offset(Wire):
    partition: dict[str, object]
    offset: dict[str, object]


class Offsets(Wire):
    offsets: list[Offset]


class Message(Wire):
    message: str


class Topics(Wire):
    topics: list[str]


@pytest.fixture
def http(target: Connector) -> Iterator[httpx.Client]:
    """JAX-RS sends both headers of its annotations, and follows no redirect."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    with httpx.Client(base_url=target.worker.url, headers=headers, timeout=SECONDS) as client:
        yield client


def version(http: httpx.Client) -> tuple[int, int]:
    """As ``Version`` reads it: two whole numbers in front."""
    major, minor, *_ = read(Cluster, http.get("/")).version.split(".")
    return int(major), int(minor)


def apply(http: httpx.Client, name: str, text: str) -> httpx.Response:
    """``kcctl apply -f``: POST of the file as it stands when the name is new, else PUT of what is below ``config``."""
    if name not in read(list[str], http.get("/connectors/")):
        return http.post("/connectors/", content=text)
    return http.put(f"/connectors/{name}/config", content=json.dumps(json.loads(text)["config"]))


def test_apply_describe_and_delete(http: httpx.Client, target: Connector) -> None:
    config = target.config()
    text = json.dumps({"name": target.name, "config": config})
    assert read(Info, apply(http, target.name, text), 201).name == target.name
    target.await_phase("streaming")
    # A second time it is an update, which kcctl takes with 200.
    assert read(Info, apply(http, target.name, text), 200).config == {**config, "name": target.name}

    assert version(http) >= (3, 6)  # offsets are altered from here on; what came before is offered too
    path = f"/connectors/{target.name}"
    info, status = read(Info, http.get(path)), read(Status, http.get(f"{path}/status"))
    assert (info.type, status.type) == ("source", "source")
    configs = {f"{task.id.connector}-{task.id.task}": task.config for task in read(list[TaskConfig], http.get(f"{path}/tasks"))}
    assert all(configs[f"{target.name}-{task.id}"] for task in status.tasks)
    wait_until(
        lambda: next(iter(read(dict[str, Topics], http.get(f"{path}/topics")).values())).topics == [f"{target.name}.public.t"],
        "the topic in use",
        SECONDS,
    )
    listed = read(dict[str, Expanded], http.get("/connectors", params={"expand": ["status"]}))
    assert listed[target.name].status.name == target.name
    done(http.delete(path), 204)
    assert refused(http.get(path), 404) == f"Connector {target.name} not found"


def test_apply_of_an_unknown_class_ends_with_the_plugins(http: httpx.Client, target: Connector) -> None:
    text = json.dumps({"name": target.name, "config": {"connector.class": "PostgresKonnector"}})
    assert refused(apply(http, target.name, text), 400).startswith(NO_CLASS)
    plugins = read(list[Plugin], http.get("/connector-plugins", params={"connectorsOnly": "false"}))
    assert {plugin.type.upper() for plugin in plugins} <= PLUGIN_TYPES
    connectors = [plugin for plugin in plugins if plugin.type.upper() in {"SOURCE", "SINK"}]
    assert [plugin.class_ for plugin in connectors] == ["io.debezium.connector.postgresql.PostgresConnector"]


def test_a_dry_run_prints_the_errors_of_each_property(http: httpx.Client, target: Connector) -> None:
    def dry_run(config: dict[str, str]) -> Validation:
        # The name after the last dot, and a name made up where the file has none.
        plugin = config["connector.class"].rpartition(".")[2]
        body = {"name": "dummy-name", **config}
        return read(Validation, http.put(f"/connector-plugins/{plugin}/config/validate", content=json.dumps(body)))

    assert dry_run(target.config()).error_count == 0
    wrong = target.config({"snapshot.mode": "sometimes"})
    del wrong["topic.prefix"]
    answer = dry_run(wrong)
    named = {checked.definition.name: checked.value.errors for checked in answer.configs if checked.value.errors}
    assert named.keys() == {"snapshot.mode", "topic.prefix"}
    assert answer.error_count == sum(len(errors) for errors in named.values())
    described = read(list[Key], http.get("/connector-plugins/PostgresConnector/config"))
    assert [key.name for key in described if key.required and key.default_value is not None] == []


def test_describe_and_restart_what_failed(http: httpx.Client, failing: Connector) -> None:
    path = f"/connectors/{failing.name}"
    [task] = read(Status, http.get(f"{path}/status")).tasks
    assert task.state == "FAILED"
    assert task.trace  # dereferenced without a look
    repair(failing)
    answer = read(Status, http.post(f"{path}/restart", params={"includeTasks": "true", "onlyFailed": "true"}), 202)
    assert [task.state for task in answer.tasks].count("RESTARTING") == 1
    failing.await_phase("streaming")
    # Nothing is FAILED now, so nothing restarts, and that is counted too.
    answer = read(Status, http.post(f"{path}/restart", params={"includeTasks": "true", "onlyFailed": "true"}), 202)
    assert [task.state for task in answer.tasks].count("RESTARTING") == 0
    done(http.post(f"{path}/restart"), 204)
    done(http.post(f"{path}/tasks/0/restart"), 204)


def test_offsets_are_printed_patched_and_deleted(http: httpx.Client, target: Connector) -> None:
    target.create()
    path = f"/connectors/{target.name}/offsets"
    wait_until(lambda: read(Offsets, http.get(path)).offsets, "an offset", SECONDS)
    assert "must be in the STOPPED state" in refused(http.delete(path), 400)
    done(http.put(f"/connectors/{target.name}/stop"), 204)
    target.worker.await_state(target.name, "STOPPED", tasks=0)
    printed = http.get(path).text
    read(Message, http.delete(path))
    assert read(Offsets, http.get(path)).offsets == []
    # What was printed is a body for the way back.
    assert read(Message, http.patch(path, content=printed)).message
    assert read(Offsets, http.get(path)) == Offsets.model_validate_json(printed)


def test_pause_and_resume(http: httpx.Client, target: Connector) -> None:
    target.create()
    done(http.put(f"/connectors/{target.name}/pause"), 202)
    target.worker.await_state(target.name, "PAUSED")
    done(http.put(f"/connectors/{target.name}/resume"), 202)
    target.worker.await_state(target.name, "RUNNING")


def test_every_level_it_offers_can_be_set(http: httpx.Client) -> None:
    path = "/admin/loggers/contract.kcctl"
    for level in ("ERROR", "WARN", "FATAL", "DEBUG", "INFO", "TRACE"):
        body = json.dumps({"level": level})
        assert read(list[str], http.put(path, content=body)) == ["contract.kcctl"]
        # Printed line by line: the loggers that changed, so none the second time.
        assert read(list[str], http.put(path, params={"scope": "worker"}, content=body)) == []
        done(http.put(path, params={"scope": "cluster"}, content=body), 204)
        assert read(Logger, http.get(path)).level == level
        assert read(dict[str, Logger], http.get("/admin/loggers"))["contract.kcctl"].level == level
