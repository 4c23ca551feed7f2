from __future__ import annotations

from connector.delivery.progress import Progress
from connector.meters.task_meters import TaskMeters
from workers.telemetry.beans.task import TaskRun, task_beans
from workers.telemetry.worker_meter import StateShares, TaskHistory

CLASSES = {"key": "a.Key", "value": "a.Value", "header": "a.Header"}


def attributes(meters: TaskMeters, progress: Progress, history: TaskHistory | None = None) -> dict[str, object]:
    """All attributes of the three MBeans at 100 s."""
    run = TaskRun("RUNNING", "3.6.3.Final", "4.3.0", CLASSES, meters, progress, history or TaskHistory(StateShares(0)), 100)
    beans = list(task_beans("shop", run))
    assert [bean.name for bean in beans] == [
        f"kafka.connect:type={kind},connector=shop,task=0"
        for kind in ("connector-task-metrics", "source-task-metrics", "task-error-metrics")
    ]
    return {name: value for bean in beans for name, value in bean.attributes.items()}


def test_records_batches_and_commits() -> None:
    meters = TaskMeters()
    meters.source.batch_read(30, 4.0, 9, now=100)
    meters.source.committed(5.0, now=100)
    meters.source.committed(7.0, now=100, failed=True)
    meters.producer.packed("t", 20, 200, 100, now=100)
    meters.active = lambda: 6
    found = attributes(meters, Progress(events=30, delivered=4))
    assert (found["source-record-poll-total"], found["source-record-write-total"], found["source-record-active-count"]) == (30, 24, 6)
    assert (found["batch-size-avg"], found["batch-size-max"], found["poll-batch-avg-time-ms"]) == (30, 30, 4)
    assert (found["source-record-active-count-max"], found["source-record-poll-rate"], found["source-record-write-rate"]) == (9, 1, 20 / 30)
    assert (found["offset-commit-avg-time-ms"], found["offset-commit-max-time-ms"]) == (6, 7)
    assert (found["offset-commit-success-percentage"], found["offset-commit-failure-percentage"]) == (0.5, 0.5)


def test_errors() -> None:
    meters = TaskMeters()
    meters.record_failed(7, left_out=True, logged=True)
    meters.record_failed(9, left_out=True, logged=True)
    meters.record_failed(11, left_out=False, logged=False)
    # Connect does not know of events that Debezium leaves out.
    meters.stream.erroneous = 2
    found = attributes(meters, Progress(), TaskHistory(StateShares(0), retries=4, last_error_ms=10))
    counted = ("total-record-errors", "total-record-failures", "total-records-skipped", "total-errors-logged")
    assert [found[name] for name in counted] == [3, 3, 2, 2]
    assert (found["total-retries"], found["last-error-timestamp"]) == (4, 11)


def test_state_and_classes() -> None:
    shares = StateShares(60)
    shares.enter("PAUSED", 60)
    shares.enter("RUNNING", 70)
    found = attributes(TaskMeters(), Progress(), TaskHistory(shares))
    assert (found["status"], found["running-ratio"], found["pause-ratio"]) == ("running", 0.75, 0.25)
    assert (found["key-converter-class"], found["value-converter-class"], found["header-converter-class"]) == tuple(CLASSES.values())
    assert (found["task-version"], found["key-converter-version"], found["connector-type"]) == ("3.6.3.Final", "4.3.0", "SOURCE")
    assert found["offset-commit-success-percentage"] == 0
