"""The command ``understudy``. It connects settings, stores, herder, REST interface and connector.

Many imports are inside functions, because the REST interface must answer within a second of the process's start.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from connector.errors import CdcError
from connector.log import EventLog
from connector.ports import Backtracking
from connector.preflight.finding import Finding
from connector.runner.context import TaskContext
from connector.runner.task_stop import TaskStop
from workers.rest.http_settings import HttpSettings
from workers.settings.image_variables import honoured_otherwise
from workers.settings.required import require_all
from workers.settings.worker_settings import (
    CONFIG_PARTITIONS,
    SettingsError,
    WorkerSettings,
    current_environment,
    log_format,
    log_level,
    worker_properties,
)
from workers.telemetry.logging import configure

if TYPE_CHECKING:
    from fastapi import FastAPI

    from connect_api.login import Login
    from connector.preflight.slot_health import SlotHealth
    from workers.herder.herder import WorkerHerder
    from workers.records.latest import StoredRecord
    from workers.rest.metrics_route import Exposition
    from workers.telemetry.open_telemetry.session import OpenTelemetry
    from workers.telemetry.own.slot_watch import SlotWatch
    from workers.telemetry.own.text_family import TextFamily
    from workers.telemetry.rules.family import Family

LOG: Final = EventLog("workers")


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code: for a worker 0, or 1 when it cannot run with its settings."""
    words = sys.argv[1:] if arguments is None else arguments
    # A worker's start neither imports the other commands nor waits for them.
    return run_worker(words[1:]) if words[:1] == ["worker"] else _command_line(words)


def run_worker(words: list[str]) -> int:
    """Run a worker. ``words`` are those after ``understudy worker``."""
    parser = argparse.ArgumentParser(prog="understudy worker", description="Run a Connect worker.")
    parser.add_argument("properties", nargs="?", type=Path, help="a distributed worker's .properties file; default: CONNECT_* variables")
    chosen = parser.parse_args(words)
    environment = current_environment()
    try:
        properties = worker_properties(chosen.properties, environment)
        configure(log_level(environment), log_format=log_format(properties))
        settings = require_all(WorkerSettings.from_properties(properties), chosen.properties)
        _log_ineffective(settings)
        for line in honoured_otherwise(environment) if chosen.properties is None else ():
            LOG.warning("a variable has another effect here", variable=line)
        _run(settings)
    except (SettingsError, CdcError) as problem:
        sys.stderr.write(f"understudy: {problem}\n")
        return 1
    return 0


def _command_line(words: list[str]) -> int:
    from workers.cli.commands import command_line  # noqa: PLC0415
    from workers.herder.plugins import CONNECTOR_VERSION, KAFKA_VERSION  # noqa: PLC0415

    return command_line(words, f"understudy {_version()} (Kafka Connect {KAFKA_VERSION}, Debezium {CONNECTOR_VERSION})")


def _run(settings: WorkerSettings) -> None:
    from connector.runner.event_loop import loop_factory  # noqa: PLC0415
    from workers.herder.configuration_check import ConfigurationCheck  # noqa: PLC0415
    from workers.worker import serve  # noqa: PLC0415

    telemetry = _open_telemetry(settings)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(
            serve(
                settings,
                create_app=partial(_app, settings),
                create_admin_app=partial(_admin_app, settings.http),
                create_metrics_app=partial(_metrics_app, settings),
                run_task=partial(_run_task, settings.properties, telemetry),
                validate=ConfigurationCheck(_look_at_database, settings.preflight, classes=settings.class_map),
                warm_up=_warm_up,
                export=None if telemetry is None or not telemetry.metrics else partial(_export, telemetry),
            )
        )


def _app(settings: WorkerSettings, herder: WorkerHerder) -> Any:
    from connect_api.app import create_app  # noqa: PLC0415
    from connect_api.login import Login  # noqa: PLC0415
    from workers.console.group_flows import OtherWorkers  # noqa: PLC0415
    from workers.console.site import add_console  # noqa: PLC0415
    from workers.rest.metrics_route import add_metrics  # noqa: PLC0415

    http = settings.http
    login = None if http.users is None else Login(http.users)
    app = create_app(
        herder,
        admin=http.admin_listeners is None,
        login=login,
        cross_origin=http.cross_origin,
        header_rules=http.header_rules,
        group_tls=http.group_tls,
        hosts=http.allowed_hosts,
        most_streams=http.limits.streams,
    )
    add_metrics(app, _exposition(settings.metrics.rules, herder), login=login)
    if settings.metrics.jolokia:
        _add_jolokia(app, herder, login)
    if settings.console.enabled:
        console = settings.console
        shows_rows = console.events if console.events is not None else login is not None
        read = partial(_latest_records, settings) if shows_rows else None
        add_console(
            app,
            herder,
            login=login,
            read_only=console.read_only,
            look=_look_at_slot,
            read=read,
            ask=OtherWorkers(http.group_tls).ask,
            hidden=console.hidden,
        )
    return app


def _metrics_app(settings: WorkerSettings, herder: WorkerHerder) -> Any:
    from workers.rest.metrics_route import metrics_app  # noqa: PLC0415

    agent = settings.metrics.agent
    assert agent is not None  # noqa: S101 (only then this is called)
    return metrics_app(_exposition(agent.file, herder))


