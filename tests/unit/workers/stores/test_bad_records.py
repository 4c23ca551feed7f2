"""Every record of an internal topic is read. An unusable one is logged once, and the next one is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from connect_api.herder import Health
from tests.support.bad_records import (
    MARK,
    Record,
    odd_config,
    odd_offsets,
    odd_status,
    refused_config,
    refused_offsets,
    refused_status,
)
from tests.support.herder_bench import worker
from workers.settings.worker_settings import StoreTopic
from workers.stores.config_store import Change, ConfigStore
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.offset_store import AllOffsets
from workers.stores.status_store import StatusEntry, StatusStore
from workers.stores.topic_log import Cluster, Entry, KafkaLog

CONFIG = {"name": "good", "connector.class": "c", "topic.prefix": "p"}
PARTITION = {"server": "p"}


def entries(records: Sequence[Record]) -> list[Entry]:
    return [Entry(key, value) for key, value in records]


def named(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of the records that the log names."""
    found = []
    for record in caplog.records:
        if record.getMessage() == "record of an internal topic passed over":
            fields: dict[str, Any] = record.__dict__["fields"]
            assert set(fields) == {"topic", "partition", "offset", "reason"}
            assert "cannot be used" not in fields["reason"], fields
            found.append((fields["topic"], fields["partition"], fields["offset"]))
        assert MARK not in str(record.__dict__), record.__dict__
    return found


def assert_named_once(caplog: pytest.LogCaptureFixture, first: int, bad: Sequence[Record]) -> None:
    found = named(caplog)
    assert [bad[offset - first] for offset in range(first, first + len(bad)) if ("memory", 0, offset) not in found] == []
    assert len(found) == len(bad)


def test_there_are_enough_of_them() -> None:
    for records in (refused_config("good"), refused_status("good"), refused_offsets("good", "p")):
        assert len(records) >= 45


@pytest.mark.parametrize("following", [False, True])
async def test_the_config_topic(caplog: pytest.LogCaptureFixture, following: bool) -> None:
    bad = refused_config("good")
    topic = MemoryTopic([Entry(b"connector-good", orjson.dumps({"properties": CONFIG}))])
    changes: list[Change] = []
    store = ConfigStore(MemoryLog(topic), changes.append)
    if following:
        await store.start()
    topic.append(entries(bad))
    if not following:
        await store.start()
    assert_named_once(caplog, 1, bad)
    assert (changes, list(store.names()), store.config("good"), store.target("good")) == ([], ["good"], CONFIG, "STARTED")
    topic.append(entries(odd_config("good")))
    assert len(named(caplog)) == len(bad)
    assert store.tasks("good") == []
    await store.put_tasks("good", [{"a": "b"}])
    await store.put_target("good", "PAUSED")
    assert (store.tasks("good"), store.target("good")) == ([{"a": "b"}], "PAUSED")


async def test_a_follower_of_changes_that_raises_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Change] = []

    def changed(change: Change) -> None:
        seen.append(change)
        raise RecursionError

    topic = MemoryTopic()
    store = ConfigStore(MemoryLog(topic), changed)
    await store.start()
    topic.append([Entry(f"connector-{name}".encode(), b'{"properties":{}}') for name in "ab"])
    assert seen == ["a", "b"]
    assert "config topic change not applied" in caplog.text


@pytest.mark.parametrize("following", [False, True])
async def test_the_status_topic(caplog: pytest.LogCaptureFixture, following: bool) -> None:
    bad = refused_status("good")
    topic = MemoryTopic()
    store = StatusStore(MemoryLog(topic))
    entry = StatusEntry("RUNNING", "here:8083", 1, "3.6.3.Final")
    writer = StatusStore(MemoryLog(topic))
    writer.put_connector("good", entry)
    writer.put_task("good", 0, entry)
    await writer.flush()
    if following:
        await store.start()
    topic.append(entries(bad))
    if not following:
        await store.start()
    assert_named_once(caplog, 2, bad)
    assert (list(store.connectors()), store.connector("good"), store.tasks("good")) == (["good"], entry, {0: entry})
    assert list(store.topics("good")) == []
    topic.append(entries(odd_status("good")))
    assert len(named(caplog)) == len(bad)
    store.drop_connector("never")
    store.put_connector("good", entry)
    await store.flush()


