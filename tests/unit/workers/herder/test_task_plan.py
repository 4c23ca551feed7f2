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
