"""A table as an incremental snapshot reads it: the order of its rows, their keys, and their places as the offset stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from connector.catalog.table import CatalogTable, row_places
from connector.emulation import Emulation
from connector.events.encoders import TableEncoder
from connector.incremental.chunk_query import ChunkOrder, KeyTexts, OrderColumn
from connector.incremental.key_objects import key_from_text, read_array, text_from_key, write_array
from connector.incremental.state import Collection, Place
from connector.incremental.window import Key
from connector.types.codec import Types

NO_PLACE: Final = write_array(None)
"""The stored place of a table of which no row was read yet."""

TableStatus = Literal["EMPTY", "NO_PRIMARY_KEY", "SQL_EXCEPTION", "SUCCEEDED", "UNKNOWN_SCHEMA"]
"""How the reading of a table ended, in Debezium's terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The description of the table of ``collection``.

    ``shape`` is a text that changes when the table's columns or keys change. ``columns`` are the columns that are read. Offsets have the
    form of the Debezium version of ``emulation``. ``estimate`` is the planner's number of rows (-1: unknown).
    """

    collection: Collection
    table: CatalogTable
    shape: str | None
    encoder: TableEncoder
    columns: frozenset[str]
    order: ChunkOrder
    types: Types
    emulation: Emulation
    estimate: int

    def place(self, texts: KeyTexts) -> Place:
        """Return a row's place, given the texts of its ordering columns. Raises ValueError for a key that the offset cannot store."""
        columns = {column.name: column for column in self.table.columns}
        ordered = zip(self.order.columns, texts, strict=True)
        return Place(texts, write_array([key_from_text(columns[one.name], self.types, text, self.emulation) for one, text in ordered]))

    def place_of(self, row: Sequence[bytes | None]) -> Place:
        """Return the place of a row that was read. Raises ValueError as :meth:`place` does."""
        return self.place(self._texts(row, self.order.columns))

    def place_between(self, row: Sequence[bytes | None], former: Place | None) -> Place:
        """Return the place of a row with which others tie. The offset keeps the place ``former``, so that all of them are read again."""
        texts = self._texts(row, (*self.order.columns, *self.order.tiebreak))
        return Place(texts, NO_PLACE if former is None else former.stored)

    def _texts(self, row: Sequence[bytes | None], columns: Sequence[OrderColumn]) -> KeyTexts:
        names = [column.name for column in self.encoder.table.columns]
        cells = [row[names.index(column.name)] for column in columns]
        return tuple(None if cell is None else cell.decode() for cell in cells)

    def keys(self, rows: Sequence[Sequence[bytes | None]]) -> list[Key]:
        """Return the rows' keys as the stream reports them. If the table has no key, each row gets a different one."""
        places = row_places(self.encoder.table, self.encoder.key_at)
        if not places:
            return [(b"%d" % number, b"row") for number in range(len(rows))]
        return [tuple(row[at] for at in places) for row in rows]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A table cannot be read in chunks; ``why`` is the reason for the log."""

    status: TableStatus
    why: str


def read_place(stored: str) -> KeyTexts | None:
    """Return the key's texts of a stored place; None for :data:`NO_PLACE`. Raises ValueError for a text that is not a place."""
    values = read_array(stored)
    return None if values is None else tuple(text_from_key(value) for value in values)
