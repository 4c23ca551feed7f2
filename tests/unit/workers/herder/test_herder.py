from __future__ import annotations

import asyncio
from typing import Any

import pytest

from connect_api.herder import Herder, HerderError, TargetState
from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case
from tests.support.herder_bench import CLASS, CONFIG, UNKNOWN_CLASS, config_keys, worker
from workers.herder.herder import WorkerHerder
from workers.stores.topic_log import Entry


def as_the_rest_layer_sees_it(herder: WorkerHerder) -> Herder:
    """The type checker proves that the worker's herder is one; nothing runs."""
    return herder


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
        expected = f'{{"properties":{{"z":"1","connector.class":"{CLASS}","a":"2","name":"shop"}}}}'
        assert bench.topics.config.entries[0].value == expected.encode()


async def test_an_existing_connector_is_not_created_again() -> None:
    async with worker() as bench:
        await bench.create()
        with pytest.raises(HerderError) as caught:
            await bench.create()
        assert (caught.value.status, caught.value.message) == (409, "Connector shop already exists")


async def test_two_creations_at_once_have_one_winner() -> None:
    async with worker() as bench:
        calls = [bench.herder.put_connector("shop", CONFIG, allow_replace=False) for _ in range(2)]
        both = await asyncio.gather(*calls, return_exceptions=True)
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
        ({"name": "s", "database.password": "hunter2"}, "Connector config {name=s, database.password=[hidden]} contains no connector type"),
        (
            {"connector.class": "no.such.Class"},
            UNKNOWN_CLASS,
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
        ("key.converter", "com.example.MyConverter"),
        ("value.converter", "com.example.MyConverter"),
        ("header.converter", "com.example.MyConverter"),
    ],
)
async def test_settings_that_the_worker_does_not_support_are_refused_by_name(key: str, value: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, key: value})
        assert caught.value.status == 400
        assert "contains the following 1 error(s)" in caught.value.message
        assert key in caught.value.message


async def test_exactly_once_cannot_be_required_of_a_worker_without_it() -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "exactly.once.support": "REQUIRED"})
        assert caught.value.status == 400
        assert "\nThis worker does not have exactly-once source support enabled.\n" in caught.value.message


@pytest.mark.parametrize("version", ["9.9", "[9.9,10)", "3.5", "[3.6", "(,2.3.4.Final)"])
async def test_unsupported_versions(version: str) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "connector.plugin.version": version})
        assert caught.value.status == 400


@each_case("version", ["3.6.3.Final", "3.6.3", "latest", "[3.6,4)", "[3.6.3.Final]", "[1,2),[3,4)", "2.3.4.Final", "(,3.6.3.Final)"])
async def test_supported_versions(version: str) -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "connector.plugin.version": version})
        assert bench.states() == ("RUNNING", ["RUNNING"])


async def test_a_refusal_of_the_table_is_not_reported_twice() -> None:
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
        assert f"The '{policy}' policy does not allow 'linger.ms' to be overridden" in caught.value.message


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [("", ["producer.override.linger.ms"]), ("linger.ms,acks", ["producer.override.batch.size", "admin.override.linger.msx"])],
)
async def test_an_allowlist_of_overrides(allowed: str, refused: list[str]) -> None:
    policy = {"connector.client.config.override.policy": "Allowlist", "connector.client.config.override.allowlist": allowed}
    async with worker(properties=policy) as bench:
        for key in refused:
            with pytest.raises(HerderError) as caught:
                await bench.create({**CONFIG, key: "1"})
            assert f"The 'Allowlist' policy does not allow '{key.split('.', 2)[2]}' to be overridden" in caught.value.message
        await bench.create({**CONFIG, **({"producer.override.linger.ms": "1", "producer.override.acks": "all"} if allowed else {})})


async def test_a_failing_store_is_reported() -> None:
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


