"""The direct way of rows to Avro: from PostgreSQL's texts to bytes, column by column, and what events share is written once for a run.

Measured for ten columns, in transactions of 100 rows, with what reads the stream: 6.9 µs an event, against 14.7 µs by way of the event's
JSON (:mod:`connector.delivery.compiled_avro`). A property test holds both ways equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Protocol

from connector.converters.avro.writer import FAILURES, Write
from connector.delivery.avro_cells import cell_writer
from connector.delivery.row_run import RowColumn, RowRun, WrittenRows
from connector.record.connect_record import DataError

Tails = Callable[[RowRun], Iterable[bytes]]
"""Returns what is written after each row. Raises DataError, or what a writer raises."""


class RowKeys(Protocol):
    """Writes the keys of rows."""

    def written(self, run: RowRun) -> Sequence[bytes]:
        """Return the keys. Raises DataError, ValueError, or what a writer raises."""


class StructWriter:
    """Writes structs of the same columns. ``before`` comes before each."""

    __slots__ = ("_before", "_columns")

    def __init__(self, before: bytes, columns: Sequence[RowColumn], writers: Sequence[Write]) -> None:
        self._before = before
        self._columns = [(column.index, cell_writer(column, write)) for column, write in zip(columns, writers, strict=True)]

    def written(self, run: RowRun, tails: Iterable[bytes] | None = None) -> Sequence[bytes]:
        """Return each struct, and its tail. Raises ValueError, or what a writer raises."""
        parts: list[Iterable[bytes]] = [repeat(self._before, run.size)]
        parts += [writer.column(run.columns[index]) if run.nulls else writer.whole(run.columns[index]) for index, writer in self._columns]
        if tails is not None:
            parts.append(tails)
        return list(map(b"".join, zip(*parts, strict=False)))


class ValueKeys:
    """Writes keys by way of their values: with members that a transform added, or for another converter than Avro's."""

    def __init__(self, columns: Sequence[RowColumn], members: Mapping[str, object], write: Callable[[Mapping[str, object]], bytes]) -> None:
        self._columns = columns
        self._members = members
        self._write = write

    def written(self, run: RowRun) -> Sequence[bytes]:
        """As :meth:`RowKeys.written`."""
        names = [column.name for column in self._columns]
        rows = zip(*(column.values(run.columns[column.index]) for column in self._columns), strict=True)
        return [self._write({**dict(zip(names, row, strict=True)), **self._members}) for row in rows]


class AvroRows:
    """Writes the rows of one table."""

    __slots__ = ("_keys", "_row", "_tails")

    def __init__(self, row: StructWriter, tails: Tails, keys: RowKeys | None) -> None:
        self._row = row
        self._tails = tails
        self._keys = keys

    def written(self, run: RowRun) -> WrittenRows | None:
        """Return the keys and values; None where one of the rows must come as JSON."""
        try:
            payloads = self._row.written(run, self._tails(run))
            return WrittenRows(None if self._keys is None else self._keys.written(run), payloads)
        except (DataError, *FAILURES):
            # As JSON it fails with all that is to be said, or it does not.
            return None