def _exposition(rules: str, herder: WorkerHerder) -> Exposition:
    """Answer scrapes by these rules. A file is read now too, so that the worker does not start with one that cannot be used."""
    from workers.telemetry.exposition import BUILT_IN  # noqa: PLC0415

    @cache
    def found() -> Exposition:
        from workers.telemetry.exposition import Exposition  # noqa: PLC0415
        from workers.telemetry.own.text_family import OwnFamilies  # noqa: PLC0415
        from workers.telemetry.watched_rules import WatchedRules  # noqa: PLC0415

        watched, watch, families = WatchedRules(rules, _backtracking()), _slot_watch(herder), OwnFamilies()

        def ours() -> Iterator[Family | TextFamily]:
            yield from watched.families()
            yield from families(herder.figures.worker(), herder.figures.connectors(watch.of))

        return Exposition(watched.first, herder.each_mbean, ours, watch.fresh, watched.renewed, herder.meter.scraped).scrape

    if rules not in BUILT_IN:
        found()

    async def answer(accept: str, names: Collection[str]) -> tuple[bytes, str]:
        return await found()(accept, names)

    return answer


@cache
def _slot_watch(herder: WorkerHerder) -> SlotWatch:
    """The one watch of the worker's slots, for everything that shows metrics."""
    from connector.io.postgres.slot_health import look_at_slots, place_of_slot  # noqa: PLC0415
    from workers.telemetry.own.slot_watch import SlotWatch  # noqa: PLC0415

    async def locate(config: Mapping[str, str]) -> tuple[str, tuple[tuple[str, str], ...]]:
        return place_of_slot(await herder.read_config(config))

    return SlotWatch(herder.figures.configs, locate, look_at_slots)


def _open_telemetry(settings: WorkerSettings) -> OpenTelemetry | None:
    """Connect OpenTelemetry, if the environment asks for it; otherwise nothing of it is imported."""
    environment = current_environment()
    if not any(key.startswith("OTEL_") for key in environment):
        return None
    from workers.telemetry.open_telemetry.wanted import wanted  # noqa: PLC0415

    asked = wanted(environment)
    if not asked:
        return None
    from workers.telemetry.open_telemetry.session import OpenTelemetry  # noqa: PLC0415

    return OpenTelemetry(asked, environment, settings.worker_id, _version())


async def _export(telemetry: OpenTelemetry, herder: WorkerHerder) -> None:
    await herder.wait_ready(float("inf"))
    watch = _slot_watch(herder)
    await telemetry.export(herder.figures.worker, lambda: herder.figures.connectors(watch.of), watch.fresh)


def _add_jolokia(app: FastAPI, herder: WorkerHerder, login: Login | None) -> None:
    from workers.rest.jolokia_route import add_jolokia  # noqa: PLC0415
    from workers.telemetry.jolokia.answers import Jolokia  # noqa: PLC0415

    server = {"agent_id": f"understudy-{uuid.uuid4().hex[:8]}", "server_product": "understudy", "server_version": _version()}
    add_jolokia(app, Jolokia(herder.each_mbean, time.time, {**server, "secured": login is not None}), login=login)


def _admin_app(http: HttpSettings, herder: Any) -> Any:
    from connect_api.app import create_admin_app  # noqa: PLC0415

    return create_admin_app(herder, hosts=http.allowed_hosts)


def _warm_up() -> None:
    # The connector's modules and libpq take 0.2 seconds and 13 MB. REST does not need them at first, but the first POST does.
    for module in ("connector.runner.task", "workers.herder.submitted_config", "connector.io.postgres.preflight"):
        import_module(module)
    _hide_libpqs_variables()
    # The present objects live until the process ends. Each full collection that visits them would delay calls and events by 35 ms.
    gc.collect()
    gc.freeze()


async def _run_task(properties: Mapping[str, str], telemetry: OpenTelemetry | None, context: TaskContext, stop: TaskStop) -> None:
    from connector.runner.task import run_task  # noqa: PLC0415
    from workers.bulk.spark_snapshots import SparkSnapshots  # noqa: PLC0415

    if telemetry is not None:
        context = replace(context, tracing=telemetry.tracing(context.connector))
    await run_task(replace(context, backtrack=_backtracking()), stop, SparkSnapshots.of(properties))


async def _look_at_database(config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    from connector.io.postgres.preflight import findings  # noqa: PLC0415

    return await findings(config, _backtracking(), further=further)


async def _look_at_slot(config: Mapping[str, str]) -> SlotHealth:
    from connector.io.postgres.slot_health import look  # noqa: PLC0415

    return await look(config, _backtracking())


async def _latest_records(settings: WorkerSettings, topic: str, count: int) -> Sequence[StoredRecord]:
    from workers.records.latest import latest_records  # noqa: PLC0415

    return await latest_records({**settings.properties, "bootstrap.servers": settings.bootstrap_servers}, topic, count)


@cache
def _backtracking() -> Backtracking:
    """The one process for all connectors of the worker. It ends with the worker."""
    from connector.io.regex_process import BacktrackingProcess  # noqa: PLC0415

    return BacktrackingProcess()


def _hide_libpqs_variables() -> None:
    """Keep libpq's environment variables from connectors (docs/operations.md), and log the names of those that are set."""
    from connector.io.postgres.environment import ignore_environment  # noqa: PLC0415

    if names := ignore_environment():
        LOG.warning("connectors ignore these environment variables of libpq", names=",".join(names))


def _log_ineffective(settings: WorkerSettings) -> None:
    if settings.ignored:
        LOG.info("properties without an effect here", names=",".join(settings.ignored))
    if settings.unknown:
        LOG.warning("unknown worker properties", names=",".join(settings.unknown))
    if (partitions := settings.properties.get(CONFIG_PARTITIONS, "1")) != "1":
        LOG.warning("the topic of the configurations always has one partition", name=CONFIG_PARTITIONS, ignored=partitions)


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("understudy")


if __name__ == "__main__":
    sys.exit(main())
