"""What the connector needs from the world around it: protocols, and no implementation.

:mod:`connector.io` implements them, :mod:`connector.runner` joins both sides, tests bring fakes (``tests/support/fake_*.py``). Only the
protocols that need no type of the core are here: :class:`connector.delivery.sink.Sink` speaks of positions and
:class:`connector.events.stream_source.StreamSource` of tables, so each is in the room of its types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from connector.errors import CdcError, ErrorKind

JsonObject = Mapping[str, object]


class Clock(Protocol):
    """Time, and waiting for it."""

    def monotonic(self) -> float:
        """Seconds since some moment; only differences mean anything."""

    def now_ns(self) -> int:
        """Wall clock time, in nanoseconds since 1970."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """A context whose body raises TimeoutError when it takes longer."""


class ReplicationStream(Protocol):
    """The stream of one replication slot, started."""

    async def frames(self, most: int, most_bytes: int, until: float = 0.0) -> list[bytes]:
        """Return the frames that have arrived, in pgoutput's form; wait for the first. An empty list: they made no event.

        Takes at most ``most`` frames, and no further one after ``most_bytes``. Before ``until``, a moment of :meth:`Clock.monotonic`, it
        waits for more of them. Raises CdcError(SOURCE_CONNECTION_LOST) when the server
        ends the stream.
        """

    async def confirm(self, written: int, flushed: int, now_ns: int) -> None:
        """Tell the server two LSNs: what was received, and what it need not send again. Raises CdcError."""

    async def ask(self, written: int, flushed: int, now_ns: int) -> None:
        """Do the same, and ask the server for a keepalive at once. Raises CdcError."""


class SignalSource(Protocol):
    """What a signal needs from the database. Every method raises CdcError if the server refuses the query or the connection is lost."""

    async def tables(self) -> Sequence[tuple[str, str]]:
        """Return schema and name of every table of the database, sorted, including partitioned tables."""

    async def check_signal_table(self, schema: str, table: str, *, deletes: bool) -> None:
        """Raise CdcError, with SQL as the remedy, unless watermarks can be written and the stream will deliver them.

        With ``deletes``, rows of watermarks are deleted too.
        """


class OffsetStore(Protocol):
    """Source offsets of one connector, as Kafka Connect keeps them (KIP-618, ``OffsetStorageReader``/``Writer``)."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """Return the last offset stored for ``partition``, or None. Raises CdcError(STORE)."""

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Write, and wait until Kafka has acknowledged. None removes the offset. Raises CdcError(STORE)."""


class TransactionalOffsets(Protocol):
    """Source offsets of one connector that its producer's transactions write, with the records they belong to (KIP-618)."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """Return the last offset committed for ``partition``, or None. Waits for transactions that are open in the offset topic.

        Call it when no former producer of the connector can commit any more. Raises CdcError.
        """

    def records(self, partition: JsonObject, offset: JsonObject) -> Sequence[tuple[str, bytes, bytes]]:
        """Return topic, key and value of each record with which a transaction stores ``offset``."""


class Out(Protocol):
    """Takes the records of one topic."""

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Take a record; see :meth:`connector.record.batch.RecordBatch.append`."""

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Take many records; see :meth:`connector.record.batch.RecordBatch.extend`."""


class OutOfTimeError(Exception):
    """Matching the pattern at the place ``pattern`` took too long."""

    def __init__(self, pattern: int) -> None:
        super().__init__(pattern)
        self.pattern = pattern


class Backtracking(Protocol):
    """Matches names with patterns that may take any time, up to a time limit."""

    def __call__(self, patterns: Sequence[str], names: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return, for each pattern (for :mod:`re`), the places of the names that it matches as a whole. Raises OutOfTimeError."""


def no_backtracking(patterns: Sequence[str], names: Sequence[str]) -> Sequence[Sequence[int]]:
    """Stand for a :class:`Backtracking` that was not given. Raises CdcError(INTERNAL)."""
    raise CdcError(ErrorKind.INTERNAL, f"Nothing was given to match {len(patterns)} pattern(s) with backtracking ({len(names)} name(s))")


class ChangeWindow(Protocol):
    """Takes the changes of one table that the stream brings while an incremental snapshot reads a chunk of it."""

    def changed(self, key: tuple[bytes | None, ...]) -> None:
        """Take note of a change of the row with this key: the texts of its columns, as PostgreSQL prints them."""

    def emptied(self) -> None:
        """Take note of a TRUNCATE."""

    def spoil(self) -> None:
        """Take note that the table's columns changed: rows that were read before have another shape."""


class Span(Protocol):
    """A piece of work that is traced."""

    def end(self, problem: BaseException | None = None) -> None:
        """End it, as failed if there is a ``problem``. No-op if it has ended."""


class Tracing(Protocol):
    """Takes the spans of one connector's task. A span that begins while another is open is below that one."""

    def starts(self) -> Span:
        """Begin the span of a start of the task: from the first connection until it streams."""

    def failed(self, problem: BaseException) -> None:
        """Take note that an attempt of the task ended with an error, so that the span of the next one names it."""

    def begin(self, name: str, **facts: str | float | bool) -> Span:
        """Begin a span with these attributes."""

    def passed(self, name: str, seconds: float, **facts: str | float | bool) -> None:
        """Add a span that took so long and ends now."""


class _NoSpan:
    def end(self, problem: BaseException | None = None) -> None:
        """No-op."""


class NoTracing:
    """A :class:`Tracing` that traces nothing."""

    def starts(self) -> Span:
        """Return a span that is not traced."""
        return _NoSpan()

    def failed(self, problem: BaseException) -> None:
        """No-op."""

    def begin(self, name: str, **facts: str | float | bool) -> Span:  # noqa: ARG002 (the protocol's)
        """Return a span that is not traced."""
        return _NoSpan()

    def passed(self, name: str, seconds: float, **facts: str | float | bool) -> None:
        """No-op."""
