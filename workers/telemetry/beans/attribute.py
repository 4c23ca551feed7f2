"""One row of a family's table: an attribute, what fills it, and how near its value is to the original's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from workers.telemetry.mbean import Attribute

Facts_contra = TypeVar("Facts_contra", contravariant=True)
Likeness = Literal["exact", "nearest", "no meaning here"]
"""``exact``: the original shows the same value after the same workload. ``nearest``: the meaning says what differs."""


@dataclass(frozen=True, slots=True)
class Row(Generic[Facts_contra]):
    """An attribute. ``meaning`` is a clause for the table in docs/monitoring.md."""

    name: str
    likeness: Likeness
    meaning: str
    value: Callable[[Facts_contra], Attribute]


def attributes(table: Sequence[Row[Facts_contra]], facts: Facts_contra) -> dict[str, Attribute]:
    """Return the values of all rows of a family's table."""
    return {row.name: row.value(facts) for row in table}


def unreported(names: str) -> tuple[Row[object], ...]:
    """Rows of figures that aiokafka does not report, separated by spaces: always 0."""
    return tuple(Row(name, "no meaning here", "always 0 because aiokafka does not report it", lambda _facts: 0.0) for name in names.split())


def unreported_averages(names: str) -> tuple[Row[object], ...]:
    """Likewise: always NaN, as Kafka shows an average without values."""
    return tuple(
        Row(name, "no meaning here", "always NaN because aiokafka does not report it", lambda _facts: float("nan"))
        for name in names.split()
    )
