from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from connect_api.herder import Herder, HerderError
from connector.errors import CdcError, ErrorKind
from connector.ports import TaskContext
from workers.herder import WorkerHerder
from workers.settings import WorkerSettings
from workers.stores.log import Entry
from workers.stores.memory import MemoryLog, MemoryTopic

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
CONFIG = {"connector.class": CLASS, "topic.prefix": "shop", "name": "shop"}
PROPERTIES = {"listeners": "http://127.0.0.1:8083", "bootstrap.servers": "kafka:9092"}


class Topics:
    """What outlives a worker."""

    def __init__(self) -> None:
        self.config, self.offset, self.status = MemoryTopic(), MemoryTopic(), MemoryTopic()


class Bench:
    """A herder over memory, with a task that runs until it is stopped or told to fail."""

    def __init__(self, topics: Topics | None = None, properties: Mapping[str, str] | None = None) -> None:
        self.topics = topics or Topics()
        self.config_log = MemoryLog(self.topics.config)
        self.contexts: list[TaskContext] = []
        self.running: dict[str, TaskContext] = {}
        self.failures: dict[str, asyncio.Future[BaseException]] = {}
        self.validated: list[dict[str, str | None]] = []
        self.lines: list[str] = []
        self.herder = WorkerHerder(
            WorkerSettings.from_properties({**PROPERTIES, **(properties or {})}),
            config_log=self.config_log,
            offset_log=MemoryLog(self.topics.offset),
            status_log=MemoryLog(self.topics.status),
            run_task=self.run_task,
            validate=self.validate,
            cluster_id=lambda: "cluster-1",
            now_ms=lambda: 1700000000000,
        )

    async def run_task(self, context: TaskContext, stop: asyncio.Event) -> None:
        self.contexts.append(context)
        self.running[context.connector] = context
        self.failures[context.connector] = asyncio.get_running_loop().create_future()
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([stopped, self.failures[context.connector]], return_when=asyncio.FIRST_COMPLETED)
            if self.failures[context.connector].done():
                raise self.failures[context.connector].result()
        finally:
            stopped.cancel()
            del self.running[context.connector]

    async def validate(self, name: str, config: Mapping[str, str | None]) -> list[str]:
        self.validated.append(dict(config))
        return list(self.lines)

    async def settled(self) -> None:
        await self.herder.settled()
        # A started task needs one turn of the loop to be in run_task.
        for _ in range(3):
            await asyncio.sleep(0)
        await self.herder.settled()

    async def fail(self, problem: BaseException, name: str = "shop") -> None:
        self.failures[name].set_result(problem)
        while name in self.running:
            await asyncio.sleep(0)
        await self.settled()

    async def create(self, config: Mapping[str, str | None] | None = None, **options: Any) -> None:
        await self.herder.put_connector("shop", CONFIG if config is None else config, allow_replace=False, **options)
        await self.settled()

    async def target(self, state: Any) -> None:
        await self.herder.set_target_state("shop", state)
        await self.settled()

    def states(self, name: str = "shop") -> tuple[str, list[str]]:
        status = self.herder.connector_status(name)
        return status.connector.state, [task.state for task in status.tasks.values()]

    def told(self) -> list[tuple[str, str]]:
        """(key, state or value) of all records of the status topic."""
        import orjson

        return [(e.key.decode(), "" if e.value is None else orjson.loads(e.value).get("state", "topic")) for e in self.topics.status.entries]


@asynccontextmanager
async def worker(topics: Topics | None = None, properties: Mapping[str, str] | None = None) -> AsyncIterator[Bench]:
    bench = Bench(topics, properties)
    await bench.herder.start()
    await bench.settled()
    try:
        yield bench
    finally:
        await bench.herder.stop()


def config_keys(bench: Bench) -> list[tuple[str, bytes | None]]:
    return [(e.key.decode(), e.value if not e.key.startswith((b"connector-", b"task-")) else None) for e in bench.topics.config.entries]


