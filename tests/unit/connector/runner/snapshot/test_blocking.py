"""A blocking snapshot without servers: what it reads, and what is left after a failure at any of its steps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import cast

import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.envelope import SourceFacts
from connector.io.kafka.sink import KafkaSink
from connector.runner.notifications.notifier import Notifier
from connector.runner.snapshot.blocking import BlockingSnapshot
from connector.start.snapshotter import CustomSnapshot, Snapshotter
from tests.support.fake_snapshot import LSN, SnapshotWorld, fake_table, lost

LAST = SourceFacts(1, 12, 4_000)


class Watching(Snapshotter):
    """Records its calls, and raises if the test says so."""

    def __init__(self, *, raises: bool = False) -> None:
        self.reported: list[str] = []
        self._raises = raises

    def should_snapshot_data(self, offset_exists: bool, snapshot_in_progress: bool) -> bool:
        return True

    def should_stream(self) -> bool:
        return True

    def snapshot_completed(self) -> None:
        self.reported.append("completed")

    def snapshot_aborted(self) -> None:
        self.reported.append("aborted")
        if self._raises:
            raise ValueError


class Run:
    def __init__(self, *, raises: bool = False, include: str = r"public\.[ab]", threads: str = "1") -> None:
        given = {"table.include.list": include, "snapshot.max.threads": threads}
        self.world = world = SnapshotWorld(fake_table("a", 3), fake_table("b", 2), properties=given)
        world.context.progress.phase = "streaming"
        self.watching = Watching(raises=raises)
        notifier = Notifier(world.context, world.selection.config, cast("KafkaSink", world.sink))
        self.snapshot = BlockingSnapshot(
            world.context, world.capture, world.sink, notifier, b"", CustomSnapshot(self.watching), edges=world.edges
        )

    async def take(self, *names: str, selects: Mapping[str, str] | None = None) -> None:
        await self.snapshot.take(names or ("public.b", "public.a"), selects or {}, LAST, LSN)

    def assert_the_stream_can_go_on(self, where: str = "") -> None:
        assert all(source.closed for source in self.world.sources), where
        assert self.world.offsets.stored is None, where
        assert self.world.context.progress.phase == "streaming", where


async def test_tables_come_in_the_order_of_the_include_list_and_nothing_is_stored() -> None:
    run = Run(include=r"public\.b,public\.a")
    await run.take()
    payloads = [json.loads(record[2] or b"") for record in run.world.sink.acknowledged]
    assert [(one["source"]["table"], one["source"]["snapshot"]) for one in payloads] == [
        ("b", "first"),
        ("b", "last_in_data_collection"),
        ("a", "first_in_data_collection"),
        ("a", "true"),
        ("a", "last"),
    ]
    assert {one["source"]["txId"] for one in payloads} == {12}
    assert run.world.reported == [
        "STARTED",
        "IN_PROGRESS public.b",
        "TABLE_SCAN_COMPLETED public.b",
        "IN_PROGRESS public.a",
        "TABLE_SCAN_COMPLETED public.a",
        "COMPLETED",
    ]
    assert run.watching.reported == ["completed"]
    meter = run.world.context.meters.snapshot
    assert (meter.state, meter.tables, meter.remaining) == ("completed", {"public.a", "public.b"}, set())
    run.assert_the_stream_can_go_on()


async def test_with_several_threads_notifications_tell_of_parts() -> None:
    run = Run(threads="2")
    await run.take("public.a")
    kinds = [line.split()[0] for line in run.world.reported]
    parts = ["TABLE_CHUNK_IN_PROGRESS", "TABLE_CHUNK_COMPLETED"]
    assert kinds == ["STARTED", "IN_PROGRESS", *parts, "TABLE_SCAN_COMPLETED", "COMPLETED"]


async def test_missing_or_uncaptured_tables_are_skipped() -> None:
    run = Run()
    await run.take("public.gone", "public.a", "other.a")
    assert len(run.world.sink.acknowledged) == 3


async def test_the_sql_of_a_signal_runs_where_nothing_can_be_written() -> None:
    run = Run()
    await run.take("public.a", selects={"public.a": "SELECT * FROM a WHERE id > 1"})
    [source] = run.world.sources
    assert "SET TRANSACTION READ ONLY" in source.statements
    assert source.statements.index("SET TRANSACTION READ ONLY") < source.statements.index("COMMIT")


async def steps() -> list[str]:
    run = Run()
    await run.take()
    return run.world.steps.taken


async def test_a_lost_connection_at_any_step_ends_the_stream_too() -> None:
    problem = lost()

    def fail() -> None:
        raise problem

    for at, step in enumerate(await steps()):
        run = Run()
        run.world.steps.at, run.world.steps.failing = at, fail
        with pytest.raises(CdcError) as raised:
            await run.take()
        assert raised.value is problem, step
        assert "COMPLETED" not in run.world.reported, step
        run.assert_the_stream_can_go_on(step)


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("kind", [ErrorKind.SOURCE_OBJECT_MISSING, ErrorKind.SOURCE_INTERRUPTED])
async def test_a_failure_of_the_snapshot_at_any_step_ends_only_the_snapshot(raises: bool, kind: ErrorKind) -> None:
    def fail() -> None:
        raise CdcError(kind, "The table cannot be read")

    for at, step in enumerate(await steps()):
        run = Run(raises=raises)
        run.world.steps.at, run.world.steps.failing = at, fail
        await run.take()
        assert run.world.reported[0] == "STARTED", step
        assert run.world.reported[-1] == "ABORTED", step
        assert "COMPLETED" not in run.world.reported, step
        assert run.watching.reported == ["aborted"], step
        assert run.world.context.meters.snapshot.state == "aborted", step
        run.assert_the_stream_can_go_on(step)


async def test_a_cancellation_at_any_step() -> None:
    for at, step in enumerate(await steps()):
        run = Run()
        task = asyncio.create_task(run.take())
        run.world.steps.at, run.world.steps.failing = at, task.cancel  # type: ignore[assignment]
        await asyncio.wait({task})
        assert task.cancelled(), step
        assert "COMPLETED" not in run.world.reported, step
        run.assert_the_stream_can_go_on(step)


async def test_a_table_that_is_dropped_after_it_was_listed_is_named() -> None:
    run = Run()
    run.world.dropped.add("public.a")
    await run.take()
    assert run.world.reported[-2:] == ["TABLE_SCAN_COMPLETED public.a", "ABORTED"]


async def test_without_a_worker_no_snapshot_is_read_in_bulk() -> None:
    assert "use type blocking" in (await Run().snapshot.bulk_refusal() or "")
