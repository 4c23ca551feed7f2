"""The driver's side of a bulk snapshot: deals the parts out to Spark's tasks, and sends the rows whose marker it alone can know.

Rules
1. Who may be marked how is :mod:`connector.chunks`' affair, and kept to the letter. Readers in executors cannot wait for an answer,
   so the driver looks for the first row of a table that is read in several parts, sends it, and leaves it out of its part by its ctid.
2. A first table that is one piece and no heap has no ctids: the driver reads it itself, while Spark reads the others.
3. A task's rows count when all of them are in Kafka; a task that is tried again sends its rows again.
4. What fails here or in a task ends the Spark job, and the failure is told in the connector's own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import psycopg
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import InheritableThread, SparkContext
from pyspark.errors import PySparkException

from connector.bulk import BulkPlan, BulkTold, PartBegun, PartDone, RowsRead, TableDone, TableFailed, TopicFilled
from connector.chunks import Deal, Handout, Marked, Part
from connector.errors import CdcError, ErrorKind
from connector.io.pg_connection import source_error
from connector.runner.part_reader import PartReader, open_part_reader
from connector.runner.snapshot_pipe import Advanced, EdgeRow, Failed, Opened, Order, PartRead, Told, TopicUsed
from connector.snapshot import chunk_source
from connector.snapshot_job import Job
from workers.spark.bulk.executor import failure_in, read_task
from workers.spark.bulk.layouts import table_layouts
from workers.spark.bulk.part_result import Arrivals, PartResult, TaskResult
from workers.spark.bulk.parts import Layout, of_one_heap, part_bytes, parts_of, tasks

_log = logging.getLogger(__name__)

# The first row that is found need not lie first, as long as its part is read without it: nobody waits for a sort.
_PROBE: Final = "SELECT ctid::text FROM {source} LIMIT 2"


class BulkRun:
    """One snapshot. ``told`` is called as :class:`connector.bulk.BulkReader` says."""

    def __init__(self, spark: SparkContext, plan: BulkPlan, told: Callable[[BulkTold], None]) -> None:
        self._spark = spark
        self._plan = plan
        self._told = told
        self._group = f"bulk-snapshot-{uuid.uuid4().hex}"
        self._results: asyncio.Queue[TaskResult] = asyncio.Queue()
        self._topics: set[str] = set()
        self._layouts: list[Layout] = []
        self._deal: Deal[EdgeRow]
        self._edges: PartReader

    async def run(self) -> None:
        """Read everything; when this returns Kafka has all rows. No task of Spark's runs on, whichever way it ends. Raises CdcError."""
        plan = self._plan
        async with contextlib.AsyncExitStack() as stack:
            self._edges = await open_part_reader(stack, self._own_job("edges"), self._topic_told)
            self._layouts = await table_layouts(self._edges.connection, [table.oid for table in plan.tables])
            size = part_bytes(self._layouts, self._spark.defaultParallelism)
            parts = [self._parts(number, layout, size) for number, layout in enumerate(self._layouts)]
            weights = [layout.weight for layout in self._layouts] if plan.by_weight else None
            self._deal = Deal(parts, weights, opening=plan.opening)
            orders, local = await self._hand_out(stack)
            _log.info("spark reads tables=%d parts=%d readers=%d", len(plan.tables), len(orders), self._spark.defaultParallelism)
            await self._read(orders, size, local)
            await self._send(self._deal.finish())

    def _own_job(self, what: str) -> Job:
        job = self._plan.job
        return job if job.transactional_id is None else replace(job, transactional_id=f"{job.transactional_id}-spark-{what}")

    def _parts(self, number: int, layout: Layout, size: int) -> list[Part]:
        if number in self._plan.whole:
            layout = replace(layout, members=())
        return parts_of(number, layout, size)

    # Before Spark: the first rows

    async def _hand_out(self, stack: contextlib.AsyncExitStack) -> tuple[list[Order], asyncio.Task[None] | None]:
        """All parts as orders for Spark, each table's first row sent; and the reading of the table that Spark does not read, if any."""
        orders: list[Order] = []
        local: asyncio.Task[None] | None = None
        while (handout := self._deal.take()) is not None:
            part = handout.part
            self._told(PartBegun(part))
            order = Order(handout, self._plan.tables[part.table])
            if not handout.ask:
                orders.append(order)
            elif part.table not in self._plan.whole and of_one_heap(part, self._layouts[part.table]):
                if (rest := await self._open(order)) is not None:
                    orders.append(rest)
            else:
                local = await self._open_here(stack, order)
        return orders, local

    async def _open(self, order: Order) -> Order | None:
        """Send the first row of a part of a heap, and answer what is left of it; None when nothing is."""
        part = order.handout.part
        found = await self._probe(order)
        first = await self._edges.edge(_with(order, only=found[0])) if found else None
        if first is None or len(found) == 1:
            await self._take(PartResult(part, 0, first))
            return None
        await self._send(self._deal.opened(part, first))
        self._told(RowsRead(part.table, 1))
        return _with(order, without=found[0])

    async def _probe(self, order: Order) -> list[str]:
        source = chunk_source(order.table, order.handout.part.chunk)
        try:
            cursor = await self._edges.connection.execute(_PROBE.format(source=source).encode())
            return [ctid for (ctid,) in await cursor.fetchall()]
        except psycopg.Error as error:
            raise source_error(error, f"reading table {order.table.name}") from error

    async def _open_here(self, stack: contextlib.AsyncExitStack, order: Order) -> asyncio.Task[None]:
        """Begin to read a part in this process; return when its first row is sent, or when it has no two rows and is read."""
        opened: asyncio.Future[EdgeRow] = asyncio.get_running_loop().create_future()
        sent = 0
        last: EdgeRow | None = None

        def tell(message: Told) -> None:
            nonlocal sent, last
            match message:
                case Opened(first):
                    opened.set_result(first)
                case Advanced(rows):
                    sent += rows
                case PartRead(rows, row):
                    sent, last = sent + rows, row
                case _:
                    self._topic_told(message)

        reader = await open_part_reader(stack, self._own_job("whole"), tell)

        async def read() -> None:
            await reader.read(order)
            await reader.flush()
            self._results.put_nowait(TaskResult((PartResult(order.handout.part, sent, last),), (), ()))

        reading = asyncio.create_task(read(), name=f"read {order.table.name}")
        waiting: list[asyncio.Future[Any]] = [opened, reading]
        stack.push_async_callback(_ended, reading)
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if opened.done():
            await self._send(self._deal.opened(order.handout.part, opened.result()))
            self._told(RowsRead(order.handout.part.table, 1))
            reader.go.set()
        else:
            self._check(reading, order)
            await self._take_all(self._results.get_nowait())
        return reading

    # While Spark reads

    async def _read(self, orders: Sequence[Order], size: int, local: asyncio.Task[None] | None) -> None:
        """Let Spark read ``orders`` and take what arrives, until all is read."""
        loop = asyncio.get_running_loop()
        weights = [self._weight(order) for order in orders]
        given = [[orders[place] for place in places] for places in tasks(weights, size)]
        job: asyncio.Future[None] = loop.create_future()

        def end(problem: Exception | None) -> None:
            if job.done():
                return
            if problem is None:
                job.set_result(None)
            else:
                job.set_exception(problem)

        def arrived(result: TaskResult) -> None:
            loop.call_soon_threadsafe(self._results.put_nowait, result)

        def work() -> None:
            problem: Exception | None = None
            try:
                self._run_tasks(given, arrived)
            except (Py4JError, PySparkException, OSError) as error:
                problem = error
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(end, problem)

        # Spark's properties of a job, such as its group, are those of the thread that starts it.
        thread = InheritableThread(target=work, daemon=True, name="spark job")
        if given:
            thread.start()
        else:
            end(None)
        try:
            await self._take_results(job, local)
        finally:
            if not job.done():
                with contextlib.suppress(Py4JError, OSError):
                    await asyncio.to_thread(self._spark.cancelJobGroup, self._group)
                await asyncio.wait({job})
            if job.done() and not job.cancelled():
                job.exception()

    async def _take_results(self, job: asyncio.Future[None], local: asyncio.Task[None] | None) -> None:
        # What a source of results has told is in the queue before it is done.
        sources: list[asyncio.Future[Any]] = [job] if local is None else [job, local]
        while sources or not self._results.empty():
            arriving: asyncio.Future[Any] = asyncio.create_task(self._results.get(), name="take results")
            done, _ = await asyncio.wait([arriving, *sources], return_when=asyncio.FIRST_COMPLETED)
            if arriving in done:
                await self._take_all(arriving.result())
                continue
            arriving.cancel()
            for source in [source for source in sources if source in done]:
                sources.remove(source)
                if source is job:
                    self._check_job(job)
                else:
                    source.result()

    def _run_tasks(self, given: Sequence[Sequence[Order]], arrived: Callable[[TaskResult], None]) -> None:
        spark = self._spark
        spark.setJobGroup(self._group, "bulk snapshot", interruptOnCancel=True)
        results = spark.accumulator([], Arrivals(arrived))
        spark.parallelize(given, len(given)).foreachPartition(partial(read_task, self._plan.job, results))

    async def _take_all(self, result: TaskResult) -> None:
        for line in result.logged:
            logging.getLogger(line.logger).log(line.level, "%s", line.text)
        for topic in result.topics:
            self._topic_told(TopicUsed(topic))
        if result.failed is not None:
            raise self._failure(result.failed, result.failed_table)
        for part in result.parts:
            await self._take(part)

    async def _take(self, read: PartResult) -> None:
        deal, part = self._deal, read.part
        await self._send(deal.read(part, read.last))
        self._told(RowsRead(part.table, read.rows + (read.last is not None)))
        self._append(deal.acknowledged(part))
        self._edges.sink.pump()
        self._told(PartDone(part))
        if deal.complete(part.table):
            self._told(TableDone(part.table))

    async def _send(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        if rows:
            # Whatever went before in these topics must be there first, and these before all that follows.
            await self._edges.sink.drained()
            self._append(rows)
            await self._edges.sink.drained()

    def _append(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        for marked in rows:
            self._edges.sink.out(marked.row.topic).append(*marked.row.records[marked.word])

    def _topic_told(self, message: Told) -> None:
        if isinstance(message, TopicUsed) and message.topic not in self._topics:
            self._topics.add(message.topic)
            self._told(TopicFilled(message.topic))

    def _weight(self, order: Order) -> int:
        layout, part = self._layouts[order.handout.part.table], order.handout.part
        return layout.weight // part.of

    def _check(self, reading: asyncio.Task[None], order: Order) -> None:
        try:
            reading.result()
        except CdcError:
            self._told(TableFailed(order.handout.part.table))
            raise

    def _check_job(self, job: asyncio.Future[None]) -> None:
        problem = job.exception()
        if problem is None:
            return
        found = failure_in(str(problem))
        if found is not None:
            raise self._failure(*found)
        if isinstance(problem, OSError | Py4JNetworkError):
            raise CdcError(ErrorKind.INTERNAL, "Spark's JVM has gone while it read the snapshot", "See its standard error, and its memory")
        raise CdcError(
            ErrorKind.INTERNAL,
            f"Spark ended the snapshot's job with {_named(problem)}",
            "See Spark's own log; if an executor ran out of memory give it more, or fewer cores",
        )

    def _failure(self, failed: Failed, table: int | None) -> CdcError:
        if table is not None:
            self._told(TableFailed(table))
        return CdcError(ErrorKind(failed.kind), failed.message, failed.remedy, failed.detail)


def _with(order: Order, *, only: str | None = None, without: str | None = None) -> Order:
    part = order.handout.part
    chunk = replace(part.chunk, only=only, without=without)
    return Order(Handout(replace(part, chunk=chunk), ask=False), order.table)


def _named(problem: BaseException) -> str:
    """What Spark's trace begins with: a class or a condition, without the values that may follow."""
    java = getattr(problem, "java_exception", None)
    name = java.getClass().getName() if java is not None else type(problem).__name__
    return str(name).rsplit(".", 1)[-1]


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