def test_it_is_a_herder() -> None:
    def accepts(herder: Herder) -> Herder:
        return herder

    assert callable(accepts)
    _: type[Herder] = WorkerHerder


# Creating


async def test_create_stores_and_starts() -> None:
    async with worker() as bench:
        created, info = await bench.herder.put_connector("shop", CONFIG, allow_replace=False)
        assert (created, info.name, info.config, list(info.tasks), info.type) == (True, "shop", CONFIG, [], "source")
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert list(bench.herder.connectors()) == ["shop"]
        assert list(bench.herder.connector_info("shop").tasks) == [0]
        assert "shop" in bench.running
        status = bench.herder.connector_status("shop")
        assert (status.connector.worker_id, status.connector.version, status.type) == ("127.0.0.1:8083", "3.6.3.Final", "source")
        assert bench.herder.task_status("shop", 0).state == "RUNNING"
        (task,) = bench.herder.task_configs("shop")
        assert task.config == {**CONFIG, "task.class": "io.debezium.connector.postgresql.PostgresConnectorTask"}
        assert config_keys(bench) == [("connector-shop", None), ("task-shop-0", None), ("commit-shop", b'{"tasks":1}')]


async def test_the_order_of_a_configuration_is_kept() -> None:
    async with worker() as bench:
        config = {"z": "1", "connector.class": CLASS, "a": "2", "name": "shop"}
        await bench.create(config)
        assert list(bench.herder.connector_info("shop").config) == list(config)
        assert bench.topics.config.entries[0].value == f'{{"properties":{{"z":"1","connector.class":"{CLASS}","a":"2","name":"shop"}}}}'.encode()


async def test_an_existing_connector_is_not_created_again() -> None:
    async with worker() as bench:
        await bench.create()
        with pytest.raises(HerderError) as caught:
            await bench.create()
        assert (caught.value.status, caught.value.message) == (409, "Connector shop already exists")


async def test_two_creations_at_once_have_one_winner() -> None:
    async with worker() as bench:
        both = await asyncio.gather(*(bench.herder.put_connector("shop", CONFIG, allow_replace=False) for _ in range(2)), return_exceptions=True)
        assert sorted(type(result).__name__ for result in both) == ["HerderError", "tuple"]


@pytest.mark.parametrize(("state", "expected"), [("STOPPED", "STOPPED"), ("PAUSED", "PAUSED")])
async def test_initial_state(state: Any, expected: str) -> None:
    async with worker() as bench:
        await bench.create(initial_state=state)
        assert bench.states() == (expected, [])
        assert bench.contexts == []
        await bench.target("STARTED")
        assert bench.states() == ("RUNNING", ["RUNNING"])


# Refusing


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "shop"}, "Connector config {name=shop} contains no connector type"),
        ({"name": "shop", "database.password": "hunter2"}, "Connector config {name=shop, database.password=[hidden]} contains no connector type"),
        (
            {"connector.class": "no.such.Class"},
            "Failed to find any class that implements Connector and which name matches no.such.Class, available connectors are: "
            f"PluginDesc{{klass=class {CLASS}, name='{CLASS}', version='3.6.3.Final', encodedVersion=3.6.3.Final, type=source, "
            "typeName='source', location='python'}",
        ),
    ],
)
async def test_class_is_checked_first(config: dict[str, str], message: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create(config)
        assert (caught.value.status, caught.value.message) == (400, message)
        assert bench.validated == []


@pytest.mark.parametrize("name", [CLASS, "PostgresConnector", "Postgres"])
async def test_names_of_the_class(name: str) -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "connector.class": name})
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert bench.herder.connector_info("shop").config["connector.class"] == name


