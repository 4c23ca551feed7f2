"""The states of connectors and tasks, as Kafka Connect names them, and what leads from one to the other.

| state      | of               | set by                                              | stored |
|------------|------------------|-----------------------------------------------------|--------|
| UNASSIGNED | connector, task  | a worker that ends; the next one takes over         | yes    |
| RUNNING    | connector, task  | the herder once a start is under way                | yes    |
| PAUSED     | connector, task  | the herder when the target state is PAUSED          | yes    |
| STOPPED    | connector only   | the herder when the target state is STOPPED         | yes    |
| RESTARTING | connector, task  | the herder when a restart was asked for (KIP-745)   | yes    |
| FAILED     | connector        | the herder when the configuration cannot be started | yes    |
| FAILED     | task             | the supervisor when the task raised for good        | yes    |

"Stored" means a record in the status topic. A connector or task without a state has no record (None here): it never started,
was stopped, or is deleted. A task that waits before its next attempt stays RUNNING, as with Debezium, whose retriable errors
restart inside of the task.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from connect_api.herder import ConnectorState


class Event(Enum):
    """What happens to a connector or a task."""

    START = "start"
    PAUSE = "pause"
    STOP = "stop"
    FAIL = "fail"
    RESTART = "restart"
    RELEASE = "release"
    """The worker ends in good order."""
    DELETE = "delete"


class Subject(Enum):
    """Whose state it is."""

    CONNECTOR = "connector"
    TASK = "task"


class IllegalTransitionError(Exception):
    """A defect of the program: this event cannot happen in this state."""


_ANY: Final[tuple[ConnectorState | None, ...]] = (None, "UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")
_LIVE: Final[tuple[ConnectorState | None, ...]] = ("UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")


def _rows(
    subject: Subject, event: Event, before: tuple[ConnectorState | None, ...], after: ConnectorState | None
) -> dict[tuple[Subject, ConnectorState | None, Event], ConnectorState | None]:
    return {(subject, state, event): after for state in before if not (subject is Subject.TASK and state == "STOPPED")}


TRANSITIONS: Final[dict[tuple[Subject, ConnectorState | None, Event], ConnectorState | None]] = {
    # Whatever another worker left behind, a start, a pause, a stop and a deletion are always possible.
    **_rows(Subject.CONNECTOR, Event.START, _ANY, "RUNNING"),
    **_rows(Subject.CONNECTOR, Event.PAUSE, _ANY, "PAUSED"),
    **_rows(Subject.CONNECTOR, Event.STOP, _ANY, "STOPPED"),
    **_rows(Subject.CONNECTOR, Event.FAIL, _ANY, "FAILED"),
    **_rows(Subject.CONNECTOR, Event.RESTART, _LIVE, "RESTARTING"),
    **_rows(Subject.CONNECTOR, Event.RELEASE, _LIVE, "UNASSIGNED"),
    **_rows(Subject.CONNECTOR, Event.DELETE, _ANY, None),
    **_rows(Subject.TASK, Event.START, _ANY, "RUNNING"),
    **_rows(Subject.TASK, Event.PAUSE, _ANY, "PAUSED"),
    **_rows(Subject.TASK, Event.STOP, _ANY, None),
    # Of a task that was told to stop nobody asks why it ended; a paused one can only be what another worker wrote last.
    **_rows(Subject.TASK, Event.FAIL, _ANY, "FAILED"),
    **_rows(Subject.TASK, Event.RESTART, _LIVE, "RESTARTING"),
    **_rows(Subject.TASK, Event.RELEASE, _LIVE, "UNASSIGNED"),
    **_rows(Subject.TASK, Event.DELETE, _ANY, None),
}


def after(subject: Subject, state: ConnectorState | None, event: Event) -> ConnectorState | None:
    """The state that follows; None means the record is removed. Raises IllegalTransitionError."""
    try:
        return TRANSITIONS[subject, state, event]
    except KeyError:
        raise IllegalTransitionError(f"A {subject.value} that is {state} cannot {event.value}") from None
