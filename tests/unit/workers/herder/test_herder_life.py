from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from connect_api.herder import HerderError
from connector.errors import CdcError, ErrorKind
from tests.support.herder_bench import CLASS, CONFIG, Bench, Topics, worker
from workers.stores.memory import MemoryLog
from workers.stores.topic_log import Entry

# Across workers


async def test_a_restarted_worker_takes_up_everything() -> None:
    topics = Topics()
    async with worker(topics) as first:
        await first.create()
        await first.herder.put_connector("paused", CONFIG, allow_replace=False, initial_state="PAUSED")
        await first.herder.put_connector("stopped", CONFIG, allow_replace=False, initial_state="STOPPED")
        await first.settled()
    assert dict(first.reported()) == {
        "status-connector-shop": "UNASSIGNED",
        "status-task-shop-0": "UNASSIGNED",
        "status-connector-paused": "UNASSIGNED",
        "status-connector-stopped": "STOPPED",
    }
    async with worker(topics) as second:
        assert list(second.running) == ["shop"]
        assert second.states() == ("RUNNING", ["RUNNING"])
        assert second.states("paused") == ("PAUSED", [])
        assert second.states("stopped") == ("STOPPED", [])


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
            Entry(b"connector-a", f'{{"properties":{{"connector.class":"{CLASS}","key.converter":"my.Own","name":"a"}}}}'.encode()),
            Entry(b"connector-b", b'{"properties":{"connector.class":"FileStreamSource","name":"b"}}'),
        ]
    )
    async with worker(topics) as bench:
        assert bench.states("a") == ("RUNNING", ["FAILED"])
        assert "key.converter" in (bench.herder.task_status("a", 0).trace or "")
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


async def test_a_reference_that_a_provider_refuses_is_a_400() -> None:
    properties = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    async with worker(properties=properties) as bench:
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "database.password": "${env:path:UNDERSTUDY_NOT_SET}"})
        assert caught.value.status == 400
        assert "database.password" in caught.value.message
        # As in Connect a variable that is not there leaves the reference as it is written.
        await bench.create({**CONFIG, "database.password": "${env:UNDERSTUDY_NOT_SET}"})
        assert bench.contexts[0].config["database.password"] == "${env:UNDERSTUDY_NOT_SET}"


async def test_the_class_may_be_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_CLASS", "PostgresConnector")
    properties = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    async with worker(properties=properties) as bench:
        await bench.create({**CONFIG, "connector.class": "${env:UNDERSTUDY_CLASS}"})
        assert bench.states() == ("RUNNING", ["RUNNING"])
        monkeypatch.setenv("UNDERSTUDY_CLASS", "hidden.Class")
        with pytest.raises(HerderError) as caught:
            await bench.create({**CONFIG, "connector.class": "${env:UNDERSTUDY_CLASS}"})
        assert "which name matches ${env:UNDERSTUDY_CLASS}," in caught.value.message


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


async def test_a_connector_s_converter_does_not_inherit_the_worker_s_options() -> None:
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
    assert {p.type for p in bench.herder.plugins(False)} == {"source", "transformation", "predicate", "converter", "header_converter"}
    await bench.herder.stop()


async def test_a_worker_that_ends_while_it_starts_says_it_is_not_ready() -> None:
    bench = Bench()
    waiting = asyncio.ensure_future(bench.herder.wait_ready(3600))
    await asyncio.sleep(0)
    await bench.herder.stop()
    assert await waiting is False
    assert bench.herder.health().status == "starting"


# A topic that cannot be written for a while


class NoTasks(MemoryLog):
    """Kafka does not acknowledge the configurations of tasks while ``broken`` is set."""

    async def write(self, entries: Sequence[Entry]) -> None:
        if self.broken and any(entry.key.startswith((b"task-", b"commit-")) for entry in entries):
            raise CdcError(ErrorKind.STORE, "The topic cannot be written")
        self.topic.append(entries)


