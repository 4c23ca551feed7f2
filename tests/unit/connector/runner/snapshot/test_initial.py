"""The initial snapshot without servers: what it does in which order, and what is left after a failure at any of its steps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import KafkaSink
from connector.runner.notifications.notifier import Notifier
from connector.runner.snapshot.initial import SnapshotPoint, SnapshotRun
from connector.runner.snapshot.notices import SnapshotNotices, tells_of_parts
from connector.snapshot.bulk import BulkPlan, BulkReport, PartBegun, PartDone, RecordsFailed, RowsRead, TableDone, TopicFilled
from connector.snapshot.parts import table_parts
from connector.start.snapshotter import CustomSnapshot, SnapshotLock, SnapshotQuery
from tests.support.each_case import each_case
from tests.support.fake_snapshot import LSN, SnapshotWorld, fake_table, lost

PARALLEL = {"snapshot.max.threads": "2"}


class Bulk:
    """A :class:`connector.snapshot.bulk.BulkReader` whose reading is one step a table."""

    def __init__(self, world: SnapshotWorld) -> None:
        self._world = world
        self.plans: list[BulkPlan] = []

    async def refusal(self) -> str | None:
        return None

    async def read(self, plan: BulkPlan, reported: Callable[[BulkReport], None]) -> None:
        self.plans.append(plan)
        for number, table in enumerate(plan.tables):
            await asyncio.sleep(0)
            self._world.steps.take(f"bulk: {table.name}")
            [part] = table_parts(number, (await self._world.sources[-1].sizes([table]))[0], 1)
            reported(PartBegun(part))
            lines = self._world.lines(table)
            self._world.sent_by_readers += [(None, b"", line, b"", 0) for line in lines]
            reported(RowsRead(number, len(lines)))
            reported(PartDone(part))
            reported(TableDone(number))
            reported(TopicFilled(table.name))
            if self._world.failed_records is not None:
                reported(self._world.failed_records)


class Run:
    """One run over a world of three tables."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        stream_from: int | None = None,
        bulk: bool = False,
        custom: CustomSnapshot | None = None,
    ) -> None:
        self.world = SnapshotWorld(fake_table("a", 3), fake_table("b", 0), fake_table("c", 130), properties=properties)
        world = self.world
        self.bulk = Bulk(world) if bulk else None
        notifier = Notifier(world.context, world.selection.config, cast("KafkaSink", world.sink))
        self.snapshot = SnapshotRun(
            world.context,
            world.capture,
            world.sink,
            headers=b"",
            stream_from=stream_from,
            notices=SnapshotNotices(notifier, in_parts=tells_of_parts(world.selection.config)),
            custom=custom,
            bulk=self.bulk,
            edges=world.edges,
        )

    async def take(self) -> SnapshotPoint:
        return await self.snapshot.run("exported", LSN)

    @property
    def offset(self) -> dict[str, Any]:
        assert self.world.offsets.stored is not None
        return {key: self.world.offsets.stored.get(key) for key in ("lsn", "txId", "snapshot", "snapshot_completed")}

    @property
    def markers(self) -> list[str]:
        return [json.loads(record[2] or b"")["source"]["snapshot"] for record in self.world.sink.acknowledged]


WAYS: dict[str, Callable[[], Run]] = {
    "alone": Run,
    "in parallel": lambda: Run(PARALLEL),
    "in bulk": lambda: Run(bulk=True),
    "after one that broke off": lambda: Run(stream_from=LSN - 1000),
}


async def test_all_rows_are_in_kafka_before_the_offset_says_so() -> None:
    run = Run()
    assert await run.take() == SnapshotPoint(LSN, LSN)
    world = run.world
    assert world.offsets.rows == [(0, 0), (133, 133)]
    assert run.offset == {"lsn": LSN, "txId": 77, "snapshot": "INITIAL", "snapshot_completed": True}
    assert run.markers == ["first", "true", "last_in_data_collection", "first_in_data_collection", *["true"] * 128, "last"]
    assert world.reported == [
        "STARTED",
        "IN_PROGRESS public.a",
        "TABLE_SCAN_COMPLETED public.a",
        "IN_PROGRESS public.b",
        "TABLE_SCAN_COMPLETED public.b",
        "IN_PROGRESS public.c",
        "TABLE_SCAN_COMPLETED public.c",
        "COMPLETED",
    ]
    [source] = world.sources
    assert source.closed
    assert source.statements == ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SET TRANSACTION SNAPSHOT 'exported'", "COMMIT"]
    assert world.steps.taken[-2:] == ["kafka: store offset", "database: COMMIT"]
    assert [(table.table, table.rows, table.done) for table in world.context.progress.tables] == [
        ("public.a", 3, True),
        ("public.b", 0, True),
        ("public.c", 130, True),
    ]
    assert world.sink.bound is False
    assert (world.context.meters.snapshot.tables, world.context.meters.snapshot.remaining) == ({"public.a", "public.b", "public.c"}, set())


