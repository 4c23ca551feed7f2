"""Redpanda Console, decoded as its Go client (cloudhut/connect-client) decodes: configurations are maps of strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from tests.support.wire import Wire, done, read, refused
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
# What its form for this class asks for, as far as Debezium 3.6.3.Final has it; one that is missing is missing in the form.
FORM: Final = """
binary.handling.mode column.exclude.list column.include.list column.propagate.source.type converters database.dbname
database.hostname database.initial.statements database.password database.port database.tcpKeepAlive database.user
datatype.propagate.source.type decimal.handling.mode event.processing.failure.handling.mode flush.lsn.source
header.converter heartbeat.action.query heartbeat.interval.ms heartbeat.topics.prefix hstore.handling.mode
include.schema.comments include.unknown.datatypes incremental.snapshot.chunk.size
internal.snapshot.scan.all.columns.force interval.handling.mode key.converter max.batch.size max.queue.size
max.queue.size.in.bytes message.key.columns message.prefix.exclude.list message.prefix.include.list name
offsets.storage.topic plugin.name poll.interval.ms provide.transaction.metadata publication.autocreate.mode
publication.name query.fetch.size retriable.restart.connector.wait.ms schema.exclude.list schema.include.list
schema.name.adjustment.mode schema.refresh.mode signal.data.collection skipped.operations slot.drop.on.stop
slot.max.retries slot.name slot.retry.delay.ms slot.stream.params snapshot.delay.ms snapshot.fetch.size
snapshot.include.collection.list snapshot.lock.timeout.ms snapshot.max.threads snapshot.mode
snapshot.select.statement.overrides status.update.interval.ms table.exclude.list table.ignore.builtin table.include.list
time.precision.mode tombstones.on.delete topic.creation.groups topic.naming.strategy topic.prefix
unavailable.value.placeholder value.converter xmin.fetch.interval.ms
"""


class TaskId(Wire):
    connector: str = ""
    task: int = 0


class Info(Wire):
    name: str = ""
    config: dict[str, str]
    tasks: list[TaskId]
    type: str = ""


class State(Wire):
    state: str = ""
    worker_id: str = ""
    trace: str = ""


class TaskState(State):
    id: int = 0


class Status(Wire):
    name: str = ""
    connector: State
    tasks: list[TaskState]
    type: str = ""


class Expanded(Wire):
    info: Info
    status: Status


class Checked(Wire):
    definition: dict[str, Any]
    value: dict[str, Any]


class Validation(Wire):
    name: str = ""
    error_count: int = 0
    groups: list[str]
    configs: list[Checked]


class Topics(Wire):
    topics: list[str]


@pytest.fixture
def http(target: Connector) -> Iterator[httpx.Client]:
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    with httpx.Client(base_url=target.worker.url, headers=headers, timeout=SECONDS) as client:
        yield client


def listed(http: httpx.Client, name: str) -> Expanded | None:
    """None as long as the connector has no status: as in Connect, it is not listed then."""
    return read(dict[str, Expanded], http.get("/connectors", params={"expand": ["info", "status"]})).get(name)


def health(both: Expanded | None) -> str:
    """What the console shows: a connector that runs without tasks is unhealthy to it."""
    if both is None:
        return "ABSENT"
    states = [task.state for task in both.status.tasks]
    if both.status.connector.state != "RUNNING":
        return both.status.connector.state
    return "HEALTHY" if states and set(states) == {"RUNNING"} else "UNHEALTHY"


def test_a_connector_from_the_form_to_its_end(http: httpx.Client, target: Connector) -> None:
    name, path = target.name, f"/connectors/{target.name}"
    assert http.get("/").status_code == httpx.codes.OK
    config = {**target.config(), "name": name, "tasks.max": "1", "slot.max.retries": 6, "tombstones.on.delete": True}
    made = read(Info, http.post("/connectors", json={"name": name, "config": config}), 201)
    assert (made.config["slot.max.retries"], made.config["tombstones.on.delete"]) == ("6", "true")
    wait_until(lambda: health(listed(http, name)) == "HEALTHY", "it to be healthy", SECONDS)
    assert read(Info, http.get(path)).config == read(dict[str, str], http.get(f"{path}/config")) == made.config
    read(Info, http.put(f"{path}/config", json={**made.config, "slot.max.retries": 7}), 200)
    wait_until(lambda: health(listed(http, name)) == "HEALTHY", "it to be healthy again", SECONDS)
    for verb, code, state in (("pause", 202, "PAUSED"), ("stop", 204, "STOPPED"), ("resume", 202, "HEALTHY")):
        done(http.put(f"{path}/{verb}"), code)
        wait_until(lambda state=state: health(listed(http, name)) == state, f"it to be {state}", SECONDS)  # type: ignore[misc]
    topics = f"{path}/topics"
    wait_until(lambda: read(dict[str, Topics], http.get(topics))[name].topics == [f"{name}.public.t"], "the topic", SECONDS)
    done(http.put(f"{path}/topics/reset"), 202)
    done(http.delete(path), 204)
    refused(http.get(path), 404)


def test_the_form_finds_its_properties(http: httpx.Client) -> None:
    answer = read(Validation, http.put(f"/connector-plugins/{CLASS}/config/validate", json={"connector.class": CLASS, "name": "new"}))
    found = {checked.definition["name"]: checked for checked in answer.configs}
    assert sorted(set(FORM.split()) - found.keys()) == []
    assert {checked.definition["type"] for checked in answer.configs} <= {"STRING", "PASSWORD", "INT", "LONG", "BOOLEAN", "LIST", "CLASS"}
    # Lists to choose from.
    assert {"initial", "no_data", "always"} <= set(found["snapshot.mode"].value["recommended_values"])


def test_a_failed_task_shows_the_reason_and_is_restarted(http: httpx.Client, failing: Connector) -> None:
    both = listed(http, failing.name)
    assert both is not None
    assert health(both) == "UNHEALTHY"
    assert both.status.tasks[0].trace
    repair(failing)
    # Both flags are always sent, and only the code is looked at.
    restart = f"/connectors/{failing.name}/restart"
    assert http.post(restart, params={"includeTasks": "true", "onlyFailed": "true"}).is_success
    wait_until(lambda: health(listed(http, failing.name)) == "HEALTHY", "it to be healthy", SECONDS)
    assert http.post(restart, params={"includeTasks": "false", "onlyFailed": "false"}).is_success
    done(http.post(f"/connectors/{failing.name}/tasks/0/restart"), 204)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/connectors/none", 404), ("PUT", "/connectors/none/stop", 404), ("PUT", "/connector-plugins/None/config/validate", 500)],
)
def test_an_error_is_known_by_its_code(http: httpx.Client, method: str, path: str, code: int) -> None:
    assert refused(http.request(method, path, json={} if path.endswith("validate") else None), code)
