"""One row of the table of own figures: a name, what it means, and what fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from connector.delivery.progress import Progress
from connector.meters.histogram import Histogram
from connector.meters.task_meters import TaskMeters
from workers.telemetry.own.slot_watch import SlotFigures
from workers.telemetry.worker_meter import TaskOutcomes, WorkerMeter

Kind = Literal["counter", "gauge", "histogram"]
Number = int | float | Histogram
"""The number of a point; the histogram of a histogram."""
Points = tuple[Sequence[tuple[str, ...]], Sequence[Number]]
"""The values of the labels of each point, and their numbers in the same order."""
NO_POINTS: Final[Points] = ((), ())
Facts_contra = TypeVar("Facts_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """What is known of a connector of this worker. Without a running task it has no meters, and without a look at its slot no slot."""

    name: str
    state: str
    """The state of its task, in lower case; empty while it has none."""
    meters: TaskMeters | None = None
    progress: Progress | None = None
    outcomes: TaskOutcomes = field(default_factory=TaskOutcomes)
    slot: SlotFigures | None = None
    by_table: bool = True
    """``metrics.per.table``"""


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What is known of the worker. ``now`` is monotonic seconds."""

    meter: WorkerMeter
    now: float


@dataclass(frozen=True, slots=True)
class Figure(Generic[Facts_contra]):
    """A figure. ``name`` is without the ending ``_total`` of a counter. ``meaning`` is a clause for HELP and for docs/monitoring.md.

    ``points`` returns its present points, with the values of ``labels``. A connector's figures have the label ``connector`` before these.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str
    points: Callable[[Facts_contra], Points]

    @property
    def series(self) -> str:
        """The name of its series; those of a histogram add an ending to it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def single(value: Number | None, *labels: str) -> Points:
    """Return one point; none for None."""
    return NO_POINTS if value is None else ((labels,), (value,))


def by_label(numbers: Mapping[str, int]) -> Points:
    """Return a point for each value of the only label."""
    return list(zip(numbers)), list(numbers.values())