async def test_validation_errors_have_connects_text() -> None:
    async with worker() as bench:
        bench.lines = ["The 'topic.prefix' value is invalid: A value is required", "Two"]
        with pytest.raises(HerderError) as caught:
            await bench.create()
        assert caught.value.status == 400
        assert caught.value.message == (
            "Connector configuration is invalid and contains the following 2 error(s):\n"
            "The 'topic.prefix' value is invalid: A value is required\nTwo\n"
            "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
        )
        assert list(bench.herder.connectors()) == []
        assert bench.topics.config.entries == []


async def test_null_values_reach_the_validation() -> None:
    async with worker() as bench:
        bench.lines = ["Null value can not be supplied as the configuration value."]
        with pytest.raises(HerderError):
            await bench.create({**CONFIG, "n": None})
        assert bench.validated == [{**CONFIG, "n": None}]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transforms", "route"),
        ("predicates", "p"),
        ("key.converter", "io.confluent.connect.avro.AvroConverter"),
        ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("header.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("exactly.once.support", "required"),
        ("offsets.storage.topic", "my-own"),
        ("connector.plugin.version", "2.3.4.Final"),
    ],
)
async def test_what_the_worker_cannot_do_is_refused_by_name(key: str, value: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, key: value})
        assert caught.value.status == 400
        assert "contains the following 1 error(s)" in caught.value.message
        assert key in caught.value.message


@pytest.mark.parametrize("version", ["9.9", "[9.9,10)", "3.5", "[3.6", "(,3.6.3.Final)"])
async def test_versions_that_are_not_played(version: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "connector.plugin.version": version})
        assert caught.value.status == 400


@pytest.mark.parametrize("version", ["3.6.3.Final", "3.6.3", "latest", "[3.6,4)", "[3.6.3.Final]", "[1,2),[3,4)"])
async def test_versions_that_are_played(version: str) -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "connector.plugin.version": version})
        assert bench.states() == ("RUNNING", ["RUNNING"])


async def test_a_refusal_that_the_table_told_is_not_told_twice() -> None:
    async with worker() as bench:
        bench.lines = ["The 'transforms' value is invalid: not yet"]
        with pytest.raises(HerderError, match=r"following 1 error\(s\)"):
            await bench.create({**CONFIG, "transforms": "a"})


@pytest.mark.parametrize(
    ("policy", "key", "allowed"),
    [
        ("All", "producer.override.linger.ms", True),
        ("None", "producer.override.linger.ms", False),
        ("Principal", "producer.override.linger.ms", False),
        ("Principal", "admin.override.sasl.jaas.config", True),
    ],
)
async def test_override_policy(policy: str, key: str, allowed: bool) -> None:
    async with worker(properties={"connector.client.config.override.policy": policy}) as bench:
        if allowed:
            await bench.create({**CONFIG, key: "1"})
            return
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, key: "1"})
        assert key in caught.value.message


async def test_a_store_that_does_not_take_it_is_told() -> None:
    async with worker() as bench:
        bench.config_log.broken = True
        with pytest.raises(HerderError) as caught:
            await bench.create()
        assert caught.value.status == 500
        assert list(bench.herder.connectors()) == []


# Replacing


async def test_a_changed_configuration_restarts_the_task() -> None:
    async with worker() as bench:
        await bench.create()
        created, info = await bench.herder.put_connector("shop", {**CONFIG, "x": "1"}, allow_replace=True)
        assert (created, list(info.tasks)) == (False, [0])
        await bench.settled()
        assert [context.config.get("x") for context in bench.contexts] == [None, "1"]
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert bench.herder.task_configs("shop")[0].config["x"] == "1"


async def test_the_same_configuration_leaves_the_task_alone() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.herder.put_connector("shop", CONFIG, allow_replace=True)
        await bench.settled()
        assert len(bench.contexts) == 1
        assert [key for key, _ in config_keys(bench)].count("task-shop-0") == 1


