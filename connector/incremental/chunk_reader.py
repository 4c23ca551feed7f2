"""The protocol for what an incremental snapshot needs from the database. The runner implements it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from connector.catalog.visibility import Visibility
from connector.incremental.chunk_query import KeyTexts
from connector.incremental.state import Collection
from connector.incremental.target import Target, Unreadable


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The rows of a chunk as lines of COPY, and which transactions the read could see.

    ``divided`` says that rows which tie with the last may follow, so its position is one with a tiebreak.
    """

    lines: list[bytes]
    visible: Visibility
    divided: bool = False


class TableChangedError(Exception):
    """The table's columns differ from those in its description."""


class ChunkReader(Protocol):
    """Reads chunks and writes their watermarks. Every method raises CdcError with the server's message."""

    async def connect(self) -> None:
        """Connect, unless an intact connection is open. :meth:`write_opening` does the same; the other methods need a connection."""

    async def write_opening(self, chunk_id: str) -> None:
        """Write the chunk's first watermark."""

    async def write_closing(self, chunk_id: str) -> None:
        """Write the chunk's second watermark."""

    async def position(self) -> int:
        """Return a WAL position after every change that is visible now."""

    async def look_at(self, collection: Collection) -> Target | Unreadable:
        """Read the table's current description. Raises KeyError if the table lacks the surrogate key."""

    async def last_row(self, target: Target) -> KeyTexts | None:
        """Return the texts of the last row's key; None if there is no row to read."""

    async def rows(self, target: Target, after: KeyTexts | None, upto: KeyTexts, most: int) -> ChunkRows:
        """Return the first ``most`` rows after the key ``after``, up to and including ``upto``. Raises TableChangedError."""

    async def close(self) -> None:
        """Close the connection."""
