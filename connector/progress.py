"""How far a task has come, and how that is shown (``GET /connectors/{c}/progress``, an extension of Connect's REST)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class TableProgress:
    """How far the snapshot of one table has come. ``estimate`` is the planner's row count, -1 when unknown."""

    table: str
    rows: int = 0
    estimate: int = -1
    seconds: float = 0.0
    done: bool = False

    def pace(self) -> dict[str, float | None]:
        """``rows_per_second``, and ``seconds_left`` by the estimate; None while either cannot be known."""
        rate = self.rows / self.seconds if self.seconds > 0 else None
        left = None
        if self.done:
            left = 0.0
        elif rate and self.estimate >= self.rows:
            left = round((self.estimate - self.rows) / rate, 1)
        return {"rows_per_second": round(rate, 1) if rate else None, "seconds_left": left}


@dataclass(frozen=True, slots=True)
class IncrementalProgress:
    """How far the incremental snapshot has come: the table it reads, chunks sent by this run, rows of a chunk, tables left."""

    table: TableProgress
    chunks: int
    chunk_rows: int
    waiting: list[str]
    paused: bool


@dataclass(slots=True)
class Progress:
    """What a running task tells about itself; written by the task alone, read by anyone on the same event loop."""

    phase: str = "starting"
    """starting, snapshot, streaming, idle (initial_only after its snapshot), stopped"""
    tables: list[TableProgress] = field(default_factory=list)
    snapshot_started_at: float = 0.0
    """Monotonic seconds; 0 when there was no snapshot in this run."""
    snapshot_seconds: float = 0.0
    events: int = 0
    """Records handed to Kafka by this run, tombstones included."""
    acknowledged_lsn: int = 0
    received_lsn: int = 0
    last_event_source_ms: int = 0
    """Commit time of the last event sent, ms since the epoch."""
    incremental: IncrementalProgress | None = None
    """Of the incremental snapshot that runs."""

    def describe(self) -> dict[str, object]:
        """JSON of all this, with what follows from it: rates in rows per second, and seconds left where there is an estimate."""
        tables = [{**asdict(table), **table.pace()} for table in self.tables]
        left = [table["seconds_left"] for table in tables if not table["done"]]
        running = self.incremental
        return {
            **asdict(self),
            "tables": tables,
            "incremental": None if running is None else {**asdict(running), "table": {**asdict(running.table), **running.table.pace()}},
            "rows": sum(table.rows for table in self.tables),
            "tables_done": sum(table.done for table in self.tables),
            "snapshot_seconds_left": None if any(seconds is None for seconds in left) else sum(seconds or 0 for seconds in left),
        }