async def test_a_new_configuration_of_a_stopped_connector_starts_nothing() -> None:
    async with worker() as bench:
        await bench.create(initial_state="STOPPED")
        await bench.herder.put_connector("shop", {**CONFIG, "x": "1"}, allow_replace=True)
        await bench.settled()
        assert bench.states() == ("STOPPED", [])
        await bench.target("STARTED")
        assert bench.contexts[0].config["x"] == "1"


# Pause, stop, resume, delete


async def test_pause_ends_the_task_and_keeps_it() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.target("PAUSED")
        assert bench.states() == ("PAUSED", ["PAUSED"])
        assert bench.running == {}
        assert list(bench.herder.connector_info("shop").tasks) == [0]
        await bench.target("STARTED")
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert len(bench.contexts) == 2


async def test_stop_removes_the_tasks() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.target("STOPPED")
        assert bench.states() == ("STOPPED", [])
        assert bench.running == {}
        assert list(bench.herder.connector_info("shop").tasks) == []
        assert list(bench.herder.task_configs("shop")) == []
        assert config_keys(bench)[-2:] == [("commit-shop", b'{"tasks":0}'), ("target-state-shop", b'{"state":"PAUSED","state.v2":"STOPPED"}')]
        await bench.target("STARTED")
        assert bench.states() == ("RUNNING", ["RUNNING"])


async def test_a_paused_connector_that_was_stopped_has_no_tasks() -> None:
    async with worker() as bench:
        await bench.create(initial_state="STOPPED")
        await bench.target("PAUSED")
        assert bench.states() == ("PAUSED", [])


async def test_delete_forgets_all_but_the_offsets() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.contexts[0].offsets.store({"server": "shop"}, {"lsn": 1})
        bench.contexts[0].topic_used("shop.public.t")
        await bench.herder.delete_connector("shop")
        await bench.settled()
        assert bench.running == {}
        assert list(bench.herder.connectors()) == []
        assert list(bench.herder.active_topics("shop")) == []
        for call in (bench.herder.connector_status, bench.herder.connector_info):
            with pytest.raises(HerderError) as caught:
                call("shop")
            assert caught.value.status == 404
        await bench.create()
        (offset,) = await bench.herder.offsets("shop")
        assert (offset.partition, offset.offset) == ({"server": "shop"}, {"lsn": 1})


async def test_quick_changes_end_where_the_last_one_points() -> None:
    async with worker() as bench:
        await bench.create()
        for state in ("PAUSED", "STARTED", "STOPPED", "STARTED", "PAUSED", "STARTED", "STOPPED"):
            await bench.herder.set_target_state("shop", state)  # type: ignore[arg-type]
        await bench.settled()
        assert bench.states() == ("STOPPED", [])
        assert bench.running == {}


# Unknown names


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: h.connector_info("none"), "Connector none not found"),
        (lambda h: h.connector_status("none"), "No status found for connector none"),
        (lambda h: h.task_status("none", 7), "No status found for task none-7"),
        (lambda h: h.task_configs("none"), "Connector none not found"),
        (lambda h: h.progress("none"), "Connector none not found"),
        (lambda h: h.offsets("none"), "Connector none not found"),
        (lambda h: h.delete_connector("none"), "Connector none not found"),
        (lambda h: h.set_target_state("none", "PAUSED"), "Unknown connector none"),
        (lambda h: h.restart_connector("none", include_tasks=True, only_failed=False), "Unknown connector: none"),
        (lambda h: h.restart_task("none", 0), "Unknown connector: none"),
    ],
)
async def test_unknown_connector(call: Any, message: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            result = call(bench.herder)
            if asyncio.iscoroutine(result):
                await result
        assert (caught.value.status, caught.value.message) == (404, message)


async def test_unknown_task() -> None:
    async with worker() as bench:
        await bench.create()
        with pytest.raises(HerderError, match="Unknown task: shop-1"):
            await bench.herder.restart_task("shop", 1)
        await bench.target("STOPPED")
        with pytest.raises(HerderError, match="Unknown task: shop-0"):
            await bench.herder.restart_task("shop", 0)


# Failing and restarting


async def test_a_failed_task_is_told_with_its_trace_and_stays_failed() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(CdcError(ErrorKind.SLOT_LOST, "The slot shop is lost", "Drop it."))
        assert bench.states() == ("RUNNING", ["FAILED"])
        assert bench.herder.task_status("shop", 0).trace == "The slot shop is lost. Drop it."
        await bench.herder.put_connector("shop", CONFIG, allow_replace=True)
        await bench.settled()
        assert bench.states() == ("RUNNING", ["FAILED"])
        assert len(bench.contexts) == 1


async def test_a_restart_of_the_task_mends_it() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(RuntimeError("x"))
        await bench.herder.restart_task("shop", 0)
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert bench.herder.task_status("shop", 0).trace is None


async def test_a_changed_configuration_mends_it() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(RuntimeError("x"))
        await bench.herder.put_connector("shop", {**CONFIG, "x": "1"}, allow_replace=True)
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])