@pytest.mark.parametrize(("standby", "isolation"), [(False, "SERIALIZABLE, READ ONLY, DEFERRABLE"), (True, "REPEATABLE READ")])
async def test_a_standby_that_has_no_serializable_transactions_is_not_asked_for_one(standby: bool, isolation: str) -> None:
    run = Run()
    run.world.standby = standby
    await run.snapshot.run(None, None)
    [source] = run.world.sources
    assert source.statements[0] == f"BEGIN ISOLATION LEVEL {isolation}"


async def test_a_snapshot_after_a_failed_one_streams_from_the_slot_s_position() -> None:
    run = Run(stream_from=LSN - 1000)
    assert await run.take() == SnapshotPoint(LSN, LSN - 1000)
    assert run.offset["lsn"] == LSN - 1000


async def test_readers_share_the_work_and_the_markers_stay_right() -> None:
    run = Run(PARALLEL)
    await run.take()
    world = run.world
    assert len(world.readers) == 2
    assert all(reader.ended for reader in world.readers)
    sent = [record[2] or b"" for record in (*world.sink.acknowledged, *world.sent_by_readers)]
    assert len(sent) == world.rows
    counts = {
        word: sum(b'"snapshot":"%s"' % word in payload for payload in sent) for word in (b"first", b"last", b"last_in_data_collection")
    }
    assert counts == {b"first": 1, b"last": 1, b"last_in_data_collection": 1}
    assert world.reported[-1] == "COMPLETED"
    assert run.offset["snapshot_completed"] is True
    assert sorted(world.topics) == ["public.a", "public.b", "public.c"]


@pytest.mark.parametrize("way", ["in parallel", "in bulk"])
async def test_records_that_fail_in_other_processes_are_counted(way: str) -> None:
    run = WAYS[way]()
    run.world.failed_records = RecordsFailed(2, left_out=True, logged=False)
    await run.take()
    meters = run.world.context.meters
    assert meters.failures > 0
    assert (meters.failures % 2, meters.left_out, meters.logged) == (0, meters.failures, 0)
    assert meters.failed_ms > 0


async def test_in_bulk_the_offset_waits_until_no_reader_can_send() -> None:
    run = Run(bulk=True)
    await run.take()
    taken = run.world.steps.taken
    assert taken.index("database: end readers") < len(taken) - 1 - taken[::-1].index("kafka: store offset")
    assert run.bulk is not None
    assert [table.name for table in run.bulk.plans[0].tables] == ["public.a", "public.b", "public.c"]
    assert run.bulk.plans[0].job.guard
    assert run.world.context.progress.events == run.world.rows


def assert_nothing_is_promised(run: Run, where: str) -> None:
    """What must hold after any failure, whichever step it came at."""
    world = run.world
    assert all(source.closed for source in world.sources), where
    assert all(reader.ended for reader in world.readers), where
    assert "COMPLETED" not in world.reported, where
    stored = world.offsets.stored
    delivered = len(world.sink.acknowledged) + len(world.sent_by_readers)
    if delivered or world.sink.waiting:
        # A restart knows that this snapshot began.
        assert stored is not None, where
    if stored is not None and stored["snapshot_completed"]:
        assert delivered == world.rows, where
        assert not world.sink.waiting, where


async def steps_of(way: str) -> list[str]:
    run = WAYS[way]()
    await run.take()
    return run.world.steps.taken


@each_case("way", WAYS)
@each_case("problem", [lost(), CdcError(ErrorKind.SINK_REFUSED, "Kafka refuses")], ids=lambda problem: problem.kind.value)
async def test_a_failure_at_any_step(way: str, problem: CdcError) -> None:
    def fail() -> None:
        raise problem

    steps = await steps_of(way)
    for at, step in enumerate(steps):
        run = WAYS[way]()
        run.world.steps.at, run.world.steps.failing = at, fail
        with pytest.raises(CdcError) as raised:
            await run.take()
        assert raised.value is problem, step
        assert run.world.steps.taken[at].split(":")[0] == step.split(":")[0]
        assert_nothing_is_promised(run, f"{at} {step}")


