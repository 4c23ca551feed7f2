"""Configurations in the config topic that REST would have refused: each one fails only its own connector."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from connector.config.keys import KEYS
from connector.config.validation import Validation
from connector.errors import CdcError, ErrorKind
from connector.runner import task
from connector.runner.context import TaskContext
from connector.runner.task import run_task
from connector.runner.task_stop import TaskStop
from workers.herder.herder import WorkerHerder
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.topic_log import Entry
from workers.telemetry.loggers import Loggers

BASE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "127.0.0.1",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "topic.prefix": "p",
}
ABSURD: list[Any] = [
    "",
    " ",
    "\0",
    "9" * 4_000,
    "9" * 5_000,
    "0" * 5_000 + "1",
    "-9223372036854775809",
    "9223372036854775807",
    "-1",
    "1e400",
    "NaN",
    "٣²",
    "${",
    "${a:b:c}",
    ",,,",
    ":",
    "a:b:c;d=e",
    "unittest.__main__:x",
    "../../etc/passwd",
    "[",
    "x" * 100_000,
    "%s%n{}",
    "\u2028\x1b[31m\r\n",
    "null",
    None,
    True,
    1e308,
]
SECONDS = 60.0
PACE = 0.001
NAMES = [key.name for key in KEYS if "(" not in key.name] + [
    "column.mask.with.0.chars",
    f"column.mask.with.{'9' * 5_000}.chars",
    f"column.truncate.to.{'9' * 5_000}.chars",
    "column.mask.hash.md5.with.salt.",
    "column.mask.hash.v2.none.with.salt.x",
    "topic.creation.default.partitions",
    "topic.creation.x.include",
    "snapshot.max.threads.multiplier.a.b",
    "snapshot.select.statement.overrides.a.b",
    "producer.override.linger.ms",
    "admin.override.request.timeout.ms",
    "producer.override.sasl.jaas.config",
    "driver.socketTimeout",
    "database.applicationName",
    "transforms.x.type",
    "x.type",
    "signal.consumer.security.protocol",
    "errors.max.retries",
    "errors.deadletterqueue.topic.name",
    "",
    "\0",
    "name",
]


class Bench:
    """A worker in memory whose tasks are real ones without a database, but for the connector ``good``'s."""

    def __init__(self, configs: Mapping[str, Mapping[str, Any]]) -> None:
        entries = [Entry(f"connector-{name}".encode(), orjson.dumps({"properties": config})) for name, config in configs.items()]
        self.left = set(configs)
        self.defects: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: self.defects.append(context))
        self.herder = WorkerHerder(
            WorkerSettings.from_properties({"bootstrap.servers": "127.0.0.1:1", "listeners": "http://127.0.0.1:8083"}),
            config_log=MemoryLog(MemoryTopic(entries)),
            offset_log=MemoryLog(),
            status_log=MemoryLog(),
            run_task=self.run,
            validate=self.validate,
            pause=self.pause,
            loggers=Loggers(lambda: 0, logging.Manager(logging.RootLogger(logging.INFO))),
        )

    async def run(self, context: TaskContext, stop: TaskStop) -> None:
        if context.connector == "good":
            self.done("good")
            await stop.wait()
        else:
            await run_task(context, stop)

    async def pause(self, _seconds: float, stop: asyncio.Event) -> None:
        # Nothing of the configuration was wrong: the task asked for the database, and there is none.
        running = asyncio.current_task()
        assert running is not None
        self.done(running.get_name().removeprefix("task ").removesuffix("-0"))
        await stop.wait()

    def done(self, name: str) -> None:
        self.left.discard(name)

    async def validate(self, _name: str, _config: Mapping[str, str | None]) -> Validation:
        raise AssertionError


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(*_: object) -> None:
        raise CdcError(ErrorKind.SOURCE_UNREACHABLE, "No database")

    monkeypatch.setattr(task, "connect", connect)


async def failures_of(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The trace of each connector that failed; the others wait for their database, and ``good`` runs."""
    bench = Bench({name: {"name": name, **config} for name, config in {"good": BASE, **configs}.items()})
    herder = bench.herder
    failed: dict[str, str] = {}
    await herder.start()
    try:
        await herder.settled()
        # One that is neither failed nor waiting never comes. Some are loaded in a thread, which needs the pauses to get on.
        async with asyncio.timeout(SECONDS):
            while bench.left:
                for name in bench.left & set(herder.connectors()):
                    status = herder.connector_status(name)
                    for state in (status.connector, *status.tasks.values()):
                        if state.state == "FAILED":
                            failed[name] = state.trace or ""
                bench.left -= failed.keys()
                await asyncio.sleep(PACE)
        assert herder.connector_status("good").tasks[0].state == "RUNNING"
        assert herder.health().status == "healthy"
    finally:
        await herder.stop()
    assert bench.defects == []
    return failed


def assert_sentences(failed: Mapping[str, str]) -> None:
    unforeseen = {name[:80]: trace for name, trace in failed.items() if not trace or "\n\tat " in trace}
    assert unforeseen == {}


async def test_each_property_with_absurd_values() -> None:
    # Every value meets many properties, and every property several values.
    configs = {
        f"{place}-{turn}": {**BASE, name: ABSURD[(place * 3 + turn) % len(ABSURD)]} for place, name in enumerate(NAMES) for turn in range(3)
    }
    failed = await failures_of(configs)
    assert len(configs) > len(failed) > 200
    assert_sentences(failed)


async def test_all_properties_with_one_absurd_value() -> None:
    kept = {"connector.class", "connector.plugin.version"}
    configs = {str(number): {**BASE, **dict.fromkeys(set(NAMES) - kept, value)} for number, value in enumerate(ABSURD)}
    failed = await failures_of(configs)
    assert_sentences(failed)


async def test_a_pause_of_four_thousand_digits_is_reported() -> None:
    """The connector was RUNNING, and nothing ran."""
    wrong = {**BASE, "retriable.restart.connector.wait.ms": "9" * 4_000}
    [trace] = (await failures_of({"wrong": wrong})).values()
    assert "retriable.restart.connector.wait.ms" in trace


async def test_a_configuration_without_a_class_fails_the_connector() -> None:
    failed = await failures_of({"none": {}, "other": {**BASE, "connector.class": "unittest.__main__:x"}})
    assert "contains no connector type" in failed["none"]
    assert "Failed to find any class" in failed["other"]


async def test_any_class_of_the_interpreter() -> None:
    """The worker ended, and did so again at each start."""
    named = {
        "converters": {"converters": "a", "a.type": "unittest.__main__:x"},
        "mode": {"snapshot.mode": "custom", "snapshot.mode.custom.name": "unittest.__main__:x"},
        "query": {"snapshot.query.mode": "custom", "snapshot.query.mode.custom.name": "unittest.__main__:x"},
        "lock": {"snapshot.locking.mode": "custom", "snapshot.locking.mode.custom.name": "unittest.__main__:x"},
        "channel": {"signal.enabled.channels": "source,unittest.__main__:x"},
        "action": {"signal.actions": "unittest.__main__:x"},
        "notification": {"notification.enabled.channels": "unittest.__main__:x"},
    }
    failed = await failures_of({name: {**BASE, **config} for name, config in named.items()})
    # Converters and notification channels are loaded once the database has answered.
    assert set(failed) == {"mode", "query", "lock", "channel", "action"}
    for name, trace in failed.items():
        assert "is not allowed: the worker's property plugin.packages lists neither it" in trace, name