@pytest.mark.parametrize(
    ("failed", "include_tasks", "only_failed", "answer", "starts"),
    [
        (False, False, False, ("RESTARTING", "RUNNING"), 0),
        (False, True, False, ("RESTARTING", "RESTARTING"), 1),
        (False, True, True, ("RUNNING", "RUNNING"), 0),
        (True, True, True, ("RUNNING", "RESTARTING"), 1),
        (True, False, True, ("RUNNING", "FAILED"), 0),
        (True, False, False, ("RESTARTING", "FAILED"), 0),
    ],
)
async def test_restart(failed: bool, include_tasks: bool, only_failed: bool, answer: tuple[str, str], starts: int) -> None:
    async with worker() as bench:
        await bench.create()
        if failed:
            await bench.fail(RuntimeError("x"))
        status = await bench.herder.restart_connector("shop", include_tasks=include_tasks, only_failed=only_failed)
        assert (status.connector.state, status.tasks[0].state) == answer
        await bench.settled()
        assert len(bench.contexts) == 1 + starts
        assert bench.states() == ("RUNNING", ["FAILED" if failed and not starts else "RUNNING"])


async def test_a_restart_is_told_in_the_status_topic() -> None:
    async with worker() as bench:
        await bench.create()
        before = len(bench.told())
        await bench.herder.restart_connector("shop", include_tasks=True, only_failed=False)
        await bench.settled()
        told = bench.told()[before:]
        assert told[-1][1] == "RUNNING"
        assert {key for key, _ in told} == {"status-connector-shop", "status-task-shop-0"}


async def test_a_restart_of_a_paused_connector_leaves_it_paused() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.target("PAUSED")
        await bench.herder.restart_connector("shop", include_tasks=True, only_failed=False)
        await bench.settled()
        assert bench.states() == ("PAUSED", ["PAUSED"])
        assert bench.running == {}


async def test_another_tool_s_restart_request_is_followed() -> None:
    async with worker() as bench:
        await bench.create()
        bench.topics.config.append([Entry(b"restart-connector-shop", b'{"include-tasks":true,"only-failed":false}')])
        await bench.settled()
        assert len(bench.contexts) == 2


# Across workers


async def test_a_restarted_worker_takes_up_everything() -> None:
    topics = Topics()
    async with worker(topics) as first:
        await first.create()
        await first.herder.put_connector("paused", CONFIG, allow_replace=False, initial_state="PAUSED")
        await first.herder.put_connector("stopped", CONFIG, allow_replace=False, initial_state="STOPPED")
        await first.settled()
        generation = topics.status.entries[-1].value
    assert first.told()[-2:] == [("status-connector-shop", "UNASSIGNED"), ("status-connector-paused", "UNASSIGNED")] or {
        key: state for key, state in first.told()
    } == {"status-connector-shop": "UNASSIGNED", "status-task-shop-0": "UNASSIGNED", "status-connector-paused": "UNASSIGNED", "status-connector-stopped": "STOPPED"}
    async with worker(topics) as second:
        assert list(second.running) == ["shop"]
        assert second.states() == ("RUNNING", ["RUNNING"])
        assert second.states("paused") == ("PAUSED", [])
        assert second.states("stopped") == ("STOPPED", [])
        assert generation is not None
        assert b'"generation":1' in generation
        assert any(b'"generation":2' in (entry.value or b"") for entry in topics.status.entries)


