"""AKHQ, by the published Java client that it uses (org.sourcelab:kafka-connect-client), driven as AKHQ drives it.

The client's classes decode each answer; a type that does not fit makes them fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.fix_clients import repair
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@dataclass(frozen=True, slots=True)
class Akhq:
    jvm: Any
    client: Any
    name: str

    @property
    def package(self) -> Any:
        return self.jvm.org.sourcelab.kafka.connect.apiclient

    def listed(self) -> tuple[str, dict[int, str | None]] | None:
        """The state and the tasks of the list's row: tasks of the definition joined with those of the status. None without a row.

        As with Kafka Connect, a connector has no row before its first state is written.
        """
        answer = self.client.getConnectorsWithAllExpandedMetadata()
        if self.name not in answer.getConnectorNames():
            return None
        definition, status = answer.getDefinitionForConnector(self.name), answer.getStatusForConnector(self.name)
        assert definition.getConfig()["connector.class"] == "io.debezium.connector.postgresql.PostgresConnector"
        states = {task.getId(): task.getState() for task in status.getTasks()}
        return status.getConnector()["state"], {task.getTask(): states.get(task.getTask()) for task in definition.getTasks()}

    def await_row(self, state: str, tasks: dict[int, str]) -> None:
        wait_until(lambda: self.listed() == (state, tasks), lambda: f"{self.listed()} to be {state}, {tasks}", SECONDS)


@pytest.fixture
def akhq(jvm: Any, target: Connector) -> Akhq:
    package = jvm.org.sourcelab.kafka.connect.apiclient
    return Akhq(jvm, package.KafkaConnectClient(package.Configuration(target.worker.url)), target.name)


def refusal(akhq: Akhq, call: Any) -> tuple[str, int, str]:
    """The class, code and message of the exception that the client throws."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - it comes with PySpark, see fix_clients

    with pytest.raises(Py4JJavaError) as raised:
        call()
    thrown = raised.value.java_exception
    code = thrown.getErrorCode() if "InvalidRequest" in thrown.getClass().getName() else 0
    return thrown.getClass().getSimpleName(), code, thrown.getMessage()


def test_a_connector_from_its_form_to_its_end(akhq: Akhq, target: Connector) -> None:
    dto = akhq.package.request.dto
    made = akhq.client.addConnector(dto.NewConnectorDefinition(akhq.name, target.config()))
    assert (made.getName(), made.getType(), made.getConfig()["name"]) == (akhq.name, "source", akhq.name)
    akhq.await_row("RUNNING", {0: "RUNNING"})
    changed = target.config({"heartbeat.interval.ms": "10000"})
    assert dict(akhq.client.updateConnectorConfig(akhq.name, changed).getConfig()) == {**changed, "name": akhq.name}
    assert dict(akhq.client.getConnectorConfig(akhq.name)) == {**changed, "name": akhq.name}
    akhq.await_row("RUNNING", {0: "RUNNING"})
    for verb, state in (("pauseConnector", "PAUSED"), ("resumeConnector", "RUNNING"), ("restartConnector", "RUNNING")):
        assert getattr(akhq.client, verb)(akhq.name) is True
        akhq.await_row(state, {0: state})
    assert akhq.client.restartConnectorTask(akhq.name, 0) is True
    akhq.await_row("RUNNING", {0: "RUNNING"})
    assert akhq.client.stopConnector(akhq.name) is True
    akhq.await_row("STOPPED", {})
    assert akhq.client.deleteConnector(akhq.name) is True
    assert akhq.name not in list(akhq.client.getConnectors())
    assert refusal(akhq, lambda: akhq.client.getConnector(akhq.name))[0] == "ResourceNotFoundException"


def test_the_form_knows_every_property(akhq: Akhq) -> None:
    dto = akhq.package.request.dto
    # AKHQ validates each listed plugin with only these two properties.
    for plugin in akhq.client.getConnectorPlugins():
        name = plugin.getClassName()
        body = {"connector.class": name, "topics": "getPlugins"}
        answer = akhq.client.validateConnectorPluginConfig(dto.ConnectorPluginConfigDefinition(name.split("/")[-1], body))
        fields = {config.getDefinition().getName(): config for config in answer.getConfigs()}
        assert {"database.hostname", "topic.prefix", "tasks.max", "slot.name"} <= fields.keys()
        definitions = [config.getDefinition() for config in fields.values()]
        assert all(each.getType() and each.getImportance() and each.getDisplayName() for each in definitions)
        # The form shows groups in their order, and each property at its place.
        assert {each.getGroup() for each in definitions} <= set(answer.getGroups())
        errors = [error for config in fields.values() for error in config.getValue().getErrors()]
        assert len(errors) == answer.getErrorCount() > 0
        assert {each.getName() for each in definitions if each.isRequired()} == {"name", "connector.class"}


def test_a_failed_task_shows_its_trace_and_is_restarted(akhq: Akhq, failing: Connector) -> None:
    [task] = akhq.client.getConnectorStatus(akhq.name).getTasks()
    assert (task.getState(), bool(task.getTrace()), bool(task.getWorkerId())) == ("FAILED", True, True)
    assert akhq.client.getConnectorTaskStatus(akhq.name, 0).getTrace() == task.getTrace()
    repair(failing)
    request = akhq.package.request.post.PostConnectorRestart(akhq.name).withIncludeTasks(True).withOnlyFailed(True)
    assert akhq.client.restartConnector(request) is True
    akhq.await_row("RUNNING", {0: "RUNNING"})
    [task] = akhq.client.getConnectorTasks(akhq.name)
    assert (task.getId().getConnector(), task.getId().getTask()) == (akhq.name, 0)
    assert "task.class" in dict(task.getConfig())


def test_topics_in_use(akhq: Akhq, target: Connector) -> None:
    target.create()
    wait_until(lambda: list(akhq.client.getConnectorTopics(akhq.name).getTopics()) == [f"{akhq.name}.public.t"], "the topic", SECONDS)
    target.await_confirmed(target.lsn())
    assert akhq.client.resetConnectorTopics(akhq.name) is True
    assert list(akhq.client.getConnectorTopics(akhq.name).getTopics()) == []


def test_refusals_are_the_exceptions_that_it_shows(akhq: Akhq, target: Connector) -> None:
    dto = akhq.package.request.dto
    wrong = dto.NewConnectorDefinition(akhq.name, target.config({"snapshot.mode": "sometimes"}))
    kind, code, message = refusal(akhq, lambda: akhq.client.addConnector(wrong))
    assert (kind, code) == ("InvalidRequestException", 400)
    assert "snapshot.mode" in message
    # It repeats what is in conflict, by this exception's class.
    target.create()
    twice = dto.NewConnectorDefinition(akhq.name, target.config())
    kind, _, message = refusal(akhq, lambda: akhq.client.addConnector(twice))
    assert (kind, message) == ("ConcurrentConfigModificationException", f"Connector {akhq.name} already exists")
    version = akhq.client.getConnectServerVersion()
    assert (version.getVersion(), bool(version.getCommit()), bool(version.getKafkaClusterId())) == ("4.3.0", True, True)
