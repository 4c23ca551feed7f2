"""Reads the rows of one chunk in an open transaction.

If the order of the chunks is not unique, a chunk includes all rows that tie with its last row, because the offset could not tell how many
of them were sent. If they are very many, and the table has a primary key, they are read in several chunks in the order of that key. The
offset then stays before them, so that all of them are read again after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.incremental.chunk_query import (
    ChunkOrder,
    KeyTexts,
    bound_statement,
    bounded_statement,
    chunk_statement,
    divided_statement,
    tied_statement,
)
from connector.io.postgres.connection import Connection
from connector.io.postgres.copy import copy_rows
from connector.io.postgres.statement import run_alone

_BURST: Final = 512
_TIES_SINCE: Final = 130_000
"""The first server version with ``FETCH FIRST ... ROWS WITH TIES``."""
_MOST_FACTOR: Final = 8
"""How many times larger than wanted ties may make a chunk before it is divided."""
MOST_TIED_BYTES: Final = 128 * 1024 * 1024
"""The most text of tied rows that is held if they cannot be divided."""


@dataclass(frozen=True, slots=True)
class ChunkLines:
    """Reads the chunks of ``table`` as lines of COPY with ``columns``. ``condition`` is SQL that the server has accepted alone."""

    connection: Connection
    table: CatalogTable
    columns: Collection[str]
    order: ChunkOrder
    condition: str | None

    async def read(self, after: KeyTexts | None, upto: KeyTexts, rows: int) -> tuple[list[bytes], bool]:
        """Return the lines, and whether they may end between tied rows, so that the position of the last is one with its tiebreak.

        Raises psycopg.Error with the server's message, and CdcError if the copy fails or tied rows are too many to be held.
        """
        order, width = self.order, len(self.order.columns)
        if after is not None and len(after) > width:
            statement = tied_statement(self.table, self.columns, order, after=after, condition=self.condition, rows=rows)
            if lines := await self._copy(statement):
                return lines, len(lines) == rows
            after = after[:width]
        if order.unique:
            return await self._copy(await self._whole(after, upto, rows, None)), False
        if not order.tiebreak:
            return await self._copy(await self._whole(after, upto, rows, None), rows), False
        most = rows * _MOST_FACTOR
        lines = await self._copy(await self._whole(after, upto, rows, most + 1))
        if len(lines) <= most:
            return lines, False
        statement = divided_statement(self.table, self.columns, order, after=after, upto=upto, condition=self.condition, rows=rows)
        lines = await self._copy(statement)
        return lines, len(lines) == rows

    async def _whole(self, after: KeyTexts | None, upto: KeyTexts, rows: int, most: int | None) -> str:
        """Return the query for a chunk with all its ties."""
        table, order, condition = self.table, self.order, self.condition
        if order.unique or self.connection.info.server_version >= _TIES_SINCE:
            return chunk_statement(table, self.columns, order, after=after, upto=upto, condition=condition, rows=rows, most=most)
        bound = await run_alone(self.connection, bound_statement(table, order, after=after, upto=upto, condition=condition, rows=rows))
        if bound.ntuples:
            cells = [bound.get_value(0, column) for column in range(bound.nfields)]
            upto = tuple(None if cell is None else cell.decode() for cell in cells)
        return bounded_statement(table, self.columns, order, after=after, upto=upto, condition=condition, most=most)

    async def _copy(self, statement: str, wanted: int | None = None) -> list[bytes]:
        """Return the lines. If more than ``wanted`` come, those after them are limited in size."""
        lines: list[bytes] = []
        tied_bytes = 0
        async for burst in copy_rows(self.connection, statement, f"reading a chunk of {self.table.name}", most=_BURST):
            if wanted is not None and len(lines) + len(burst) > wanted:
                tied_bytes += sum(map(len, burst))
            # Lines above the limit are read all the same: otherwise the connection would have to be closed.
            if tied_bytes <= MOST_TIED_BYTES:
                lines += burst
            else:
                lines.clear()
            # If rows are always available, no await above yields to other tasks.
            await asyncio.sleep(0)
        if tied_bytes > MOST_TIED_BYTES:
            names = ", ".join(column.name for column in self.order.columns)
            message = f"Too many rows of {self.table.name} have equal values in {names} to be held in memory as one chunk"
            raise CdcError(ErrorKind.SOURCE_QUERY, message, _DIVIDE)
        return lines


_DIVIDE: Final = "Give the table a primary key, name a column with more values by surrogate-key, or use a blocking snapshot."
