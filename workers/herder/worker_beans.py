"""The MBeans of a worker at one moment, gathered from what the worker and its tasks count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from connect_api.herder import HerderError, SignalRequest, Status
from connector.delivery.progress import Progress
from connector.log import EventLog
from connector.meters.connection_meter import ConnectionMeter
from connector.meters.task_meters import TaskMeters
from workers.group.ownership import Ownership
from workers.herder.connector_states import TASK, ConnectorStates
from workers.herder.notification_logs import NotificationLogs
from workers.herder.plugins import KAFKA_COMMIT, KAFKA_VERSION
from workers.herder.reconciler import Reconciler
from workers.herder.signal_delivery import deliver
from workers.herder.task_plan import TaskPlanner
from workers.settings.converters import default_class
from workers.settings.worker_settings import WorkerSettings
from workers.stores.config_store import ConfigStore
from workers.telemetry.beans.app_info import app_info_beans
from workers.telemetry.beans.client import PRODUCER_DOMAIN, ProducerBeans, ProducerFacts, connect_bean
from workers.telemetry.beans.connect import DOMAIN, ConnectorFacts, WorkerFacts, connector_bean, worker_bean, worker_connector_bean
from workers.telemetry.beans.connections import ADMIN_DOMAIN, CONSUMER_DOMAIN, ClientFacts, admin_bean, consumer_bean
from workers.telemetry.beans.group import GroupFacts, client_id, group_beans
from workers.telemetry.beans.management import notifications_bean, signals_bean
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.beans.snapshot import snapshot_bean
from workers.telemetry.beans.streaming import streaming_bean
from workers.telemetry.beans.task import TaskRun, task_beans
from workers.telemetry.mbean import Attribute, MBean, MBeanTable, OperationError
from workers.telemetry.worker_meter import StateShares, TaskHistory, WorkerMeter

LOG: Final = EventLog(__name__)


class WorkerBeans:
    """Makes the MBeans of one worker when they are asked for."""

    def __init__(
        self,
        settings: WorkerSettings,
        config: ConfigStore,
        states: ConnectorStates,
        planner: TaskPlanner,
        reconciler: Reconciler,
        ownership: Ownership,
        meter: WorkerMeter,
        notifications: NotificationLogs,
    ) -> None:
        self._notifications: Final = notifications
        self._settings: Final = settings
        self._config: Final = config
        self._states: Final = states
        self._planner: Final = planner
        self._reconciler: Final = reconciler
        self._ownership: Final = ownership
        self._meter: Final = meter
        self._producers: Final = ProducerBeans()

    def each(self) -> Iterator[MBean | MBeanTable]:
        """Yield all MBeans: the worker's, those of its connectors in the order of their names, and those of Kafka's clients.

        The event loop may turn between two of them. What iterates over a task's counters is therefore computed at once.
        """
        names = sorted(name for name in self._ownership.held if self._config.config(name) is not None)
        tasks = sum(self._has_task(name) for name in names)
        yield worker_bean(WorkerFacts(len(names), tasks, self._meter))
        yield from self._of_group(len(names), tasks)
        for name in names:
            yield from list(self._of_connector(name))
        yield from self._of_clients(names)

    def _has_task(self, name: str) -> bool:
        """Whether the connector has a task. As in Kafka Connect, one that has failed counts."""
        try:
            return TASK in self._states.connector(name).tasks
        except HerderError:
            return False

    def _of_group(self, connectors: int, tasks: int) -> Sequence[MBean]:
        leader = next((member.url for member in self._ownership.members() if member.leads), "")
        facts = GroupFacts(
            self._settings.worker_id, f"{leader}/" if leader else "", self._ownership.generation, connectors, tasks, self._meter
        )
        self._meter.member.look(self._meter.now())
        return [*group_beans(facts), connect_bean(client_id(self._settings.worker_id), ClientFacts(self._meter.member))]

    def _of_connector(self, name: str) -> Iterator[MBean]:
        config = self._config.config(name) or {}
        try:
            status = self._states.connector(name)
        except HerderError:
            # The connector's first state is not written yet.
            return
        facts = ConnectorFacts(status, self._planner.version(config))
        yield connector_bean(name, facts)
        yield worker_connector_bean(name, facts)
        meters, progress = self._reconciler.figures(name) or (TaskMeters(), Progress())
        if TASK in status.tasks:
            yield from task_beans(name, self._run(name, config, status, meters, progress))
        if meters.settings is not None:
            yield snapshot_bean(meters.settings, meters, progress, self._meter.now_ms())
            yield streaming_bean(meters.settings, meters, progress, self._meter.now_ms())
            yield from self._of_channels(name, config, meters.settings.server)

    def _of_channels(self, name: str, config: Mapping[str, str], server: str) -> Iterator[MBean]:
        def send(identity: str | None, kind: str | None, data: str | None) -> None:
            try:
                # The channel is named in the stored configuration itself, so that no reference must be resolved.
                deliver(name, config, SignalRequest(identity, kind or "", data), lambda signal: self._reconciler.signal(name, signal))
            except HerderError as refusal:
                if refusal.status != 400:
                    raise OperationError(refusal.message) from None
                # Debezium takes every signal from JMX and logs what it cannot read.
                LOG.warning("signal ignored", connector=name, reason=refusal.message)

        if _has(config, "signal.enabled.channels", "jmx"):
            yield signals_bean(server, send)
        if _has(config, "notification.enabled.channels", "jmx"):
            log = self._notifications.of(name)
            yield notifications_bean(server, [cast("Mapping[str, Attribute]", note.content) for note in log.after(0)], log.clear)

    def _run(self, name: str, config: Mapping[str, str], status: Status, meters: TaskMeters, progress: Progress) -> TaskRun:
        properties = self._settings.properties
        sides = ("key", "value", "header")
        classes = {side: config.get(f"{side}.converter") or properties.get(f"{side}.converter") or default_class(side) for side in sides}
        history = self._meter.tasks.get(name) or TaskHistory(StateShares(self._meter.now()))
        version = self._planner.version(config)
        return TaskRun(status.tasks[TASK].state, version, KAFKA_VERSION, classes, meters, progress, history, self._meter.now())

    def _of_clients(self, names: Sequence[str]) -> Iterator[MBean | MBeanTable]:
        now, group = self._meter.now(), self._settings.group_id
        producers = {f"{group}-{name}": meter for name, meter in self._meter.stores.items()}
        consumers = {f"{group}-{name}": meter for name, meter in self._meter.consumers.items()}
        # The worker's own admin client is closed when the worker has started.
        admins = {f"{group}-shared-admin": ConnectionMeter()}
        for name in names:
            meters = self._reconciler.meters(name)
            if meters is not None:
                producers[f"connector-producer-{name}-0"] = meters.producer
                admins[f"connector-adminclient-{name}-0"] = meters.admin
        for connections in (*(meter.connections for meter in producers.values()), *consumers.values(), *admins.values()):
            connections.look(now)
        started = self._meter.started_ms
        member = client_id(self._settings.worker_id)
        yield from app_info_beans(DOMAIN, (None, key_value(self._settings.worker_id), member), KAFKA_VERSION, KAFKA_COMMIT, started)
        yield from app_info_beans(PRODUCER_DOMAIN, map(key_value, producers), KAFKA_VERSION, KAFKA_COMMIT, started)
        yield from app_info_beans(CONSUMER_DOMAIN, map(key_value, consumers), KAFKA_VERSION, KAFKA_COMMIT, started)
        yield from app_info_beans(ADMIN_DOMAIN, map(key_value, admins), KAFKA_VERSION, KAFKA_COMMIT, started)
        for client, meter in producers.items():
            yield from list(self._producers.each(client, ProducerFacts(meter, now)))
        for client, connections in consumers.items():
            yield consumer_bean(client, ClientFacts(connections))
        for client, connections in admins.items():
            yield admin_bean(client, ClientFacts(connections))


def _has(config: Mapping[str, str], key: str, channel: str) -> bool:
    return channel in (each.strip() for each in config.get(key, "").split(","))
