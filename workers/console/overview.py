"""The rows of the overview: one for each connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect_api.herder import ConnectorState, HerderError, Status
from workers.console.figures import count, duration, size, sparkline
from workers.console.flow import Bar
from workers.console.group_flows import Found, GroupFlows
from workers.console.watched import WatchedWorker

UNKNOWN: Final = "unknown"
"""The phase of a task whose worker does not answer."""
_MOVING: Final = frozenset({"RUNNING", "RESTARTING"})
"""States of tasks that run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One connector. Texts are empty if nothing runs; ``phase`` is :data:`UNKNOWN` if the task's worker does not answer."""

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

    @property
    def flows(self) -> bool:
        """Whether the figures of a running task are known."""
        return self.phase not in ("", UNKNOWN)


async def rows(worker: WatchedWorker, flows: GroupFlows, headers: Mapping[str, str]) -> tuple[list[Row], Sequence[str]]:
    """All connectors in the order of their names, those that have failed first; and the workers whose figures are unknown.

    ``headers`` are those of the request to the console.
    """
    statuses = {name: _status(worker, name) for name in worker.connectors()}
    found = await flows.of([name for name, status in statuses.items() if status is not None and has_flow(status)], headers)
    made = [row(name, status, found) for name, status in statuses.items()]
    return sorted(made, key=lambda each: (each.worst != "FAILED", each.name)), found.silent


def row(name: str, status: Status | None, found: Found) -> Row:
    """One connector's row. ``status`` is None if it has been deleted, or if its first status is not written yet."""
    if status is None:
        return Row(name, "UNASSIGNED", (), "", "", "", "", "", "", None, "")
    states = [status.connector, *status.tasks.values()]
    trace = next((state.trace for state in states if state.trace), "") or ""
    first = next(iter(trace.splitlines()), "")
    worker = next((state.worker_id for state in reversed(states)), "")
    tasks = [state.state for state in status.tasks.values()]
    flow = found.flows.get(name)
    if flow is None:
        phase = UNKNOWN if name in found.unknown else ""
        return Row(name, status.connector.state, tasks, worker, phase, "", "", "", "", None, first)
    return Row(
        name=name,
        state=status.connector.state,
        tasks=tasks,
        worker=worker,
        phase=flow.phase,
        rate=count(flow.rates[-1]) if flow.rates else "",
        line=sparkline(flow.rates),
        waiting=size(flow.unconfirmed),
        age="" if flow.lag_ms is None else duration(flow.lag_ms / 1000),
        snapshot=flow.snapshot,
        error=first,
    )


def has_flow(status: Status) -> bool:
    """Whether a worker runs a task of the connector."""
    return any(state.state in _MOVING for state in status.tasks.values())


def _status(worker: WatchedWorker, name: str) -> Status | None:
    try:
        return worker.connector_status(name)
    except HerderError:
        return None