@pytest.mark.parametrize("following", [False, True])
async def test_the_offset_topic(caplog: pytest.LogCaptureFixture, following: bool) -> None:
    bad = refused_offsets("good", "p")
    topic = MemoryTopic([Entry(orjson.dumps(["good", PARTITION]), b'{"lsn":7}')])
    store = AllOffsets(MemoryLog(topic))
    if following:
        await store.start()
    topic.append(entries(bad))
    if not following:
        await store.start()
    assert_named_once(caplog, 1, bad)
    assert store.of("good") == [(PARTITION, {"lsn": 7})]
    topic.append(entries(odd_offsets("good", "p")))
    assert len(named(caplog)) == len(bad)
    assert store.load("good", PARTITION) == {"lsn": 7}
    # All can be shown, and written again.
    orjson.dumps(store.of("good"))
    await store.reset("good")
    assert store.of("good") == []


class Consumer:
    """Returns the test's records, as aiokafka's consumer does."""

    def __init__(self, *given: Callable[[], dict[Any, list[Any]]]) -> None:
        self._given = list(given)
        self.idle = asyncio.Event()

    async def getmany(self, **_: Any) -> dict[Any, list[Any]]:
        if self._given:
            return self._given.pop(0)()
        self.idle.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def stop(self) -> None:
        return None


def record(offset: int, key: bytes | None, partition: int = 3) -> Any:
    return SimpleNamespace(key=key, value=b"v", offset=offset, partition=partition)


async def follow(log: KafkaLog, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.stores.topic_log._FOLLOW_RETRY_SECONDS", 0)
    taken: list[Entry] = []
    log._apply = taken.extend
    log._consumer = consumer
    log._follower = asyncio.create_task(log._follow(consumer))
    log._follower.add_done_callback(log._ended)


@pytest.fixture
def log() -> KafkaLog:
    return KafkaLog(Cluster({}), StoreTopic("the-topic", 1, 1))


async def test_a_record_without_a_key_is_named_once(
    log: KafkaLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # The second is read by both consumers of the topic.
    consumer = Consumer(
        lambda: {0: [record(1, None), record(2, None)]}, lambda: {0: [record(2, None), record(3, b"k"), record(3, None, 4)]}
    )
    await follow(log, consumer, monkeypatch)
    await consumer.idle.wait()
    assert named(caplog) == [("the-topic", 3, 1), ("the-topic", 3, 2), ("the-topic", 4, 3)]
    await log.stop()


async def test_a_follower_that_cannot_read_says_so_until_it_can(log: KafkaLog, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def broken() -> dict[Any, list[Any]]:
        raise RecursionError("secret")

    def repaired() -> dict[Any, list[Any]]:
        seen.append(log.problem)
        return {}

    consumer = Consumer(broken, repaired)
    await follow(log, consumer, monkeypatch)
    await consumer.idle.wait()
    assert seen == ["The internal topic the-topic cannot be followed: RecursionError."]
    assert log.problem == ""
    await log.stop()
    assert log.problem == ""


async def test_a_follower_that_ended_is_seen(log: KafkaLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    consumer = Consumer()
    await follow(log, consumer, monkeypatch)
    await consumer.idle.wait()
    follower = log._follower
    assert follower is not None
    follower.cancel()
    await asyncio.wait([follower])
    assert log.problem == "The internal topic the-topic is no longer followed: CancelledError. Start the worker again."
    assert "an internal topic is no longer followed" in caplog.text


async def test_the_worker_s_health_reports_it() -> None:
    async with worker() as bench:
        assert bench.herder.health().status == "healthy"
        bench.offset_log.problem = "The internal topic o is no longer followed: X."
        assert bench.herder.health() == Health("unhealthy", "The internal topic o is no longer followed: X.")
