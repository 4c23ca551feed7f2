"""The effects that :class:`connector.incremental.coordinator.Coordinator` returns.

An :data:`Order` waits for a server. There is at most one order at a time, and its answer is an event. All other effects are carried out
at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal

from connector.delivery.progress import IncrementalProgress
from connector.incremental.chunk_query import KeyTexts
from connector.incremental.state import Collection, Place
from connector.incremental.target import TableStatus, Target
from connector.incremental.window import Row, Window

# Orders to the reader of chunks


@dataclass(frozen=True, slots=True)
class Wake:
    """Wait for ``seconds``. Answered by ``ChunkDue``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect, unless a connection is open. Answered by ``Connected`` or ``ChunkFailed``."""


@dataclass(frozen=True, slots=True)
class WriteOpening:
    """Write the first watermark of a chunk. Answered by ``WatermarkWritten`` or ``ChunkFailed``.

    The stream may deliver the watermark before the answer.
    """

    chunk_id: str


@dataclass(frozen=True, slots=True)
class WriteClosing:
    """Write the second watermark of a chunk. Answered like ``WriteOpening``."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class FindPosition:
    """Ask for the current WAL position. Answered by ``PositionFound`` or ``ChunkFailed``."""


@dataclass(frozen=True, slots=True)
class LookAtTable:
    """Read the table's description. Answered by ``TableFound`` or ``TableRefused``."""

    collection: Collection


@dataclass(frozen=True, slots=True)
class FindLastRow:
    """Read the key of the table's last row. Answered by ``LastRowFound`` or ``TableRefused``."""

    target: Target


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Read the first ``rows`` rows after the key ``after``, up to and including ``upto``.

    Answered by ``ChunkRead``, ``NoRowsLeft``, ``TableChanged`` or ``TableRefused``.
    """

    target: Target
    after: KeyTexts | None
    upto: KeyTexts
    rows: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """Store that no table is left to read. No answer.

    The state is otherwise stored when a frame arrives, and an idle server sends none.
    """


Order = Wake | Connect | WriteOpening | WriteClosing | FindPosition | LookAtTable | FindLastRow | ReadChunk | StoreState

# For the stream


@dataclass(frozen=True, slots=True)
class OpenWindow(Generic[Row]):
    """Make the stream report each change of ``table`` (schema.table) to ``window``. Answered by ``WindowAttached`` at once."""

    table: str
    window: Window[Row]


@dataclass(frozen=True, slots=True)
class CloseWindow:
    """Make the stream report no further change to any window. This also ends ``AwaitPosition``."""


@dataclass(frozen=True, slots=True)
class AwaitPosition:
    """Report ``StreamReached`` now and after each burst of frames until ``CloseWindow``, and ask the server for its position."""


@dataclass(frozen=True, slots=True)
class SendRows(Generic[Row]):
    """Send the rows as events. Answered by ``RowsSent`` at once; before that answer no row counts as sent."""

    target: Target
    rows: Sequence[Row]


# For users and operators


@dataclass(frozen=True, slots=True)
class Started:
    """A snapshot of ``tables`` begins."""

    correlation_id: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paused:
    """No further chunk is read."""

    correlation_id: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Continued:
    """Chunks are read again after a pause."""

    correlation_id: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aborted:
    """``tables`` were removed from the snapshot."""

    correlation_id: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completed:
    """All tables were read."""

    correlation_id: str | None


@dataclass(frozen=True, slots=True)
class InProgress:
    """A chunk of ``table`` was read up to the row ``last``; the table's last row is ``maximum``."""

    correlation_id: str | None
    tables: tuple[str, ...]
    table: str
    maximum: Place
    last: Place


@dataclass(frozen=True, slots=True)
class TableCompleted:
    """The reading of ``table`` ended, after ``rows`` rows."""

    correlation_id: str | None
    tables: tuple[str, ...]
    table: str
    rows: int
    status: TableStatus


Notice = Started | Paused | Continued | Aborted | Completed | InProgress | TableCompleted


@dataclass(frozen=True, slots=True)
class Notify:
    """Send a notification."""

    notice: Notice


@dataclass(frozen=True, slots=True)
class Log:
    """Write an event with its fields to the log."""

    level: Literal["info", "warning", "error"]
    event: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Show:
    """Show ``progress`` in the task's progress; None when no snapshot runs."""

    progress: IncrementalProgress | None


Effect = Order | OpenWindow[Row] | CloseWindow | AwaitPosition | SendRows[Row] | Notify | Log | Show
