"""Reports a task's runs to OpenLineage (``openlineage.integration.enabled``). Records never wait for a report.

A thread sends the events in their order. An event that cannot be sent is lost, with a warning; there is at most one warning a minute.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from connector.catalog.name_matcher import matcher
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.errors import CdcError
from connector.io.openlineage import Emit, LineageSetupError, adapter_version, open_client
from connector.lineage.dataset import Dataset, table_dataset, topic_dataset
from connector.lineage.job import LineageJob
from connector.lineage.run_event import LineageRun, Members, RunFailure, State
from connector.lineage.run_id import run_id
from connector.log import EventLog
from connector.record.schema import Schema
from connector.runner.context import TaskContext
from connector.types.codec import Types

LOG: Final = EventLog(__name__)

MOST_WAITING: Final = 1000
"""Events that wait at most; further ones are lost."""
_WARN_EVERY_S: Final = 60.0
_CLOSE_S: Final = 2.0
"""How long a stopping task waits for its last events."""


class LineageReporter:
    """The reports of one run of a task. All methods return at once, except :meth:`close`."""

    def __init__(self, run: LineageRun, config: ConnectorConfig, sender: LineageSender) -> None:
        self._run = run
        self._config = config
        self._sender = sender

    def state(self, state: State, datasets: Sequence[Dataset] = (), failure: RunFailure | None = None) -> None:
        """Report that the run has this state, or reads or writes ``datasets``."""
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        self._sender.send(self._run.event(state, at, datasets, failure))

    def table(self, table: CatalogTable, types: Types) -> None:
        """Report a captured table, as it is described now."""
        self.state("RUNNING", [table_dataset(table, types, self._config)])

    def topic(self, topic: str, schema: Schema) -> None:
        """Report a topic and the schema of its values (the transform OpenLineage)."""
        self.state("RUNNING", [topic_dataset(topic, schema, self._config)])

    async def close(self) -> None:
        """Wait until all events are sent, at most two seconds."""
        await asyncio.to_thread(self._sender.close, _CLOSE_S)


class LineageSender:
    """Sends events in a thread of its own, which ends with :meth:`close`. ``open_emit`` makes the client; the thread calls it first."""

    def __init__(self, open_emit: Callable[[], Emit], clock: Callable[[], float] = time.monotonic) -> None:
        self._open_emit = open_emit
        self._clock = clock
        self._waiting: queue.Queue[Members | None] = queue.Queue(MOST_WAITING)
        self._warned_at: float | None = None
        self._unreported = 0
        # A daemon: a server of OpenLineage that does not answer must not keep the worker from ending.
        self._thread = threading.Thread(target=self._work, name="openlineage", daemon=True)
        self._thread.start()

    def send(self, event: Members) -> None:
        """Queue an event. It is lost if too many wait."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._lost("too many events wait")

    def close(self, seconds: float) -> None:
        """Wait until what is queued is sent, at most ``seconds``. No event may be sent afterwards."""
        until = self._clock() + seconds
        try:
            self._waiting.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(max(0.0, until - self._clock()))

    def _work(self) -> None:
        try:
            emit = self._open_emit()
        except LineageSetupError as problem:
            LOG.warning("no OpenLineage events are sent", reason=str(problem))
            emit = _drop
        while (event := self._waiting.get()) is not None:
            try:
                emit(event)
            except Exception as problem:  # noqa: BLE001 (transports raise errors of many kinds, and a report must not fail a task)
                self._lost(type(problem).__name__)

    def _lost(self, reason: str) -> None:
        now = self._clock()
        self._unreported += 1
        if self._warned_at is None or now - self._warned_at >= _WARN_EVERY_S:
            LOG.warning("OpenLineage event not sent", reason=reason, events=self._unreported)
            self._warned_at, self._unreported = now, 0


def _drop(_event: Members) -> None:
    """Send nothing, for a client that could not be set up."""


@asynccontextmanager
async def reported_run(context: TaskContext, stop: asyncio.Event) -> AsyncIterator[TaskContext]:
    """Report a run from its start to its end, and yield the context whose functions report tables and topics.

    A run that raises an error ends with FAIL, unless ``stop`` is set; every other ends with COMPLETE. Nothing is reported if the
    configuration does not ask for reports, or if the client is not installed: then the log says so in one line, and the task runs.
    """
    lineage = _open(context)
    if lineage is None:
        yield context
        return
    try:
        lineage.state("START")
        lineage.state("RUNNING")
        yield replace(context, table_described=lineage.table, topic_described=lineage.topic)
    except Exception as problem:
        failed = None if stop.is_set() else _failure(problem, context.hide)
        lineage.state("FAIL" if failed else "COMPLETE", failure=failed)
        raise
    else:
        lineage.state("COMPLETE")
    finally:
        await lineage.close()


def _open(context: TaskContext) -> LineageReporter | None:
    if context.config.get("openlineage.integration.enabled", "").strip().lower() != "true":
        return None
    from connector.runner.passwords import passwords  # noqa: PLC0415 (every converter; only reports need them)

    config, _notices = parse(context.config)
    if not config.openlineage_integration_enabled:
        return None
    try:
        adapter = adapter_version()
        masked = matcher([config.custom_sanitize_pattern], "custom.sanitize.pattern", context.backtrack)
        secrets = [*passwords(context.config), *(name for name in context.config if masked(name))]
    except (LineageSetupError, CdcError) as problem:
        LOG.warning("no OpenLineage events are sent", reason=str(problem))
        return None
    shown = {name: context.hide(text) for name, text in context.config.items()}
    run = LineageRun(LineageJob.of(config, shown, context.task_id, secrets), run_id(time.time_ns(), os.urandom(10)), adapter)
    return LineageReporter(run, config, LineageSender(partial(open_client, config.openlineage_integration_config_file_path)))


def _failure(problem: Exception, hide: Callable[[str], str]) -> RunFailure:
    """Return what an event says of an error. The server's own words are left out: they may quote a row."""
    if isinstance(problem, CdcError):
        return RunFailure(hide(problem.message), hide(f"{problem.kind.value}: {problem.message} {problem.remedy}".strip()))
    return RunFailure(type(problem).__name__, type(problem).__name__)
