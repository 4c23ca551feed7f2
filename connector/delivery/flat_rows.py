"""The direct way of rows that ExtractNewRecordState makes of events: the row's JSON alone is written, and what is added once for a run.

Measured for ten columns, in transactions of 100 rows, with what reads the stream: 4.3 µs an event, and 4.5 µs with three added fields. To
cut the row out of the event (:mod:`connector.delivery.compiled_path`) takes 4.8 µs and 7.9 µs. A property test holds both ways equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from connector.delivery.row_run import RowRun, RowTable, WrittenRows, shared_tails
from connector.record.connect_record import DataError


class FlatRows:
    """Writes the rows of one table. ``tail`` returns what follows a row, its closing brace included, from what follows it in its event.

    ``write_keys`` makes the keys of the core's.
    """

    __slots__ = ("_table", "_tail", "_write_keys")

    def __init__(self, table: RowTable, write_keys: Callable[[Sequence[bytes]], Sequence[bytes]], tail: Callable[[bytes], bytes]) -> None:
        self._table = table
        self._write_keys = write_keys
        self._tail = tail

    def written(self, run: RowRun) -> WrittenRows | None:
        """Return the keys and values; None where one of the rows must come as an event."""
        table = self._table
        try:
            keys = self._write_keys(table.keys(run.columns, run.nulls)) if table.has_key else None
            return WrittenRows(keys, table.open_rows(run.columns, run.nulls, shared_tails(self._tail, run)))
        except (DataError, ValueError):
            return None
