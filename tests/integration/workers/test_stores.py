"""The three internal topics on a real broker."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import murmurhash2
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from connector.config.keys import DEFAULT_VERSION
from connector.config.validation import Validation
from connector.errors import CdcError, Directive, ErrorKind
from connector.runner.context import TaskContext
from workers.herder.herder import WorkerHerder
from workers.settings.worker_settings import StoreTopic, WorkerSettings
from workers.stores.config_store import ConfigStore
from workers.stores.offset_store import AllOffsets
from workers.stores.topic_log import Cluster, Entry, KafkaLog

JAVA_SEED = 0x9747B28C
CLASS = "io.debezium.connector.postgresql.PostgresConnector"


class Stage:
    """Topics of one test, the clusters it opens, and a look at the raw records."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.prefix = f"stores-{uuid.uuid4().hex[:10]}"
        self.topics = {
            "config.storage": StoreTopic(f"{self.prefix}-configs", 1, 1),
            "offset.storage": StoreTopic(f"{self.prefix}-offsets", 25, 1, {"segment.ms": "3600000"}),
            "status.storage": StoreTopic(f"{self.prefix}-status", 5, 1),
        }
        self._clusters: list[Cluster] = []
        self._logs: list[KafkaLog] = []

    async def cluster(self, properties: Mapping[str, str] | None = None, topics: Mapping[str, StoreTopic] | None = None) -> Cluster:
        cluster = Cluster({"bootstrap.servers": self.bootstrap, **(properties or {})})
        await cluster.start(topics or self.topics)
        self._clusters.append(cluster)
        return cluster

    def log(self, cluster: Cluster, store: str) -> KafkaLog:
        log = KafkaLog(cluster, self.topics[store])
        self._logs.append(log)
        return log

    async def close(self) -> None:
        for log in self._logs:
            await log.stop()
        for cluster in self._clusters:
            await cluster.stop()
        async with self.admin() as admin:
            await admin.delete_topics([topic.name for topic in self.topics.values()])

    def admin(self) -> Any:
        return _Admin(self.bootstrap)

    async def raw(self, store: str, count: int) -> list[tuple[int, bytes | None, bytes | None]]:
        """(partition, key, value) of the first ``count`` records."""
        topic = self.topics[store]
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign([TopicPartition(topic.name, number) for number in range(topic.partitions)])
            async with asyncio.timeout(180):
                records = [await consumer.getone() for _ in range(count)]
        finally:
            await consumer.stop()
        return [(record.partition, record.key, record.value) for record in records]


class _Admin:
    def __init__(self, bootstrap: str) -> None:
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)

    async def __aenter__(self) -> Any:
        await self._admin.start()
        return self._admin

    async def __aexit__(self, *_: object) -> None:
        await self._admin.close()