async def test_the_same_configuration_does_not_restart_the_task() -> None:
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
        assert bench.paused == {"shop": True}
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
        assert bench.paused == {"shop": False}
        assert list(bench.herder.connector_info("shop").tasks) == []
        assert list(bench.herder.task_configs("shop")) == []
        assert config_keys(bench)[-2:] == [
            ("commit-shop", b'{"tasks":0}'),
            ("target-state-shop", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        ]
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
        assert list(bench.running) == ["shop"]
        # The states in the topic end with the task.
        for status in (lambda: bench.herder.connector_status("shop"), lambda: bench.herder.task_status("shop", 0)):
            with pytest.raises(HerderError, match="No status found for"):
                status()
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
        states: list[TargetState] = ["PAUSED", "STARTED", "STOPPED", "STARTED", "PAUSED", "STARTED", "STOPPED"]
        for state in states:
            await bench.herder.set_target_state("shop", state)
        await bench.settled()
        assert bench.states() == ("STOPPED", [])
        assert bench.running == {}


# Unknown names


async def answer(call: Any, herder: WorkerHerder) -> object:
    result = call(herder)
    return await result if asyncio.iscoroutine(result) else result


@each_case(
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
            await answer(call, bench.herder)
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


async def test_a_failed_task_is_reported_with_its_trace_and_stays_failed() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(CdcError(ErrorKind.SLOT_LOST, "The slot shop is lost", "Drop it."))
        assert bench.states() == ("RUNNING", ["FAILED"])
        assert bench.herder.task_status("shop", 0).trace == "The slot shop is lost. Drop it."
        await bench.herder.put_connector("shop", CONFIG, allow_replace=True)
        await bench.settled()
        assert bench.states() == ("RUNNING", ["FAILED"])
        assert len(bench.contexts) == 1


async def test_a_pause_leaves_a_failed_task_as_it_is() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(CdcError(ErrorKind.SLOT_LOST, "The slot shop is lost", "Drop it."))
        await bench.target("PAUSED")
        assert bench.states() == ("PAUSED", ["FAILED"])
        await bench.target("STARTED")
        assert bench.states() == ("RUNNING", ["FAILED"])
        assert bench.herder.task_status("shop", 0).trace == "The slot shop is lost. Drop it."
        assert len(bench.contexts) == 1
        await bench.target("PAUSED")
        await bench.herder.restart_task("shop", 0)
        assert bench.states() == ("PAUSED", ["PAUSED"])
        await bench.target("STARTED")
        assert bench.states() == ("RUNNING", ["RUNNING"])


async def test_a_changed_configuration_of_a_paused_connector_repairs_its_failed_task() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(RuntimeError("x"))
        await bench.target("PAUSED")
        await bench.herder.put_connector("shop", {**CONFIG, "x": "1"}, allow_replace=True)
        await bench.settled()
        assert bench.states() == ("PAUSED", ["PAUSED"])


async def test_a_restart_of_the_task_repairs_it() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.fail(RuntimeError("x"))
        await bench.herder.restart_task("shop", 0)
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert bench.herder.task_status("shop", 0).trace is None


async def test_a_changed_configuration_repairs_it() -> None:
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


async def test_a_restart_is_recorded_in_the_status_topic() -> None:
    async with worker() as bench:
        await bench.create()
        before = len(bench.reported())
        await bench.herder.restart_connector("shop", include_tasks=True, only_failed=False)
        await bench.settled()
        reported = bench.reported()[before:]
        assert reported[-1][1] == "RUNNING"
        assert {key for key, _ in reported} == {"status-connector-shop", "status-task-shop-0"}


async def test_a_restart_of_a_paused_connector_leaves_it_paused() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.target("PAUSED")
        await bench.herder.restart_connector("shop", include_tasks=True, only_failed=False)
        await bench.settled()
        assert bench.states() == ("PAUSED", ["PAUSED"])
        assert bench.running == {}


async def test_a_connector_without_a_status_is_restarted_without_flags_only() -> None:
    async with worker() as bench:
        await bench.create()
        bench.herder._status.drop_connector("shop")
        for include_tasks, only_failed in ((True, False), (False, True)):
            with pytest.raises(HerderError, match=r"^Status for connector shop not found$") as caught:
                await bench.herder.restart_connector("shop", include_tasks=include_tasks, only_failed=only_failed)
            assert caught.value.status == 404
        await bench.herder.restart_connector("shop", include_tasks=False, only_failed=False)
        await bench.settled()
        assert bench.herder.connector_status("shop").connector.state == "RUNNING"
        assert len(bench.contexts) == 1


async def test_another_tool_s_restart_request_is_followed() -> None:
    async with worker() as bench:
        await bench.create()
        bench.topics.config.append([Entry(b"restart-connector-shop", b'{"include-tasks":true,"only-failed":false}')])
        await bench.settled()
        assert len(bench.contexts) == 2
