"""MBeans of Kafka Connect that describe the worker and the states of its connectors, in the domain ``kafka.connect``."""

from __future__ import annotations

from collections import Counter
from typing import Final

from connect_api.herder import Status
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import Attribute, MBean

DOMAIN: Final = "kafka.connect"
_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
_STATES: Final = ("failed", "paused", "restarting", "running", "unassigned")


def worker_bean(connectors: int, tasks: int) -> MBean:
    """Return the worker's counts: connectors that it runs, and tasks."""
    return MBean(DOMAIN, (("type", "connect-worker-metrics"),), {"connector-count": float(connectors), "task-count": float(tasks)})


def worker_connector_bean(name: str, status: Status) -> MBean:
    """Return how many tasks of the connector are in each state."""
    states = Counter(task.state.lower() for task in status.tasks.values())
    # A removed task leaves the status topic, so that none is ever seen as destroyed.
    counts: dict[str, Attribute] = {f"connector-{state}-task-count": states[state] for state in _STATES}
    counts |= {"connector-total-task-count": len(status.tasks), "connector-destroyed-task-count": 0}
    return MBean(DOMAIN, (("type", "connect-worker-metrics"), ("connector", key_value(name))), counts)


def connector_bean(name: str, state: str, version: str) -> MBean:
    """Return the connector's class, version and state, in the words that Kafka Connect's metrics use."""
    described: dict[str, Attribute] = {
        "connector-class": _CLASS,
        "connector-type": "source",
        "connector-version": version,
        "status": state.lower(),
    }
    return MBean(DOMAIN, (("type", "connector-metrics"), ("connector", key_value(name))), described)
