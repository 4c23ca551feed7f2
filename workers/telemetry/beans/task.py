"""MBeans of Kafka Connect for one task: ``connector-task-metrics``, ``source-task-metrics`` and ``task-error-metrics``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connector.delivery.progress import Progress
from connector.meters.task_meters import TaskMeters
from workers.telemetry.beans.attribute import Row, attributes
from workers.telemetry.beans.connect import CLASS, DOMAIN
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean
from workers.telemetry.worker_meter import TaskHistory


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task: its state, what it has counted, and what is kept while it is tried again. ``now`` is monotonic seconds."""

    status: str
    version: str
    kafka_version: str
    classes: Mapping[str, str]
    """``key``, ``value``, ``header`` → the class of the converter."""
    meters: TaskMeters
    progress: Progress
    history: TaskHistory
    now: float

    @property
    def written(self) -> int:
        """Records that Kafka acknowledged, those of the processes that read a snapshot among them."""
        return self.meters.producer.all.records - self.meters.producer.all.errors + self.progress.delivered


def _success(facts: TaskRun) -> float:
    source = facts.meters.source
    return 1.0 - source.commit_failed.average(facts.now) if source.commits else 0.0


def _failure(facts: TaskRun) -> float:
    source = facts.meters.source
    return source.commit_failed.average(facts.now) if source.commits else 0.0


CONNECTOR_TASK: Final[tuple[Row[TaskRun], ...]] = (
    Row("status", "exact", "the task's state", lambda facts: facts.status.lower()),
    Row(
        "running-ratio",
        "exact",
        "the part of the time since its start in which the task was RUNNING",
        lambda facts: facts.history.shares.share("RUNNING", facts.now),
    ),
    Row("pause-ratio", "exact", "likewise, PAUSED", lambda facts: facts.history.shares.share("PAUSED", facts.now)),
    Row(
        "batch-size-avg",
        "nearest",
        "records of a batch: frames that were read together",
        lambda facts: facts.meters.source.batch.average(facts.now),
    ),
    Row("batch-size-max", "nearest", "the largest batch of the last minute", lambda facts: facts.meters.source.batch.largest(facts.now)),
    Row(
        "offset-commit-avg-time-ms",
        "exact",
        "time of a write of the offset, until Kafka acknowledged it",
        lambda facts: facts.meters.source.commit_ms.average(facts.now),
    ),
    Row("offset-commit-max-time-ms", "exact", "likewise", lambda facts: facts.meters.source.commit_ms.largest(facts.now)),
    Row("offset-commit-success-percentage", "exact", "the part of the writes that succeeded, from 0 to 1", _success),
    Row("offset-commit-failure-percentage", "exact", "the part that failed", _failure),
    Row("connector-class", "exact", "Debezium's class", lambda _facts: CLASS),
    Row("connector-type", "exact", "`SOURCE`", lambda _facts: "SOURCE"),
    Row("connector-version", "exact", "the emulated version of Debezium", lambda facts: facts.version),
    Row("task-class", "exact", "Debezium's class", lambda _facts: f"{CLASS}Task"),
    Row("task-version", "exact", "the emulated version of Debezium", lambda facts: facts.version),
    Row("key-converter-class", "exact", "as configured", lambda facts: facts.classes["key"]),
    Row("key-converter-version", "nearest", "the emulated version of Kafka Connect", lambda facts: facts.kafka_version),
    Row("value-converter-class", "exact", "as configured", lambda facts: facts.classes["value"]),
    Row("value-converter-version", "nearest", "the emulated version of Kafka Connect", lambda facts: facts.kafka_version),
    Row("header-converter-class", "exact", "as configured", lambda facts: facts.classes["header"]),
    Row("header-converter-version", "nearest", "the emulated version of Kafka Connect", lambda facts: facts.kafka_version),
)
SOURCE_TASK: Final[tuple[Row[TaskRun], ...]] = (
    Row("source-record-poll-total", "exact", "records that the task has read", lambda facts: float(facts.progress.events)),
    Row("source-record-poll-rate", "exact", "records read per second", lambda facts: facts.meters.source.batch.rate(facts.now)),
    Row("source-record-write-total", "exact", "records that Kafka has", lambda facts: float(facts.written)),
    Row(
        "source-record-write-rate",
        "exact",
        "records written per second",
        lambda facts: facts.meters.producer.all.rates(facts.now)[0],
    ),
    Row(
        "source-record-active-count",
        "nearest",
        "records that the producer has and Kafka has not acknowledged",
        lambda facts: float(facts.meters.active()),
    ),
    Row(
        "source-record-active-count-avg",
        "nearest",
        "likewise, looked at with each batch",
        lambda facts: facts.meters.source.active.average(facts.now),
    ),
    Row("source-record-active-count-max", "nearest", "likewise", lambda facts: facts.meters.source.active.largest(facts.now)),
    Row(
        "poll-batch-avg-time-ms",
        "nearest",
        "time in which a batch was made into records; Connect's has the wait for changes in it, 500 ms when idle",
        lambda facts: facts.meters.source.batch_ms.average(facts.now),
    ),
    Row("poll-batch-max-time-ms", "nearest", "likewise", lambda facts: facts.meters.source.batch_ms.largest(facts.now)),
)
TASK_ERROR: Final[tuple[Row[TaskRun], ...]] = (
    Row(
        "total-record-errors",
        "exact",
        "records that a transform or a converter failed on",
        lambda facts: float(facts.meters.failures),
    ),
    Row("total-record-failures", "exact", "likewise", lambda facts: float(facts.meters.failures)),
    Row("total-records-skipped", "exact", "those that `errors.tolerance=all` left out", lambda facts: float(facts.meters.left_out)),
    Row(
        "total-errors-logged",
        "nearest",
        "those that the log names: with `errors.log.enable`, and all that were left out",
        lambda facts: float(facts.meters.logged),
    ),
    Row("total-retries", "nearest", "attempts of the task that failed and were repeated", lambda facts: float(facts.history.retries)),
    Row(
        "last-error-timestamp",
        "nearest",
        "when a record or an attempt of the task last failed, ms since 1970",
        lambda facts: max(facts.history.last_error_ms, facts.meters.failed_ms),
    ),
    Row("deadletterqueue-produce-requests", "no meaning here", "always 0: a source has none", lambda _facts: 0.0),
    Row("deadletterqueue-produce-failures", "no meaning here", "always 0", lambda _facts: 0.0),
)
TABLES: Final = {"connector-task-metrics": CONNECTOR_TASK, "source-task-metrics": SOURCE_TASK, "task-error-metrics": TASK_ERROR}


def task_beans(name: str, facts: TaskRun) -> Iterator[MBean]:
    """Yield the three MBeans of a connector's task."""
    for kind, table in TABLES.items():
        yield MBean(DOMAIN, (("type", kind), ("connector", key_value(name)), ("task", "0")), attributes(table, facts))
