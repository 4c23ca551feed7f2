"""One worker process: REST first, then the stores, then the connectors; and the way back when it is told to end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any, Final

from connector.errors import CdcError, Directive
from workers.gate import Gate
from workers.herder import WorkerHerder
from workers.kafka_membership import KafkaMembership
from workers.rest_server import RestServer
from workers.settings import SettingsError, WorkerSettings
from workers.stores.log import Cluster, KafkaLog
from workers.submitted_config import Validate
from workers.supervisor import RunTask

LOGGER: Final = logging.getLogger(__name__)

_START_RETRY_SECONDS: Final = 2.0


async def serve(
    settings: WorkerSettings,
    *,
    create_app: Callable[[WorkerHerder], Any],
    create_admin_app: Callable[[WorkerHerder], Any],
    run_task: RunTask,
    validate: Validate,
    warm_up: Callable[[], object] = bool,
) -> None:
    """Run until SIGTERM or SIGINT; then end tasks, hand connectors back and close, within the tasks' graceful time.

    ``create_admin_app`` makes what listeners for ``/admin`` alone serve.
    ``warm_up`` is called in a thread once the worker is ready: what it imports, the first connector need not wait for.
    Raises CdcError when an address is taken, SettingsError when the internal topics cannot be used as they are configured.
    """
    server = RestServer(settings.http)
    properties = {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}
    cluster = Cluster(properties)
    herder = WorkerHerder(
        settings,
        config_log=KafkaLog(cluster, settings.config_topic),
        offset_log=KafkaLog(cluster, settings.offset_topic),
        status_log=KafkaLog(cluster, settings.status_topic),
        run_task=run_task,
        validate=validate,
        cluster_id=lambda: cluster.cluster_id,
        membership=KafkaMembership(
            properties,
            group_id=settings.group_id,
            worker_id=settings.worker_id,
            topic=settings.config_topic.name,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
        ),
    )
    app = Gate(create_app(herder), herder.wait_ready)
    admin_app = Gate(create_admin_app(herder), herder.wait_ready) if settings.http.admin_listeners else None
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    serving = asyncio.create_task(server.serve(app, admin_app), name="rest")
    starting = asyncio.create_task(_start(settings, cluster, herder, warm_up), name="start")
    ending = asyncio.create_task(end.wait(), name="wait for the end")
    LOGGER.info("listening", extra={"fields": {"addresses": ",".join(server.addresses)}})
    try:
        waiting: set[asyncio.Task[Any]] = {serving, starting, ending}
        while not end.is_set() and not serving.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if starting in done:
                starting.result()
    finally:
        LOGGER.info("stopping")
        server.stop()
        ending.cancel()
        starting.cancel()
        await asyncio.gather(starting, ending, return_exceptions=True)
        await asyncio.gather(herder.stop(), serving)
        await cluster.stop()
        LOGGER.info("stopped")


async def _start(settings: WorkerSettings, cluster: Cluster, herder: WorkerHerder, warm_up: Callable[[], object]) -> None:
    """Reach Kafka, trying as long as it takes, and let the herder take up its connectors."""
    topics = {"config.storage": settings.config_topic, "offset.storage": settings.offset_topic, "status.storage": settings.status_topic}
    while True:
        try:
            await cluster.start(topics)
            break
        except CdcError as problem:
            if problem.directive is not Directive.RETRY:
                raise SettingsError(str(problem)) from problem
            herder.failing(str(problem))
            LOGGER.warning("cannot start yet, trying again", extra={"fields": {"error": str(problem), "seconds": _START_RETRY_SECONDS}})
            await asyncio.sleep(_START_RETRY_SECONDS)
    await herder.start()
    await asyncio.to_thread(warm_up)
