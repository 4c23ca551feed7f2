"""The life of a task without servers: decision, slot, snapshot, stream and end come in this order, and a failure leaves all in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from connector.delivery.offsets import StoredOffset
from connector.errors import CdcError, ErrorKind
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres import server as pg_server
from connector.io.postgres.replication_connection import CreatedSlot
from connector.ports import Span
from connector.runner import task as task_module
from connector.runner.snapshot import reading
from connector.runner.task import run_task
from connector.runner.task_stop import TaskStop
from connector.start.decision import SlotState
from tests.support.fake_snapshot import LSN, SnapshotWorld, fake_table, lost


async def steps() -> None:
    """Closing takes steps. A task that is cancelled meanwhile leaves the connection open."""
    for _ in range(5):
        await asyncio.sleep(0)


class Server:
    """A PostgreSQL with one slot at most; ``journal`` holds what was done to it, and by whom it was streamed from."""

    def __init__(self, world: SnapshotWorld, slot: SlotState | None = None) -> None:
        self.world = world
        self.slot = slot
        self.journal: list[str] = []
        self.open = 0
        self.streaming = asyncio.Event()
        self.stream_fails: CdcError | None = None

    async def connect(self, _config: object, purpose: str, *, replication: bool = False) -> Any:
        self.open += 1
        server = self

        async def close() -> None:
            await steps()
            server.open -= 1

        async def execute(_statement: bytes) -> None:
            """Settings have no effect."""

        info = SimpleNamespace(parameter_status=lambda _: "UTF8", server_version=180000)
        return SimpleNamespace(close=close, execute=execute, info=info, purpose=purpose, replication=replication)

    async def slot_state(self, _connection: object, _name: str) -> SlotState | None:
        return self.slot

    async def drop_slot(self, _connection: object, name: str) -> None:
        self.slot = None
        self.journal.append(f"drop {name}")


class FakeReplication:
    """Stands for :class:`connector.io.postgres.replication_connection.Replication`."""

    server: Server

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._temporary = ""
        self._closed = False

    async def create_slot(self, name: str, plugin: str, *, temporary: bool = False, failover: bool = False, timeout_s: int) -> CreatedSlot:
        assert not failover
        assert timeout_s
        if temporary:
            self._temporary = name
        else:
            self.server.slot = slot(name, plugin, LSN)
        self.server.journal.append("make temporary slot" if temporary else f"make slot {plugin}")
        return CreatedSlot(name, LSN, "exported")

    async def start(self, _slot: str, lsn: int, _options: object) -> None:
        self.server.journal.append(f"start at {lsn}")

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._temporary:
                self.server.journal.append("temporary slot goes")
            await self._connection.close()


def slot(name: str = "s", plugin: str = "pgoutput", confirmed: int = LSN - 500) -> SlotState:
    return SlotState(name, plugin, True, True, "shop", False, "", confirmed, confirmed, "reserved")


class Task:
    """One task over ``server``."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.stop = TaskStop()

    async def run(self) -> None:
        await run_task(self.server.world.context, self.stop)

    async def until_it_streams(self) -> asyncio.Task[None]:
        task = asyncio.create_task(self.run())
        waiting = asyncio.create_task(self.server.streaming.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            task.result()
        return task

    async def idle(self) -> None:
        """Return when the task has nothing more to do; the test's own limit of steps keeps it from waiting without end."""
        for _ in range(10_000):
            if self.server.world.context.progress.phase == "idle":
                return
            await asyncio.sleep(0)
        raise AssertionError("The task is not idle")

    def assert_all_is_closed(self, where: str = "") -> None:
        assert self.server.open == 0, where
        assert all(source.closed for source in self.server.world.sources), where
        assert self.server.world.context.progress.phase == "stopped", where


Started = Callable[..., Task]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """``started(slot, **properties)``: a task whose surroundings are fakes."""

    def start(existing: SlotState | None = None, **properties: str) -> Task:
        given = {key.replace("__", "."): value for key, value in properties.items()}
        world = SnapshotWorld(fake_table("a", 3), fake_table("b", 2), properties={"plugin.name": "pgoutput", "slot.name": "s", **given})
        server = Server(world, existing)

        async def open_sink(context: Any, _config: object, stack: Any) -> Any:
            server.open += 1

            async def closed() -> None:
                await steps()
                server.open -= 1

            stack.push_async_callback(closed)
            return world.sink, context

        async def of_world(*_: object, **__: object) -> Any:
            return [one.table for one in world.tables]

        async def types(_: object) -> Any:
            return world.capture.types

        async def facts(_: object, **__: object) -> Any:
            return SimpleNamespace(version=180000, standby=False)

        async def nothing(*_: object, **__: object) -> None:
            server.journal.append("publication and identities")

        class Streaming:
            def __init__(self, *_: object, start: int, offset: StoredOffset | None, **__: object) -> None:
                server.journal.append(f"stream from {start}" + ("" if offset is None else " inside of the offset"))

            async def run(self, stop: asyncio.Event, _heartbeat: object) -> None:
                server.streaming.set()
                if server.stream_fails is not None:
                    raise server.stream_fails
                await stop.wait()

        monkeypatch.setattr(FakeReplication, "server", server, raising=False)
        monkeypatch.setattr(reading.SnapshotEdges, "of", lambda _: world.edges)
        for name, fake in {
            "connect": server.connect,
            "Replication": FakeReplication,
            "open_sink": open_sink,
            "ensure_publication": nothing,
            "set_replica_identities": nothing,
            "StreamRun": Streaming,
        }.items():
            monkeypatch.setattr(task_module, name, fake)
        for name, fake in {"slot_state": server.slot_state, "drop_slot": server.drop_slot, "server_facts": facts}.items():
            monkeypatch.setattr(pg_server, name, fake)
        for name, fake in {"read_types": types, "list_tables": of_world}.items():
            monkeypatch.setattr(pg_catalog, name, fake)
        return Task(server)

    return start


async def test_a_first_start_makes_the_slot_takes_the_snapshot_and_streams_from_it(started: Started) -> None:
    task = started()
    running = await task.until_it_streams()
    server, world = task.server, task.server.world
    assert server.journal == ["publication and identities"] * 2 + ["make slot pgoutput", f"start at {LSN}", f"stream from {LSN}"]
    assert world.reported[0] == "STARTED"
    assert world.reported[-1] == "COMPLETED"
    assert (world.context.meters.snapshot.state, world.context.meters.snapshot.skipped) == ("completed", False)
    assert (world.offsets.stored or {})["snapshot_completed"] is True
    task.stop.set()
    await running
    task.assert_all_is_closed()
    assert server.slot is not None


async def test_after_a_failed_snapshot_the_stream_begins_at_the_slot_s_position(started: Started) -> None:
    task = started(slot())
    task.server.world.offsets.stored = {"lsn": LSN - 500, "snapshot": "INITIAL", "snapshot_completed": False, "last_snapshot_record": False}
    running = await task.until_it_streams()
    # The offset of a snapshot that broke off decides: the slot's own position counts, and no temporary slot is needed.
    assert task.server.journal[-2:] == [f"start at {LSN - 500}", f"stream from {LSN - 500}"]
    assert (task.server.world.offsets.stored or {})["lsn"] == LSN - 500
    task.stop.set()
    await running
    task.assert_all_is_closed()


async def test_where_the_slot_is_there_a_temporary_one_gives_the_snapshot_and_goes_before_the_stream(started: Started) -> None:
    task = started(slot())
    running = await task.until_it_streams()
    journal = task.server.journal
    assert journal.index("make temporary slot") < journal.index("temporary slot goes") < journal.index(f"start at {LSN}")
    task.stop.set()
    await running
    task.assert_all_is_closed()


async def test_with_a_complete_offset_nothing_is_read(started: Started) -> None:
    task = started(slot(confirmed=LSN))
    task.server.world.offsets.stored = {"lsn": LSN, "lsn_commit": LSN, "lsn_proc": LSN, "messageType": "COMMIT"}
    running = await task.until_it_streams()
    assert task.server.world.reported == ["SKIPPED"]
    meter = task.server.world.context.meters.snapshot
    assert (meter.state, meter.skipped) == ("", True)
    assert task.server.world.sources == []
    assert task.server.journal[-1] == f"stream from {LSN} inside of the offset"
    task.stop.set()
    await running
    task.assert_all_is_closed()


async def test_a_mode_without_a_stream_needs_no_slot_and_waits_for_the_stop(started: Started) -> None:
    task = started(snapshot__mode="initial_only")
    running = asyncio.create_task(task.run())
    await task.idle()
    assert task.server.world.reported[-1] == "COMPLETED"
    task.stop.set()
    await running
    assert task.server.slot is None
    assert task.server.journal == []
    task.assert_all_is_closed()


async def test_a_stop_while_a_failed_start_closes_its_connections_leaves_none_open(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = started()

    async def failing(*_: object, **__: object) -> None:
        task.stop.set()
        raise lost()

    monkeypatch.setattr(pg_server, "server_facts", failing)
    with pytest.raises(CdcError):
        await task.run()
    task.assert_all_is_closed()


async def test_the_slot_is_dropped_on_stop_where_the_configuration_says_so(started: Started) -> None:
    task = started(slot__drop__on__stop="true")
    running = await task.until_it_streams()
    task.stop.set()
    await running
    assert task.server.slot is None
    assert task.server.journal[-1] == "drop s"
    task.assert_all_is_closed()


async def test_a_pause_drops_no_slot(started: Started) -> None:
    task = started(slot__drop__on__stop="true")
    running = await task.until_it_streams()
    task.stop.pause()
    await running
    assert task.server.slot is not None
    task.assert_all_is_closed()


async def test_a_failure_of_the_stream_ends_the_task_with_it(started: Started) -> None:
    task = started()
    task.server.stream_fails = lost()
    with pytest.raises(CdcError) as raised:
        await task.run()
    assert raised.value is task.server.stream_fails
    task.assert_all_is_closed()


async def test_a_failure_at_any_step_of_the_snapshot_aborts_it_and_keeps_the_slot(started: Started) -> None:
    first = started()
    running = await first.until_it_streams()
    first.stop.set()
    await running
    problem = CdcError(ErrorKind.SINK_REFUSED, "Kafka refuses")

    def fail() -> None:
        raise problem

    for at, step in enumerate(first.server.world.steps.taken):
        task = started()
        steps = task.server.world.steps
        steps.at, steps.failing = at, fail
        with pytest.raises(CdcError) as raised:
            await task.run()
        assert raised.value is problem, step
        assert task.server.world.reported[-1] == "ABORTED", step
        assert "COMPLETED" not in task.server.world.reported, step
        assert not any(entry.startswith("stream") for entry in task.server.journal), step
        # The next start streams from where it stands.
        assert task.server.slot is not None, step
        task.assert_all_is_closed(step)


async def test_a_stop_at_any_step_of_the_snapshot_aborts_it_and_is_no_failure(started: Started) -> None:
    first = started()
    running = await first.until_it_streams()
    first.stop.set()
    await running
    for at, step in enumerate(first.server.world.steps.taken[:-2]):
        task = started()
        steps = task.server.world.steps
        steps.at, steps.failing = at, task.stop.set
        await task.run()
        stored = task.server.world.offsets.stored
        if stored is None or not stored["snapshot_completed"]:
            assert task.server.world.reported[-1] == "ABORTED", step
        assert task.server.slot is not None, step
        task.assert_all_is_closed(step)


class Spans:
    """A :class:`connector.ports.Tracing` that lists what begins and what ends."""

    def __init__(self) -> None:
        self.journal: list[str] = []

    def starts(self) -> Span:
        return self.begin("start")

    def failed(self, problem: BaseException) -> None:
        self.journal.append(f"attempt failed: {type(problem).__name__}")

    def begin(self, name: str, **_facts: str | float | bool) -> Span:
        self.journal.append(f"{name} begins")
        open_spans, journal = {name}, self.journal

        class Begun:
            def end(self, problem: BaseException | None = None) -> None:
                if open_spans:
                    open_spans.clear()
                    journal.append(f"{name} ends" if problem is None else f"{name} fails")

        return Begun()

    def passed(self, name: str, seconds: float, **facts: str | float | bool) -> None:
        assert seconds >= 0
        self.journal.append(f"{name} {facts}")


def traced(task: Task) -> Spans:
    spans = Spans()
    world = task.server.world
    world.context = replace(world.context, tracing=spans)
    return spans


TABLES = ["snapshot table {'table': 'public.a', 'rows': 3}", "snapshot table {'table': 'public.b', 'rows': 2}"]


async def test_the_start_is_traced_until_it_streams(started: Started) -> None:
    task = started()
    spans = traced(task)
    running = await task.until_it_streams()
    assert spans.journal == ["start begins", "snapshot begins", *TABLES, "snapshot ends", "start ends"]
    task.stop.set()
    await running
    assert spans.journal[-1] == "start ends"


async def test_a_failed_start_is_traced_as_failed(started: Started) -> None:
    task = started()
    spans = traced(task)
    steps = task.server.world.steps

    def fail() -> None:
        raise lost()

    steps.at, steps.failing = 0, fail
    with pytest.raises(CdcError):
        await task.run()
    assert spans.journal == ["start begins", "snapshot begins", "snapshot fails", "start fails", "attempt failed: CdcError"]


async def test_a_stream_that_fails_leaves_the_start_as_it_was(started: Started) -> None:
    task = started(snapshot__mode="no_data")
    spans = traced(task)
    task.server.stream_fails = lost()
    with pytest.raises(CdcError):
        await task.run()
    assert spans.journal[-2:] == ["start ends", "attempt failed: CdcError"]


async def test_a_task_without_a_stream_has_started_after_its_snapshot(started: Started) -> None:
    task = started(snapshot__mode="initial_only")
    spans = traced(task)
    running = asyncio.create_task(task.run())
    await task.idle()
    assert spans.journal == ["start begins", "snapshot begins", *TABLES, "snapshot ends", "start ends"]
    task.stop.set()
    await running
