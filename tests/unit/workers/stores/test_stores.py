"""Keys and values byte for byte: the expected bytes were written by Kafka Connect 4.3.0 with Debezium 3.6.3.Final."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case
from workers.stores.config_store import Change, ConfigStore, RestartRequest
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.offset_store import AllOffsets, ConnectorOffsets
from workers.stores.status_store import StatusEntry, StatusStore
from workers.stores.topic_log import Entry

CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "127.0.0.1",
    "topic.prefix": "shop",
    "heartbeat.interval.ms": "0",
    "name": "shop",
}
CONNECTOR = Entry(
    b"connector-shop",
    b'{"properties":{"connector.class":"io.debezium.connector.postgresql.PostgresConnector","database.hostname":"127.0.0.1",'
    b'"topic.prefix":"shop","heartbeat.interval.ms":"0","name":"shop"}}',
)
TASK = Entry(
    b"task-shop-0",
    b'{"properties":{"topic.prefix":"shop","task.class":"io.debezium.connector.postgresql.PostgresConnectorTask"}}',
)
CONNECTORS_TASK = Entry(b"task-shop-0", orjson.dumps({"properties": {**CONFIG, "task.class": "any"}}))
COMMIT_1 = Entry(b"commit-shop", b'{"tasks":1}')
COMMIT_0 = Entry(b"commit-shop", b'{"tasks":0}')
STARTED = Entry(b"target-state-shop", b'{"state":"STARTED","state.v2":"STARTED"}')
PAUSED = Entry(b"target-state-shop", b'{"state":"PAUSED","state.v2":"PAUSED"}')
STOPPED = Entry(b"target-state-shop", b'{"state":"PAUSED","state.v2":"STOPPED"}')
RESTART = Entry(b"restart-connector-shop", b'{"include-tasks":true,"only-failed":false}')
RUNNING = b'{"state":"RUNNING","trace":null,"worker_id":"127.0.0.1:18083","generation":11,"version":"3.6.3.Final"}'


async def config_store(*entries: Entry) -> tuple[ConfigStore, MemoryTopic, list[Change]]:
    topic = MemoryTopic(entries)
    changes: list[Change] = []
    store = ConfigStore(MemoryLog(topic), changes.append)
    await store.start()
    return store, topic, changes


async def test_config_topic_is_written_as_connect_writes_it() -> None:
    store, topic, changes = await config_store()
    await store.put_connector("shop", CONFIG)
    await store.put_tasks("shop", [{"topic.prefix": "shop", "task.class": "io.debezium.connector.postgresql.PostgresConnectorTask"}])
    await store.put_target("shop", "PAUSED")
    await store.put_target("shop", "STARTED")
    await store.put_target("shop", "STOPPED")
    await store.put_restart(RestartRequest("shop", include_tasks=True, only_failed=False))
    await store.delete_connector("shop")
    assert topic.entries == [
        CONNECTOR,
        TASK,
        COMMIT_1,
        PAUSED,
        STARTED,
        COMMIT_0,
        STOPPED,
        RESTART,
        Entry(b"connector-shop", None),
        Entry(b"target-state-shop", None),
    ]
    assert changes == ["shop"] * 5 + [RestartRequest("shop", include_tasks=True, only_failed=False), "shop"]


async def test_an_initial_state_is_written_before_the_configuration() -> None:
    store, topic, changes = await config_store()
    await store.put_connector("shop", CONFIG, "STOPPED")
    assert topic.entries == [STOPPED, CONNECTOR]
    assert store.target("shop") == "STOPPED"
    assert changes == ["shop"]


async def test_config_topic_is_read_back() -> None:
    store, _, changes = await config_store(CONNECTOR, TASK, COMMIT_1, STOPPED, RESTART)
    assert store.names() == ["shop"]
    assert store.config("shop") == CONFIG
    assert list(store.config("shop") or ()) == list(CONFIG)
    assert store.target("shop") == "STOPPED"
    assert len(store.tasks("shop")) == 1
    assert changes == [], "the past is no change, and its restarts are over"


@pytest.mark.parametrize(
    ("entries", "count"),
    [
        ([CONNECTOR, TASK], 0),
        ([CONNECTOR, COMMIT_1], 0),
        ([CONNECTOR, TASK, COMMIT_1], 1),
        ([CONNECTORS_TASK, COMMIT_1, CONNECTOR], 1),
        ([TASK, COMMIT_1, CONNECTOR], 0),
        ([CONNECTOR, TASK, COMMIT_1, COMMIT_0], 0),
        ([CONNECTOR, TASK, COMMIT_1, Entry(b"connector-shop", None), CONNECTOR], 0),
    ],
    ids=["uncommitted", "incomplete", "committed", "compacted", "compacted after deletion", "stopped", "deleted and made again"],
)
async def test_tasks_count_only_when_committed_and_complete(entries: list[Entry], count: int) -> None:
    store, _, _ = await config_store(*entries)
    assert len(store.tasks("shop")) == count


async def test_a_target_state_of_a_worker_before_3_5() -> None:
    store, _, _ = await config_store(CONNECTOR, Entry(b"target-state-shop", b'{"state":"PAUSED"}'))
    assert store.target("shop") == "PAUSED"


@each_case(
    "odd",
    [
        Entry(b"session-key", b'{"key":"x","algorithm":"HmacSHA256","creation-timestamp":1}'),
        Entry(b"session-key", None),
        Entry(b"logger-cluster-x", b'{"level":"INFO"}'),
        Entry(b"tasks-fencing-shop", b'{"tasks":1}'),
        Entry(b"connector-shop", b"junk"),
        Entry(b"connector-shop", b'{"properties":3}'),
        Entry(b"connector-shop", b"[]"),
        Entry(b"commit-shop", b'{"tasks":"one"}'),
        Entry(b"target-state-shop", b'{"state":"FLYING"}'),
        Entry(b"task-shop-x", b'{"properties":{}}'),
        Entry(b"restart-connector-shop", b"{}"),
        Entry(b"\xff", b"{}"),
    ],
)
async def test_what_is_not_understood_changes_nothing(odd: Entry) -> None:
    store, _, _ = await config_store(CONNECTOR, TASK, COMMIT_1, PAUSED, odd)
    assert (store.config("shop"), len(store.tasks("shop")), store.target("shop")) == (CONFIG, 1, "PAUSED")


async def test_another_worker_s_writing_is_followed() -> None:
    store, topic, changes = await config_store()
    topic.append([STOPPED, CONNECTOR, TASK, COMMIT_1])
    assert changes == ["shop"]
    assert store.target("shop") == "STOPPED"
    assert len(store.tasks("shop")) == 1


@pytest.mark.parametrize("name", ["a-0", "a-b-1", "connector-x", "é ü", "0"])
async def test_names_with_dashes_digits_and_accents(name: str) -> None:
    store, topic, _ = await config_store()
    await store.put_connector(name, CONFIG)
    await store.put_tasks(name, [CONFIG])
    again, _, _ = await config_store(*topic.entries)
    assert again.names() == [name]
    assert len(again.tasks(name)) == 1


# Offsets

OFFSET = {
    "last_snapshot_record": True,
    "lsn": 35403664,
    "txId": 759,
    "ts_usec": 1795252177991051,
    "snapshot": "INITIAL",
    "snapshot_completed": True,
}
OFFSET_ENTRY = Entry(
    b'["shop",{"server":"shop"}]',
    b'{"last_snapshot_record":true,"lsn":35403664,"txId":759,"ts_usec":1795252177991051,"snapshot":"INITIAL","snapshot_completed":true}',
)


async def test_offset_topic_is_written_as_connect_writes_it() -> None:
    log = MemoryLog()
    offsets = AllOffsets(log)
    await offsets.start()
    mine = ConnectorOffsets(offsets, "shop")
    assert await mine.load({"server": "shop"}) is None
    await mine.store({"server": "shop"}, OFFSET)
    assert await mine.load({"server": "shop"}) == OFFSET
    await mine.store({"server": "shop"}, None)
    assert await mine.load({"server": "shop"}) is None
    assert log.topic.entries == [OFFSET_ENTRY, Entry(OFFSET_ENTRY.key, None)]


async def test_offsets_of_connectors_are_apart() -> None:
    offsets = AllOffsets(MemoryLog(MemoryTopic([OFFSET_ENTRY, Entry(b'["other",{"server":"shop"}]', b'{"lsn":1}')])))
    await offsets.start()
    assert list(offsets.of("shop")) == [({"server": "shop"}, OFFSET)]
    assert list(offsets.of("other")) == [({"server": "shop"}, {"lsn": 1})]
    assert list(offsets.of("none")) == []


async def test_a_partition_keeps_the_key_bytes_it_has_in_the_topic() -> None:
    topic = MemoryTopic([Entry(b'["c",{"b":1,"a":2}]', b'{"lsn":1}')])
    offsets = AllOffsets(MemoryLog(topic))
    await offsets.start()
    await offsets.store("c", {"a": 2, "b": 1}, {"lsn": 2})
    assert topic.entries[-1] == Entry(b'["c",{"b":1,"a":2}]', b'{"lsn":2}')
    assert len(offsets.of("c")) == 1


@pytest.mark.parametrize("key", [b"junk", b'["c"]', b'[1,{"a":1}]', b'{"a":1}', b'["c",1]', b"null"])
async def test_malformed_offset_keys_are_skipped(key: bytes) -> None:
    offsets = AllOffsets(MemoryLog(MemoryTopic([Entry(key, b"{}"), OFFSET_ENTRY])))
    await offsets.start()
    assert len(offsets.of("shop")) == 1


async def test_a_failed_write_raises_and_changes_nothing() -> None:
    log = MemoryLog(MemoryTopic([OFFSET_ENTRY]))
    offsets = AllOffsets(log)
    await offsets.start()
    log.broken = True
    with pytest.raises(CdcError) as caught:
        await offsets.store("shop", {"server": "shop"}, {"lsn": 1})
    assert caught.value.kind is ErrorKind.STORE
    assert offsets.load("shop", {"server": "shop"}) == OFFSET


async def test_an_offset_that_is_no_json_is_refused() -> None:
    offsets = AllOffsets(MemoryLog())
    await offsets.start()
    with pytest.raises(CdcError):
        await offsets.store("shop", {"server": "shop"}, {"lsn": object()})


# Statuses


async def status_store(*entries: Entry) -> tuple[StatusStore, MemoryLog]:
    log = MemoryLog(MemoryTopic(entries))
    store = StatusStore(log)
    await store.start()
    return store, log


async def test_status_topic_is_written_as_connect_writes_it() -> None:
    store, log = await status_store()
    running = StatusEntry("RUNNING", "127.0.0.1:18083", 11, "3.6.3.Final")
    store.put_connector("shop", running)
    await store.flush()
    store.put_task("shop", 0, running)
    await store.flush()
    store.put_task("shop", 0, StatusEntry("UNASSIGNED", "127.0.0.1:18083", 11, None))
    await store.flush()
    store.put_topic("shop", 0, "shop.public.t", 1795252178633)
    await store.flush()
    store.drop_tasks("shop")
    await store.flush()
    store.drop_connector("shop")
    await store.flush()
    assert log.topic.entries[:5] == [
        Entry(b"status-connector-shop", RUNNING),
        Entry(b"status-task-shop-0", RUNNING),
        Entry(b"status-task-shop-0", b'{"state":"UNASSIGNED","trace":null,"worker_id":"127.0.0.1:18083","generation":11,"version":null}'),
        Entry(
            b"status-topic-shop.public.t:connector-shop",
            b'{"topic":{"name":"shop.public.t","connector":"shop","task":0,"discoverTimestamp":1795252178633}}',
        ),
        Entry(b"status-task-shop-0", None),
    ]
    assert {e.key: e.value for e in log.topic.entries[5:]} == {
        b"status-connector-shop": None,
        b"status-topic-shop.public.t:connector-shop": None,
    }
    assert store.connector("shop") is None
    assert store.topics("shop") == []


async def test_status_topic_is_read_back() -> None:
    old_worker = b'{"state":"FAILED","trace":"boom","worker_id":"a:1","generation":3}'
    topic = Entry(
        b"status-topic-shop.public.t:connector-shop",
        b'{"topic":{"name":"shop.public.t","connector":"shop","task":0,"discoverTimestamp":1}}',
    )
    store, _ = await status_store(Entry(b"status-connector-shop", RUNNING), Entry(b"status-task-shop-0", old_worker), topic)
    assert store.connector("shop") == StatusEntry("RUNNING", "127.0.0.1:18083", 11, "3.6.3.Final")
    assert store.tasks("shop") == {0: StatusEntry("FAILED", "a:1", 3, None, "boom")}
    assert store.topics("shop") == ["shop.public.t"]
    assert store.generation == 11


async def test_a_topic_is_noted_once() -> None:
    store, log = await status_store()
    store.put_topic("shop", 0, "t", 1)
    store.put_topic("shop", 0, "t", 2)
    await store.flush()
    assert len(log.topic.entries) == 1


async def test_tasks_of_connectors_whose_names_begin_alike() -> None:
    store, _ = await status_store(Entry(b"status-task-a-0", RUNNING), Entry(b"status-task-a-1-0", RUNNING))
    assert list(store.tasks("a")) == [0]
    assert list(store.tasks("a-1")) == [0]


async def test_memory_is_ahead_of_the_topic_and_the_last_state_wins() -> None:
    store, log = await status_store()
    states: list[Any] = ["RESTARTING", "RUNNING", "FAILED"]
    for state in states:
        store.put_connector("shop", StatusEntry(state, "w", 1, None))
    log.topic.append([Entry(b"status-connector-shop", RUNNING)])
    assert store.connector("shop") == StatusEntry("FAILED", "w", 1, None)
    await store.flush()
    value = log.topic.entries[-1].value
    assert value is not None
    assert orjson.loads(value)["state"] == "FAILED"
    assert store.connector("shop") == StatusEntry("FAILED", "w", 1, None)


async def test_another_worker_s_status_is_followed() -> None:
    store, log = await status_store()
    log.topic.append([Entry(b"status-connector-shop", RUNNING)])
    assert store.connector("shop") is not None


async def test_another_worker_s_later_status_counts_when_both_are_read_before_the_acknowledgement() -> None:
    class LateAcknowledgement(MemoryLog):
        def __init__(self) -> None:
            super().__init__()
            self.acknowledged = asyncio.Event()

        async def write(self, entries: Sequence[Entry]) -> None:
            await super().write(entries)
            await self.acknowledged.wait()

    log = LateAcknowledgement()
    store = StatusStore(log)
    await store.start()
    store.put_connector("shop", StatusEntry("UNASSIGNED", "w", 1, None))
    await asyncio.sleep(0)
    assert len(log.topic.entries) == 1
    log.topic.append([Entry(b"status-connector-shop", RUNNING)])
    assert store.connector("shop") == StatusEntry("UNASSIGNED", "w", 1, None)
    log.acknowledged.set()
    await store.flush()
    assert store.connector("shop") == StatusEntry("RUNNING", "127.0.0.1:18083", 11, "3.6.3.Final")


async def test_a_status_that_cannot_be_written_still_counts_here() -> None:
    store, log = await status_store()
    log.broken = True
    store.put_connector("shop", StatusEntry("RUNNING", "w", 1, None))
    await store.flush()
    assert store.connector("shop") is not None
    log.broken = False
    store.put_connector("shop", StatusEntry("PAUSED", "w", 1, None))
    await store.flush()
    assert len(log.topic.entries) == 1
    await store.stop()


class Pauses:
    """A pause that the test ends. ``began`` is set when the store begins to wait."""

    def __init__(self) -> None:
        self.began, self._end = asyncio.Event(), asyncio.Event()

    async def __call__(self, _seconds: float) -> None:
        self.began.set()
        await self._end.wait()
        self._end.clear()

    async def over(self) -> None:
        self.began.clear()
        self._end.set()


def state(word: Any, worker: str = "w") -> StatusEntry:
    return StatusEntry(word, worker, 1, None)


async def unwritten_status() -> tuple[StatusStore, MemoryLog, Pauses]:
    """A store with four changes that could not be written."""
    log, pauses = MemoryLog(MemoryTopic([Entry(b"status-task-old-0", RUNNING)])), Pauses()
    store = StatusStore(log, "w", pauses)
    await store.start()
    log.broken = True
    store.put_connector("shop", state("RUNNING"))
    store.put_task("shop", 0, state("RUNNING"))
    store.put_topic("shop", 0, "t", 1)
    store.drop_tasks("old")
    await store.flush()
    store.put_task("shop", 0, state("FAILED"))
    await store.flush()
    await pauses.began.wait()
    return store, log, pauses


def last_states(log: MemoryLog) -> dict[str, Any]:
    found = {e.key.decode(): None if e.value is None else orjson.loads(e.value) for e in log.topic.entries}
    return {key: value and value.get("state", "topic") for key, value in found.items()}


async def test_a_status_that_could_not_be_written_is_written_later() -> None:
    store, log, pauses = await unwritten_status()
    # The second attempt fails too.
    await pauses.over()
    await pauses.began.wait()
    assert len(log.topic.entries) == 1
    log.broken = False
    await pauses.over()
    assert store._repeating is not None
    await store._repeating
    assert last_states(log) == {
        "status-task-old-0": None,
        "status-connector-shop": "RUNNING",
        "status-task-shop-0": "FAILED",
        "status-topic-t:connector-shop": "topic",
    }
    assert len(log.topic.entries) == 5
    # From now on others are followed again.
    log.topic.append([Entry(b"status-connector-shop", RUNNING)])
    assert store.connector("shop") == StatusEntry("RUNNING", "127.0.0.1:18083", 11, "3.6.3.Final")
    await store.stop()


async def test_a_status_that_waits_gives_way_to_another_worker_s() -> None:
    store, log, pauses = await unwritten_status()
    own = b'{"state":"RUNNING","trace":null,"worker_id":"w","generation":1,"version":null}'
    # Of its own records an earlier one may come late.
    log.topic.append([Entry(b"status-connector-shop", RUNNING), Entry(b"status-task-shop-0", own), Entry(b"status-task-shop-0", None)])
    assert store.connector("shop") == StatusEntry("RUNNING", "127.0.0.1:18083", 11, "3.6.3.Final")
    assert store.tasks("shop") == {0: state("FAILED")}
    log.broken = False
    await pauses.over()
    assert store._repeating is not None
    await store._repeating
    assert [e.value for e in log.topic.entries if e.key == b"status-connector-shop"] == [RUNNING]
    await store.stop()


async def test_the_end_does_not_wait_for_a_lost_cluster() -> None:
    store, log, _ = await unwritten_status()
    store.put_connector("shop", state("UNASSIGNED"))
    await store.stop()
    assert len(log.topic.entries) == 1


@pytest.mark.parametrize("value", [b"junk", b"[]", b'{"state":"FLYING","worker_id":"w","generation":1}', b'{"state":"RUNNING"}', b"3"])
async def test_malformed_statuses_are_skipped(value: bytes) -> None:
    store, _ = await status_store(Entry(b"status-connector-shop", value), Entry(b"status-connector-b", RUNNING))
    assert store.connector("shop") is None
    assert store.connector("b") is not None


async def test_a_cancelled_wait_for_the_writes_does_not_end_them() -> None:
    allowed = asyncio.Event()

    class Slow(MemoryLog):
        async def write(self, entries: Sequence[Entry]) -> None:
            await allowed.wait()
            await super().write(entries)

    topic = MemoryTopic()
    store = StatusStore(Slow(topic))
    await store.start()
    store.put_task("shop", 0, StatusEntry("FAILED", "w", 1, None, "why"))
    waiting = asyncio.create_task(store.flush())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    allowed.set()
    await store.flush()
    assert [entry.key for entry in topic.entries] == [b"status-task-shop-0"]


async def test_writes_that_take_too_long_are_given_up() -> None:
    class Silent(MemoryLog):
        async def write(self, entries: Sequence[Entry]) -> None:
            await asyncio.Event().wait()

    store = StatusStore(Silent())
    await store.start()
    store.put_task("shop", 0, StatusEntry("FAILED", "w", 1, None, "why"))
    await store.flush(0.001)
    await asyncio.wait_for(store.flush(), 5)
