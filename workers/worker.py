"""A worker process: it starts REST first, then the stores, then the connectors, and stops them in the opposite order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from connector.errors import CdcError, Directive
from connector.log import EventLog
from workers.group.kafka_membership import KafkaMembership
from workers.herder.herder import WorkerHerder
from workers.herder.supervisor import RunTask
from workers.rest.server import RestServer
from workers.rest.startup_gate import StartupGate
from workers.settings.worker_settings import SettingsError, WorkerSettings
from workers.stores.topic_log import Cluster, KafkaLog
from workers.telemetry.worker_meter import WorkerMeter

if TYPE_CHECKING:
    from workers.herder.submitted_config import Validate

LOG: Final = EventLog(__name__)

_START_RETRY_SECONDS: Final = 2.0


async def serve(
    settings: WorkerSettings,
    *,
    create_app: Callable[[WorkerHerder], Any],
    create_admin_app: Callable[[WorkerHerder], Any],
    create_metrics_app: Callable[[WorkerHerder], Any],
    run_task: RunTask,
    validate: Validate,
    warm_up: Callable[[], object] = bool,
    export: Callable[[WorkerHerder], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Run until SIGTERM or SIGINT; then end the tasks, release the connectors and close, within the tasks' graceful time.

    ``create_admin_app`` creates the application of ``admin.listeners``, ``create_metrics_app`` that of ``metrics.agent``.
    ``warm_up`` is called in a thread when the worker is ready. It imports modules for which the first connector would otherwise wait.
    ``export`` runs until the end, if it is given; it sends metrics to OpenTelemetry.
    Raises CdcError when an address is in use, SettingsError when the internal topics cannot be used with these settings.
    """
    agent = settings.metrics.agent
    server = RestServer(settings.http, () if agent is None else (agent.listener,))
    cluster = Cluster(_client_properties(settings))
    herder = _herder(settings, cluster, run_task, validate)
    app = StartupGate(create_app(herder), herder.wait_ready)
    admin_app = StartupGate(create_admin_app(herder), herder.wait_ready) if settings.http.admin_listeners else None
    metrics_app = None if agent is None else create_metrics_app(herder)
    herder.meter.connections = server.open_connections
    herder.meter.loop_lag.start()
    end = _end_of_process()
    serving = asyncio.create_task(server.serve(app, admin_app, metrics_app), name="rest")
    starting = asyncio.create_task(_start(settings, cluster, herder, warm_up), name="start")
    ending = asyncio.create_task(end.wait(), name="wait for the end")
    exporting = asyncio.create_task(export(herder), name="export metrics") if export is not None else None
    LOG.info("listening", addresses=",".join(server.addresses))
    try:
        waiting = {serving, starting, ending}
        while not end.is_set() and not serving.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if starting in done:
                starting.result()
    finally:
        LOG.info("stopping")
        herder.meter.loop_lag.stop()
        server.stop()
        for task in (others := [starting, ending, *([exporting] if exporting is not None else [])]):
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.gather(herder.stop(), serving)
        await cluster.stop()
        LOG.info("stopped")


def _end_of_process() -> asyncio.Event:
    """Return the event that SIGTERM or SIGINT sets."""
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    return end


def _client_properties(settings: WorkerSettings) -> dict[str, str]:
    """The properties of the worker's own Kafka clients."""
    return {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}


def _herder(settings: WorkerSettings, cluster: Cluster, run_task: RunTask, validate: Validate) -> WorkerHerder:
    meter = WorkerMeter()
    topics = {"configs": settings.config_topic, "offsets": settings.offset_topic, "statuses": settings.status_topic}
    logs = {store: KafkaLog(cluster, topic, meter.stores[store]) for store, topic in topics.items()}
    membership = KafkaMembership(
        _client_properties(settings),
        group_id=settings.group_id,
        worker_id=settings.worker_id,
        topic=settings.config_topic.name,
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        rebalance_timeout_ms=settings.rebalance_timeout_ms,
    )
    meter.watch(membership.traffic, cluster.traffic, {store: log.traffic for store, log in logs.items()})
    return WorkerHerder(
        settings,
        config_log=logs["configs"],
        offset_log=logs["offsets"],
        status_log=logs["statuses"],
        meter=meter,
        run_task=run_task,
        validate=validate,
        cluster_id=lambda: cluster.cluster_id,
        membership=membership,
    )


async def _start(settings: WorkerSettings, cluster: Cluster, herder: WorkerHerder, warm_up: Callable[[], object]) -> None:
    """Connect to Kafka, with retries without a limit, then start the herder."""
    topics = {"config.storage": settings.config_topic, "offset.storage": settings.offset_topic, "status.storage": settings.status_topic}
    while True:
        try:
            await cluster.start(topics)
            break
        except CdcError as problem:
            if problem.directive is not Directive.RETRY:
                raise SettingsError(str(problem)) from problem
            herder.failing(str(problem))
            LOG.warning("cannot start yet, trying again", error=str(problem), seconds=_START_RETRY_SECONDS)
            await asyncio.sleep(_START_RETRY_SECONDS)
    await herder.start()
    await asyncio.to_thread(warm_up)
