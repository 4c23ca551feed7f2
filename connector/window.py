"""The window of an incremental snapshot's chunk: its rows, less those that the stream told of meanwhile.

Debezium design document DDD-3, after Andreakis and Papapanagiotou, "DBLog: A Watermark Based Change-Data-Capture Framework"
(2020): a chunk is read between two watermarks; a row is left out when the stream brings a change of its key between them, for what the
row holds the stream tells as well, and the rows that are left go where the second watermark stands.

A row's key is the texts of its key's columns, as PostgreSQL prints them alike in COPY and in the stream. Rows may share a key where
the message key is the user's choice: the reference then keeps the last of them alone, we keep all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from connector.table import CatalogTable

Key = tuple[bytes | None, ...]
Row = TypeVar("Row")
"""Whatever stands for a row."""


def row_places(table: CatalogTable, key_at: tuple[int, ...]) -> tuple[int, ...]:
    """Places of the columns that tell a row from others: the primary key's, else the message key's, which are at ``key_at``.

    Old rows hold the primary key, unless the replica identity is another index; of a message key that the user chose they need not.
    """
    places = {column.name: place for place, column in enumerate(table.columns)}
    if table.primary_key and table.identity != "i" and all(name in places for name in table.primary_key):
        return tuple(places[name] for name in table.primary_key)
    return key_at


class Window(Generic[Row]):
    """Told of changes from the first watermark on, filled when the chunk has been read, emptied at the second.

    Changes may come before the rows: the stream does not wait for the chunk.
    """

    __slots__ = ("_changed", "_keys", "_present", "_rows", "spoiled")

    def __init__(self) -> None:
        self._changed: set[Key] = set()
        self._keys: Sequence[Key] = ()
        self._rows: Sequence[Row] = ()
        self._present: frozenset[Key] | None = None
        """The keys of the rows, once they are there."""
        self.spoiled = False
        """The rows must not be sent: the chunk is to be read again."""

    def changed(self, key: Key) -> None:
        """The stream told of a change of this key."""
        if self._present is None or key in self._present:
            self._changed.add(key)

    def emptied(self) -> None:
        """The stream told that the table was truncated."""
        if self._present is None:
            # Of the rows to come nobody can say which are older: read them again.
            self.spoiled = True
        else:
            self._keys, self._rows = (), ()

    def spoil(self) -> None:
        """The rows are worthless: the table has another shape by now."""
        self.spoiled = True

    def fill(self, keys: Sequence[Key], rows: Sequence[Row]) -> None:
        """The chunk has been read: ``rows`` with their ``keys``, in its order."""
        self._keys, self._rows = keys, rows
        self._present = frozenset(keys)
        self._changed &= self._present

    def rows(self) -> list[Row]:
        """What is left, in the chunk's order."""
        changed = self._changed
        return [row for key, row in zip(self._keys, self._rows, strict=True) if key not in changed]
