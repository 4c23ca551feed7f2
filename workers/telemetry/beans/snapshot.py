"""The MBean of the snapshots: ``debezium.postgres:type=connector-metrics,context=snapshot,server=…``."""

from __future__ import annotations

from typing import Final

from connector.delivery.progress import Progress
from connector.meters.task_meters import MeterSettings, TaskMeters
from workers.telemetry.beans.attribute import Row, attributes
from workers.telemetry.beans.debezium import DOMAIN, QUEUE, TaskFacts, keys
from workers.telemetry.mbean import Attribute, MBean

_NOT_KEPT: Final = "always null: the keys of rows are not kept for metrics"
_NO_PARTS: Final = "always empty: the progress of parts is shown by `GET /connectors/{connector}/progress`"


def _rows(facts: TaskFacts) -> Attribute:
    """Rows by table. As recorded, the rows of a later snapshot of a table replace those of an earlier one."""
    initial = {table.table: table.rows for table in facts.progress.tables if table.rows or table.done}
    meter = facts.meters.snapshot
    return {**meter.earlier_rows, **initial, **meter.latest_incremental_rows}


TABLE: Final[tuple[Row[TaskFacts], ...]] = (
    Row(
        "CapturedTables",
        "exact",
        "the tables of all snapshots of this run of the task, and the signal table",
        lambda facts: sorted(facts.meters.snapshot.tables),
    ),
    Row("TotalTableCount", "exact", "their number", lambda facts: len(facts.meters.snapshot.tables)),
    Row(
        "RemainingTableCount",
        "exact",
        "those not read; as in Debezium, the signal table remains, and tables that an incremental snapshot found empty or could not read",
        lambda facts: len(facts.meters.snapshot.remaining),
    ),
    Row("RowsScanned", "exact", "rows by table", _rows),
    Row(
        "SnapshotRunning",
        "exact",
        "whether the snapshot that began last, initial, blocking or incremental, reads",
        lambda facts: facts.meters.snapshot.state == "running",
    ),
    Row("SnapshotPaused", "exact", "whether it is paused", lambda facts: facts.meters.snapshot.state == "paused"),
    Row(
        "SnapshotCompleted",
        "exact",
        "whether it ended well; as in Debezium, also after a signal has removed its last table",
        lambda facts: facts.meters.snapshot.state == "completed",
    ),
    Row("SnapshotAborted", "exact", "whether it was broken off", lambda facts: facts.meters.snapshot.state == "aborted"),
    Row(
        "SnapshotSkipped",
        "exact",
        "whether no initial snapshot was due, until another one begins",
        lambda facts: facts.meters.snapshot.skipped,
    ),
    Row(
        "SnapshotDurationInSeconds",
        "nearest",
        "the duration of the last initial or blocking snapshot, known at its end",
        lambda facts: int(facts.progress.snapshot_seconds),
    ),
    Row("SnapshotPausedDurationInSeconds", "no meaning here", "always 0: the time of pauses is not kept", lambda _facts: 0),
    Row("ChunkId", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row("ChunkFrom", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row("ChunkTo", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row("TableFrom", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row("TableTo", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row("TableChunkCounts", "no meaning here", _NO_PARTS, lambda _facts: {}),
    Row("TableChunksCompletedCounts", "no meaning here", _NO_PARTS, lambda _facts: {}),
    Row("LastEvent", "no meaning here", _NOT_KEPT, lambda _facts: None),
    Row(
        "MilliSecondsSinceLastEvent",
        "nearest",
        "since rows were last read; -1 before the first row",
        lambda facts: facts.since(facts.meters.snapshot.last_event_ms),
    ),
    Row(
        "TotalNumberOfEventsSeen",
        "exact",
        "rows of all snapshots",
        lambda facts: (
            facts.meters.snapshot.earlier_events
            + sum(table.rows for table in facts.progress.tables)
            + facts.meters.snapshot.incremental_events
        ),
    ),
    Row("TotalNumberOfCreateEventsSeen", "exact", "0: a row that is read is no insert", lambda _facts: 0),
    Row("TotalNumberOfUpdateEventsSeen", "exact", "0", lambda _facts: 0),
    Row("TotalNumberOfDeleteEventsSeen", "exact", "0", lambda _facts: 0),
    Row("NumberOfEventsFiltered", "exact", "0", lambda _facts: 0),
    Row("NumberOfErroneousEvents", "nearest", "0: a row that cannot be read ends the snapshot", lambda _facts: 0),
    *QUEUE,
)


def snapshot_bean(settings: MeterSettings, meters: TaskMeters, progress: Progress, now_ms: int) -> MBean:
    """Return the MBean of a running task's snapshots. It exists from the task's start, also if no snapshot is taken."""
    return MBean(DOMAIN, keys("snapshot", settings), attributes(TABLE, TaskFacts(settings, meters, progress, now_ms)))
