from __future__ import annotations

import pytest

from workers.herder.supervisor import RetryPolicy
from workers.herder.task_plan import TaskPlanner
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog
from workers.stores.offset_store import AllOffsets


@pytest.mark.parametrize(
    ("config", "policy"),
    [
        ({}, RetryPolicy(None, -1)),
        ({"retriable.restart.connector.wait.ms": "10000"}, RetryPolicy(10.0, -1)),
        ({"retriable.restart.connector.wait.ms": " 250 ", "errors.max.retries": "3"}, RetryPolicy(0.25, 3)),
        ({"retriable.restart.connector.wait.ms": "soon"}, RetryPolicy(None, -1)),
    ],
)
def test_only_a_pause_that_is_given_is_fixed(config: dict[str, str], policy: RetryPolicy) -> None:
    planner = TaskPlanner(WorkerSettings.from_properties({}), AllOffsets(MemoryLog()), lambda *_: None)
    assert planner.retry_policy(config) == policy


async def started(config: dict[str, str], caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log's lines about properties when a task of ``config`` is planned."""
    planner = TaskPlanner(WorkerSettings.from_properties({"bootstrap.servers": "localhost:9092"}), AllOffsets(MemoryLog()), lambda *_: None)
    await planner.context("c", {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", **config})
    return [str(record.__dict__["fields"]["properties"]) for record in caplog.records if "properties" in record.__dict__.get("fields", {})]


async def test_a_plain_json_converter_names_the_options_that_it_does_not_know(caplog: pytest.LogCaptureFixture) -> None:
    own = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
    assert await started(own, caplog) == []
    assert await started({**own, "value.converter.schema.enable": "secret"}, caplog) == ["value.converter.schema.enable"]


def test_a_converter_that_debezium_renamed_is_refused_with_its_present_name() -> None:
    planner = TaskPlanner(WorkerSettings.from_properties({}), AllOffsets(MemoryLog()), lambda *_: None)
    config = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
    [(key, line)] = planner.refusals({**config, "value.converter": "io.debezium.converters.ByteBufferConverter"})
    assert key == "value.converter"
    assert "renamed this converter to io.debezium.converters.BinaryDataConverter" in line
