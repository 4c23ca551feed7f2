"""The MBeans of a task on real servers, beside those recorded from Debezium after the same changes.

``tests/unit/workers/telemetry/beans/debezium_recorded.json`` says what was recorded when.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from connector.preflight.finding import Finding
from connector.runner.context import TaskContext
from connector.runner.task import run_task
from connector.runner.task_stop import TaskStop
from tests.fix_pg import Database, PgServer
from tests.support.project import ROOT
from tests.support.until import until
from workers.herder.configuration_check import ConfigurationCheck
from workers.herder.herder import WorkerHerder
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog
from workers.telemetry.loggers import Loggers

pytestmark = pytest.mark.pg_once

RECORDED: Final = json.loads((ROOT / "tests/unit/workers/telemetry/beans/debezium_recorded.json").read_text())["beans"]
PREFIX: Final = "debezium.postgres:type=connector-metrics,context="
TABLES: Final = (
    "CREATE TABLE a (id int PRIMARY KEY, v text)",
    "CREATE TABLE b (id int PRIMARY KEY, v text)",
    "CREATE TABLE sig (id text PRIMARY KEY, type text, data text)",
    "CREATE TABLE secret (id int)",
    "INSERT INTO a SELECT i, 'x' FROM generate_series(1, 5) i",
    "INSERT INTO b SELECT i, 'y' FROM generate_series(1, 3) i",
)
CHANGES: Final = (
    "INSERT INTO a SELECT i, 'x' FROM generate_series(6, 9) i",
    "UPDATE a SET v = 'z' WHERE id <= 3",
    "DELETE FROM a WHERE id = 9",
    "INSERT INTO secret VALUES (1)",
    "TRUNCATE b",
    "INSERT INTO b VALUES (10, 'q'), (11, 'q')",
)
SIGNAL: Final = "INSERT INTO sig VALUES ('s1', 'execute-snapshot', '{\"data-collections\": [\"public.a\"]}')"
CHANGING: Final = frozenset({"LastEvent", "MilliSecondsSinceLastEvent"})


async def _nothing_found(_config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    return ()


async def _run(context: TaskContext, stop: TaskStop) -> None:
    await run_task(context, stop)


@asynccontextmanager
async def herder_of(kafka: str) -> AsyncIterator[WorkerHerder]:
    """A herder with stores in memory, whose tasks write to Kafka."""
    herder = WorkerHerder(
        WorkerSettings.from_properties({"bootstrap.servers": kafka}),
        config_log=MemoryLog(),
        offset_log=MemoryLog(),
        status_log=MemoryLog(),
        run_task=_run,
        validate=ConfigurationCheck(_nothing_found),
        loggers=Loggers(lambda: 0, logging.Manager(logging.RootLogger(logging.INFO))),
    )
    await herder.start()
    try:
        yield herder
    finally:
        await herder.stop()


def config(database: Database, name: str) -> dict[str, str]:
    return {
        "name": name,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.dbname": database.name,
        "topic.prefix": name,
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "publication.autocreate.mode": "all_tables",
        "slot.drop.on.stop": "true",
        "table.include.list": "public.a,public.b,public.sig",
        "signal.data.collection": "public.sig",
        "custom.metric.tags": "team=x",
        "internal.advanced.metrics.enable": "true",
        "skip.messages.without.change": "true",
    }


def same(ours: Mapping[str, Any], stage: str) -> None:
    theirs = RECORDED[stage]["snapshot"]
    assert {key: value for key, value in ours.items() if key not in CHANGING} == {
        key: value for key, value in theirs.items() if key not in CHANGING
    }


async def test_the_values_of_a_task_are_the_recorded_ones(pg: PgServer, kafka_bootstrap: str) -> None:
    database, name = pg.database("mbeans"), "mbeans"
    database.execute(*TABLES)
    async with herder_of(kafka_bootstrap) as herder:

        def bean(context: str) -> dict[str, Any]:
            wanted = f"{PREFIX}{context},server={name},team=x"
            return next((dict(bean.attributes) for bean in herder.mbeans() if bean.name == wanted), {})

        await herder.put_connector(name, config(database, name), allow_replace=False)

        async def shows(context: str, attribute: str, value: object) -> None:
            """A bean has the values of one moment: nothing announces the next."""

            async def look() -> bool:
                return bool(bean(context).get(attribute) == value)

            await until(look, lambda: f"{attribute} to be {value}: {bean(context)}")

        await shows("streaming", "Connected", True)
        same(bean("snapshot"), "snapshot")
        await asyncio.to_thread(database.execute, *CHANGES)
        before, after = RECORDED["snapshot"]["streaming"], RECORDED["stream"]["streaming"]
        committed = "NumberOfCommittedTransactions"
        await shows("streaming", committed, after[committed] - before[committed])
        ours = bean("streaming")
        assert ours["TotalNumberOfEventsSeen"] == after["TotalNumberOfEventsSeen"] - before["TotalNumberOfEventsSeen"]
        assert ours["NumberOfEventsFiltered"] == after["NumberOfEventsFiltered"]
        assert ours["NumberOfCreateEventsSeen"] == {"public.a": 4, "public.b": 2}
        assert ours["CapturedTables"] == after["CapturedTables"]
        await asyncio.to_thread(database.execute, SIGNAL)
        rows = RECORDED["incremental"]["snapshot"]["TotalNumberOfEventsSeen"]
        await shows("snapshot", "TotalNumberOfEventsSeen", rows)
        await shows("snapshot", "SnapshotRunning", False)
        same(bean("snapshot"), "incremental")
        await herder.delete_connector(name)
        await herder.settled()
        assert bean("streaming") == {}
