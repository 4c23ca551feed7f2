"""The events that :class:`connector.incremental.coordinator.Coordinator` handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from connector.catalog.visibility import Visibility
from connector.incremental.state import Collection, Place
from connector.incremental.target import TableStatus, Target
from connector.incremental.window import Key, Row

# Requests of signals


@dataclass(frozen=True, slots=True)
class SnapshotAsked:
    """The signal ``correlation_id`` requests a snapshot of ``collections``, which holds at least one table."""

    collections: tuple[Collection, ...]
    correlation_id: str


@dataclass(frozen=True, slots=True)
class PauseAsked:
    """A signal asks to read no further chunk."""


@dataclass(frozen=True, slots=True)
class ResumeAsked:
    """A signal asks to continue after a pause."""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A signal asks to remove the tables that ``entries`` name or match; without entries, all tables."""

    entries: tuple[str, ...]


# Events of the stream


@dataclass(frozen=True, slots=True)
class OpeningSeen:
    """The stream delivered the first watermark of chunk ``chunk_id``."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class ClosingSeen:
    """The stream delivered the second watermark of chunk ``chunk_id``."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class StreamReached:
    """The stream has reached ``lsn``; ``between`` says whether this position is between two transactions."""

    lsn: int
    between: bool


# Time


@dataclass(frozen=True, slots=True)
class Resumed:
    """The run of the stream begins; ``offset`` is the stored source offset."""

    offset: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChunkDue:
    """Answers ``Wake`` when its time has passed. ``chunk_id`` is the next chunk's id, which no other chunk has."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The reader has been idle for ``seconds``."""

    seconds: float


# Answers to effects


@dataclass(frozen=True, slots=True)
class WindowAttached:
    """Answers ``OpenWindow``: the stream now reports changes to the window. Before that it delivered the transactions ``recent`` (xids)."""

    recent: frozenset[int]


@dataclass(frozen=True, slots=True)
class Connected:
    """Answers ``Connect``."""


@dataclass(frozen=True, slots=True)
class WatermarkWritten:
    """Answers ``WriteOpening`` and ``WriteClosing``."""


@dataclass(frozen=True, slots=True)
class PositionFound:
    """Answers ``FindPosition``: every change that the chunk's read could see is before ``lsn``."""

    lsn: int


@dataclass(frozen=True, slots=True)
class ChunkFailed:
    """Answers ``Connect``, ``WriteOpening``, ``WriteClosing`` and ``FindPosition``: the order failed, and a retry would fail too."""

    why: str


@dataclass(frozen=True, slots=True)
class TableFound:
    """Answers ``LookAtTable``."""

    target: Target


@dataclass(frozen=True, slots=True)
class TableRefused:
    """Answers ``LookAtTable``, ``FindLastRow`` and ``ReadChunk``: the table cannot be read."""

    status: TableStatus
    why: str


@dataclass(frozen=True, slots=True)
class LastRowFound:
    """Answers ``FindLastRow``: the place of the table's last row; None if the table has no row to read."""

    place: Place | None


@dataclass(frozen=True, slots=True)
class ChunkRead(Generic[Row]):
    """Answers ``ReadChunk`` with at least one row. ``last`` is the place of the last row."""

    rows: Sequence[Row]
    keys: Sequence[Key]
    visible: Visibility
    last: Place


@dataclass(frozen=True, slots=True)
class NoRowsLeft:
    """Answers ``ReadChunk``: the table has no further row."""


@dataclass(frozen=True, slots=True)
class TableChanged:
    """Answers ``ReadChunk``: the table's columns differ from those in its description."""


@dataclass(frozen=True, slots=True)
class RowsSent:
    """Answers ``SendRows``."""


Event = (
    SnapshotAsked
    | PauseAsked
    | ResumeAsked
    | StopAsked
    | OpeningSeen
    | ClosingSeen
    | StreamReached
    | Resumed
    | ChunkDue
    | TimePassed
    | WindowAttached
    | Connected
    | WatermarkWritten
    | PositionFound
    | ChunkFailed
    | TableFound
    | TableRefused
    | LastRowFound
    | ChunkRead[Row]
    | NoRowsLeft
    | TableChanged
    | RowsSent
)
