"""The ports for what a snapshot needs from the database and from Kafka. :mod:`connector.io` implements them; tests use fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Protocol

from connector.catalog.table import CatalogTable
from connector.ports import Out
from connector.snapshot.parts import TableSize
from connector.snapshot.select_casts import ResultColumn


class SnapshotSource(Protocol):
    """One transaction of a snapshot, on a separate connection.

    Every method raises CdcError with the server's message, and CdcError(SOURCE_CONNECTION_LOST) when the connection is lost.
    """

    async def lift_timeouts(self) -> None:
        """Switch off the server's timeouts, so that a slow or waiting snapshot does not end."""

    async def execute(self, statement: str) -> None:
        """Run a statement that begins, prepares or ends the transaction."""

    async def tables(self) -> list[CatalogTable]:
        """Return all tables of the database without columns and keys, sorted by schema and name."""

    async def describe(self, tables: Collection[CatalogTable]) -> list[CatalogTable]:
        """Return the same tables with their columns and keys. A table that was dropped meanwhile has none."""

    async def sizes(self, tables: Sequence[CatalogTable]) -> list[TableSize]:
        """Return the sizes of the tables, in their order. A table that was dropped meanwhile has no size."""

    async def in_recovery(self) -> bool:
        """Return whether the server is a standby. Call it before the transaction begins."""

    async def txid(self) -> int | None:
        """Return the transaction's id, 32 bits; None on a standby."""

    async def lsn(self) -> int:
        """Return the current end of the server's WAL."""

    async def export(self) -> str:
        """Export the snapshot and return its name. Other transactions can use it until this transaction ends."""

    async def columns(self, select: str, origin: str) -> tuple[ResultColumn, ...]:
        """Return the columns of a user's SELECT; ``origin`` names its origin in errors."""

    def rows(self, query: str, doing: str, *, most: int) -> AsyncIterator[list[bytes]]:
        """Yield the rows of ``query`` as lines of COPY's text format, from 1 to ``most`` lines at a time."""

    async def end_readers(self, guard_key: int, seconds: float) -> None:
        """Return when no reader shares the advisory lock ``guard_key``. No reader can take it again until the transaction ends.

        After ``seconds``, the connections of remaining readers are terminated.
        """

    async def close(self) -> None:
        """Close the connection; its state does not matter."""


OpenSource = Callable[[str], Awaitable[SnapshotSource]]
"""``open_source(purpose)`` opens a new connection. ``pg_stat_activity`` shows ``purpose``. Raises CdcError."""


class RowSink(Protocol):
    """Takes a snapshot's rows. If a batch failed, the next call of any method raises its CdcError."""

    def bind(self, *, to_marks: bool) -> None:
        """Decide whether records wait for a mark (:meth:`connector.io.kafka.sink.KafkaSink.bind`)."""

    def out(self, topic: str) -> Out:
        """Return the object to which the records of ``topic`` are appended."""

    def pump(self) -> None:
        """Send the appended records of each topic partition that has no batch in flight."""

    async def room(self) -> None:
        """Return when there is room for more records."""

    async def drained(self) -> None:
        """Return when Kafka has all appended records."""
