"""The progress of a task, which ``GET /connectors/{c}/progress`` shows. This endpoint is an extension of Connect's REST interface."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class TableProgress:
    """The progress of one table's snapshot. ``estimate`` is the planner's row count, -1 when unknown."""

    table: str
    rows: int = 0
    estimate: int = -1
    seconds: float = 0.0
    done: bool = False

    def pace(self) -> dict[str, float | None]:
        """Return ``rows_per_second``, and ``seconds_left`` computed from the estimate; each is None if unknown."""
        rate = self.rows / self.seconds if self.seconds > 0 else None
        left = None
        if self.done:
            left = 0.0
        elif rate and self.estimate >= self.rows:
            left = round((self.estimate - self.rows) / rate, 1)
        return {"rows_per_second": round(rate, 1) if rate else None, "seconds_left": left}


@dataclass(frozen=True, slots=True)
class IncrementalProgress:
    """The progress of the incremental snapshot.

    ``table`` is being read, ``chunks`` were sent by this run, the next chunk has ``chunk_rows`` rows, and ``waiting`` tables remain.
    """

    table: TableProgress
    chunks: int
    chunk_rows: int
    waiting: list[str]
    paused: bool


@dataclass(slots=True)
class Progress:
    """The progress of a running task. Only the task writes it; all code on the same event loop may read it."""

    phase: str = "starting"
    """starting, snapshot, streaming, idle (initial_only after its snapshot), stopped"""
    tables: list[TableProgress] = field(default_factory=list)
    snapshot_started_at: float = 0.0
    """Monotonic seconds; 0 if this run took no snapshot."""
    snapshot_seconds: float = 0.0
    events: int = 0
    """The number of records that this run passed to the producer, including tombstones."""
    delivered: int = 0
    """The number of records that Kafka acknowledged, known when the run has ended. A snapshot in processes counts finished tables' rows."""
    acknowledged_lsn: int = 0
    received_lsn: int = 0
    last_event_source_ms: int = 0
    """Commit time of the last event sent, ms since the epoch."""
    incremental: IncrementalProgress | None = None
    """The progress of the running incremental snapshot; None if none runs."""

    def describe(self) -> dict[str, object]:
        """Return the progress as a JSON object, with rates in rows per second, and with the remaining seconds if there is an estimate."""
        tables = [{**asdict(table), **table.pace()} for table in self.tables]
        left = [table["seconds_left"] for table in tables if not table["done"]]
        running, shown = self.incremental, asdict(self)
        # A running task does not know it.
        del shown["delivered"]
        return {
            **shown,
            "tables": tables,
            "incremental": None if running is None else {**asdict(running), "table": {**asdict(running.table), **running.table.pace()}},
            "rows": sum(table.rows for table in self.tables),
            "tables_done": sum(table.done for table in self.tables),
            "snapshot_seconds_left": None if any(seconds is None for seconds in left) else sum(seconds or 0 for seconds in left),
        }
