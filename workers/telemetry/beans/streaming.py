"""The MBean of the stream: ``debezium.postgres:type=connector-metrics,context=streaming,server=…``."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from connector.delivery.progress import Progress
from connector.meters.lag import LagMeter
from connector.meters.task_meters import MeterSettings, TaskMeters
from workers.telemetry.beans.attribute import Row, attributes
from workers.telemetry.beans.debezium import DOMAIN, QUEUE, TaskFacts, keys
from workers.telemetry.mbean import Attribute, MBean

_LAG: Final = "of the time from a commit until it was read; the last commit of each burst of messages counts, in Debezium each event"


def _all(facts: TaskFacts, operation: str) -> int:
    """The events of every table, and the filtered ones, which Debezium adds to its totals."""
    stream = facts.meters.stream
    return int(sum(map(attrgetter(operation), (*stream.tables.values(), stream.filtered))))


def _by_table(facts: TaskFacts, operation: str) -> Attribute:
    if not facts.settings.by_table:
        return {}
    tables = facts.meters.stream.tables
    return {name: count for name, counts in sorted(tables.items()) if (count := int(getattr(counts, operation)))}


def _position(facts: TaskFacts) -> Attribute:
    lsn = facts.meters.stream.last_lsn
    return {} if lsn is None else {"lsn": str(lsn)}


def _last_event(facts: TaskFacts) -> Attribute:
    lsn = facts.meters.stream.last_lsn
    return None if lsn is None else f"position: {{lsn: {lsn}}}"


def _percentile(facts: TaskFacts, share: float) -> Attribute:
    return _lag(facts).percentile(share) if facts.settings.statistics else None


def _lag(facts: TaskFacts) -> LagMeter:
    return facts.meters.stream.lag


TABLE: Final[tuple[Row[TaskFacts], ...]] = (
    Row("CapturedTables", "nearest", "the tables that the task found at its start", lambda facts: list(facts.meters.captured)),
    Row("Connected", "nearest", "whether the task streams", lambda facts: facts.progress.phase == "streaming"),
    Row("LastEvent", "nearest", "the LSN of the last event; Debezium adds its key, which is a value of the table", _last_event),
    Row(
        "LastTransactionId",
        "nearest",
        "the last transaction with an event of a captured table, known at its commit",
        lambda facts: None if facts.meters.stream.last_txid is None else str(facts.meters.stream.last_txid),
    ),
    Row(
        "MilliSecondsSinceLastEvent",
        "exact",
        "since the last event of any kind; -1 before the first",
        lambda facts: facts.since(facts.meters.stream.last_event_ms),
    ),
    Row("MilliSecondsBehindSource", "nearest", f"the last value {_LAG}; -1 before the first", lambda facts: _lag(facts).last),
    Row("MilliSecondsBehindSourceMinValue", "nearest", f"the least value {_LAG}", lambda facts: _lag(facts).least),
    Row("MilliSecondsBehindSourceMaxValue", "nearest", f"the largest value {_LAG}", lambda facts: _lag(facts).largest),
    Row(
        "MilliSecondsBehindSourceAverageValue",
        "nearest",
        f"the mean {_LAG}",
        lambda facts: _lag(facts).average if facts.settings.statistics else None,
    ),
    Row("MilliSecondsBehindSourceP50", "nearest", f"the median {_LAG}, within 1 %", lambda facts: _percentile(facts, 0.5)),
    Row("MilliSecondsBehindSourceP95", "nearest", f"the 95th percentile {_LAG}, within 1 %", lambda facts: _percentile(facts, 0.95)),
    Row("MilliSecondsBehindSourceP99", "nearest", f"the 99th percentile {_LAG}, within 1 %", lambda facts: _percentile(facts, 0.99)),
    Row(
        "NumberOfCommittedTransactions",
        "exact",
        "transactions with an event of a captured table",
        lambda facts: facts.meters.stream.transactions,
    ),
    Row("SourceEventPosition", "nearest", "the LSN of the last event, without its xmin", _position),
    Row(
        "TotalNumberOfEventsSeen",
        "exact",
        "all events, also filtered and erroneous ones, and the rows of incremental snapshots",
        lambda facts: (
            sum(_all(facts, operation) for operation in ("creates", "updates", "deletes", "truncates"))
            + facts.meters.stream.erroneous
            + facts.meters.snapshot.incremental_events
        ),
    ),
    Row(
        "TotalNumberOfCreateEventsSeen",
        "exact",
        "inserts, also filtered ones",
        lambda facts: _all(facts, "creates"),
    ),
    Row(
        "TotalNumberOfUpdateEventsSeen",
        "exact",
        "updates, also filtered ones",
        lambda facts: _all(facts, "updates"),
    ),
    Row(
        "TotalNumberOfDeleteEventsSeen",
        "exact",
        "deletes, also filtered ones",
        lambda facts: _all(facts, "deletes"),
    ),
    Row(
        "NumberOfCreateEventsSeen",
        "exact",
        "inserts by table, with `internal.advanced.metrics.enable`",
        lambda facts: _by_table(facts, "creates"),
    ),
    Row("NumberOfUpdateEventsSeen", "exact", "updates by table, likewise", lambda facts: _by_table(facts, "updates")),
    Row("NumberOfDeleteEventsSeen", "exact", "deletes by table, likewise", lambda facts: _by_table(facts, "deletes")),
    Row("NumberOfTruncateEventsSeen", "exact", "truncates by table, likewise", lambda facts: _by_table(facts, "truncates")),
    Row(
        "NumberOfEventsFiltered",
        "exact",
        "changes of tables that the publication sends and the configuration does not capture",
        lambda facts: facts.meters.stream.filtered.total,
    ),
    Row(
        "NumberOfErroneousEvents",
        "nearest",
        "events left out by `event.processing.failure.handling.mode`",
        lambda facts: facts.meters.stream.erroneous,
    ),
    Row(
        "NumberOfUnchangedEventsSkipped",
        "nearest",
        "updates left out by `skip.messages.without.change`; -1 without it",
        lambda facts: facts.meters.stream.unchanged if facts.settings.skips_unchanged else -1,
    ),
    *QUEUE,
)


def streaming_bean(settings: MeterSettings, meters: TaskMeters, progress: Progress, now_ms: int) -> MBean:
    """Return the MBean of a running task's stream. It exists from the task's start, also during a snapshot."""
    return MBean(DOMAIN, keys("streaming", settings), attributes(TABLE, TaskFacts(settings, meters, progress, now_ms)))