async def test_a_failed_task_runs_again_under_the_next_worker() -> None:
    topics = Topics()
    async with worker(topics) as first:
        await first.create()
        await first.fail(RuntimeError("x"))
    async with worker(topics) as second:
        assert second.states() == ("RUNNING", ["RUNNING"])


async def test_a_configuration_left_by_connect_that_cannot_run_fails_and_names_the_key() -> None:
    topics = Topics()
    topics.config.append(
        [
            Entry(b"connector-a", f'{{"properties":{{"connector.class":"{CLASS}","transforms":"t","name":"a"}}}}'.encode()),
            Entry(b"connector-b", b'{"properties":{"connector.class":"FileStreamSource","name":"b"}}'),
        ]
    )
    async with worker(topics) as bench:
        assert bench.states("a") == ("RUNNING", ["FAILED"])
        assert "transforms" in (bench.herder.task_status("a", 0).trace or "")
        assert bench.states("b") == ("FAILED", [])
        assert "FileStreamSource" in (bench.herder.connector_status("b").connector.trace or "")
        await bench.herder.delete_connector("b")
        await bench.settled()
        assert list(bench.herder.connectors()) == ["a"]


async def test_another_worker_s_configuration_is_started() -> None:
    async with worker() as bench:
        bench.topics.config.append([Entry(b"connector-shop", f'{{"properties":{{"connector.class":"{CLASS}","name":"shop"}}}}'.encode())])
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])


# The task's context


async def test_references_are_resolved_for_the_task_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_PASSWORD", "hunter2")
    properties = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    async with worker(properties=properties) as bench:
        config = {**CONFIG, "database.password": "${env:UNDERSTUDY_TEST_PASSWORD}"}
        await bench.create(config)
        assert bench.validated[0]["database.password"] == "hunter2"
        assert bench.contexts[0].config["database.password"] == "hunter2"
        assert bench.herder.connector_info("shop").config["database.password"] == "${env:UNDERSTUDY_TEST_PASSWORD}"
        for topic in (bench.topics.config, bench.topics.offset, bench.topics.status):
            assert all(b"hunter2" not in (entry.value or b"") for entry in topic.entries)
        bench.lines = ["Invalid value hunter2 for configuration x"]
        with pytest.raises(HerderError) as caught:
            await bench.herder.put_connector("shop", config, allow_replace=True)
        assert "hunter2" not in caught.value.message


async def test_a_reference_that_cannot_be_resolved_is_a_400() -> None:
    properties = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    async with worker(properties=properties) as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "database.password": "${env:UNDERSTUDY_NOT_SET}"})
        assert caught.value.status == 400
        assert "database.password" in caught.value.message


async def test_converters_and_clients_of_worker_and_connector() -> None:
    properties = {
        "value.converter.schemas.enable": "false",
        "producer.compression.type": "lz4",
        "producer.linger.ms": "1",
        "offset.flush.interval.ms": "2000",
        "topic.creation.enable": "false",
    }
    async with worker(properties=properties) as bench:
        await bench.create(
            {
                **CONFIG,
                "key.converter": "org.apache.kafka.connect.json.JsonConverter",
                "key.converter.schemas.enable": "false",
                "key.converter.decimal.format": "NUMERIC",
                "producer.override.linger.ms": "5",
                "admin.override.client.id": "mine",
            }
        )
        context = bench.contexts[0]
        assert (context.key_converter.schemas_enable, context.key_converter.decimal_format) == (False, "NUMERIC")
        assert (context.value_converter.schemas_enable, context.value_converter.decimal_format) == (False, "BASE64")
        assert context.kafka.producer == {
            "bootstrap.servers": "kafka:9092",
            "client.id": "connector-producer-shop-0",
            "compression.type": "lz4",
            "linger.ms": "5",
        }
        assert context.kafka.admin["client.id"] == "mine"
        assert context.kafka.topic_creation is False
        assert context.offset_flush_interval == 2


