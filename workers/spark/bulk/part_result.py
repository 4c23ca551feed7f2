"""What an executor tells of the parts it has read, and how that comes to the driver while the job runs.

An accumulator brings it: Spark applies each task's share once, when the task has ended well, whatever was tried before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.accumulators import AccumulatorParam

from connector.chunks import Part
from connector.runner.snapshot_pipe import EdgeRow, Failed, Logged


@dataclass(frozen=True, slots=True)
class PartResult:
    """Kafka has ``rows`` of the part, and not ``last``, its last row."""

    part: Part
    rows: int
    last: EdgeRow | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's parts, the topics they went to, and lines of the log.

    ``failed`` is what no second attempt would mend, and ``failed_table`` the number of its table.
    """

    parts: tuple[PartResult, ...]
    topics: tuple[str, ...]
    logged: tuple[Logged, ...]
    failed: Failed | None = None
    failed_table: int | None = None


class Arrivals(AccumulatorParam):  # type: ignore[misc]
    """Hands each result on as it arrives in the driver, in a thread of PySpark's own; in executors it only collects them."""

    def __init__(self, arrived: Callable[[TaskResult], None] | None = None) -> None:
        self._arrived = arrived

    def __reduce__(self) -> tuple[type[Arrivals], tuple[()]]:
        return Arrivals, ()

    def zero(self, value: Sequence[TaskResult]) -> list[TaskResult]:  # noqa: ARG002 (PySpark's signature)
        """Nothing."""
        return []

    def addInPlace(self, value: list[TaskResult], more: list[TaskResult]) -> list[TaskResult]:  # noqa: N802 (PySpark's name)
        """Take ``more``."""
        if self._arrived is None:
            value.extend(more)
        else:
            for result in more:
                self._arrived(result)
        return value
