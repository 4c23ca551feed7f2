"""The results of an executor's parts, and their transfer to the driver while the job runs.

An accumulator transfers them. Spark applies the results of each task exactly once, after the task's first successful attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.accumulators import AccumulatorParam

from connector.runner.child.pipe import Failed, Logged
from connector.runner.snapshot.messages import EdgeRow
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.parts import Part


@dataclass(frozen=True, slots=True)
class PartResult:
    """The result of a part. Kafka has ``rows`` of its rows, all except ``last``, its last row."""

    part: Part
    rows: int
    last: EdgeRow | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's parts, the topics they went to, and lines of the log.

    ``failed_records`` are records that failed or were left out. ``failed`` is a failure that every further attempt would have too, and
    ``failed_table`` the number of its table.
    """

    parts: tuple[PartResult, ...]
    topics: tuple[str, ...]
    logged: tuple[Logged, ...]
    failed: Failed | None = None
    failed_table: int | None = None
    failed_records: tuple[RecordsFailed, ...] = ()


class Arrivals(AccumulatorParam):  # type: ignore[misc]
    """Calls ``arrived`` for each result in the driver, in a thread of PySpark. In executors it only collects the results."""

    def __init__(self, arrived: Callable[[TaskResult], None] | None = None) -> None:
        self._arrived = arrived

    def __reduce__(self) -> tuple[type[Arrivals], tuple[()]]:
        return Arrivals, ()

    def zero(self, value: Sequence[TaskResult]) -> list[TaskResult]:  # noqa: ARG002 (PySpark's signature)
        """The empty list."""
        return []

    def addInPlace(self, value: list[TaskResult], more: list[TaskResult]) -> list[TaskResult]:  # noqa: N802 (PySpark's name)
        """Add ``more``, or pass it on in the driver."""
        if self._arrived is None:
            value.extend(more)
        else:
            for result in more:
                self._arrived(result)
        return value
