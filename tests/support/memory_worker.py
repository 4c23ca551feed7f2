"""A worker's REST interface on a real socket over a herder in memory: no Kafka, no PostgreSQL, tasks that only wait for their end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from connect_api.app import create_admin_app, create_app
from connector.preflight.finding import Finding
from connector.runner.context import TaskContext
from workers.herder.configuration_check import ConfigurationCheck
from workers.herder.herder import WorkerHerder
from workers.quickstart.embedded.place import free_port
from workers.rest.server import RestServer
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.topic_log import Entry
from workers.telemetry.loggers import Loggers

SECONDS = 30.0


@contextmanager
def memory_worker(config: Sequence[Entry] = (), tasks: dict[str, list[str]] | None = None) -> Iterator[tuple[str, str]]:
    """Serve until the end of the block; the addresses of the interface and of the admin listener.

    ``config`` is in the config topic when the worker starts. ``tasks`` gets the names of the event loop's tasks: under ``running`` those
    at the end of the block, when all that was asked for is done, under ``left`` those after the worker's end.

    Configurations are checked as a worker does, but for the look at the database, which finds nothing.
    """
    ports = free_port(), free_port()
    ready, end = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    async def serve() -> None:
        settings = WorkerSettings.from_properties(
            {
                "bootstrap.servers": "kafka:9092",
                "listeners": f"http://127.0.0.1:{ports[0]}",
                "admin.listeners": f"http://127.0.0.1:{ports[1]}",
            }
        )
        # Levels that are set must not be those of the tests' own process.
        loggers = Loggers(lambda: 0, logging.Manager(logging.RootLogger(logging.INFO)))
        herder = WorkerHerder(
            settings,
            config_log=MemoryLog(MemoryTopic(config)),
            offset_log=MemoryLog(),
            status_log=MemoryLog(),
            run_task=_wait,
            validate=ConfigurationCheck(_nothing_found),
            cluster_id=lambda: "memory",
            loggers=loggers,
        )
        await herder.start()
        server = RestServer(settings.http)
        serving = asyncio.create_task(server.serve(create_app(herder), create_admin_app(herder)))
        ready.set()
        await asyncio.to_thread(end.wait)
        await herder.settled()
        running = _tasks()
        server.stop()
        await asyncio.gather(serving, herder.stop())
        if tasks is not None:
            tasks.update(running=running, left=_tasks())

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as failure:
            failures.append(failure)
            ready.set()
            raise

    thread = threading.Thread(target=run, name="memory worker")
    thread.start()
    try:
        assert ready.wait(SECONDS)
        assert not failures
        yield f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
    finally:
        end.set()
        thread.join(SECONDS)
    assert not thread.is_alive()


def _tasks() -> list[str]:
    return sorted(task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task())


async def _wait(_context: TaskContext, stop: asyncio.Event) -> None:
    await stop.wait()


async def _nothing_found(_config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    return ()