async def test_a_connector_s_own_converter_does_not_take_the_worker_s_options() -> None:
    async with worker(properties={"value.converter.schemas.enable": "false"}) as bench:
        await bench.create({**CONFIG, "value.converter": "org.apache.kafka.connect.json.JsonConverter"})
        assert bench.contexts[0].value_converter.schemas_enable is True


@pytest.mark.parametrize(
    ("properties", "protocol"),
    [
        ({"security.protocol": "SSL"}, "SSL"),
        ({"security.protocol": "SSL", "producer.security.protocol": "PLAINTEXT"}, "PLAINTEXT"),
        ({"security.protocol": "SSL", "producer.bootstrap.servers": "other:1"}, None),
    ],
)
async def test_security_of_the_worker_reaches_the_producer_unless_it_has_its_own(properties: dict[str, str], protocol: str | None) -> None:
    async with worker(properties=properties) as bench:
        await bench.create()
        assert bench.contexts[0].kafka.producer.get("security.protocol") == protocol


# Facts


async def test_topics_in_use() -> None:
    async with worker() as bench:
        await bench.create()
        bench.contexts[0].topic_used("shop.public.t")
        assert list(bench.herder.active_topics("shop")) == ["shop.public.t"]
        assert list(bench.herder.active_topics("none")) == []
        await bench.settled()
        assert b'"discoverTimestamp":1700000000000' in (bench.topics.status.entries[-1].value or b"")


async def test_topic_tracking_switched_off() -> None:
    async with worker(properties={"topic.tracking.enable": "false"}) as bench:
        await bench.create()
        bench.contexts[0].topic_used("shop.public.t")
        with pytest.raises(HerderError) as caught:
            bench.herder.active_topics("shop")
        assert (caught.value.status, caught.value.message) == (403, "Topic tracking is disabled.")


async def test_progress_is_the_task_s() -> None:
    async with worker() as bench:
        await bench.create()
        bench.contexts[0].progress.phase = "streaming"
        bench.contexts[0].progress.events = 7
        progress = bench.herder.progress("shop")
        assert (progress["phase"], progress["events"], progress["tables"]) == ("streaming", 7, [])
        await bench.target("STOPPED")
        assert bench.herder.progress("shop")["phase"] == "stopped"


async def test_health_and_facts() -> None:
    bench = Bench()
    assert bench.herder.health().status == "starting"
    assert await bench.herder.wait_ready(0) is False
    bench.herder.failing("Kafka is away.")
    assert bench.herder.health().message == "Worker is still starting up. Kafka is away."
    await bench.herder.start()
    assert await bench.herder.wait_ready(0) is True
    assert bench.herder.health().status == "healthy"
    info = bench.herder.server_info()
    assert (info.version, info.commit, info.kafka_cluster_id) == ("4.3.0", "a9ce3221537b8653", "cluster-1")
    assert [(p.class_name, p.type, p.version) for p in bench.herder.plugins(True)] == [(CLASS, "source", "3.6.3.Final")]
    assert {p.type for p in bench.herder.plugins(False)} == {"source", "converter", "header_converter"}
    await bench.herder.stop()


async def test_a_worker_that_ends_while_it_starts_says_it_is_not_ready() -> None:
    bench = Bench()
    waiting = asyncio.ensure_future(bench.herder.wait_ready(3600))
    await asyncio.sleep(0)
    await bench.herder.stop()
    assert await waiting is False
    assert bench.herder.health().status == "starting"
