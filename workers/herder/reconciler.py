"""Applies the wanted state: reads it from the config topic, starts and stops tasks, and writes the resulting states to the status topic.

Rules:

1. Only the reconciler starts and stops tasks, and only for connectors that this worker owns (:mod:`workers.group.ownership`). It runs
   after every change of the config topic, whoever wrote it, and after every assignment of the group. Runs for one connector never
   overlap, and a repeated run changes nothing.
2. A write by the herder and a run for the same connector exclude each other, so no run sees half of a change.
3. A failed task stays failed until it is restarted, its configuration changes, it is stopped, or another worker takes over the
   connector. A pause changes nothing.
4. Before a connector moves to another worker its task ends and its state UNASSIGNED is written. Only then the group is notified.
5. A run that fails with an error that may pass, such as a write that Kafka does not acknowledge, changes no state and is repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from connect_api.herder import HerderError, Status
from connector.delivery.progress import Progress
from connector.errors import CdcError, Directive
from connector.log import EventLog
from connector.meters.task_meters import TaskMeters
from connector.signals.signal import Signal
from workers.group.ownership import Ownership
from workers.herder.connector_states import ConnectorStates
from workers.herder.notification_logs import NotificationLogs
from workers.herder.plugins import check_class
from workers.herder.states import StateEvent, Subject
from workers.herder.supervisor import Figures, Pause, RetryPolicy, RunTask, Supervisor, describe
from workers.herder.task_plan import TaskPlanner
from workers.stores.config_store import ConfigStore, RestartRequest
from workers.stores.status_store import StatusStore
from workers.telemetry.logging import connector_context
from workers.telemetry.worker_meter import WorkerMeter

LOG: Final = EventLog(__name__)

_LAST_WRITES_SECONDS: Final = 1.0
"""The least time for writing the last states, if the tasks have used all of the graceful timeout."""


@dataclass(slots=True)
class _Lock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    """Who holds it or waits for it."""


class Reconciler:
    """The reconciler of one worker. ``ownership`` must be set before the first call of :meth:`changed`."""

    ownership: Ownership

    def __init__(
        self,
        config: ConfigStore,
        status: StatusStore,
        states: ConnectorStates,
        planner: TaskPlanner,
        notifications: NotificationLogs,
        *,
        run_task: RunTask,
        graceful: float,
        pause: Pause,
        meter: WorkerMeter,
    ) -> None:
        self._meter = meter
        self._graceful = graceful
        self._config = config
        self._status = status
        self._states = states
        self._planner = planner
        self._notifications = notifications
        self._supervisor = Supervisor(run_task, self._task_failed, graceful=graceful, pause=pause, meter=meter)
        self._pause = pause
        self._stopping = False
        self._stop = asyncio.Event()
        self._locks: dict[str, _Lock] = {}
        self._applied: dict[str, Mapping[str, str]] = {}
        """Connector → the configuration that its task was last started with, while the wanted state is STARTED."""
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._restarts: set[asyncio.Task[None]] = set()
        self._retries: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        """Connector → its runs in a row that failed with an error that may pass."""

    # Events that need a run

    def changed(self, name: str) -> None:
        """Run for the connector, because its wanted state or its owner may have changed."""
        if not self._stopping and name not in self._jobs:
            self._jobs[name] = asyncio.create_task(self._reconcile(name), name=f"reconcile {name}")

    def all_changed(self) -> None:
        """Run for every connector, because the group has a new assignment."""
        self._states.generation = self.ownership.generation
        for name in {**dict.fromkeys(self._config.names()), **dict.fromkeys(self.ownership.held)}:
            self.changed(name)
        if self.ownership.leads:
            for name in self._status.connectors():
                if self._config.config(name) is None:
                    # The connector's worker died before it could remove the status.
                    self._status.drop_connector(name)

    def restart(self, request: RestartRequest) -> None:
        """Begin the restart that KIP-745 describes, if this worker owns the connector."""
        if self._stopping or not self.ownership.mine(request.name):
            return
        job = asyncio.create_task(self._restart(request), name=f"restart {request.name}")
        self._restarts.add(job)
        job.add_done_callback(self._restarts.discard)

    # For the herder

    @contextlib.asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Hold the connector's lock, as whoever writes or applies the wanted state does. The name may be that of no connector."""
        found = self._locks.setdefault(name, _Lock())
        found.users += 1
        try:
            async with found.lock:
                yield
        finally:
            found.users -= 1
            if not found.users:
                del self._locks[name]

    async def applied(self, name: str) -> None:
        """Wait until the changes of the connector so far are applied, or are to be tried again."""
        if name in self._jobs:
            await asyncio.wait([self._jobs[name]])
        async with self.lock(name):
            return

    async def halt(self, name: str, *, paused: bool = False) -> None:
        """End the connector's task. The caller holds the connector's lock."""
        self._applied.pop(name, None)
        await self._supervisor.stop(name, paused=paused)

    async def restart_task(self, name: str) -> None:
        """End the connector's task and start it again. The caller holds the connector's lock."""
        await self.halt(name)
        await self._apply(name)

    def progress(self, name: str) -> Progress | None:
        """The running task's progress; None when no task runs."""
        return self._supervisor.progress(name)

    def meters(self, name: str) -> TaskMeters | None:
        """The running task's meters; None when no task runs."""
        return self._supervisor.meters(name)

    def figures(self, name: str) -> Figures | None:
        """What the running or failed task has counted; None when there is no task."""
        return self._supervisor.figures(name)

    def signal(self, name: str, signal: Signal) -> bool:
        """Deliver a signal to the running task. False when no task runs that accepts signals."""
        return self._supervisor.signal(name, signal)

    # End

    async def settled(self) -> None:
        """Wait until every change so far is applied and its states are written."""
        while self._jobs or self._restarts:
            await asyncio.gather(*self._jobs.values(), *self._restarts)
        await self._status.flush()

    async def stop(self) -> None:
        """End all tasks and write UNASSIGNED as the state of the connectors.

        If Kafka does not answer, this takes about as long as tasks have to stop.
        """
        ends = asyncio.get_running_loop().time() + self._graceful
        self._stopping = True
        self._stop.set()
        jobs = [*self._jobs.values(), *self._restarts, *self._retries.values()]
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        running = {name for name in self._config.names() if self._supervisor.runs(name)}
        await self._supervisor.stop_all()
        for name in self._config.names():
            if name in self.ownership.held:
                self._release(name, with_task=name in running)
        self.ownership.held.clear()
        await self._status.flush(max(ends - asyncio.get_running_loop().time(), _LAST_WRITES_SECONDS))

    # Runs

    async def _reconcile(self, name: str) -> None:
        with connector_context(name):
            async with self.lock(name):
                # A change from here on needs another run, because this one may already have read the former state.
                self._jobs.pop(name, None)
                await self._apply(name)

    async def _apply(self, name: str) -> None:
        """Apply the wanted state; a failure affects this connector only. The caller holds the connector's lock."""
        try:
            await self._apply_wanted_state(name)
        except Exception as problem:  # noqa: BLE001 (the boundary: a stored configuration may hold anything)
            if isinstance(problem, CdcError) and problem.directive is Directive.RETRY:
                self._try_again(name, problem)
                return
            await self._fail(name, problem)
        self._failures.pop(name, None)

    def _try_again(self, name: str, problem: CdcError) -> None:
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        seconds = RetryPolicy().pause(failures, random.random())  # noqa: S311 (spreads the attempts)
        LOG.warning(
            "reconcile failed with an error that may pass, trying again",
            error=str(problem),
            kind=problem.kind.value,
            failures=failures,
            seconds=round(seconds, 3),
        )
        if not self._stopping and name not in self._retries:
            self._retries[name] = asyncio.create_task(self._retry(name, seconds), name=f"retry {name}")

    async def _retry(self, name: str, seconds: float) -> None:
        await self._pause(seconds, self._stop)
        del self._retries[name]
        self.changed(name)

    async def _fail(self, name: str, problem: Exception) -> None:
        trace = describe(problem)
        LOG.error("reconcile failed", error=trace.splitlines()[0])
        self._meter.connector_started(failed=True)
        await self.halt(name)
        if self._config.config(name) is not None:
            self._status.drop_tasks(name)
            self._states.move(name, Subject.CONNECTOR, StateEvent.FAIL, trace=trace)

    async def _apply_wanted_state(self, name: str) -> None:
        config = self._config.config(name)
        if config is None:
            if name in self.ownership.held:
                await self.halt(name)
                # The name may have been created again meanwhile, and then another worker may own it.
                if self._config.config(name) is None or self.ownership.mine(name):
                    self._states.drop(name)
                self.ownership.held.discard(name)
                self._meter.forget(name)
                LOG.info("connector deleted")
                if self.ownership.leaving(name):
                    self.ownership.given_up()
            self._notifications.drop(name)
            return
        if not self.ownership.mine(name):
            await self._release_to_group(name)
            return
        if self._stopping:
            return
        self.ownership.held.add(name)
        match self._config.target(name):
            case "STOPPED":
                await self.halt(name)
                if self._config.tasks(name):
                    await self._config.put_tasks(name, [])
                self._status.drop_tasks(name)
                self._states.move(name, Subject.CONNECTOR, StateEvent.STOP)
            case "PAUSED":
                # As in Kafka Connect a failed task neither pauses nor resumes.
                failed = self._applied.get(name) == config and self._states.task_failed(name)
                if not failed:
                    await self.halt(name, paused=True)
                self._states.move(name, Subject.CONNECTOR, StateEvent.PAUSE)
                if self._config.tasks(name) and not failed:
                    self._states.move(name, Subject.TASK, StateEvent.PAUSE)
            case "STARTED":
                await self._start(name, config)

    async def _start(self, name: str, config: Mapping[str, str]) -> None:
        try:
            check_class(config, await self._planner.class_and_version(config))
        except (HerderError, CdcError) as problem:
            await self.halt(name)
            self._status.drop_tasks(name)
            self._states.move(name, Subject.CONNECTOR, StateEvent.FAIL, trace=problem.message)
            self._meter.connector_started(failed=True)
            return
        wanted = [self._planner.task_config(config)]
        if self._config.tasks(name) != wanted:
            await self._config.put_tasks(name, wanted)
        if self._stopping:
            return
        self._states.move(name, Subject.CONNECTOR, StateEvent.START)
        if self._applied.get(name) == config:
            if self._supervisor.runs(name):
                # Another worker may have written a state while it did not know that it no longer owned the connector.
                self._states.move(name, Subject.TASK, StateEvent.START)
            return
        await self.halt(name)
        if self._stopping:
            # A call that restarts the task was waiting for its end.
            return
        self._applied[name] = config
        self._meter.connector_started()
        self._meter.task_started(name)
        self._states.move(name, Subject.TASK, StateEvent.START)
        self._supervisor.start(name, lambda: self._planner.context(name, config), self._planner.retry_policy(config))

    async def _release_to_group(self, name: str) -> None:
        if name not in self.ownership.held:
            return
        running = self._supervisor.runs(name)
        await self.halt(name)
        self._notifications.drop(name)
        leaving = self.ownership.leaving(name)
        if leaving:
            self._release(name, with_task=running)
            await self._status.flush()
        self.ownership.held.discard(name)
        LOG.info("connector given up", to_move=leaving)
        if leaving:
            self.ownership.given_up()

    def _release(self, name: str, *, with_task: bool) -> None:
        if with_task and self._status.tasks(name):
            self._states.move(name, Subject.TASK, StateEvent.RELEASE)
        if self._status.connector(name) is not None and self._config.target(name) != "STOPPED":
            self._states.move(name, Subject.CONNECTOR, StateEvent.RELEASE)

    async def _restart(self, request: RestartRequest) -> None:
        name = request.name
        with connector_context(name):
            async with self.lock(name):
                if self._config.config(name) is None or not self.ownership.mine(name):
                    # The connector was deleted or given up since the request was read.
                    return
                with_connector, with_task = affected(request, self._states.to_restart(name))
                if with_connector and self._status.connector(name) is not None:
                    self._states.move(name, Subject.CONNECTOR, StateEvent.RESTART)
                if with_task:
                    self._states.move(name, Subject.TASK, StateEvent.RESTART)
                    await self.halt(name)
                await self._apply(name)
                LOG.info("restarted", connector_itself=with_connector, tasks=len(with_task))

    def _task_failed(self, name: str, trace: str) -> None:
        self._states.move(name, Subject.TASK, StateEvent.FAIL, trace=trace)


def affected(request: RestartRequest, status: Status) -> tuple[bool, set[int]]:
    """Whether the connector itself, and which of its tasks, a request restarts (KIP-745)."""
    with_connector = not request.only_failed or status.connector.state == "FAILED"
    tasks = {n for n, task in status.tasks.items() if not request.only_failed or task.state == "FAILED"}
    return with_connector, tasks if request.include_tasks else set()
