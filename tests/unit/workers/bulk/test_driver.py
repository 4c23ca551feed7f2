"""The driver of a bulk snapshot against the rules of :mod:`connector.snapshot.parts`, with random tables and a random order of tasks."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.runner.child.pipe import Failed
from connector.runner.snapshot.messages import EdgeRow, Opened, Order, PartRead
from connector.snapshot.bulk import BulkPlan, BulkReport, PartBegun, PartDone, RowsRead, TableDone, TableFailed
from connector.snapshot.job import Job
from connector.snapshot.parts import Handout, Part
from connector.snapshot.plan import Extent
from workers.bulk import driver
from workers.bulk.part_result import PartResult, TaskResult
from workers.bulk.parts import DiskLayout, Member

WORDS = ("first", "first_in_data_collection", "true", "last", "last_in_data_collection")


def job(processing: str = "fail") -> Job:
    config = SimpleNamespace(event_converting_failure_handling_mode="warn", event_processing_failure_handling_mode=processing)
    return cast(Job, SimpleNamespace(transactional_id=None, config=config))


JOB = job()
PAGE = 8192


class Kafka:
    """What has arrived: topic, row and marker."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def out(self, topic: str) -> Any:
        return SimpleNamespace(append=lambda row, word: self.rows.append((topic, row, word)))

    def pump(self) -> None:
        """All results are available at once."""

    async def drained(self) -> None:
        await asyncio.sleep(0)


class Rows:
    """The tables' rows by part; a part's rows are numbered, and their numbers are their ctids. Of ``unmade`` of them no event is made."""

    def __init__(self, chance: random.Random, unmade: float = 0.0) -> None:
        self.unmade = unmade
        self.left_out: set[str] = set()
        self.chance = chance
        self.kafka = Kafka()
        self.parts: dict[tuple[int, int], list[str]] = {}

    def of(self, part: Part) -> list[str]:
        key = part.table, part.number
        if key not in self.parts:
            count = self.chance.choice((0, 0, 1, 1, 2, 5))
            self.parts[key] = [f"{part.table}/{part.number}/{number}" for number in range(count)]
            self.left_out.update(row for row in self.parts[key] if self.unmade and self.chance.random() < self.unmade)
        return self.parts[key]

    def made(self, part: Part) -> list[str]:
        return [row for row in self.of(part) if row not in self.left_out]

    def edge(self, row: str) -> EdgeRow:
        return EdgeRow(f"t{row.split('/', maxsplit=1)[0]}", {word: (row, word) for word in WORDS})  # type: ignore[misc]

    def read(self, part: Part, *, ask: bool) -> tuple[int, EdgeRow | None]:
        """As :class:`connector.runner.snapshot.part_reader.PartReader` reads."""
        rows = [row for row in self.made(part) if row != part.extent.without]
        every = len(self.of(part)) - (part.extent.without is not None)
        alone = part.of == 1 and not ask and part.extent.without is None
        for number, row in enumerate(rows[:-1]):
            self.kafka.rows.append((f"t{part.table}", row, "first_in_data_collection" if alone and number == 0 else "true"))
        return every - bool(rows), self.edge(rows[-1]) if rows else None


class Reader:
    """Stands for a PartReader."""

    source = SimpleNamespace(connection=None)

    def __init__(self, rows: Rows, tell: Callable[[Any], None]) -> None:
        self.rows = rows
        self.tell = tell
        self.sink = rows.kafka
        self.go = asyncio.Event()

    async def edge(self, order: Order) -> EdgeRow | None:
        extent = order.handout.part.extent
        assert extent.only in self.rows.of(order.handout.part)
        return self.rows.edge(str(extent.only)) if extent.only not in self.rows.left_out else None

    async def read(self, order: Order) -> None:
        part = order.handout.part
        rows = self.rows.made(part)
        await asyncio.sleep(0)
        if len(rows) > 1:
            self.tell(Opened(self.rows.edge(rows[0])))
            await self.go.wait()
            part = Part(part.table, part.number, part.of, replace(part.extent, without=rows[0]))
        sent, last = self.rows.read(part, ask=True)
        self.tell(PartRead(sent, last))

    async def flush(self) -> None:
        await asyncio.sleep(0)


class Run(driver.BulkRun):
    """One whose tasks run in a random order, in place of Spark's."""

    def __init__(self, rows: Rows, plan: BulkPlan, reported: Callable[[BulkReport], None], failed: Failed | None = None) -> None:
        super().__init__(cast(Any, SimpleNamespace(defaultParallelism=2, cancelJobGroup=lambda _: None)), plan, reported)
        self.rows = rows
        self.failed = failed
        self.cancelled = False

    async def _probe(self, order: Order, most: int) -> list[str]:
        rows = list(self.rows.of(order.handout.part))
        self.rows.chance.shuffle(rows)
        return rows[:most]

    def _run_tasks(self, given: Sequence[Sequence[Order]], arrived: Callable[[TaskResult], None]) -> None:
        waiting = list(given)
        self.rows.chance.shuffle(waiting)
        for orders in waiting:
            if self.failed is not None:
                arrived(TaskResult((), (), (), self.failed, orders[0].handout.part.table))
                return
            results = []
            for order in orders:
                sent, last = self.rows.read(order.handout.part, ask=order.handout.ask)
                results.append(PartResult(order.handout.part, sent, last))
            arrived(TaskResult(tuple(results), (), ()))