class Seen:
    """What a log applied; lets a test wait for an entry instead of sleeping."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._news = asyncio.Event()

    def __call__(self, entries: Sequence[Entry]) -> None:
        self.entries.extend(entries)
        self._news.set()

    async def until(self, condition: Callable[[list[Entry]], bool]) -> None:
        async with asyncio.timeout(180):
            while not condition(self.entries):
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def stage(kafka_bootstrap: str) -> AsyncIterator[Stage]:
    stage = Stage(kafka_bootstrap)
    yield stage
    await stage.close()


async def test_missing_topics_are_created_as_connect_creates_them(stage: Stage) -> None:
    cluster = await stage.cluster()
    assert {name: len(partitions) for name, partitions in cluster.partitions.items()} == {
        f"{stage.prefix}-configs": 1,
        f"{stage.prefix}-offsets": 25,
        f"{stage.prefix}-status": 5,
    }
    assert cluster.cluster_id
    async with stage.admin() as admin:
        for topic in stage.topics.values():
            (response,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name)])
            values = {entry[0]: entry[1] for entry in response.resources[0][4]}
            assert values["cleanup.policy"] == "compact"
            assert values["segment.ms"] == topic.settings.get("segment.ms", values["segment.ms"])
    await stage.cluster()  # a second worker finds them and is content


async def test_keys_values_and_partitions_on_the_broker(stage: Stage) -> None:
    cluster = await stage.cluster()
    config = ConfigStore(stage.log(cluster, "config.storage"), lambda _: None)
    offsets = AllOffsets(stage.log(cluster, "offset.storage"))
    await asyncio.gather(config.start(), offsets.start())
    await config.put_connector("shop", {"connector.class": CLASS, "name": "shop"})
    await config.put_target("shop", "STOPPED")
    for name in ("shop", "wbdrive", "a", "ü"):
        await offsets.store(name, {"server": name}, {"lsn": 1})
    await offsets.store("shop", {"server": "shop"}, None)
    assert await stage.raw("config.storage", 3) == [
        (0, b"connector-shop", f'{{"properties":{{"connector.class":"{CLASS}","name":"shop"}}}}'.encode()),
        (0, b"commit-shop", b'{"tasks":0}'),
        (0, b"target-state-shop", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
    ]
    written = await stage.raw("offset.storage", 5)
    for partition, key, _ in written:
        assert key is not None
        assert partition == (murmurhash2.murmurhash2(key, JAVA_SEED) & 0x7FFFFFFF) % 25
    assert [value for _, key, value in written if key == b'["shop",{"server":"shop"}]'] == [b'{"lsn":1}', None]
    # Where Kafka Connect itself put this key.
    assert [partition for partition, key, _ in written if key == b'["wbdrive",{"server":"wbdrive"}]'] == [7]


async def test_another_log_reads_all_and_then_follows(stage: Stage) -> None:
    cluster = await stage.cluster()
    first, second = stage.log(cluster, "status.storage"), stage.log(cluster, "status.storage")
    mine, theirs = Seen(), Seen()
    await first.start(mine)
    entries = {Entry(f"k{n}".encode(), b"1") for n in range(20)}
    await first.write(list(entries))
    assert set(mine.entries) == entries, "applied when the write returns"
    await second.start(theirs)
    assert set(theirs.entries) == entries, "all read when start returns"
    await first.write([Entry(b"k0", None)])
    await theirs.until(lambda seen: Entry(b"k0", None) in seen)
    await second.write([Entry(b"k1", b"2")])
    await mine.until(lambda seen: Entry(b"k1", b"2") in seen)
    assert len(mine.entries) == 22, "a log's own records are applied once, though the follower meets them again"


async def test_two_writers_of_one_key_agree_on_the_last_value(stage: Stage) -> None:
    cluster, other = await stage.cluster(), await stage.cluster()
    logs = stage.log(cluster, "status.storage"), stage.log(other, "status.storage")
    tables: list[dict[bytes, bytes | None]] = [{}, {}]
    events = [Seen(), Seen()]
    for log, table, seen in zip(logs, tables, events, strict=True):

        def apply(entries: Sequence[Entry], table: dict[bytes, bytes | None] = table, seen: Seen = seen) -> None:
            table.update({entry.key: entry.value for entry in entries})
            seen(entries)

        await log.start(apply)
    await asyncio.gather(*(log.write([Entry(b"key", f"{who}-{n}".encode())]) for n in range(25) for who, log in enumerate(logs)))
    for who, log in enumerate(logs):
        await log.write([Entry(f"end-{who}".encode(), b"")])
    for seen in events:
        await seen.until(lambda entries: {b"end-0", b"end-1"} <= {e.key for e in entries})
    written = [value for _, key, value in await stage.raw("status.storage", 52) if key == b"key"]
    assert [table[b"key"] for table in tables] == [written[-1]] * 2


async def test_transactions_of_connects_leader_are_read_and_aborted_ones_are_not(stage: Stage) -> None:
    cluster = await stage.cluster()
    topic = stage.topics["config.storage"].name
    producer = AIOKafkaProducer(bootstrap_servers=stage.bootstrap, transactional_id=stage.prefix)
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"kept", b"a")
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"dropped", b"b")
        await producer.abort_transaction()
    finally:
        await producer.stop()
    seen = Seen()
    async with asyncio.timeout(180):
        await stage.log(cluster, "config.storage").start(seen)
    assert seen.entries == [Entry(b"a", b"kept")]


async def test_a_topic_that_is_not_compacted_is_refused(stage: Stage) -> None:
    topic = stage.topics["status.storage"]
    async with stage.admin() as admin:
        await admin.create_topics([NewTopic(topic.name, 5, 1, topic_configs={"cleanup.policy": "delete"})])
    with pytest.raises(CdcError) as caught:
        await stage.cluster()
    assert caught.value.directive is not Directive.RETRY
    assert topic.name in caught.value.message
    assert "status.storage.topic" in caught.value.remedy


async def test_a_config_topic_of_two_partitions_is_refused(stage: Stage) -> None:
    topic = stage.topics["config.storage"]
    async with stage.admin() as admin:
        await admin.create_topics([NewTopic(topic.name, 2, 1, topic_configs={"cleanup.policy": "compact"})])
    with pytest.raises(CdcError, match="2 partitions") as caught:
        await stage.cluster()
    assert "config.storage.topic" in caught.value.remedy


async def test_too_large_a_replication_factor_names_the_property(stage: Stage) -> None:
    topics = {"offset.storage": replace(stage.topics["offset.storage"], replication_factor=3)}
    with pytest.raises(CdcError) as caught:
        await stage.cluster(topics=topics)
    assert "offset.storage.replication.factor" in caught.value.remedy
    await stage.cluster()


async def test_the_broker_s_defaults(stage: Stage) -> None:
    stage.topics["status.storage"] = replace(stage.topics["status.storage"], partitions=-1, replication_factor=-1)
    cluster = await stage.cluster()
    assert cluster.partitions[stage.topics["status.storage"].name]


async def test_no_broker_is_an_error_that_may_pass() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        cluster = Cluster({"bootstrap.servers": f"127.0.0.1:{free.getsockname()[1]}"})
        with pytest.raises(CdcError) as caught:
            await cluster.start({})
    assert caught.value.kind is ErrorKind.SINK_UNREACHABLE
    assert caught.value.directive is Directive.RETRY


async def test_a_write_before_the_start_is_refused() -> None:
    with pytest.raises(CdcError) as caught:
        await Cluster({}).send("t", [Entry(b"k", b"v")])
    assert caught.value.kind is ErrorKind.STORE


async def test_a_herder_takes_up_what_another_left(stage: Stage) -> None:
    running: list[TaskContext] = []
    started = asyncio.Event()

    async def run_task(context: TaskContext, stop: asyncio.Event) -> None:
        running.append(context)
        started.set()
        await stop.wait()

    async def validate(name: str, config: Mapping[str, str | None]) -> Validation:
        return Validation((), (), DEFAULT_VERSION)

    async def herder() -> WorkerHerder:
        cluster = await stage.cluster()
        settings = WorkerSettings.from_properties({"listeners": "http://127.0.0.1:8083", "bootstrap.servers": stage.bootstrap})
        made = WorkerHerder(
            settings,
            config_log=stage.log(cluster, "config.storage"),
            offset_log=stage.log(cluster, "offset.storage"),
            status_log=stage.log(cluster, "status.storage"),
            run_task=run_task,
            validate=validate,
        )
        await made.start()
        return made

    first = await herder()
    config = {"connector.class": CLASS, "topic.prefix": "shop", "name": "shop"}
    await first.put_connector("shop", config, allow_replace=False)
    async with asyncio.timeout(180):
        await started.wait()
    running[0].topic_used("shop.public.t")
    await running[0].offsets.store({"server": "shop"}, {"lsn": 7})
    await first.stop()
    started.clear()

    second = await herder()
    async with asyncio.timeout(180):
        await started.wait()
    assert second.connector_info("shop").config == config
    assert second.connector_status("shop").tasks[0].state == "RUNNING"
    assert list(second.active_topics("shop")) == ["shop.public.t"]
    assert await running[1].offsets.load({"server": "shop"}) == {"lsn": 7}
    await second.delete_connector("shop")
    await second.settled()
    await second.stop()

    third = await herder()
    assert list(third.connectors()) == []
    assert running == running[:2]
    await third.stop()
