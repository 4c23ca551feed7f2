"""The initial snapshot of a connector that does not run yet, read with Spark: what ``bulk-snapshot`` does.

The publication, the slot and the notifications are those of the connector (:func:`connector.runner.take_initial_snapshot`). The offsets
are stored through REST. So the command works for Debezium's connector on Kafka Connect as well as for Understudy's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from connect_api.bodies import parse_object, texts
from connect_api.request_error import RequestError
from connector.errors import CdcError, ErrorKind
from connector.io.regex_process import BacktrackingProcess
from connector.runner.context import TaskContext
from connector.runner.event_loop import loop_factory
from connector.runner.task import take_initial_snapshot
from workers.bulk.connect_rest import Connector
from workers.bulk.reading import OwnSpark
from workers.bulk.work_order import SparkPlace
from workers.herder.task_plan import TaskPlanner
from workers.settings.worker_settings import SettingsError, WorkerSettings, current_environment, worker_properties
from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.stores.memory import MemoryLog
from workers.stores.offset_store import AllOffsets
from workers.telemetry.logging import HIDDEN, is_secret

_PLAIN: Final = re.compile(r"[!#-\[\]-~]+")
"""A value that needs no quotes: printable ASCII without blanks, quotes and backslashes."""


class Lines(logging.Formatter):
    """``time event name=value ...`` on one line. Values of fields whose names look like those of secrets are hidden."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line without a traceback."""
        fields: Mapping[str, object] = getattr(record, "fields", {})
        shown = (f" {name}={HIDDEN if is_secret(name) else _shown(value)}" for name, value in fields.items())
        return super().formatMessage(record) + "".join(shown)


def _shown(value: object) -> str:
    text = str(value)
    # JSON escapes control characters.
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def run(options: argparse.Namespace) -> int:
    """Take the snapshot and return 0. Raises JobError with the failure and what to do next."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    for name in ("connector", "workers"):
        logging.getLogger(name).setLevel(logging.INFO)
    for name in ("aiokafka", "py4j"):
        # The connector itself reports their relevant warnings.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    name, config = _given(options)
    settings = dict(_setting(text) for text in options.conf)
    place = SparkPlace(settings=settings) if options.master is None else SparkPlace(options.master, settings)
    try:
        worker = WorkerSettings.from_properties(worker_properties(options.worker, current_environment()))
    except SettingsError as error:
        raise JobError(WRONG, f"The worker's properties cannot be used: {error}") from error
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_run(options, name, config, worker, OwnSpark(place)))
    return 0


async def _run(options: argparse.Namespace, name: str, config: Mapping[str, str] | None, worker: WorkerSettings, spark: OwnSpark) -> None:
    current = asyncio.current_task()
    if current is not None:
        # SIGTERM cancels the run, as Ctrl-C does, so that Spark's tasks and their connections end first.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, current.cancel)
    if refusal := await spark.refusal():
        raise JobError(UNREADABLE, refusal)
    async with aclosing(Connector(options.connect, name, options.netrc)) as connector:
        if config is not None:
            await connector.create_stopped(config)
        elif (state := await connector.state()) != "STOPPED":
            raise JobError(UNREADABLE, f"Connector {name} is {state}. Stop it first (PUT {connector.url}/connectors/{name}/stop).")
        context = await _context(name, await connector.config(), worker, connector)
        try:
            await take_initial_snapshot(context, spark)
        except CdcError as error:
            # Somebody else takes the snapshot or streams. A second one must not begin.
            go_on = "" if error.kind is ErrorKind.SLOT_BUSY else f" {_go_on(context, connector.url)}"
            raise JobError(UNREADABLE, f"{error}{go_on}") from error
        except asyncio.CancelledError:
            raise JobError(UNREADABLE, f"The snapshot was broken off. {_go_on(context, connector.url)}") from None
        rows = sum(table.rows for table in context.progress.tables)
        seconds = context.progress.snapshot_seconds
        _say(f"{rows} rows of {len(context.progress.tables)} tables in {seconds:.1f} s, {rows / max(seconds, 0.001):.0f} rows/s.")
        if options.stay_stopped:
            _say(f"Connector {name} stays stopped; once resumed it streams from the snapshot on.")
        else:
            await connector.resume()
            _say(f"Connector {name} is resumed and streams from the snapshot on.")


async def _context(name: str, config: Mapping[str, str], worker: WorkerSettings, connector: Connector) -> TaskContext:
    """The context that a worker would create, but with offsets through REST and without Kafka transactions."""
    try:
        planned = await TaskPlanner(worker, AllOffsets(MemoryLog()), lambda _name, _topic: None).context(name, config)
    except CdcError as error:
        raise JobError(UNREADABLE, str(error)) from error
    return replace(planned, offsets=connector, exactly_once=None, backtrack=BacktrackingProcess())


def _go_on(context: TaskContext, url: str) -> str:
    slot = context.config.get("slot.name", "debezium")
    return (
        f"What was sent and the slot {slot}, if it was made, stay: run the command again ({url}, --name {context.connector}), "
        "or resume the connector, which then takes the snapshot itself; either way streaming begins where the slot stands. "
        f"To give up, DELETE the connector's offsets and SELECT pg_drop_replication_slot('{slot}')."
    )


def _given(options: argparse.Namespace) -> tuple[str, dict[str, str] | None]:
    """The connector's name, and its configuration if it must be created."""
    if options.config is None:
        if not options.name:
            raise JobError(WRONG, "The connector is missing. Give --name, or --config with the file to make it of.")
        return options.name, None
    try:
        read = parse_object(options.config.read_bytes())
    except (OSError, RequestError) as error:
        raise JobError(WRONG, f"--config {options.config} cannot be read as JSON ({type(error).__name__}). Check the file.") from error
    config = read.get("config", read)
    if not isinstance(config, dict):
        raise JobError(WRONG, f"--config {options.config} holds no object. Give a connector's name and config, as for POST /connectors.")
    name = options.name or read.get("name") or config.get("name")
    if not name:
        raise JobError(WRONG, f"--config {options.config} names no connector. Give --name.")
    try:
        values = texts(config)
    except RequestError as error:
        raise JobError(WRONG, f"--config {options.config} cannot be used: {error}") from None
    return str(name), {key: value for key, value in values.items() if value is not None}


def _setting(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key.startswith("spark."):
        raise JobError(WRONG, "--conf takes a setting of Spark: give spark.<name>=<value>.")
    return key, value


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
