"""The phases of reading a chunk, and the events that lead from one phase to another."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from connector.incremental.coordinator_events import (
    ChunkDue,
    ChunkFailed,
    ChunkRead,
    ClosingSeen,
    Connected,
    LastRowFound,
    NoRowsLeft,
    OpeningSeen,
    PauseAsked,
    PositionFound,
    ResumeAsked,
    Resumed,
    RowsSent,
    SnapshotAsked,
    StopAsked,
    StreamReached,
    TableChanged,
    TableFound,
    TableRefused,
    TimePassed,
    WatermarkWritten,
    WindowAttached,
)


class Phase(Enum):
    """What the reader of chunks does."""

    IDLE = "has no table to read"
    DUE = "waits for the time of the next chunk"
    OPENING = "writes the first watermark"
    LOOKING = "looks at the table"
    MEASURING = "looks for the table's last row"
    READING = "reads rows"
    CLOSING = "writes the second watermark"
    WAITING = "waits for the stream to close the window"
    PAUSED = "waits for the end of the pause"


_ENDED: Final = (Phase.DUE, Phase.PAUSED)
"""The phases that may follow a chunk."""
_ONWARD: Final = (Phase.LOOKING, Phase.MEASURING, Phase.READING, Phase.CLOSING)
"""The phases that may follow a step of the reading. The next step reads the same table, the next table or none."""

TRANSITIONS: Final[Mapping[Phase, Mapping[type[object], tuple[Phase, ...]]]] = {
    Phase.IDLE: {Resumed: (Phase.IDLE, Phase.DUE), SnapshotAsked: (Phase.DUE,)},
    Phase.DUE: {ChunkDue: (Phase.IDLE, Phase.OPENING)},
    Phase.OPENING: {Connected: _ONWARD, WatermarkWritten: _ONWARD, ChunkFailed: (Phase.IDLE,)},
    Phase.LOOKING: {TableFound: _ONWARD, TableRefused: _ONWARD},
    Phase.MEASURING: {LastRowFound: _ONWARD, TableRefused: _ONWARD},
    Phase.READING: {ChunkRead: (Phase.CLOSING,), NoRowsLeft: _ONWARD, TableChanged: _ONWARD, TableRefused: _ONWARD},
    Phase.CLOSING: {
        WatermarkWritten: (Phase.WAITING, *_ENDED),
        PositionFound: (Phase.WAITING, *_ENDED),
        ChunkFailed: (Phase.IDLE,),
    },
    Phase.WAITING: {
        ClosingSeen: (Phase.WAITING, *_ENDED),
        StreamReached: (Phase.WAITING, *_ENDED),
        RowsSent: _ENDED,
    },
    Phase.PAUSED: {ResumeAsked: (Phase.DUE,)},
}
"""Phase → event → the phases that it may lead to. An event of :data:`AT_ANY_TIME` may also arrive in every other phase, which it does not
change."""

AT_ANY_TIME: Final[frozenset[type[object]]] = frozenset(
    {
        SnapshotAsked,
        PauseAsked,
        ResumeAsked,
        StopAsked,
        OpeningSeen,
        ClosingSeen,
        StreamReached,
        WindowAttached,
        RowsSent,
        TimePassed,
    }
)

BEFORE_READ: Final = frozenset({Phase.DUE, Phase.OPENING, Phase.LOOKING, Phase.MEASURING, Phase.READING})
"""The phases in which a chunk is requested and not yet read."""