@pytest.mark.parametrize("way", WAYS)
async def test_a_cancellation_at_any_step(way: str) -> None:
    for at, step in enumerate(await steps_of(way)):
        run = WAYS[way]()
        task = asyncio.create_task(run.take())
        run.world.steps.at, run.world.steps.failing = at, task.cancel  # type: ignore[assignment]
        await asyncio.wait({task})
        assert task.cancelled(), step
        assert_nothing_is_promised(run, f"{at} {step}")


async def test_a_reader_that_dies_at_any_step() -> None:
    steps = await steps_of("in parallel")
    deaths = 0
    for at, step in enumerate(steps):
        run = Run(PARALLEL)
        run.world.steps.at, run.world.steps.dying = at, True
        if not step.startswith("reader: ") or step == "reader: start":
            continue
        deaths += 1
        with pytest.raises(CdcError, match="was killed by SIGKILL") as raised:
            await run.take()
        assert raised.value.kind is ErrorKind.INTERNAL
        assert_nothing_is_promised(run, f"{at} {step}")
    assert deaths > 10


@pytest.mark.parametrize("properties", [{}, PARALLEL], ids=["alone", "in parallel"])
async def test_a_message_out_of_turn_is_a_failure(properties: dict[str, str]) -> None:
    run = Run({**properties, **PARALLEL})
    started = run.world.edges.start_reader

    async def start() -> Any:
        reader: Any = await started()
        reader._replies.put_nowait("nonsense")
        return reader

    object.__setattr__(run.world.edges, "start_reader", start)
    with pytest.raises(CdcError, match="said str out of turn"):
        await run.take()
    assert_nothing_is_promised(run, "nonsense")


async def test_a_table_that_is_dropped_after_it_was_listed_ends_the_snapshot_with_its_name() -> None:
    run = Run()
    run.world.dropped.add("public.c")
    with pytest.raises(CdcError, match=r"reading table public\.c"):
        await run.take()
    assert run.world.reported[-1] == "TABLE_SCAN_COMPLETED public.c"
    assert (run.world.notifications[-1].additional_data or {})["status"] == "SQL_EXCEPTION"
    assert run.offset["snapshot_completed"] is False
    assert_nothing_is_promised(run, "dropped")


class Raising(SnapshotQuery, SnapshotLock):
    def snapshot_query(self, table: str, columns: object) -> str | None:
        raise ValueError(table)

    def table_locking_statement(self, timeout_ms: int, table: str) -> str | None:
        raise ValueError(table)


@pytest.mark.parametrize("custom", [CustomSnapshot(query=Raising()), CustomSnapshot(lock=Raising())], ids=["query", "lock"])
async def test_a_user_s_class_that_raises(custom: CustomSnapshot) -> None:
    run = Run(custom=custom)
    with pytest.raises(CdcError, match="raised ValueError") as raised:
        await run.take()
    assert raised.value.kind is ErrorKind.CONFIG_INVALID
    assert run.world.reported == ["STARTED"]
    assert run.offset["snapshot_completed"] is False
    assert_nothing_is_promised(run, "custom")


class Choosing(SnapshotQuery):
    def snapshot_query(self, table: str, columns: object) -> str | None:
        return None if table == '"public"."c"' else f"SELECT * FROM {table}"


async def test_a_table_without_a_statement_of_the_user_s_class_is_left_out() -> None:
    run = Run(custom=CustomSnapshot(query=Choosing()))
    await run.take()
    assert [table.table for table in run.world.context.progress.tables] == ["public.a", "public.b"]
    assert len(run.world.sink.acknowledged) == 3


async def test_the_order_of_tables_by_their_rows() -> None:
    run = Run({"snapshot.tables.order.by.row.count": "descending"})
    for one, estimate in zip(run.world.tables, (10, 0, 500), strict=True):
        object.__setattr__(one.table, "estimate", estimate)

    def shown(tables: list[CatalogTable]) -> list[str]:
        return [table.table for table in tables]

    source = await run.world.edges.open_source("test")
    assert shown(await run.snapshot._tables(source)) == ["c", "a", "b"]
