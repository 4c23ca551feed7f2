"""MBeans of Kafka Connect that describe the worker and its connectors, in the domain ``kafka.connect``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from connect_api.herder import Status
from workers.telemetry.beans.attribute import Row, attributes
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean
from workers.telemetry.worker_meter import WorkerMeter

DOMAIN: Final = "kafka.connect"
CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """Connectors and running tasks of the worker, and what it has counted."""

    connectors: int
    tasks: int
    meter: WorkerMeter


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """A connector's states, and the version of Debezium that it emulates."""

    status: Status
    version: str


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _tasks(facts: ConnectorFacts, state: str) -> int:
    return Counter(task.state.lower() for task in facts.status.tasks.values())[state]


WORKER: Final[tuple[Row[WorkerFacts], ...]] = (
    Row("connector-count", "exact", "connectors that this worker runs", lambda facts: float(facts.connectors)),
    Row("task-count", "exact", "their tasks, also paused and failed ones", lambda facts: float(facts.tasks)),
    Row("connector-startup-attempts-total", "exact", "starts of connectors", lambda facts: float(facts.meter.connector_starts)),
    Row(
        "connector-startup-success-total",
        "exact",
        "starts that succeeded",
        lambda facts: float(facts.meter.connector_starts - facts.meter.connector_failures),
    ),
    Row("connector-startup-failure-total", "exact", "starts that failed", lambda facts: float(facts.meter.connector_failures)),
    Row(
        "connector-startup-success-percentage",
        "nearest",
        "their share of all starts, from 0 to 1; Connect's covers the last minute",
        lambda facts: _share(facts.meter.connector_starts - facts.meter.connector_failures, facts.meter.connector_starts),
    ),
    Row(
        "connector-startup-failure-percentage",
        "nearest",
        "likewise",
        lambda facts: _share(facts.meter.connector_failures, facts.meter.connector_starts),
    ),
    Row(
        "task-startup-attempts-total",
        "nearest",
        "starts of tasks, without retries; Connect 4.3.0 shows 0 while they run",
        lambda facts: float(facts.meter.task_starts),
    ),
    Row(
        "task-startup-success-total",
        "nearest",
        "starts whose task did not fail before it read anything",
        lambda facts: float(facts.meter.task_starts - facts.meter.task_failures),
    ),
    Row("task-startup-failure-total", "nearest", "the other starts", lambda facts: float(facts.meter.task_failures)),
    Row(
        "task-startup-success-percentage",
        "nearest",
        "their share of all starts, from 0 to 1",
        lambda facts: _share(facts.meter.task_starts - facts.meter.task_failures, facts.meter.task_starts),
    ),
    Row(
        "task-startup-failure-percentage",
        "nearest",
        "likewise",
        lambda facts: _share(facts.meter.task_failures, facts.meter.task_starts),
    ),
)
WORKER_CONNECTOR: Final[tuple[Row[ConnectorFacts], ...]] = (
    Row("connector-total-task-count", "exact", "tasks of the connector", lambda facts: len(facts.status.tasks)),
    Row("connector-running-task-count", "exact", "those that are RUNNING", lambda facts: _tasks(facts, "running")),
    Row("connector-paused-task-count", "exact", "those that are PAUSED", lambda facts: _tasks(facts, "paused")),
    Row("connector-failed-task-count", "exact", "those that are FAILED", lambda facts: _tasks(facts, "failed")),
    Row("connector-restarting-task-count", "exact", "those that are RESTARTING", lambda facts: _tasks(facts, "restarting")),
    Row("connector-unassigned-task-count", "exact", "those that are UNASSIGNED", lambda facts: _tasks(facts, "unassigned")),
    Row(
        "connector-destroyed-task-count",
        "no meaning here",
        "always 0: a removed task leaves the status topic",
        lambda _facts: 0,
    ),
)
CONNECTOR: Final[tuple[Row[ConnectorFacts], ...]] = (
    Row("connector-class", "exact", "Debezium's class", lambda _facts: CLASS),
    Row("connector-type", "exact", "`source`", lambda _facts: "source"),
    Row("connector-version", "exact", "the emulated version of Debezium", lambda facts: facts.version),
    Row("status", "exact", "the connector's state", lambda facts: facts.status.connector.state.lower()),
)


def worker_bean(facts: WorkerFacts) -> MBean:
    """Return the worker's counts."""
    return MBean(DOMAIN, (("type", "connect-worker-metrics"),), attributes(WORKER, facts))


def worker_connector_bean(name: str, facts: ConnectorFacts) -> MBean:
    """Return how many tasks of the connector are in each state."""
    return MBean(DOMAIN, (("type", "connect-worker-metrics"), ("connector", key_value(name))), attributes(WORKER_CONNECTOR, facts))


def connector_bean(name: str, facts: ConnectorFacts) -> MBean:
    """Return the connector's class, version and state, in the words that Kafka Connect's metrics use."""
    return MBean(DOMAIN, (("type", "connector-metrics"), ("connector", key_value(name))), attributes(CONNECTOR, facts))
