"""One row of a family's table: an attribute, what fills it, and how near its value is to the original's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from workers.telemetry.mbean import Attribute

Facts = TypeVar("Facts")
Likeness = Literal["exact", "nearest", "no meaning here"]
"""``exact``: the original shows the same value after the same workload. ``nearest``: the meaning says what differs."""


@dataclass(frozen=True, slots=True)
class Row(Generic[Facts]):
    """An attribute. ``meaning`` is a clause for the table in docs/monitoring.md."""

    name: str
    likeness: Likeness
    meaning: str
    value: Callable[[Facts], Attribute]


def attributes(table: Sequence[Row[Facts]], facts: Facts) -> dict[str, Attribute]:
    """Return the values of all rows of a family's table."""
    return {row.name: row.value(facts) for row in table}
