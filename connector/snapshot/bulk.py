"""The port for a reader that reads, marks and sends the rows of a snapshot: its plan, its reports, and its protocol.

The caller keeps the snapshot's transaction, its offsets and its notifications.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from connector.catalog.table import CatalogTable
from connector.snapshot.job import Job
from connector.snapshot.parts import Part


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What to read: ``tables`` in the snapshot's order. The tables whose numbers are in ``whole`` are not divided into parts.

    ``by_weight`` says whether the largest parts may be read first. ``opening`` says whether the first row of the first table must be sent
    before all other rows.
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
    """``rows`` more rows of the table numbered ``table`` have been read."""

    table: int
    rows: int


@dataclass(frozen=True, slots=True)
class PartDone:
    """Kafka has the part's rows, except one that may wait for its marker."""

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


@dataclass(frozen=True, slots=True)
class RecordsFailed:
    """A transform or converter failed on ``count`` records, or they were too large for Kafka.

    ``left_out``: ``errors.tolerance=all`` leaves them out; otherwise the task fails. ``logged``: the log names them.
    """

    count: int
    left_out: bool
    logged: bool


BulkReport = PartBegun | RowsRead | PartDone | TableDone | TableFailed | TopicFilled | RecordsFailed


class BulkReader(Protocol):
    """Reads all rows of an exported snapshot, and sends them with the markers of :mod:`connector.snapshot.parts`."""

    async def refusal(self) -> str | None:
        """Return why this reader cannot be used here, in one sentence with a remedy; None if it can."""

    async def read(self, plan: BulkPlan, report: Callable[[BulkReport], None]) -> None:
        """Read the plan, report to ``report``, and return when Kafka has every row. Raises CdcError.

        After an error or a cancellation, nothing of the reader continues to run.
        """
