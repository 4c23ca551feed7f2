"""The work of a Spark task: read its parts within the snapshot, and send their rows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson
from pyspark import TaskContext
from pyspark.accumulators import Accumulator

from connector.errors import CdcError, Directive
from connector.runner.child.pipe import Failed, Logged
from connector.runner.child.side import Forwarding, failure_of
from connector.runner.event_loop import loop_factory
from connector.runner.snapshot.messages import Advanced, Order, PartRead, PartReport, TopicUsed
from connector.runner.snapshot.part_reader import open_part_reader
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.job import Job
from connector.snapshot.parts import Part
from workers.bulk.part_result import PartResult, TaskResult

FAILED: Final = "bulk-snapshot-task-failed "
"""The prefix of the JSON in a task's exception. The driver searches Spark's trace for it."""
REMEDY: Final = "a blocking snapshot reads without Spark"
_MOST_LINES: Final = 100
"""The most log lines of a task that are sent to the driver."""


class TaskFailedError(Exception):
    """A failure of a task that another attempt may not have. Its text contains no value of a row."""


def read_task(job: Job, results: Accumulator[list[TaskResult]], given: Iterator[Sequence[Order]]) -> None:
    """Read the orders in ``given``, and add the results to ``results``. For ``RDD.foreachPartition``.

    Raises TaskFailedError if Spark should repeat the task.
    """
    logged: list[Logged] = []
    logger = logging.getLogger()
    handler = Forwarding(lambda line: logged.append(line) if len(logged) < _MOST_LINES else None)
    former, logger.handlers[:] = logger.handlers[:], [handler]
    logger.setLevel(job.log_level)
    try:
        for orders in given:
            results.add([replace(_finished(_read(_own(job), orders)), logged=tuple(logged))])
    finally:
        logger.handlers[:] = former


def _own(job: Job) -> Job:
    context = TaskContext.get()
    if job.transactional_id is None or context is None:
        return job
    # The same id fences an earlier attempt at this task, whose executor may still run although Spark lost contact with it.
    return replace(job, transactional_id=f"{job.transactional_id}-spark-{context.partitionId()}")


def _finished(reading: Coroutine[object, object, TaskResult]) -> TaskResult:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(reading)


async def _read(job: Job, orders: Sequence[Order]) -> TaskResult:
    topics: list[str] = []
    parts: list[PartResult] = []
    records: Counter[tuple[bool, bool]] = Counter()
    reading: Part | None = None
    sent = 0

    def report(message: PartReport) -> None:
        nonlocal sent
        if isinstance(message, TopicUsed):
            topics.append(message.topic)
        elif isinstance(message, RecordsFailed):
            records[message.left_out, message.logged] += message.count
        elif isinstance(message, Advanced):
            sent += message.rows
        elif isinstance(message, PartRead) and reading is not None:
            parts.append(PartResult(reading, sent + message.rows, message.last))

    try:
        async with contextlib.AsyncExitStack() as stack:
            reader = await open_part_reader(stack, job, report)
            for order in orders:
                reading, sent = order.handout.part, 0
                await reader.read(order)
            await reader.flush()
    except CdcError as error:
        if error.directive is not Directive.RETRY:
            failed = failure_of(error, REMEDY), None if reading is None else reading.table
            return TaskResult((), tuple(topics), (), *failed, _failed_records(records))
        raise TaskFailedError(_text(error, reading)) from None
    except Exception as error:  # noqa: BLE001 (its text may hold a value of a row)
        raise TaskFailedError(_text(error, reading)) from None
    return TaskResult(tuple(parts), tuple(topics), (), failed_records=_failed_records(records))


def _failed_records(counted: Counter[tuple[bool, bool]]) -> tuple[RecordsFailed, ...]:
    return tuple(RecordsFailed(count, left_out, logged) for (left_out, logged), count in counted.items())


def _text(error: BaseException, reading: Part | None) -> str:
    failed, table = failure_of(error, REMEDY), None if reading is None else reading.table
    members = {"kind": failed.kind, "message": failed.message, "remedy": failed.remedy, "detail": failed.detail, "table": table}
    return FAILED + orjson.dumps(members).decode()


def failure_in(trace: str) -> tuple[Failed, int | None] | None:
    """The last task failure that Spark's ``trace`` quotes, and the number of its table; None without one."""
    _, found, rest = trace.rpartition(FAILED)
    if not found:
        return None
    try:
        members = orjson.loads(rest.split("\n", 1)[0].strip())
        return Failed(members["kind"], members["message"], members["remedy"], members["detail"]), members["table"]
    except (ValueError, KeyError):
        return None
