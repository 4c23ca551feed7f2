"""A table as an incremental snapshot reads it: its order, its keys, and what of it is kept in the offset."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connector.capture import Capture
from connector.chunk_query import ChunkOrder, KeyTexts, chunk_order
from connector.encoders import TableEncoder
from connector.incremental import Collection, Place
from connector.io import pg_catalog, pg_chunks
from connector.io.pg_connection import Connection
from connector.java_objects import key_from_text, read_array, text_from_key, write_array
from connector.key_text import key_text
from connector.notifications import ScanStatus
from connector.progress import TableProgress
from connector.snapshot import projected
from connector.table import CatalogTable
from connector.types.codec import Types
from connector.window import Key, row_places

NO_PLACE: Final = write_array(None)
"""How the offset says that nothing was read yet."""


def read_place(stored: str) -> KeyTexts | None:
    """The texts of a stored place; None for :data:`NO_PLACE`. ValueError for what is none."""
    values = read_array(stored)
    return None if values is None else tuple(text_from_key(value) for value in values)


def shown_place(place: Place) -> list[str | None]:
    """A place as notifications tell of it."""
    return [key_text(value) for value in read_array(place.stored) or ()]


@dataclass(slots=True)
class Target:
    """The table that is being read, as it was when it was looked at."""

    collection: Collection
    table: CatalogTable
    shape: str | None
    encoder: TableEncoder
    columns: frozenset[str]
    order: ChunkOrder
    types: Types
    version: tuple[int, int, int]
    shown: TableProgress
    begun: float
    """Monotonic seconds."""

    def place(self, texts: KeyTexts) -> Place:
        """A row's place by the texts of the columns that order the table. ValueError for a key that the offset cannot hold."""
        columns = {column.name: column for column in self.table.columns}
        ordered = zip(self.order.columns, texts, strict=True)
        return Place(texts, write_array([key_from_text(columns[one.name], self.types, text, self.version) for one, text in ordered]))

    def place_of(self, row: Sequence[bytes | None]) -> Place:
        """The place of a row that was read."""
        names = [column.name for column in self.encoder.table.columns]
        return self.place(pg_chunks.texts([row[names.index(column.name)] for column in self.order.columns]))

    def keys(self, rows: Sequence[Sequence[bytes | None]]) -> list[Key]:
        """The rows' keys as the stream knows them; rows of a table without key are all different."""
        places = row_places(self.encoder.table, self.encoder.key_at)
        if not places:
            return [(b"%d" % number, b"row") for number in range(len(rows))]
        return [tuple(row[at] for at in places) for row in rows]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a table cannot be read in chunks."""

    status: ScanStatus
    why: str


async def look_at(connection: Connection, capture: Capture, version: tuple[int, int, int], collection: Collection) -> Target | Unreadable:
    """The table of ``collection`` as it is now. KeyError for a surrogate key that it does not have, CdcError with what the server said."""
    table = await pg_chunks.find_table(connection, collection.name)
    if table is None:
        return Unreadable("UNKNOWN_SCHEMA", "there is no such table")
    if not capture.captures(table.schema, table.table):
        return Unreadable("UNKNOWN_SCHEMA", "the connector's filters leave it out")
    if capture.unknown_types(table):
        capture.types = await pg_catalog.read_types(connection)
    names = (collection.surrogate_key,) if collection.surrogate_key else capture.key_names(table)
    if not names:
        return Unreadable("NO_PRIMARY_KEY", "it has no key; name a column by surrogate-key")
    columns = capture.needed_columns(table) | {*names, *table.primary_key}
    return Target(
        collection,
        table,
        await pg_chunks.shape(connection, table),
        capture.encoder(projected(table, columns)),
        frozenset(columns),
        chunk_order(table, names, capture.types),
        capture.types,
        version,
        TableProgress(collection.name, estimate=-1 if collection.condition else table.estimate),
        time.monotonic(),
    )
