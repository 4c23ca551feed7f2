"""The rows of the overview: one for each connector, from memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connect_api.herder import ConnectorState, HerderError, Status
from connector.delivery.progress import Progress
from workers.console.figures import count, duration, size, sparkline
from workers.console.sampling import Sampler, delay
from workers.console.watched import WatchedWorker


@dataclass(frozen=True, slots=True)
class Bar:
    """A snapshot's progress. ``rows`` of ``estimate``; the latter is 0 if unknown. ``left`` is the remaining time as text, or empty."""

    rows: int
    estimate: int
    tables: str
    left: str


@dataclass(frozen=True, slots=True)
class Row:
    """One connector. Texts are empty if unknown, for example if another worker runs the task."""

    name: str
    state: ConnectorState
    tasks: Sequence[ConnectorState]
    worker: str
    phase: str
    rate: str
    line: str
    """The ``points`` of the sparkline."""
    waiting: str
    age: str
    snapshot: Bar | None
    error: str
    """The first line of the trace."""

    @property
    def worst(self) -> ConnectorState:
        """FAILED if anything has failed, else the connector's state."""
        return "FAILED" if "FAILED" in self.tasks else self.state


def rows(worker: WatchedWorker, sampler: Sampler, now_ms: int) -> list[Row]:
    """All connectors in the order of their names; those that have failed come first. ``now_ms``: milliseconds since 1970."""
    found = []
    for name in worker.connectors():
        try:
            found.append(row(name, worker.connector_status(name), worker.running_progress(name), sampler.rates(name), now_ms))
        except HerderError:
            # It has been deleted, or its first status is not written yet.
            found.append(Row(name, "UNASSIGNED", (), "", "", "", "", "", "", None, ""))
    return sorted(found, key=lambda each: (each.worst != "FAILED", each.name))


def row(name: str, status: Status, progress: Progress | None, rates: Sequence[float], now_ms: int) -> Row:
    """One connector's row."""
    states = [status.connector, *status.tasks.values()]
    trace = next((state.trace for state in states if state.trace), "") or ""
    first = next(iter(trace.splitlines()), "")
    worker = next((state.worker_id for state in reversed(states)), "")
    tasks = [state.state for state in status.tasks.values()]
    if progress is None:
        return Row(name, status.connector.state, tasks, worker, "", "", "", "", "", None, first)
    behind = delay(progress, now_ms)
    return Row(
        name=name,
        state=status.connector.state,
        tasks=tasks,
        worker=worker,
        phase=progress.phase,
        rate=count(rates[-1]) if rates else "",
        line=sparkline(rates),
        waiting=size(behind.unconfirmed),
        age="" if behind.milliseconds is None else duration(behind.milliseconds / 1000),
        snapshot=_bar(progress) if progress.phase == "snapshot" else None,
        error=first,
    )


def _bar(progress: Progress) -> Bar:
    tables = progress.tables
    done = sum(1 for table in tables if table.done)
    estimates = [max(table.estimate, table.rows) if not table.done else table.rows for table in tables]
    known = all(table.estimate >= 0 or table.done for table in tables)
    left = [table.pace()["seconds_left"] for table in tables]
    seconds = [second for second in left if second is not None]
    remaining = sum(seconds) if len(seconds) == len(left) else 0.0
    return Bar(
        rows=sum(table.rows for table in tables),
        estimate=sum(estimates) if known else 0,
        tables=f"{done} of {len(tables)} tables",
        left=duration(remaining) if remaining else "",
    )
