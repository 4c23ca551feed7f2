"""Signals and notifications between REST and the task, by way of the herder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from connect_api.herder import HerderError, SignalRequest
from connector.notifications.notification import Notification
from connector.signals.signal import Signal
from tests.support.herder_bench import CONFIG, Bench, worker
from workers.herder.notification_logs import KEPT, NotificationLog, NotificationLogs

LOG = SignalRequest("s1", "log", '{"message": "x"}')
BY_REST = {**CONFIG, "signal.enabled.channels": "source, http"}

BEGINS = 1700000000000
"""The worker's clock."""


async def refusal(bench: Bench, request: SignalRequest = LOG, name: str = "shop") -> HerderError:
    with pytest.raises(HerderError) as refused:
        await bench.herder.signal(name, request)
    return refused.value


async def test_only_the_properties_that_a_signal_needs_are_resolved(tmp_path: Path) -> None:
    providers = {"config.providers": "file", "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider"}
    taken: list[Signal] = []
    async with worker(properties=providers) as bench:
        files = {"signal.enabled.channels": tmp_path / "needed", "signal.consumer.sasl.jaas.config": tmp_path / "unused"}
        for file in files.values():
            file.write_text("k=http\n")
        await bench.create({**CONFIG, **{key: f"${{file:{file}:k}}" for key, file in files.items()}})
        bench.running["shop"].signals.open("http", taken.append)
        (tmp_path / "unused").unlink()
        assert await bench.herder.signal("shop", LOG) == "s1"
        (tmp_path / "needed").unlink()
        refused = await refusal(bench)
    assert refused.status == 500
    assert "signal.enabled.channels" in refused.message
    assert len(taken) == 1


def note(kind: str) -> Notification:
    return Notification(kind, "Initial Snapshot", kind, {"connector_name": "shop"}, 1)


async def test_a_signal_reaches_the_task() -> None:
    taken: list[Signal] = []
    async with worker() as bench:
        await bench.create(BY_REST)
        bench.running["shop"].signals.open("http", taken.append)
        assert await bench.herder.signal("shop", LOG) == "s1"
        made = await bench.herder.signal("shop", SignalRequest(None, "pause-snapshot", None))
    assert taken == [Signal("s1", "log", '{"message": "x"}', "http"), Signal(made, "pause-snapshot", None, "http")]
    assert len(made) == 36


async def test_the_channel_s_name_in_debezium() -> None:
    taken: list[Signal] = []
    async with worker() as bench:
        await bench.create({**CONFIG, "signal.enabled.channels": "jmx"})
        bench.running["shop"].signals.open("jmx", taken.append)
        await bench.herder.signal("shop", LOG)
    assert [signal.channel for signal in taken] == ["jmx"]


async def test_the_channel_is_not_enabled() -> None:
    async with worker() as bench:
        await bench.create()
        bench.running["shop"].signals.open("http", lambda _: pytest.fail("taken"))
        refused = await refusal(bench)
    assert refused.status == 409
    assert "signal.enabled.channels" in refused.message


async def test_the_task_does_not_stream() -> None:
    async with worker() as bench:
        await bench.create(BY_REST)
        assert (await refusal(bench)).status == 409
        bench.running["shop"].signals.open("http", lambda _: pytest.fail("taken"))
        await bench.target("PAUSED")
        refused = await refusal(bench)
    assert refused.status == 409
    assert "does not stream" in refused.message


async def test_an_unknown_connector_and_a_signal_without_sense() -> None:
    async with worker() as bench:
        await bench.create(BY_REST)
        bench.running["shop"].signals.open("http", lambda _: pytest.fail("taken"))
        assert (await refusal(bench, name="none")).status == 404
        refused = await refusal(bench, SignalRequest(None, "explode", None))
        assert refused.status == 400
        assert "explode" in refused.message
        assert (await refusal(bench, SignalRequest(None, "execute-snapshot", None))).status == 400


async def test_a_user_defined_type() -> None:
    taken: list[Signal] = []
    async with worker() as bench:
        await bench.create({**BY_REST, "signal.actions": "mine:Action"})
        bench.running["shop"].signals.open("http", taken.append)
        await bench.herder.signal("shop", SignalRequest("s1", "explode", None))
    assert [signal.type for signal in taken] == ["explode"]


async def test_notifications_outlive_the_task_s_runs() -> None:
    async with worker() as bench:
        await bench.create()
        bench.running["shop"].notify(note("STARTED"))
        await bench.herder.restart_task("shop", 0)
        await bench.settled()
        bench.running["shop"].notify(note("COMPLETED"))
        seen = bench.herder.notifications("shop", 0)
        assert [(n.number, n.event, n.content["type"]) for n in seen] == [
            (BEGINS + 1, "Initial Snapshot", "STARTED"),
            (BEGINS + 2, "Initial Snapshot", "COMPLETED"),
        ]
        assert [n.number for n in bench.herder.notifications("shop", BEGINS + 1)] == [BEGINS + 2]
        bench.herder.clear_notifications("shop")
        assert list(bench.herder.notifications("shop", 0)) == []
        bench.running["shop"].notify(note("STARTED"))
        assert [n.number for n in bench.herder.notifications("shop", 0)] == [BEGINS + 3]


async def test_who_follows_is_let_go_when_the_connector_is_deleted() -> None:
    async with worker() as bench:
        await bench.create()
        following = asyncio.create_task(bench.herder.next_notifications("shop", 0, 30))
        await asyncio.sleep(0)
        await bench.herder.delete_connector("shop")
        await bench.settled()
        assert await following is None
        with pytest.raises(HerderError):
            await bench.herder.next_notifications("shop", 0, 30)


async def test_who_follows_is_let_go_when_the_worker_ends() -> None:
    async with worker() as bench:
        await bench.create()
        following = asyncio.create_task(bench.herder.next_notifications("shop", 0, 30))
        await asyncio.sleep(0)
    assert await following is None


async def test_a_board_wakes_who_waits() -> None:
    log = NotificationLog()
    waiting = [asyncio.create_task(log.next(0, 30)) for _ in range(2)]
    await asyncio.sleep(0)
    log.add(note("STARTED"))
    assert [[n.number for n in await each or ()] for each in waiting] == [[1], [1]]
    assert await log.next(1, 0.001) == ()


def test_a_board_keeps_the_last() -> None:
    log = NotificationLog()
    for _ in range(KEPT + 5):
        log.add(note("IN_PROGRESS"))
    assert (log.after(0)[0].number, len(log.after(0))) == (6, KEPT)
    # A number of an earlier worker: the client knows none of these.
    assert len(log.after(KEPT + 6)) == KEPT


def test_a_later_board_s_numbers_are_higher() -> None:
    clock = iter([1_000, 2_000])
    logs = NotificationLogs(lambda: next(clock))
    for kind in ("STARTED", "COMPLETED"):
        logs.of("shop").add(note(kind))
    seen = logs.of("shop").after(0)[-1].number
    logs.drop("shop")
    for kind in ("SKIPPED", "STARTED", "COMPLETED"):
        logs.of("shop").add(note(kind))
    assert [n.content["type"] for n in logs.of("shop").after(seen)] == ["SKIPPED", "STARTED", "COMPLETED"]


async def test_boards_made_after_the_end_are_ended() -> None:
    logs = NotificationLogs()
    logs.end()
    assert await logs.of("shop").next(0, 30) is None
