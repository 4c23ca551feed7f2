"""What is told of connectors and tasks: states as the status topic has them, moved by the steps of :mod:`workers.states`."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from connect_api.herder import HerderError, State, Status
from connector.config_keys import FORMER
from workers.states import Event, Subject, after
from workers.stores.config_store import ConfigStore
from workers.stores.status_store import StatusEntry, StatusStore
from workers.task_plan import TaskPlanner

LOGGER: Final = logging.getLogger(__name__)

TASK: Final = 0
"""Debezium's PostgreSQL connector has exactly one task."""


class StateBoard:
    """Reads and moves states for one worker. ``generation`` is set once the status topic is read."""

    def __init__(self, worker_id: str, config: ConfigStore, status: StatusStore, planner: TaskPlanner) -> None:
        self.generation = 1
        self._worker_id = worker_id
        self._config = config
        self._status = status
        self._planner = planner

    def connector(self, name: str) -> Status:
        """404 ``No status found for connector {name}``."""
        entry = self._status.connector(name)
        if entry is None:
            raise HerderError(404, f"No status found for connector {name}")
        versioned = self._versioned(name)
        tasks = {task: _state(e, versioned) for task, e in sorted(self._status.tasks(name).items())}
        return Status(name, _state(entry, versioned), tasks, "source" if self._config.config(name) is not None else "unknown")

    def task(self, name: str, task: int) -> State:
        """404 ``No status found for task {name}-{task}``."""
        entry = self._status.tasks(name).get(task)
        if entry is None:
            raise HerderError(404, f"No status found for task {name}-{task}")
        return _state(entry, self._versioned(name))

    def move(self, name: str, subject: Subject, event: Event, trace: str | None = None) -> None:
        """Take the step and tell it, unless all is told already."""
        known = self._status.connector(name) if subject is Subject.CONNECTOR else self._status.tasks(name).get(TASK)
        state = after(subject, None if known is None else known.state, event)
        if state is None:
            self._status.drop_tasks(name) if subject is Subject.TASK else self._status.drop_connector(name)
            return
        version = None if state in ("UNASSIGNED", "RESTARTING") else self._planner.version(self._config.config(name) or {})
        entry = StatusEntry(state, self._worker_id, self.generation, version, trace)
        # A new generation of the group alone is no news of a connector.
        if known is not None and replace(known, generation=self.generation) == entry:
            return
        if subject is Subject.CONNECTOR:
            self._status.put_connector(name, entry)
        else:
            self._status.put_task(name, TASK, entry)
        LOGGER.info("state changed", extra={"fields": {"connector": name, "of": subject.value, "state": state}})

    def _versioned(self, name: str) -> bool:
        # Recorded of a 2.3.4 on the Connect of its time: a status without versions.
        return self._planner.version(self._config.config(name) or {}) != FORMER


def _state(entry: StatusEntry, versioned: bool) -> State:
    return State(entry.state, entry.worker_id, entry.version, entry.trace, versioned)
