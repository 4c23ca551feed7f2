"""One worker process: REST first, then the stores, then the connectors; and the way back when it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn

from connector.errors import CdcError, Directive
from workers.gate import Gate
from workers.herder import WorkerHerder
from workers.settings import Listener, SettingsError, WorkerSettings
from workers.stores.log import Cluster, KafkaLog
from workers.submitted_config import Validate
from workers.supervisor import RunTask

LOGGER: Final = logging.getLogger(__name__)

_BACKLOG: Final = 128
_START_RETRY_SECONDS: Final = 2.0
_OPEN_CALLS_SECONDS: Final = 1
"""How long open REST calls may take to end once the worker stops."""


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: the worker has one order in which it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(
    settings: WorkerSettings,
    *,
    create_app: Callable[[WorkerHerder], Any],
    run_task: RunTask,
    validate: Validate,
    warm_up: Callable[[], object] = bool,
) -> None:
    """Run until SIGTERM or SIGINT; then end tasks, hand connectors back and close, within the tasks' graceful time.

    ``warm_up`` is called in a thread once the worker is ready: what it imports, the first connector need not wait for.
    Raises SettingsError when an address is taken or the internal topics cannot be used as they are configured.
    """
    sockets = [_bind(listener) for listener in settings.listeners]
    cluster = Cluster({**settings.properties, "bootstrap.servers": settings.bootstrap_servers})
    herder = WorkerHerder(
        settings,
        config_log=KafkaLog(cluster, settings.config_topic),
        offset_log=KafkaLog(cluster, settings.offset_topic),
        status_log=KafkaLog(cluster, settings.status_topic),
        run_task=run_task,
        validate=validate,
        cluster_id=lambda: cluster.cluster_id,
    )
    config = uvicorn.Config(
        Gate(create_app(herder), herder.wait_ready),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_OPEN_CALLS_SECONDS,
    )
    server = _Server(config)
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    serving = asyncio.create_task(server.serve(sockets), name="rest")
    starting = asyncio.create_task(_start(settings, cluster, herder, warm_up), name="start")
    ending = asyncio.create_task(end.wait(), name="wait for the end")
    LOGGER.info("listening", extra={"fields": {"addresses": ",".join(f"{lis.host or '*'}:{lis.port}" for lis in settings.listeners)}})
    try:
        waiting: set[asyncio.Task[Any]] = {serving, starting, ending}
        while not end.is_set() and not serving.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if starting in done:
                starting.result()
    finally:
        LOGGER.info("stopping")
        server.should_exit = True
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


def _bind(listener: Listener) -> socket.socket:
    """A listening socket. An empty host is all addresses, of both protocols where the machine has both."""
    family = socket.AF_INET
    if ":" in listener.host or (not listener.host and socket.has_dualstack_ipv6()):
        family = socket.AF_INET6
    try:
        return socket.create_server(
            (listener.host, listener.port), family=family, backlog=_BACKLOG, dualstack_ipv6=not listener.host and family == socket.AF_INET6
        )
    except OSError as problem:
        raise SettingsError(
            f"Cannot listen on {listener.host or '*'}:{listener.port}: {problem.strerror}. "
            "End the program that uses the port, or choose another in the worker property listeners."
        ) from problem
