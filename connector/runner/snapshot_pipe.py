"""What the snapshot's process and those that read for it say to each other, over a socket pair that nobody else has.

A message is its length (8 bytes) and a pickle: both ends are the same program, and the configuration with its passwords must
not show in arguments or the environment.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connector.chunks import Handout
from connector.record_batch import Record
from connector.snapshot_job import Job
from connector.table import CatalogTable

_LENGTH: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Order:
    """Read a part of ``table``."""

    handout: Handout
    table: CatalogTable


@dataclass(frozen=True, slots=True)
class Go:
    """The row that was handed in is in Kafka: send the others."""


@dataclass(frozen=True, slots=True)
class Flush:
    """There is nothing to read now: say when Kafka has everything."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The reader is connected and in the snapshot."""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """A row at the edge of a part, as the record it becomes with each marker that it may get."""

    topic: str
    records: Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Opened:
    """The part has more than one row, and this is the first; the reader waits."""

    first: EdgeRow


@dataclass(frozen=True, slots=True)
class Advanced:
    """So many rows more of the part have been sent."""

    rows: int


@dataclass(frozen=True, slots=True)
class PartRead:
    """The part is read: ``rows`` more were sent, and ``last``, its last row, was not."""

    rows: int
    last: EdgeRow | None


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Kafka has everything that was sent for the parts read before this message."""


@dataclass(frozen=True, slots=True)
class TopicUsed:
    """The reader sends to this topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class Logged:
    """A line for the log."""

    logger: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The reader gives up: a CdcError in its parts, ``kind`` by its value."""

    kind: str
    message: str
    remedy: str
    detail: str


Told = Ready | Opened | Advanced | PartRead | Acknowledged | TopicUsed | Logged | Failed
"""From a reader."""
Asked = Job | Order | Go | Flush
"""To a reader; the end of the socket tells it to end."""


def send(writer: asyncio.StreamWriter, message: object) -> None:
    """Put a message on its way; between these two it is one of Told or Asked."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    writer.write(_LENGTH.pack(len(body)) + body)


async def receive(reader: asyncio.StreamReader) -> object | None:
    """The next message; None when the other side has gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return pickle.loads(await reader.readexactly(length))  # type: ignore[no-any-return]  # noqa: S301 (both ends are ours: see the top)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
