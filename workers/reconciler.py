"""Brings what is to what is wanted: the config topic says what is wanted, the supervisor what runs, the status topic what is told.

Rules:

1. The reconciler alone starts and stops tasks, and only of connectors that are this worker's (:mod:`workers.ownership`). It runs
   after every change of the config topic, whoever wrote it, and after every assignment of the group; one run at a time for a
   connector, and any number of times.
2. Writing (the herder's verbs) and reconciling of one connector exclude each other, so no run sees half of a change.
3. A task that failed stays failed until somebody restarts it or changes its configuration, or another worker takes it over.
4. A connector that another worker is to have is ended, told as UNASSIGNED and written out before the group hears of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from connect_api.herder import HerderError, Status
from connector.errors import CdcError
from connector.ports import Progress
from connector.signals import Signal
from workers.logging import connector_context
from workers.notification_boards import NotificationBoards
from workers.ownership import Ownership
from workers.plugins import check_class
from workers.state_board import StateBoard
from workers.states import Event, Subject
from workers.stores.config_store import ConfigStore, RestartRequest
from workers.stores.status_store import StatusStore
from workers.supervisor import Pause, RunTask, Supervisor, describe
from workers.task_plan import TaskPlanner

LOGGER: Final = logging.getLogger(__name__)


class Reconciler:
    """Of one worker. ``ownership`` is set before the first change is told."""

    ownership: Ownership

    def __init__(
        self,
        config: ConfigStore,
        status: StatusStore,
        states: StateBoard,
        planner: TaskPlanner,
        boards: NotificationBoards,
        *,
        run_task: RunTask,
        graceful: float,
        pause: Pause,
    ) -> None:
        self._config = config
        self._status = status
        self._states = states
        self._planner = planner
        self._boards = boards
        self._supervisor = Supervisor(run_task, self._task_failed, graceful=graceful, pause=pause)
        self._stopping = False
        self._locks: dict[str, asyncio.Lock] = {}
        self._applied: dict[str, Mapping[str, str]] = {}
        """The configuration that the connector's task was last started with, while it is wanted STARTED."""
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._restarts: set[asyncio.Task[None]] = set()

    # What happens

    def changed(self, name: str) -> None:
        """Something about the connector, or about whose it is, may be another now."""
        if not self._stopping and name not in self._jobs:
            self._jobs[name] = asyncio.create_task(self._reconcile(name), name=f"reconcile {name}")

    def all_changed(self) -> None:
        """The group has shared its work anew."""
        self._states.generation = self.ownership.generation
        for name in {**dict.fromkeys(self._config.names()), **dict.fromkeys(self.ownership.held)}:
            self.changed(name)
        if self.ownership.leads:
            for name in self._status.connectors():
                if self._config.config(name) is None:
                    # Its worker died before it could forget it.
                    self._status.drop_connector(name)

    def restart(self, request: RestartRequest) -> None:
        """Begin what KIP-745 describes, if the connector is this worker's."""
        if self._stopping or not self.ownership.mine(request.name):
            return
        job = asyncio.create_task(self._restart(request), name=f"restart {request.name}")
        self._restarts.add(job)
        job.add_done_callback(self._restarts.discard)

    # For the herder's verbs

    def lock(self, name: str) -> asyncio.Lock:
        """Held while a connector's configuration is written or brought about."""
        return self._locks.setdefault(name, asyncio.Lock())

    async def halt(self, name: str) -> None:
        """End the connector's task; with the connector's lock held."""
        self._applied.pop(name, None)
        await self._supervisor.stop(name)

    async def start_anew(self, name: str) -> None:
        """End the connector's task and start it again; with the connector's lock held."""
        await self.halt(name)
        await self._bring_about(name)

    def progress(self, name: str) -> Progress | None:
        """What the running task tells about itself."""
        return self._supervisor.progress(name)

    def signal(self, name: str, signal: Signal) -> bool:
        """Hand a signal to the running task; False when there is none that takes signals."""
        return self._supervisor.signal(name, signal)

    # Life

    async def settled(self) -> None:
        """Wait until everything that was wanted so far has been brought about and told."""
        while self._jobs or self._restarts:
            await asyncio.gather(*self._jobs.values(), *self._restarts)
        await self._status.flush()

    async def stop(self) -> None:
        """End all tasks and tell the connectors as UNASSIGNED."""
        self._stopping = True
        for job in [*self._jobs.values(), *self._restarts]:
            job.cancel()
        await asyncio.gather(*self._jobs.values(), *self._restarts, return_exceptions=True)
        running = {name for name in self._config.names() if self._supervisor.runs(name)}
        await self._supervisor.stop_all()
        for name in self._config.names():
            if name in self.ownership.held:
                self._release(name, with_task=name in running)
        self.ownership.held.clear()
        await self._status.flush()

    # Bringing about

    async def _reconcile(self, name: str) -> None:
        with connector_context(name):
            try:
                async with self.lock(name):
                    # From here on a further change needs a further run: this one may have read what it replaces.
                    self._jobs.pop(name, None)
                    await self._bring_about(name)
            finally:
                if self._config.config(name) is None and not self._locks[name].locked():
                    self._locks.pop(name, None)

    async def _bring_about(self, name: str) -> None:
        """Called with the connector's lock held. Whatever goes wrong, what is stored under one name harms no other."""
        try:
            await self._bring_to_wish(name)
        except Exception as problem:  # noqa: BLE001 (the boundary: a stored configuration may hold anything)
            await self._fail(name, problem)

    async def _fail(self, name: str, problem: Exception) -> None:
        trace = describe(problem)
        LOGGER.error("reconcile failed", extra={"fields": {"error": trace.splitlines()[0]}})
        await self.halt(name)
        if self._config.config(name) is not None:
            self._status.drop_tasks(name)
            self._states.move(name, Subject.CONNECTOR, Event.FAIL, trace=trace)

    async def _bring_to_wish(self, name: str) -> None:
        config = self._config.config(name)
        if config is None:
            if name in self.ownership.held:
                await self.halt(name)
                self._status.drop_connector(name)
                self.ownership.held.discard(name)
                LOGGER.info("connector deleted")
            self._boards.drop(name)
            return
        if not self.ownership.mine(name):
            await self._give_up(name)
            return
        self.ownership.held.add(name)
        match self._config.target(name):
            case "STOPPED":
                await self.halt(name)
                if self._config.tasks(name):
                    await self._config.put_tasks(name, [])
                self._status.drop_tasks(name)
                self._states.move(name, Subject.CONNECTOR, Event.STOP)
            case "PAUSED":
                await self.halt(name)
                self._states.move(name, Subject.CONNECTOR, Event.PAUSE)
                if self._config.tasks(name):
                    self._states.move(name, Subject.TASK, Event.PAUSE)
            case "STARTED":
                await self._bring_up(name, config)

    async def _bring_up(self, name: str, config: Mapping[str, str]) -> None:
        try:
            check_class(config, self._planner.resolve({key: value for key, value in config.items() if key == "connector.class"}))
        except (HerderError, CdcError) as problem:
            await self.halt(name)
            self._status.drop_tasks(name)
            self._states.move(name, Subject.CONNECTOR, Event.FAIL, trace=problem.message)
            return
        wanted = [self._planner.task_config(config)]
        if self._config.tasks(name) != wanted:
            await self._config.put_tasks(name, wanted)
        self._states.move(name, Subject.CONNECTOR, Event.START)
        if self._applied.get(name) == config:
            return
        await self.halt(name)
        self._applied[name] = config
        self._states.move(name, Subject.TASK, Event.START)
        self._supervisor.start(name, lambda: self._planner.context(name, config), self._planner.retry_policy(config))

    async def _give_up(self, name: str) -> None:
        if name not in self.ownership.held:
            return
        running = self._supervisor.runs(name)
        await self.halt(name)
        self._boards.drop(name)
        leaving = self.ownership.leaving(name)
        if leaving:
            self._release(name, with_task=running)
            await self._status.flush()
        self.ownership.held.discard(name)
        LOGGER.info("connector given up", extra={"fields": {"to_move": leaving}})
        if leaving:
            self.ownership.given_up()

    def _release(self, name: str, *, with_task: bool) -> None:
        if with_task and self._status.tasks(name):
            self._states.move(name, Subject.TASK, Event.RELEASE)
        if self._status.connector(name) is not None and self._config.target(name) != "STOPPED":
            self._states.move(name, Subject.CONNECTOR, Event.RELEASE)

    async def _restart(self, request: RestartRequest) -> None:
        name = request.name
        with connector_context(name):
            async with self.lock(name):
                if self._status.connector(name) is None or self._config.config(name) is None:
                    return
                with_connector, with_task = affected(request, self._states.connector(name))
                if with_connector:
                    self._states.move(name, Subject.CONNECTOR, Event.RESTART)
                if with_task:
                    self._states.move(name, Subject.TASK, Event.RESTART)
                    await self.halt(name)
                await self._bring_about(name)
                LOGGER.info("restarted", extra={"fields": {"connector_itself": with_connector, "tasks": len(with_task)}})

    def _task_failed(self, name: str, trace: str) -> None:
        self._states.move(name, Subject.TASK, Event.FAIL, trace=trace)


def affected(request: RestartRequest, status: Status) -> tuple[bool, set[int]]:
    """Whether the connector itself, and which of its tasks, a request restarts (KIP-745)."""
    with_connector = not request.only_failed or status.connector.state == "FAILED"
    tasks = {n for n, task in status.tasks.items() if not request.only_failed or task.state == "FAILED"}
    return with_connector, tasks if request.include_tasks else set()
