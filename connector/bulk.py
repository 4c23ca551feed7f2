"""Snapshots whose rows somebody else reads, sends and marks: what the reader is given, and what it tells. A port.

The snapshot's transaction, its offsets and its notifications stay with the one who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from connector.chunks import Part
from connector.snapshot_job import Job
from connector.table import CatalogTable


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What is to be read: ``tables`` in the snapshot's order, those whose numbers are in ``whole`` in one piece.

    With ``by_weight`` the largest parts may be read first. ``opening``: the first row of the first table comes before all others.
    """

    job: Job
    tables: tuple[CatalogTable, ...]
    whole: frozenset[int]
    by_weight: bool
    opening: bool


@dataclass(frozen=True, slots=True)
class PartBegun:
    """A part is about to be read."""

    part: Part


@dataclass(frozen=True, slots=True)
class RowsRead:
    """So many rows more of the table numbered ``table`` have been read."""

    table: int
    rows: int


@dataclass(frozen=True, slots=True)
class PartDone:
    """Kafka has the part's rows, but for one that may wait for its marker."""

    part: Part


@dataclass(frozen=True, slots=True)
class TableDone:
    """All parts of the table are done."""

    table: int


@dataclass(frozen=True, slots=True)
class TableFailed:
    """The table cannot be read; the snapshot ends."""

    table: int


@dataclass(frozen=True, slots=True)
class TopicFilled:
    """Rows were sent to this topic."""

    topic: str


BulkTold = PartBegun | RowsRead | PartDone | TableDone | TableFailed | TopicFilled


class BulkReader(Protocol):
    """Reads all rows of a snapshot that is open and exported, and sends them with the markers of :mod:`connector.chunks`."""

    async def refusal(self) -> str | None:
        """Why this cannot be done here, in one sentence with its mend; None when it can."""

    async def read(self, plan: BulkPlan, told: Callable[[BulkTold], None]) -> None:
        """Return when Kafka has every row. Raises CdcError; nothing of the reader runs on then, nor when it is cancelled."""
