"""The command ``understudy``: the one place where settings, stores, herder, REST interface and connector meet.

What is imported where matters here: the REST interface must answer within a second of the process's start.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from connector.errors import CdcError
from connector.ports import Backtracking, TaskContext
from connector.preflight.finding import Finding
from workers.http_settings import HttpSettings
from workers.logging import configure
from workers.settings import SettingsError, WorkerSettings, current_environment, log_level, worker_properties

LOGGER = logging.getLogger("workers")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; answers the exit code: 0, or 1 when the worker cannot run as it is configured."""
    from workers.plugins import CONNECTOR_VERSION, KAFKA_VERSION  # noqa: PLC0415

    about = f"understudy {_version()} (Kafka Connect {KAFKA_VERSION}, Debezium {CONNECTOR_VERSION})"
    parser = argparse.ArgumentParser(prog="understudy", description="Kafka Connect with the Debezium PostgreSQL connector.")
    parser.add_argument("--version", action="version", version=about)
    commands = parser.add_subparsers(dest="command", required=True)
    worker = commands.add_parser("worker", help="run a Connect worker")
    worker.add_argument("properties", nargs="?", type=Path, help="a distributed worker's .properties file; without it CONNECT_* variables")
    chosen = parser.parse_args(arguments)
    environment = current_environment()
    configure(log_level(environment))
    try:
        settings = WorkerSettings.from_properties(worker_properties(chosen.properties, environment))
        _tell(settings)
        _run(settings)
    except (SettingsError, CdcError) as problem:
        sys.stderr.write(f"understudy: {problem}\n")
        return 1
    return 0


def _run(settings: WorkerSettings) -> None:
    from workers.validation import ConfigurationCheck  # noqa: PLC0415
    from workers.worker import serve  # noqa: PLC0415

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(
            serve(
                settings,
                create_app=partial(_app, settings.http),
                create_admin_app=partial(_admin_app, settings.http),
                run_task=partial(_run_task, settings.properties),
                validate=ConfigurationCheck(_look_at_database, settings.preflight),
                warm_up=_warm_up,
            )
        )


def _app(http: HttpSettings, herder: Any) -> Any:
    from connect_api.app import create_app  # noqa: PLC0415
    from connect_api.login import Login  # noqa: PLC0415

    return create_app(
        herder,
        admin=http.admin_listeners is None,
        login=None if http.users is None else Login(http.users),
        cross_origin=http.cross_origin,
        header_rules=http.header_rules,
        group_tls=http.group_tls,
        hosts=http.allowed_hosts,
    )


def _admin_app(http: HttpSettings, herder: Any) -> Any:
    from connect_api.app import create_admin_app  # noqa: PLC0415

    return create_admin_app(herder, hosts=http.allowed_hosts)


def _warm_up() -> None:
    # The connector's modules and libpq: 0.2 seconds and 13 MB that REST need not wait for, but the first POST would.
    for module in ("connector.runner", "connector.config_validation", "connector.io.pg_preflight"):
        import_module(module)
    # What is there by now stays until the end. Each full collection that walks it again holds every call and every event up for 35 ms.
    gc.collect()
    gc.freeze()


async def _run_task(properties: Mapping[str, str], context: TaskContext, stop: asyncio.Event) -> None:
    from connector.runner import run_task  # noqa: PLC0415
    from workers.bulk_snapshots import SparkSnapshots  # noqa: PLC0415

    await run_task(replace(context, backtrack=_backtracking()), stop, SparkSnapshots.of(properties))


async def _look_at_database(config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    from connector.io.pg_preflight import findings  # noqa: PLC0415

    return await findings(config, _backtracking(), further=further)


@cache
def _backtracking() -> Backtracking:
    """One process for all connectors of the worker; it ends with the worker."""
    from connector.io.backtracking import BacktrackingProcess  # noqa: PLC0415

    return BacktrackingProcess()


def _loop_factory() -> Any:
    """Uvloop's loop where it is installed, else asyncio's."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415
    except ImportError:
        return None
    return new_event_loop


def _tell(settings: WorkerSettings) -> None:
    if settings.ignored:
        LOGGER.info("properties without a meaning here are ignored", extra={"fields": {"names": ",".join(settings.ignored)}})
    if settings.unknown:
        LOGGER.warning("unknown worker properties", extra={"fields": {"names": ",".join(settings.unknown)}})


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("understudy")


if __name__ == "__main__":
    sys.exit(main())
