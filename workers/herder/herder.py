"""The calls of the REST interface, executed by this worker or forwarded to the worker that must execute them.

:class:`WorkerHerder` implements :class:`connect_api.herder.Herder`. Rules:

1. A call that changes something writes the wanted state to the config topic and returns. :mod:`workers.herder.reconciler` applies it.
2. Only the group's leader executes calls that check the stored state before they write (create, change, delete, stop), so that two
   workers cannot both find a name free. Only the connector's worker executes calls that need the running task (progress, signals,
   notifications, restart of a task, change of offsets). Any worker executes the others.
3. Every answer comes from memory, except that offsets are read to the end of their topic first. Only the validation of a new
   configuration waits for PostgreSQL.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from connect_api.herder import (
    ConfigInfos,
    ConfigKey,
    ConnectorInfo,
    Health,
    HerderError,
    LoggerLevel,
    Note,
    Offset,
    Plugin,
    ServerInfo,
    SignalRequest,
    State,
    Status,
    TargetState,
    TaskInfo,
)
from connector.delivery.progress import Progress
from connector.errors import CdcError
from connector.log import EventLog
from workers.group.membership import Membership, SoleMembership
from workers.group.ownership import Member, Ownership
from workers.herder.connector_states import TASK, ConnectorStates
from workers.herder.gathered_facts import GatheredFacts
from workers.herder.notification_logs import NotificationLogs
from workers.herder.offset_changes import OffsetChanges
from workers.herder.plugins import KAFKA_COMMIT, KAFKA_VERSION, connectors, others
from workers.herder.reconciler import Reconciler, affected
from workers.herder.signal_delivery import PROPERTIES, deliver
from workers.herder.store_errors import store_errors
from workers.herder.supervisor import Pause, RunTask, pause_until
from workers.herder.task_plan import TaskPlanner
from workers.herder.worker_beans import WorkerBeans
from workers.settings.worker_settings import WorkerSettings
from workers.stores.config_store import Change, ConfigStore, LoggerRequest, RestartRequest
from workers.stores.offset_store import AllOffsets
from workers.stores.status_store import StatusStore
from workers.stores.topic_log import TopicLog
from workers.telemetry.loggers import Loggers
from workers.telemetry.mbean import MBean, MBeanTable, separate
from workers.telemetry.worker_meter import WorkerMeter

if TYPE_CHECKING:
    from workers.herder.submitted_config import SubmittedConfigs, Validate

LOG: Final = EventLog(__name__)


class WorkerHerder:
    """One worker's herder.

    ``cluster_id`` is called for each ``GET /``. ``now_ms`` is the wall clock in milliseconds. ``loggers`` are the process's by default.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        config_log: TopicLog,
        offset_log: TopicLog,
        status_log: TopicLog,
        run_task: RunTask,
        validate: Validate,
        cluster_id: Callable[[], str] = str,
        membership: Membership | None = None,
        pause: Pause = pause_until,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        loggers: Loggers | None = None,
        meter: WorkerMeter | None = None,
    ) -> None:
        self.meter = meter = meter or WorkerMeter(now_ms=now_ms)
        self._settings = settings
        self._config = config = ConfigStore(config_log, self._changed)
        self._offsets = AllOffsets(offset_log)
        self._status = status = StatusStore(status_log, settings.worker_id)
        self._notifications = notifications = NotificationLogs(now_ms)
        self._planner = planner = TaskPlanner(settings, self._offsets, self._topic_used, notifications)
        self._states = states = ConnectorStates(settings.worker_id, config, status, planner, meter.task_state)
        self._validate = validate
        graceful = settings.graceful_shutdown
        self._reconciler = reconciler = Reconciler(
            config, status, states, planner, notifications, run_task=run_task, graceful=graceful, pause=pause, meter=meter
        )
        self._ownership = reconciler.ownership = ownership = Ownership(
            settings.worker_id, settings.http.advertised_url, config, membership or SoleMembership(), reconciler.all_changed, meter
        )
        self._beans = WorkerBeans(settings, config, states, planner, reconciler, ownership, meter, notifications)
        self._offset_changes = OffsetChanges(config, self._offsets, ownership, reconciler, planner)
        by_table = settings.metrics.per_table
        self.figures: Final = GatheredFacts(config, states, reconciler, ownership, meter, by_table=by_table)
        """What the worker's own figures are computed from."""
        self._cluster_id, self._now_ms = cluster_id, now_ms
        self._loggers = loggers or Loggers(now_ms)
        self._ready: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._problem = ""

    # Life of the worker

    async def start(self) -> None:
        """Read the three topics, then join the group, which assigns connectors. Raises CdcError when a topic cannot be used."""
        await asyncio.gather(self._config.start(), self._offsets.start(), self._status.start())
        self._ready.set_result(True)
        LOG.info("worker ready", connectors=len(self._config.names()), worker_id=self._settings.worker_id)
        await self._ownership.start()
        with contextlib.suppress(CdcError):
            # This opens connections now that the first connector's start would otherwise wait for.
            await asyncio.gather(self._config.catch_up(), self._offsets.catch_up())

    def failing(self, problem: str) -> None:
        """Set the reason that ``health`` gives for a start that takes long."""
        self._problem = problem

    async def wait_ready(self, seconds: float) -> bool:
        """Wait until the topics are read. False when this takes longer than ``seconds`` or the worker ends before."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._ready), seconds)
        except TimeoutError:
            return False

    async def settled(self) -> None:
        """Wait until every change so far is applied and its states are written."""
        await self._reconciler.settled()

    async def stop(self) -> None:
        """End all tasks, release the connectors as UNASSIGNED, write the last states, leave the group and close the stores."""
        self._notifications.end()
        if not self._ready.done():
            self._ready.set_result(False)
        await self._reconciler.stop()
        await self._ownership.stop()
        await self._status.stop()
        await asyncio.gather(self._config.stop(), self._offsets.stop())

    # The group

    async def next_assignment(self, seconds: float) -> None:
        """Wait for the next assignment, at most ``seconds``."""
        await self._ownership.next_change(seconds)

    async def caught_up(self) -> None:
        """Read the config topic to its present end."""
        with store_errors():
            await self._config.catch_up()

    # Reads

    def server_info(self) -> ServerInfo:
        """The emulated versions, and the cluster's id, which is empty until Kafka has answered."""
        return ServerInfo(KAFKA_VERSION, KAFKA_COMMIT, self._cluster_id())

    def health(self) -> Health:
        """Starting until the topics are read and the worker is in its group, then healthy.

        Unhealthy if a topic is no longer followed, or if the group does not admit the worker any more.
        """
        problem = self._problem
        if self._ready.done() and self._ready.result():
            broken = [store.problem for store in (self._config, self._offsets, self._status) if store.problem]
            if broken:
                return Health("unhealthy", " ".join(broken))
            if self._ownership.joined and self._ownership.problem:
                return Health("unhealthy", f"The worker is outside of its group. {self._ownership.problem}")
            if self._ownership.joined:
                return Health("healthy", "Worker has completed startup and is ready to handle requests.")
            problem = f"It waits for its group. {self._ownership.problem}".strip()
        return Health("starting", " ".join(filter(None, ["Worker is still starting up.", problem])))

    def plugins(self, connectors_only: bool) -> Sequence[Plugin]:
        """The connector alone, or with it predicates and converters."""
        version = self._planner.connector_version
        return connectors(version) if connectors_only else (*connectors(version), *others(version))

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[ConfigKey]:
        """The properties in the connector's table, by default in the worker's version of the connector."""
        from workers.herder.plugin_config import plugin_config  # noqa: PLC0415 (every transform; rarely asked for)

        return plugin_config(plugin, version, self._planner.connector_version)

    def revision(self) -> object:
        """The revisions of the config and the status topic."""
        return self._config.revision, self._status.revision

    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""
        return self._config.names()

    def connector_info(self, name: str) -> ConnectorInfo:
        """The stored configuration and the ids of the committed tasks."""
        config = self._known(name)
        return ConnectorInfo(name, config, range(len(self._config.tasks(name))), "source")

    def connector_status(self, name: str) -> Status:
        """The states in the status topic."""
        return self._states.connector(name)

    def task_status(self, name: str, task: int) -> State:
        """The task's state in the status topic."""
        return self._states.task(name, task)

    @cached_property
    def _submitted(self) -> SubmittedConfigs:
        # It imports the table of properties with every transform, for which the worker's first answer would wait.
        from workers.herder.submitted_config import SubmittedConfigs  # noqa: PLC0415

        return SubmittedConfigs(self._planner, self._validate, self._settings.preflight)

    def task_configs(self, name: str) -> Sequence[TaskInfo]:
        """The committed tasks."""
        self._known(name)
        return [TaskInfo(name, task, config) for task, config in enumerate(self._config.tasks(name))]

    async def offsets(self, name: str) -> Sequence[Offset]:
        """The offsets in the offset topic, which is read to its present end for this, because other workers write it too."""
        self._known(name)
        with store_errors():
            await self._offsets.catch_up()
        return [Offset(partition, offset) for partition, offset in self._offsets.of(name)]

    def active_topics(self, name: str) -> Sequence[str]:
        """The topics in the status topic. 403 when topic tracking is disabled."""
        if not self._settings.topic_tracking:
            raise HerderError(403, "Topic tracking is disabled.")
        return self._status.topics(name)

    def loggers(self) -> Mapping[str, LoggerLevel]:
        """The loggers of the process."""
        return self._loggers.all()

    def logger(self, name: str) -> LoggerLevel:
        """One logger of the process."""
        found = self._loggers.get(name)
        if found is None:
            raise HerderError(404, f"Logger {name} not found.")
        return found

    def progress(self, name: str) -> Mapping[str, object]:
        """The running task's progress; phase "stopped" when no task runs."""
        self._own(name)
        return (self._reconciler.progress(name) or Progress(phase="stopped")).describe()

    def running_progress(self, name: str) -> Progress | None:
        """The progress of the task that this worker runs for the connector; None if it runs none."""
        return self._reconciler.progress(name)

    def members(self) -> Sequence[Member]:
        """The workers of the group, as this worker knows them."""
        return self._ownership.members()

    def version_for(self, config: Mapping[str, str]) -> str:
        """The emulated version of the connector for ``config``."""
        return self._planner.version(config)

    async def resolved_config(self, name: str) -> Mapping[str, str]:
        """The configuration as the task reads it. Never show or log it.

        Raises CdcError for a reference that cannot be resolved, HerderError(404).
        """
        return await self.read_config(self._known(name))

    async def read_config(self, config: Mapping[str, str]) -> Mapping[str, str]:
        """Return a stored configuration as the task reads it. Never show or log it. Raises CdcError as :meth:`resolved_config`."""
        return self._planner.as_read(await self._planner.resolve(config))

    def mbeans(self) -> Sequence[MBean]:
        """The MBeans of this worker and of the connectors that it runs, in the order of their names."""
        return list(separate(self._beans.each()))

    def each_mbean(self) -> Iterator[MBean | MBeanTable]:
        """Yield the same, those of topics in tables, each with its values at the moment when it is asked for."""
        return self._beans.each()

    def notifications(self, name: str, after: int) -> Sequence[Note]:
        """The notifications that this worker has kept."""
        self._own(name)
        return self._notifications.of(name).after(after)

    async def next_notifications(self, name: str, after: int, seconds: float) -> Sequence[Note] | None:
        """Wait for the next notifications. None when the connector is deleted or moves, or when the worker ends."""
        self._own(name)
        return await self._notifications.of(name).next(after, seconds)

    # Changes

    async def signal(self, name: str, request: SignalRequest) -> str:
        """Deliver the signal to the task and return its id. 500 if a property that is needed for this cannot be resolved."""
        needed = {key: value for key, value in self._own(name).items() if key in PROPERTIES}
        try:
            config = await self._planner.resolve(needed)
        except CdcError as problem:
            raise HerderError(500, str(problem)) from problem
        return deliver(name, config, request, lambda signal: self._reconciler.signal(name, signal))

    def clear_notifications(self, name: str) -> None:
        """Remove the kept notifications. The numbering continues."""
        self._own(name)
        self._notifications.of(name).clear()

    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """Check the configuration and return every result."""
        return await self._submitted.infos(plugin, config)

    async def put_connector(
        self, name: str, config: Mapping[str, str | None], *, allow_replace: bool, initial_state: TargetState | None = None
    ) -> tuple[bool, ConnectorInfo]:
        """Check and store the configuration. The reconciler starts the connector."""
        self._ownership.must_lead()
        await self._submitted.check(name, config)
        stored = {key: value for key, value in config.items() if value is not None}
        async with self._leading(name):
            created = self._config.config(name) is None
            if not created and not allow_replace:
                raise HerderError(409, f"Connector {name} already exists")
            with store_errors():
                await self._config.put_connector(name, stored, initial_state)
            tasks = [] if created else range(len(self._config.tasks(name)))
        return created, ConnectorInfo(name, stored, tasks, "source")

    async def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        """Check the merged configuration and store it; repeat both if the configuration has changed meanwhile."""
        self._ownership.must_lead()
        while True:
            known = self._known(name)
            if patch.get("name", name) not in (name, None):
                raise HerderError(400, f"Connector name configuration ({patch['name']}) doesn't match connector name in the URL ({name})")
            config = {key: value for key, value in {**known, **patch}.items() if value is not None}
            await self._submitted.check(name, config)
            async with self._leading(name):
                if self._known(name) == known:
                    with store_errors():
                        await self._config.put_connector(name, config)
                    return ConnectorInfo(name, config, range(len(self._config.tasks(name))), "source")

    async def delete_connector(self, name: str) -> None:
        """Remove the configuration. The reconciler then ends the task; the offsets stay."""
        async with self._leading(name):
            self._known(name)
            with store_errors():
                await self._config.delete_connector(name)

    async def set_target_state(self, name: str, state: TargetState) -> None:
        """Store the wanted state."""
        async with self._leading(name) if state == "STOPPED" else self._reconciler.lock(name):
            if self._config.config(name) is None:
                raise HerderError(404, f"Unknown connector {name}")
            with store_errors():
                await self._config.put_target(name, state)

    async def restart_connector(self, name: str, *, include_tasks: bool, only_failed: bool) -> Status:
        """Begin the restart that KIP-745 describes and return the states that follow from it."""
        if self._status.connector(name) is None and self._ownership.mine(name):
            # The connector was created just now. As in Kafka Connect the restart follows its start.
            await self._reconciler.applied(name)
        if self._config.config(name) is None:
            raise HerderError(404, f"Unknown connector: {name}")
        request = RestartRequest(name, include_tasks, only_failed)
        if self._status.connector(name) is None and (include_tasks or only_failed):
            raise HerderError(404, f"Status for connector {name} not found")
        status = self._states.to_restart(name)
        with_connector, with_task = affected(request, status)
        if self._ownership.mine(name):
            self._reconciler.restart(request)
        else:
            with store_errors():
                await self._config.put_restart(request)
        connector = replace(status.connector, state="RESTARTING")
        tasks = {n: replace(t, state="RESTARTING") if n in with_task else t for n, t in status.tasks.items()}
        return Status(name, connector if with_connector else status.connector, tasks, status.type)

    async def restart_task(self, name: str, task: int) -> None:
        """End the task and start it again; return when the new start is under way."""
        async with self._reconciler.lock(name):
            if self._config.config(name) is None:
                raise HerderError(404, f"Unknown connector: {name}")
            if not 0 <= task < len(self._config.tasks(name)):
                raise HerderError(404, f"Unknown task: {name}-{task}")
            self._ownership.must_own(name)
            await self._reconciler.restart_task(name)

    async def alter_offsets(self, name: str, changes: Sequence[Offset]) -> str:
        """Write all changes together. Only the task checks the offsets' content."""
        return await self._offset_changes.alter(name, changes)

    async def reset_offsets(self, name: str) -> str:
        """Remove the stored offsets. The replication slot and the topics stay."""
        return await self._offset_changes.reset(name)

    def reset_active_topics(self, name: str) -> None:
        """Remove the topics from the status topic. 403 when the settings forbid it."""
        if not self._settings.topic_tracking:
            raise HerderError(403, "Topic tracking is disabled.")
        if not self._settings.topic_tracking_reset:
            raise HerderError(403, "Topic tracking reset is disabled.")
        self._status.drop_topics(name)

    def set_logger_level(self, name: str, level: str) -> Sequence[str]:
        """Set the level in this process."""
        return self._loggers.set(name, level)

    async def set_cluster_logger_level(self, name: str, level: str) -> None:
        """Write the level to the config topic, which all workers follow, this one too."""
        with store_errors():
            await self._config.put_logger(LoggerRequest(name, level))

    # Followers of the config topic and of tasks

    def _changed(self, change: Change) -> None:
        if isinstance(change, RestartRequest):
            if self._config.config(change.name) is not None:
                self._reconciler.restart(change)
        elif isinstance(change, LoggerRequest):
            self._loggers.follow(change.name, change.level)
        else:
            self._ownership.follow()
            self._reconciler.changed(change)

    def _topic_used(self, name: str, topic: str) -> None:
        if self._settings.topic_tracking:
            self._status.put_topic(name, TASK, topic, self._now_ms())

    # Conditions

    @contextlib.asynccontextmanager
    async def _leading(self, name: str) -> AsyncIterator[None]:
        """Hold the connector's lock as the group's leader."""
        self._ownership.must_lead()
        async with self._reconciler.lock(name):
            # Another worker may lead since the call began to wait.
            self._ownership.must_lead()
            yield

    def _known(self, name: str) -> Mapping[str, str]:
        config = self._config.config(name)
        if config is None:
            raise HerderError(404, f"Connector {name} not found")
        return config

    def _own(self, name: str) -> Mapping[str, str]:
        """The configuration of a connector that this worker owns. Raises Elsewhere if another worker does, HerderError(404) if unknown."""
        config = self._known(name)
        self._ownership.must_own(name)
        return config
