"""The driver of a bulk snapshot: distributes the parts to Spark's tasks, and sends the rows whose snapshot marker only it can know.

Rules
1. :mod:`connector.snapshot.parts` decides which row gets which marker. A reader in an executor cannot wait for this decision. So the
   driver itself reads and sends the first row of a table that is read in several parts, and the task excludes that row by its ctid.
2. A first table that is a single part and not a heap has no ctids. The driver reads it itself, while Spark reads the others.
3. A task's rows count when Kafka has all of them. A repeated task sends all its rows again.
4. A failure in the driver or in a task ends the Spark job. It is reported with the connector's own message.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import psycopg
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import InheritableThread, SparkContext
from pyspark.errors import PySparkException

from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import source_error
from connector.log import EventLog
from connector.runner.child.pipe import Failed
from connector.runner.snapshot.messages import Advanced, EdgeRow, Opened, Order, PartRead, PartReport, TopicUsed
from connector.runner.snapshot.part_reader import PartReader, open_part_reader
from connector.runner.snapshot.rows import FailureModes
from connector.snapshot.bulk import BulkPlan, BulkReport, PartBegun, PartDone, RecordsFailed, RowsRead, TableDone, TableFailed, TopicFilled
from connector.snapshot.job import Job
from connector.snapshot.parts import Deal, Handout, Marked, Part
from connector.snapshot.plan import extent_source
from workers.bulk.disk_layout import table_layouts
from workers.bulk.executor import failure_in, read_task
from workers.bulk.part_result import Arrivals, PartResult, TaskResult
from workers.bulk.parts import DiskLayout, of_one_heap, part_bytes, parts_of, tasks

LOG: Final = EventLog(__name__)

_CANCEL_SECONDS: Final = 1.0
"""The time until a job that goes on is cancelled again."""
# Any row can be the first one, if its part is read without it. So no sort is needed.
_PROBE: Final = "SELECT ctid::text FROM {source} LIMIT {most}"
_PROBED: Final = 1_000
"""The most rows among which the first rows of a table are looked for if some rows are left out."""


class BulkRun:
    """One snapshot. ``report`` receives the reports that :class:`connector.snapshot.bulk.BulkReader` describes."""

    def __init__(self, spark: SparkContext, plan: BulkPlan, report: Callable[[BulkReport], None]) -> None:
        self._spark = spark
        self._plan = plan
        self._report = report
        self._group = f"bulk-snapshot-{uuid.uuid4().hex}"
        self._results: asyncio.Queue[TaskResult] = asyncio.Queue()
        self._topics: set[str] = set()
        self._layouts: list[DiskLayout] = []
        self._deal: Deal[EdgeRow]
        self._edges: PartReader

    async def run(self) -> None:
        """Read all tables. On return Kafka has all rows. No Spark task runs afterwards, also after a failure. Raises CdcError."""
        plan = self._plan
        async with contextlib.AsyncExitStack() as stack:
            self._edges = await open_part_reader(stack, self._own_job("edges"), self._pass_on)
            self._layouts = await table_layouts(self._edges.source.connection, [table.oid for table in plan.tables])
            size = part_bytes(self._layouts, self._spark.defaultParallelism)
            parts = [self._parts(number, layout, size) for number, layout in enumerate(self._layouts)]
            weights = [layout.weight for layout in self._layouts] if plan.by_weight else None
            self._deal = Deal(parts, weights, opening=plan.opening)
            orders, local = await self._hand_out(stack)
            LOG.info("spark reads", tables=len(plan.tables), parts=len(orders), readers=self._spark.defaultParallelism)
            await self._read(orders, size, local)
            await self._send(self._deal.finish())

    def _own_job(self, what: str) -> Job:
        job = self._plan.job
        return job if job.transactional_id is None else replace(job, transactional_id=f"{job.transactional_id}-spark-{what}")

    def _parts(self, number: int, layout: DiskLayout, size: int) -> list[Part]:
        if number in self._plan.whole:
            layout = replace(layout, members=())
        return parts_of(number, layout, size)

    # --- before Spark: the first rows

    async def _hand_out(self, stack: contextlib.AsyncExitStack) -> tuple[list[Order], asyncio.Task[None] | None]:
        """Send the first row of each table. Return the orders for Spark, and the task that reads a table in this process, if any."""
        orders: list[Order] = []
        local: asyncio.Task[None] | None = None
        while (handout := self._deal.take()) is not None:
            part = handout.part
            self._report(PartBegun(part))
            order = Order(handout, self._plan.tables[part.table])
            if not handout.ask:
                orders.append(order)
            elif part.table not in self._plan.whole and of_one_heap(part, self._layouts[part.table]):
                with self._reading(part):
                    rest = await self._open(order)
                if rest is not None:
                    orders.append(rest)
            else:
                local = await self._open_here(stack, order)
        return orders, local

    async def _open(self, order: Order) -> Order | None:
        """Send the first row of a part of a heap. Return an order for its other rows; None if there are none."""
        part = order.handout.part
        # Where rows are left out, the second row must be known too: if the first is the only one, its marker is another one.
        wanted = 2 if FailureModes.of(self._plan.job.config).leave_out else 1
        found = await self._probe(order, 2)
        made = await self._first_made(order, found, wanted)
        if len(made) < wanted and len(found) == 2:
            found = await self._probe(order, _PROBED)
            made = await self._first_made(order, found, wanted)
            if len(made) < wanted and len(found) == _PROBED:
                raise CdcError(
                    ErrorKind.VALUE,
                    f"At most one event can be made of the first {_PROBED} rows of table {order.table.name}",
                    "Exclude the column that the log names with column.exclude.list, or read the table without Spark",
                )
        if len(found) < 2 or len(made) < wanted:
            await self._take(PartResult(part, len(found) - len(made), made[0][1] if made else None))
            return None
        ctid, first = made[0]
        await self._send(self._deal.opened(part, first))
        self._report(RowsRead(part.table, 1))
        return _with(order, without=ctid)

    async def _first_made(self, order: Order, found: Sequence[str], wanted: int) -> list[tuple[str, EdgeRow]]:
        """Return the first rows of which events can be made, with their ctids."""
        made: list[tuple[str, EdgeRow]] = []
        for ctid in found:
            row = await self._edges.edge(_with(order, only=ctid))
            if row is not None:
                made.append((ctid, row))
            if len(made) == wanted:
                break
        return made

    async def _probe(self, order: Order, most: int) -> list[str]:
        source = extent_source(order.table, order.handout.part.extent)
        try:
            cursor = await self._edges.source.connection.execute(_PROBE.format(source=source, most=most).encode())
            return [ctid for (ctid,) in await cursor.fetchall()]
        except psycopg.Error as error:
            raise source_error(error, f"reading table {order.table.name}") from error

    async def _open_here(self, stack: contextlib.AsyncExitStack, order: Order) -> asyncio.Task[None]:
        """Start to read a part in this process. Return when its first row is sent, or when all of it is read if it has fewer than two."""
        opened: asyncio.Future[EdgeRow] = asyncio.get_running_loop().create_future()
        sent = 0
        last: EdgeRow | None = None

        def report(message: PartReport) -> None:
            nonlocal sent, last
            match message:
                case Opened(first):
                    opened.set_result(first)
                case Advanced(rows):
                    sent += rows
                case PartRead(rows, row):
                    sent, last = sent + rows, row
                case _:
                    self._pass_on(message)

        reader = await open_part_reader(stack, self._own_job("whole"), report)

        async def read() -> None:
            with self._reading(order.handout.part):
                await reader.read(order)
                await reader.flush()
            self._results.put_nowait(TaskResult((PartResult(order.handout.part, sent, last),), (), ()))

        reading = asyncio.create_task(read(), name=f"read {order.table.name}")
        waiting: list[asyncio.Future[Any]] = [opened, reading]
        stack.push_async_callback(_ended, reading)
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if opened.done():
            await self._send(self._deal.opened(order.handout.part, opened.result()))
            self._report(RowsRead(order.handout.part.table, 1))
            reader.go.set()
        else:
            reading.result()
            await self._take_all(self._results.get_nowait())
        return reading

    # --- while Spark reads

    async def _read(self, orders: Sequence[Order], size: int, local: asyncio.Task[None] | None) -> None:
        """Have Spark read ``orders``, and process the results until all parts are read."""
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

        # A Spark job has the properties, such as the group, of the thread that starts it.
        thread = InheritableThread(target=work, daemon=True, name="spark job")
        if given:
            thread.start()
        else:
            end(None)
        try:
            await self._take_results(job, local)
        finally:
            while not job.done():
                # The call has no effect on a job that Spark does not know yet.
                with contextlib.suppress(Py4JError, OSError):
                    await asyncio.to_thread(self._spark.cancelJobGroup, self._group)
                await asyncio.wait({job}, timeout=_CANCEL_SECONDS)
            if job.done() and not job.cancelled():
                job.exception()

    async def _take_results(self, job: asyncio.Future[None], local: asyncio.Task[None] | None) -> None:
        # A source puts all its results into the queue before it is done.
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
            line.write()
        for topic in result.topics:
            self._pass_on(TopicUsed(topic))
        for failed in result.failed_records:
            self._report(failed)
        if result.failed is not None:
            raise self._failure(result.failed, result.failed_table)
        for part in result.parts:
            await self._take(part)

    async def _take(self, read: PartResult) -> None:
        deal, part = self._deal, read.part
        await self._send(deal.read(part, read.last))
        self._report(RowsRead(part.table, read.rows + (read.last is not None)))
        self._append(deal.acknowledged(part))
        self._edges.sink.pump()
        self._report(PartDone(part))
        if deal.complete(part.table):
            self._report(TableDone(part.table))

    async def _send(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        if rows:
            # Kafka must have all earlier records of these topics before these rows, and these rows before all later ones.
            await self._edges.sink.drained()
            self._append(rows)
            await self._edges.sink.drained()

    def _append(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        for marked in rows:
            self._edges.sink.out(marked.row.topic).append(*marked.row.records[marked.word])

    def _pass_on(self, message: PartReport) -> None:
        if isinstance(message, RecordsFailed):
            self._report(message)
        elif isinstance(message, TopicUsed) and message.topic not in self._topics:
            self._topics.add(message.topic)
            self._report(TopicFilled(message.topic))

    def _weight(self, order: Order) -> int:
        layout, part = self._layouts[order.handout.part.table], order.handout.part
        return layout.weight // part.of

    @contextlib.contextmanager
    def _reading(self, part: Part) -> Iterator[None]:
        """Report a failure of the block as one of the part's table."""
        try:
            yield
        except CdcError:
            self._report(TableFailed(part.table))
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
            self._report(TableFailed(table))
        return failed.error


def _with(order: Order, *, only: str | None = None, without: str | None = None) -> Order:
    part = order.handout.part
    extent = replace(part.extent, only=only, without=without)
    return Order(Handout(replace(part, extent=extent), ask=False), order.table)


def _named(problem: BaseException) -> str:
    """The name of the exception, without its text, which may contain values."""
    java = getattr(problem, "java_exception", None)
    name = java.getClass().getName() if java is not None else type(problem).__name__
    return str(name).rsplit(".", 1)[-1]


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
