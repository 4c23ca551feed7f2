"""The herder's verbs that change what is stored: parts of a configuration, offsets, topics in use, levels of loggers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import orjson
import pytest

from connect_api.herder import HerderError, Offset
from connector.errors import CdcError, ErrorKind
from tests.support.herder_bench import CONFIG, Bench, LateLog, Topics, worker
from workers.settings.worker_settings import StoreTopic
from workers.stores import transactional_offsets
from workers.stores.memory import MemoryLog
from workers.stores.topic_log import Entry

STOPPED_FIRST = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified connector by "
    "issuing a 'PUT' request to the '/connectors/shop/stop' endpoint"
)
TOLD = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector manages offsets "
    "externally, they will need to be manually {0} in the system that the connector uses."
)
PARTITION = {"server": "shop"}
ENTRY = Entry(b'["shop",{"server":"shop"}]', b'{"lsn":5}')


def refusal(caught: pytest.ExceptionInfo[HerderError]) -> tuple[int, str]:
    return caught.value.status, caught.value.message


async def stored(bench: Bench) -> list[tuple[object, object]]:
    return [(each.partition, each.offset) for each in await bench.herder.offsets("shop")]


# Some properties of a configuration


async def test_a_patch_is_merged_and_started_with() -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "slot.name": "s"})
        info = await bench.herder.patch_connector("shop", {"tasks.max": "1", "slot.name": None, "never.there": None})
        await bench.settled()
        expected = {**CONFIG, "tasks.max": "1"}
        assert (info.name, info.config, list(info.tasks), info.type) == ("shop", expected, [0], "source")
        assert bench.herder.connector_info("shop").config == expected
        assert orjson.loads([e for e in bench.topics.config.entries if e.key == b"connector-shop"][-1].value or b"") == {
            "properties": expected
        }
        assert bench.running["shop"].config == expected
        assert bench.validated[-1] == expected


async def test_the_same_again_restarts_nothing() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.herder.patch_connector("shop", {"name": "shop"})
        await bench.settled()
        assert len(bench.contexts) == 1


async def test_a_patch_that_makes_the_whole_wrong_is_refused() -> None:
    async with worker() as bench:
        await bench.create()
        bench.lines = ["The 'slot.name' value is invalid"]
        with pytest.raises(HerderError) as caught:
            await bench.herder.patch_connector("shop", {"slot.name": "BAD"})
        assert caught.value.status == 400
        assert "1 error(s):\nThe 'slot.name' value is invalid" in caught.value.message
        assert bench.herder.connector_info("shop").config == CONFIG


@pytest.mark.parametrize(
    ("name", "patch", "expected"),
    [
        ("none", {}, (404, "Connector none not found")),
        ("none", {"name": "x"}, (404, "Connector none not found")),
        ("shop", {"name": "x"}, (400, "Connector name configuration (x) doesn't match connector name in the URL (shop)")),
        ("shop", {"connector.class": None}, (400, "Connector config {topic.prefix=shop, name=shop} contains no connector type")),
    ],
)
async def test_patches_that_are_refused(name: str, patch: dict[str, str | None], expected: tuple[int, str]) -> None:
    async with worker() as bench:
        await bench.create()
        with pytest.raises(HerderError) as caught:
            await bench.herder.patch_connector(name, patch)
        assert refusal(caught) == expected


async def test_of_two_patches_at_once_none_is_lost() -> None:
    async with worker() as bench:
        await bench.create()
        await asyncio.gather(*(bench.herder.patch_connector("shop", {f"k{n}": "v"}) for n in range(5)))
        assert bench.herder.connector_info("shop").config == {**CONFIG, **{f"k{n}": "v" for n in range(5)}}


# Offsets


async def test_offsets_of_a_stopped_connector_are_altered() -> None:
    topics = Topics()
    topics.offset.append([ENTRY])
    async with worker(topics) as bench:
        await bench.create(initial_state="STOPPED")
        changes = [
            Offset(PARTITION, {"lsn": 1}),
            Offset({"b": 1, "a": 2}, {"x": 1}),
            Offset({"a": 2, "b": 1}, {"x": 2}),
            Offset(None, None),
        ]
        assert await bench.herder.alter_offsets("shop", changes) == TOLD.format("altered")
        assert await stored(bench) == [(PARTITION, {"lsn": 1}), ({"a": 2, "b": 1}, {"x": 2})]
        assert topics.offset.entries[1:] == [
            Entry(b'["shop",{"server":"shop"}]', b'{"lsn":1}'),
            Entry(b'["shop",{"a":2,"b":1}]', b'{"x":2}'),
            Entry(b'["shop",null]', None),
        ]
        await bench.herder.alter_offsets("shop", [Offset(PARTITION, None)])
        assert await stored(bench) == [({"a": 2, "b": 1}, {"x": 2})]
        # The task starts from what is there now.
        await bench.herder.alter_offsets("shop", [Offset(PARTITION, {"lsn": 7})])
        await bench.target("STARTED")
        assert await bench.running["shop"].offsets.load(PARTITION) == {"lsn": 7}


async def test_offsets_are_reset_to_none() -> None:
    topics = Topics()
    topics.offset.append([ENTRY, Entry(b'["shop",{"server":"other"}]', b"{}"), Entry(b'["other",{"server":"shop"}]', b"{}")])
    async with worker(topics) as bench:
        await bench.create()
        await bench.target("STOPPED")
        assert await bench.herder.reset_offsets("shop") == TOLD.format("reset")
        assert await stored(bench) == []
        assert topics.offset.entries[3:] == [Entry(ENTRY.key, None), Entry(b'["shop",{"server":"other"}]', None)]
        assert await bench.herder.reset_offsets("shop") == TOLD.format("reset")
        assert len(topics.offset.entries) == 5


async def test_the_connector_s_own_offset_topic_is_changed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, Mapping[bytes, bytes | None]]] = []
    topics = Topics()
    topics.offset.append([ENTRY])

    async def create(_properties: Mapping[str, str], topic: StoreTopic) -> None:
        assert topic.name == "own"

    async def write(properties: Mapping[str, str], topic: str, values: Mapping[bytes, bytes | None]) -> None:
        # As in Connect, by the login that the connector's transactions have.
        assert (properties["bootstrap.servers"], properties["sasl.jaas.config"]) == ("kafka:9092", "connector's")
        written.append((topic, values))
        # The worker's topic must not be changed yet: a reset that is repeated would find nothing to remove.
        if topics.offset.entries == [ENTRY]:
            raise CdcError(ErrorKind.STORE, "Kafka did not accept it")

    monkeypatch.setattr(transactional_offsets, "_create", create)
    monkeypatch.setattr(transactional_offsets, "_write", write)
    async with worker(topics, {"exactly.once.source.support": "enabled"}) as bench:
        login = {"producer.override.sasl.jaas.config": "connector's"}
        await bench.create({**CONFIG, **login, "offsets.storage.topic": "own"}, initial_state="STOPPED")
        with pytest.raises(HerderError, match="Kafka did not accept it"):
            await bench.herder.reset_offsets("shop")
        assert topics.offset.entries == [ENTRY]
        topics.offset.append([ENTRY])
        await bench.herder.alter_offsets("shop", [Offset(PARTITION, {"lsn": 1})])
        await bench.herder.reset_offsets("shop")
        assert written == [("own", {ENTRY.key: None}), ("own", {ENTRY.key: b'{"lsn":1}'}), ("own", {ENTRY.key: None})]
        assert topics.offset.entries[2:] == [Entry(ENTRY.key, b'{"lsn":1}'), Entry(ENTRY.key, None)]
        # There is nothing to remove any more.
        await bench.herder.reset_offsets("shop")
        await bench.herder.put_connector("shop", CONFIG, allow_replace=True)
        await bench.herder.alter_offsets("shop", [Offset(PARTITION, {"lsn": 2})])
        assert len(written) == 3


async def test_members_in_another_order_are_one_partition() -> None:
    topics = Topics()
    topics.offset.append([Entry(b'["shop",{"b":1,"a":2}]', b'{"x":1}')])
    async with worker(topics) as bench:
        await bench.create(initial_state="STOPPED")
        await bench.herder.alter_offsets("shop", [Offset({"a": 2, "b": 1}, {"x": 2})])
        assert topics.offset.entries[-1] == Entry(b'["shop",{"b":1,"a":2}]', b'{"x":2}')


@pytest.mark.parametrize("state", ["STARTED", "PAUSED"])
async def test_offsets_change_while_stopped_only(state: str) -> None:
    topics = Topics()
    topics.offset.append([ENTRY])
    async with worker(topics) as bench:
        await bench.create()
        await bench.target(state)
        for call in (bench.herder.alter_offsets("shop", [Offset(PARTITION, None)]), bench.herder.reset_offsets("shop")):
            with pytest.raises(HerderError) as caught:
                await call
            assert refusal(caught) == (400, STOPPED_FIRST)
        assert topics.offset.entries == [ENTRY]


async def test_right_after_stop_the_task_has_ended_before_offsets_change() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.herder.set_target_state("shop", "STOPPED")
        await bench.herder.reset_offsets("shop")
        assert "shop" not in bench.running


async def test_offsets_of_an_unknown_connector_and_without_kafka() -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.herder.alter_offsets("none", [Offset(PARTITION, None)])
        assert refusal(caught) == (404, "Connector none not found")
        await bench.create(initial_state="STOPPED")
        bench.offset_log.broken = True
        with pytest.raises(HerderError) as caught:
            await bench.herder.alter_offsets("shop", [Offset(PARTITION, {"lsn": 1})])
        assert caught.value.status == 500
        assert await stored(bench) == []


async def test_offsets_that_another_worker_stored_just_now_are_shown_and_removed() -> None:
    topics = Topics()
    async with worker(topics, log=LateLog) as bench:
        await bench.create(initial_state="STOPPED")
        topics.offset.append([ENTRY])
        assert await stored(bench) == [(PARTITION, orjson.loads(ENTRY.value or b""))]
        later = Entry(b'["shop",{"server":"later"}]', b'{"lsn":2}')
        topics.offset.append([later])
        await bench.herder.reset_offsets("shop")
        assert {entry.key for entry in topics.offset.entries if entry.value is None} == {ENTRY.key, later.key}
        assert await stored(bench) == []


async def test_offsets_whose_topic_cannot_be_read_to_its_end() -> None:
    class Unread(MemoryLog):
        async def catch_up(self) -> None:
            if self.broken:
                raise CdcError(ErrorKind.STORE, "The end of the topic cannot be read")

    async with worker(log=Unread) as bench:
        await bench.create(initial_state="STOPPED")
        bench.offset_log.broken = True
        for call in (bench.herder.offsets("shop"), bench.herder.reset_offsets("shop")):
            with pytest.raises(HerderError) as caught:
                await call
            assert caught.value.status == 500


async def test_an_offset_without_a_partition_is_no_stranger_s_record(caplog: pytest.LogCaptureFixture) -> None:
    topics = Topics()
    topics.offset.append([Entry(b'["shop",null]', b'{"lsn":1}'), Entry(b'["shop",null]', None)])
    async with worker(topics) as bench:
        await bench.create()
        assert await stored(bench) == []
    assert "not connect's" not in caplog.text


# Topics in use


async def test_topics_are_forgotten_and_come_back() -> None:
    async with worker() as bench:
        await bench.create()
        bench.running["shop"].topic_used("shop.public.t")
        bench.herder.reset_active_topics("shop")
        assert list(bench.herder.active_topics("shop")) == []
        await bench.settled()
        assert bench.topics.status.entries[-1] == Entry(b"status-topic-shop.public.t:connector-shop", None)
        bench.running["shop"].topic_used("shop.public.t")
        assert list(bench.herder.active_topics("shop")) == ["shop.public.t"]
        bench.herder.reset_active_topics("none")


@pytest.mark.parametrize(
    ("properties", "listed", "message"),
    [
        ({"topic.tracking.enable": "false"}, False, "Topic tracking is disabled."),
        ({"topic.tracking.enable": "false", "topic.tracking.allow.reset": "false"}, False, "Topic tracking is disabled."),
        ({"topic.tracking.allow.reset": "false"}, True, "Topic tracking reset is disabled."),
    ],
)
async def test_topics_as_the_settings_let_it(properties: dict[str, str], listed: bool, message: str) -> None:
    async with worker(properties=properties) as bench:
        await bench.create()
        with pytest.raises(HerderError) as caught:
            bench.herder.reset_active_topics("shop")
        assert refusal(caught) == (403, message)
        if listed:
            assert list(bench.herder.active_topics("shop")) == []
        else:
            with pytest.raises(HerderError) as caught:
                bench.herder.active_topics("shop")
            assert refusal(caught) == (403, message)


# Levels of loggers


async def test_levels_of_this_worker_and_of_all() -> None:
    topics = Topics()
    async with worker(topics) as bench, worker(topics) as other:
        assert bench.herder.set_logger_level("shop.a", "debug") == ["shop.a"]
        with pytest.raises(HerderError) as caught:
            other.herder.logger("shop.a")
        assert refusal(caught) == (404, "Logger shop.a not found.")
        await bench.herder.set_cluster_logger_level("shop", "Error")
        assert topics.config.entries == [Entry(b"logger-cluster-shop", b'{"level":"Error"}')]
        assert [each.herder.logger("shop").level for each in (bench, other)] == ["ERROR", "ERROR"]
        assert dict(bench.herder.loggers())["shop.a"].level == "ERROR"
    # A worker that starts later takes up nothing of the past.
    async with worker(topics) as later:
        assert "shop" not in later.herder.loggers()


async def test_the_last_of_several_levels_counts() -> None:
    async with worker() as bench:
        levels = [b'{"level":"INFO"}', b'{"level":"DEBUG"}', b'{"level":"INFO"}']
        bench.topics.config.append([Entry(b"logger-cluster-shop", level) for level in levels])
        assert bench.herder.logger("shop").level == "INFO"


@pytest.mark.parametrize("value", [None, b"{}", b'{"level":1}', b"[]", b'{"level":"SILLY"}'])
async def test_invalid_levels_are_skipped(value: bytes | None) -> None:
    async with worker() as bench:
        bench.topics.config.append([Entry(b"logger-cluster-shop", value)])
        assert "shop" not in bench.herder.loggers()


def test_nothing_of_this_reached_the_loggers_of_the_tests() -> None:
    assert "shop" not in logging.root.manager.loggerDict