def layout(chance: random.Random, number: int) -> DiskLayout:
    match chance.randrange(3):
        case 0:
            return DiskLayout((), 10, plain=False)
        case 1:
            pages = chance.choice((1, 300))
            return DiskLayout((Member("public", f"t{number}", pages, pages * PAGE),), pages * PAGE, plain=True)
        case _:
            members = (Member("public", "m0", 200, 200 * PAGE), Member("public", "m1", 1, PAGE), Member("public", "m2", None, 0))
            return DiskLayout(members, 201 * PAGE, plain=False)


def play(seed: int, monkeypatch: pytest.MonkeyPatch, unmade: float = 0.0) -> None:
    chance = random.Random(seed)
    rows, reported = Rows(chance, unmade), list[BulkReport]()
    count = chance.randint(1, 5)
    tables = tuple(CatalogTable(number, "public", f"t{number}", ()) for number in range(count))
    found = [layout(chance, number) for number in range(count)]
    whole = frozenset(number for number in range(count) if chance.random() < 0.2)

    async def opened(_stack: contextlib.AsyncExitStack, _job: Job, tell: Callable[[Any], None]) -> Reader:
        return Reader(rows, tell)

    async def layouts(_connection: object, _oids: Sequence[int]) -> list[DiskLayout]:
        return found

    monkeypatch.setattr(driver, "open_part_reader", opened)
    monkeypatch.setattr(driver, "table_layouts", layouts)
    plan = BulkPlan(job("skip") if unmade else JOB, tables, whole, by_weight=chance.random() < 0.5, opening=chance.random() < 0.8)
    run = Run(rows, plan, reported.append)
    asyncio.run(asyncio.wait_for(run.run(), 20))
    check(rows, reported, count, opening=plan.opening)


def check(rows: Rows, reported: list[BulkReport], count: int, *, opening: bool) -> None:
    sent = rows.kafka.rows
    every = [row for part in rows.parts.values() for row in part if row not in rows.left_out]
    assert sorted(row for _, row, _ in sent) == sorted(every), "every row once"
    marks = [word for _, _, word in sent]
    assert marks.count("last") == bool(every)
    assert not every or marks[-1] == "last", "rule 3"
    if "first" in marks:
        assert opening
        assert marks.index("first") == 0, "rule 2"
        assert sent[0][0] == "t0"
    for table in range(count):
        own = [(row, word) for topic, row, word in sent if topic == f"t{table}"]
        if not own:
            continue
        words = [word for _, word in own]
        assert words[-1] in ("last", "last_in_data_collection") or words == ["first"]
        if len(own) > 1:
            assert words[0] in ("first", "first_in_data_collection")
            if opening and table == 0:
                assert words[0] == "first"
        assert set(words[1:-1]) <= {"true"}
    reported_rows = {table: sum(one.rows for one in reported if isinstance(one, RowsRead) and one.table == table) for table in range(count)}
    assert reported_rows == {table: sum(len(own) for (of, _), own in rows.parts.items() if of == table) for table in range(count)}
    assert sorted(one.table for one in reported if isinstance(one, TableDone)) == list(range(count))
    begun = [(one.part.table, one.part.number) for one in reported if isinstance(one, PartBegun)]
    done = [(one.part.table, one.part.number) for one in reported if isinstance(one, PartDone)]
    assert len(set(begun)) == len(begun)
    assert sorted(begun) == sorted(done)


def test_markers_and_rows_are_those_of_one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(300):
        play(seed, monkeypatch)


@pytest.mark.parametrize("unmade", [0.2, 0.5, 0.9])
def test_rows_that_are_left_out_have_no_marker(monkeypatch: pytest.MonkeyPatch, unmade: float) -> None:
    for seed in range(100):
        play(seed, monkeypatch, unmade)


def test_a_table_whose_first_thousand_rows_are_left_out_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(random.Random(1))

    async def opened(_stack: contextlib.AsyncExitStack, _job: Job, tell: Callable[[Any], None]) -> Reader:
        return Reader(rows, tell)

    async def layouts(_connection: object, _oids: Sequence[int]) -> list[DiskLayout]:
        return [DiskLayout((Member("public", "t0", 300, 300 * PAGE),), 300 * PAGE, plain=True)]

    monkeypatch.setattr(driver, "open_part_reader", opened)
    monkeypatch.setattr(driver, "table_layouts", layouts)
    rows.parts = {(0, number): [f"0/{number}/{row}" for row in range(1_200)] for number in range(9)}
    rows.left_out = set(rows.parts[0, 0])
    plan = BulkPlan(job("skip"), (CatalogTable(0, "public", "t0", ()),), frozenset(), by_weight=True, opening=True)
    with pytest.raises(CdcError, match="At most one event can be made of the first 1000 rows") as reported:
        asyncio.run(Run(rows, plan, lambda _: None).run())
    assert reported.value.kind is ErrorKind.VALUE


