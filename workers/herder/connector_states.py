"""The states of connectors and tasks in the status topic, and their transitions by the rules of :mod:`workers.herder.states`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from connect_api.herder import HerderError, State, Status
from connector.emulation import emulation_of
from connector.log import EventLog
from workers.herder.states import StateEvent, Subject, after
from workers.herder.task_plan import TaskPlanner
from workers.stores.config_store import ConfigStore
from workers.stores.status_store import StatusEntry, StatusStore

LOG: Final = EventLog(__name__)

TASK: Final = 0
"""The id of the task. Debezium's PostgreSQL connector has exactly one."""


class ConnectorStates:
    """Reads and changes states for one worker. ``generation`` is the group's; it may be set after the status topic is read.

    ``task_moved`` is called with a connector and the new state of its task.
    """

    def __init__(
        self,
        worker_id: str,
        config: ConfigStore,
        status: StatusStore,
        planner: TaskPlanner,
        task_moved: Callable[[str, str], None] = lambda _name, _state: None,
    ) -> None:
        self.generation = 1
        self._worker_id = worker_id
        self._config = config
        self._status = status
        self._planner = planner
        self._task_moved = task_moved

    def connector(self, name: str) -> Status:
        """The states of the connector and its tasks. 404 ``No status found for connector {name}``, also while a deleted one ends."""
        entry = self._status.connector(name)
        if entry is None or self._config.config(name) is None:
            raise HerderError(404, f"No status found for connector {name}")
        versioned = self._versioned(name)
        tasks = {task: _state(e, versioned) for task, e in sorted(self._status.tasks(name).items())}
        return Status(name, _state(entry, versioned), tasks, "source")

    def to_restart(self, name: str) -> Status:
        """The same before a restart: a connector without a stored state is UNASSIGNED, and has no tasks."""
        if self._status.connector(name) is None:
            return Status(name, State("UNASSIGNED", self._worker_id, None, None, self._versioned(name)), {}, "source")
        return self.connector(name)

    def task(self, name: str, task: int) -> State:
        """The state of a task. 404 ``No status found for task {name}-{task}``, as for the connector."""
        entry = self._status.tasks(name).get(task)
        if entry is None or self._config.config(name) is None:
            raise HerderError(404, f"No status found for task {name}-{task}")
        return _state(entry, self._versioned(name))

    def task_failed(self, name: str) -> bool:
        """Whether the connector's task is FAILED."""
        entry = self._status.tasks(name).get(TASK)
        return entry is not None and entry.state == "FAILED"

    def drop(self, name: str) -> None:
        """Remove the states and topics of a deleted connector, unless another worker runs one of that name by now."""
        if all(map(self._may_replace, (self._status.connector(name), *self._status.tasks(name).values()))):
            self._status.drop_connector(name)

    def move(self, name: str, subject: Subject, event: StateEvent, trace: str | None = None) -> None:
        """Write the state that ``event`` leads to, unless the status topic has it already.

        The end of a connector or a task is not written if another worker has taken it over in a later generation. This worker may not know
        yet that it was removed from its group.
        """
        known = self._status.connector(name) if subject is Subject.CONNECTOR else self._status.tasks(name).get(TASK)
        ends = event is StateEvent.RELEASE or (event is StateEvent.FAIL and subject is Subject.TASK)
        if ends and not self._may_replace(known):
            return
        state = after(subject, None if known is None else known.state, event)
        if state is None:
            # Only a task's state is removed by a step.
            self._status.drop_tasks(name)
            return
        version = None if state in ("UNASSIGNED", "RESTARTING") else self._planner.version(self._config.config(name) or {})
        entry = StatusEntry(state, self._worker_id, self.generation, version, trace)
        # An entry that differs only in the group's generation is not written.
        if known is not None and replace(known, generation=self.generation) == entry:
            return
        if subject is Subject.CONNECTOR:
            self._status.put_connector(name, entry)
        else:
            self._status.put_task(name, TASK, entry)
            self._task_moved(name, state)
        LOG.info("state changed", connector=name, of=subject.value, state=state)

    def _may_replace(self, known: StatusEntry | None) -> bool:
        return known is None or known.worker_id == self._worker_id or known.generation <= self.generation

    def _versioned(self, name: str) -> bool:
        return emulation_of(self._planner.version(self._config.config(name) or {})).shows_status_version


def _state(entry: StatusEntry, versioned: bool) -> State:
    return State(entry.state, entry.worker_id, entry.version, entry.trace, versioned)
