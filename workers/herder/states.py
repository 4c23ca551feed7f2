"""The states of connectors and tasks, as Kafka Connect names them, and the transitions between them.

| state      | of               | set by                                              | stored |
|------------|------------------|-----------------------------------------------------|--------|
| UNASSIGNED | connector, task  | a worker that ends; the next one takes over         | yes    |
| RUNNING    | connector, task  | the herder once a start is under way                | yes    |
| PAUSED     | connector, task  | the herder when the target state is PAUSED          | yes    |
| STOPPED    | connector only   | the herder when the target state is STOPPED         | yes    |
| RESTARTING | connector, task  | the herder when a restart was asked for (KIP-745)   | yes    |
| FAILED     | connector        | the herder when the configuration cannot be started | yes    |
| FAILED     | task             | the supervisor when the task is not tried again     | yes    |

"Stored" means a record in the status topic. A connector or task without a state has no record (None here): it never started,
was stopped, or is deleted. A task that waits before its next attempt stays RUNNING, as in Debezium, which retries within the task.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from connect_api.herder import ConnectorState


class StateEvent(Enum):
    """The cause of a transition."""

    START = "start"
    PAUSE = "pause"
    STOP = "stop"
    FAIL = "fail"
    RESTART = "restart"
    RELEASE = "release"
    """The worker ends, or the connector moves to another worker."""


class Subject(Enum):
    """The owner of a state."""

    CONNECTOR = "connector"
    TASK = "task"


class IllegalTransitionError(Exception):
    """The event cannot happen in this state. Only a defect raises it."""


_ANY: Final[tuple[ConnectorState | None, ...]] = (None, "UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")
_LIVE: Final[tuple[ConnectorState | None, ...]] = ("UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")


def _rows(
    subject: Subject, event: StateEvent, before: tuple[ConnectorState | None, ...], after: ConnectorState | None
) -> dict[tuple[Subject, ConnectorState | None, StateEvent], ConnectorState | None]:
    return {(subject, state, event): after for state in before if not (subject is Subject.TASK and state == "STOPPED")}


TRANSITIONS: Final[dict[tuple[Subject, ConnectorState | None, StateEvent], ConnectorState | None]] = {
    # Start, pause and stop are possible after whatever state another worker wrote last.
    **_rows(Subject.CONNECTOR, StateEvent.START, _ANY, "RUNNING"),
    **_rows(Subject.CONNECTOR, StateEvent.PAUSE, _ANY, "PAUSED"),
    **_rows(Subject.CONNECTOR, StateEvent.STOP, _ANY, "STOPPED"),
    **_rows(Subject.CONNECTOR, StateEvent.FAIL, _ANY, "FAILED"),
    **_rows(Subject.CONNECTOR, StateEvent.RESTART, _LIVE, "RESTARTING"),
    **_rows(Subject.CONNECTOR, StateEvent.RELEASE, _LIVE, "UNASSIGNED"),
    **_rows(Subject.TASK, StateEvent.START, _ANY, "RUNNING"),
    **_rows(Subject.TASK, StateEvent.PAUSE, _ANY, "PAUSED"),
    **_rows(Subject.TASK, StateEvent.STOP, _ANY, None),
    # A task that was asked to stop does not report a failure. PAUSED before FAIL was written by another worker.
    **_rows(Subject.TASK, StateEvent.FAIL, _ANY, "FAILED"),
    **_rows(Subject.TASK, StateEvent.RESTART, _LIVE, "RESTARTING"),
    **_rows(Subject.TASK, StateEvent.RELEASE, _LIVE, "UNASSIGNED"),
}


def after(subject: Subject, state: ConnectorState | None, event: StateEvent) -> ConnectorState | None:
    """The next state; None means that the record is removed. Raises IllegalTransitionError."""
    try:
        return TRANSITIONS[subject, state, event]
    except KeyError:
        raise IllegalTransitionError(f"A {subject.value} that is {state} cannot {event.value}") from None