def test_the_failing_table_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[BulkReport] = []
    rows = Rows(random.Random(1))

    async def opened(_stack: contextlib.AsyncExitStack, _job: Job, tell: Callable[[Any], None]) -> Reader:
        return Reader(rows, tell)

    async def layouts(_connection: object, _oids: Sequence[int]) -> list[DiskLayout]:
        return [DiskLayout((Member("public", "t0", 300, 300 * PAGE),), 300 * PAGE, plain=True)]

    monkeypatch.setattr(driver, "open_part_reader", opened)
    monkeypatch.setattr(driver, "table_layouts", layouts)
    rows.parts = {(0, number): ["0/0/0", "0/0/1"] if number == 0 else [] for number in range(9)}
    plan = BulkPlan(JOB, (CatalogTable(0, "public", "t0", ()),), frozenset(), by_weight=True, opening=True)
    run = Run(rows, plan, reported.append, Failed(ErrorKind.SOURCE_QUERY.value, "No", "", ""))
    with pytest.raises(CdcError, match="No"):
        asyncio.run(run.run())
    assert TableFailed(0) in reported


class FailingReader(Reader):
    """Fails at the first row, or after it if Kafka already has it."""

    def __init__(self, rows: Rows, tell: Callable[[Any], None], *, late: bool) -> None:
        super().__init__(rows, tell)
        self.late = late

    async def edge(self, order: Order) -> EdgeRow | None:
        raise CdcError(ErrorKind.VALUE, "No", "")

    async def read(self, order: Order) -> None:
        if self.late:
            self.tell(Opened(self.rows.edge("0/0/0")))
            await self.go.wait()
        raise CdcError(ErrorKind.VALUE, "No", "")


@pytest.mark.parametrize(("whole", "late"), [(False, False), (True, False), (True, True)])
def test_the_table_that_the_driver_cannot_read_is_named(monkeypatch: pytest.MonkeyPatch, whole: bool, late: bool) -> None:
    reported: list[BulkReport] = []
    rows = Rows(random.Random(1))

    async def opened(_stack: contextlib.AsyncExitStack, _job: Job, tell: Callable[[Any], None]) -> Reader:
        return FailingReader(rows, tell, late=late)

    async def layouts(_connection: object, _oids: Sequence[int]) -> list[DiskLayout]:
        return [DiskLayout((Member("public", "t0", 300, 300 * PAGE),), 300 * PAGE, plain=True)]

    monkeypatch.setattr(driver, "open_part_reader", opened)
    monkeypatch.setattr(driver, "table_layouts", layouts)
    rows.parts = {(0, number): [f"0/{number}/0", f"0/{number}/1"] for number in range(9)}
    plan = BulkPlan(JOB, (CatalogTable(0, "public", "t0", ()),), frozenset({0} if whole else ()), by_weight=True, opening=True)
    with pytest.raises(CdcError, match="No"):
        asyncio.run(asyncio.wait_for(Run(rows, plan, reported.append).run(), 20))
    assert reported.count(TableFailed(0)) == 1


class LateJob(Run):
    """Its job begins when Spark has been asked to cancel it once, and ends when Spark is asked again, or soon after."""

    def __init__(self, rows: Rows, plan: BulkPlan) -> None:
        super().__init__(rows, plan, lambda _: None)
        self.started, self.ended = asyncio.Event(), threading.Event()
        self.cancels = 0
        self._spark = cast(Any, SimpleNamespace(defaultParallelism=2, cancelJobGroup=self.cancel))

    def cancel(self, _group: str) -> None:
        self.cancels += 1
        if self.cancels == 2:
            self.ended.set()

    async def _take_results(self, job: asyncio.Future[None], local: asyncio.Task[None] | None) -> None:
        self.started.set()
        await super()._take_results(job, local)

    def _run_tasks(self, given: Sequence[Sequence[Order]], arrived: Callable[[TaskResult], None]) -> None:
        self.ended.wait(20)


async def test_a_job_that_spark_did_not_know_yet_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_CANCEL_SECONDS", 0.01)
    plan = BulkPlan(JOB, (CatalogTable(0, "public", "t0", ()),), frozenset(), by_weight=True, opening=True)
    run = LateJob(Rows(random.Random(1)), plan)
    part = Part(0, 0, 1, Extent())
    orders = [Order(Handout(part, ask=False), plan.tables[0])]
    monkeypatch.setattr(run, "_weight", lambda _: 1)
    reading = asyncio.create_task(run._read(orders, 1, None))
    await run.started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(reading, 10)
    assert run.cancels >= 2