class Pauses:
    """A pause that lasts until the test ends it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.began, self.end = asyncio.Event(), asyncio.Event()

    async def __call__(self, seconds: float, _stop: asyncio.Event) -> None:
        self.seconds.append(seconds)
        self.began.set()
        await self.end.wait()


async def test_a_run_whose_write_failed_keeps_the_task_and_is_repeated() -> None:
    async with worker(log=NoTasks) as bench:
        bench.pause = pauses = Pauses()
        await bench.create()
        bench.config_log.broken = True
        await bench.herder.put_connector("shop", {**CONFIG, "x": "1"}, allow_replace=True)
        await bench.settled()
        await pauses.began.wait()
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert [context.config.get("x") for context in bench.running.values()] == [None]
        # A further run before the pause ends fails too, and there is still one pause.
        await bench.herder.set_target_state("shop", "STARTED")
        await bench.settled()
        assert len(pauses.seconds) == 1
        bench.config_log.broken = False
        bench.began.clear()
        pauses.end.set()
        await bench.began.wait()
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])
        assert [context.config.get("x") for context in bench.running.values()] == ["1"]
        assert bench.herder.task_configs("shop")[0].config["x"] == "1"


async def test_the_pauses_grow_and_end_with_the_worker() -> None:
    async with worker(log=NoTasks) as bench:
        bench.pause = pauses = Pauses()
        pauses.end.set()
        bench.config_log.broken = True
        await bench.create()
        while len(pauses.seconds) < 8:
            pauses.began.clear()
            await pauses.began.wait()
        assert pauses.seconds[0] <= 0.1
        assert pauses.seconds[7] > 5.0
        assert bench.running == {}
        pauses.end.clear()
    assert bench.running == {}


# Locks


async def test_a_name_s_lock_is_kept_only_while_somebody_needs_it() -> None:
    async with worker() as bench:
        reconciler, order = bench.herder._reconciler, list[int]()
        for call in (bench.herder.delete_connector, lambda name: bench.herder.restart_task(name, 0), bench.herder.reset_offsets):
            with pytest.raises(HerderError):
                await call("none")
        await bench.create()
        assert reconciler._locks == {}

        async def hold(number: int) -> None:
            async with reconciler.lock("gone"):
                order.append(number)
                await asyncio.sleep(0)
                order.append(number)

        await asyncio.gather(*(hold(number) for number in range(3)))
        assert order == [0, 0, 1, 1, 2, 2]
        assert reconciler._locks == {}


async def test_a_call_in_flight_starts_no_task_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    await bench.herder.start()
    await bench.create()
    stopping, ended = asyncio.Event(), asyncio.Event()
    supervisor = bench.herder._reconciler._supervisor
    stop = supervisor.stop

    async def late(name: str, *, paused: bool = False) -> None:
        stopping.set()
        await ended.wait()
        await stop(name, paused=paused)

    monkeypatch.setattr(supervisor, "stop", late)
    call = asyncio.create_task(bench.herder.restart_task("shop", 0))
    await stopping.wait()
    end = asyncio.create_task(bench.herder.stop())
    await asyncio.sleep(0)
    ended.set()
    await asyncio.gather(call, end)
    assert len(bench.contexts) == 1
    assert not supervisor.runs("shop")
    assert bench.states() == ("UNASSIGNED", ["UNASSIGNED"])


async def test_the_end_does_not_wait_for_writes_that_kafka_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(properties={"task.shutdown.graceful.timeout.ms": "10"})
    await bench.herder.start()
    await bench.create()
    written = asyncio.Event()

    async def write(_entries: Sequence[Entry]) -> None:
        await written.wait()

    monkeypatch.setattr(bench.herder._status._log, "write", write)
    await asyncio.wait_for(bench.herder.stop(), 5)
    assert bench.states() == ("UNASSIGNED", ["UNASSIGNED"])
    assert bench.reported()[-1] == ("status-task-shop-0", "RUNNING")


async def test_a_restart_just_after_the_creation_follows_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async with worker() as bench:
        begun, allowed = asyncio.Event(), asyncio.Event()
        put_tasks = bench.herder._config.put_tasks

        async def late(name: str, configs: Sequence[Mapping[str, str]]) -> None:
            begun.set()
            await allowed.wait()
            await put_tasks(name, configs)

        monkeypatch.setattr(bench.herder._config, "put_tasks", late)
        await bench.herder.put_connector("shop", CONFIG, allow_replace=False)
        # Before the start has begun, and in the midst of it.
        calls = [asyncio.create_task(bench.herder.restart_connector("shop", include_tasks=True, only_failed=False))]
        await begun.wait()
        calls.append(asyncio.create_task(bench.herder.restart_connector("shop", include_tasks=True, only_failed=True)))
        await asyncio.sleep(0)
        allowed.set()
        first, second = await asyncio.gather(*calls)
        assert (first.connector.state, first.tasks[0].state) == ("RESTARTING", "RESTARTING")
        assert second.connector.state in ("RUNNING", "RESTARTING")
        await bench.settled()
        assert bench.states() == ("RUNNING", ["RUNNING"])
