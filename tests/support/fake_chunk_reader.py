"""A reader of chunks without a database: tables are dicts, and each step can be held or made to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from connector.catalog.visibility import Visibility
from connector.incremental.chunk_query import KeyTexts
from connector.incremental.chunk_reader import ChunkRows
from connector.incremental.state import Collection
from connector.incremental.target import Target, Unreadable

from .chunk_tables import TABLES, target_of


class FakeChunkReader:
    """A :class:`connector.incremental.chunk_reader.ChunkReader` over ``tables``: name without schema, keys in order and their values.

    ``calls`` are the steps in their order. A step of ``held`` waits for :meth:`release`. A step of ``failures`` raises the errors given
    for it, one each time; None lets it succeed.
    """

    def __init__(self, tables: Mapping[str, Mapping[int, str]]) -> None:
        self.tables = {name: dict(rows) for name, rows in tables.items()}
        self.calls: list[str] = []
        self.opened: asyncio.Queue[str] = asyncio.Queue()
        """Ids of chunks whose first watermark was written."""
        self.closed: asyncio.Queue[str] = asyncio.Queue()
        """Ids of chunks whose second watermark was written."""
        self.failures: dict[str, list[BaseException | None]] = {}
        self.held: set[str] = set()
        self.lsn = 0
        """Where the WAL is written."""
        self.visible = Visibility.parse("5000:5000:")
        """What a read can see."""
        self.first_visible: list[Visibility] = []
        """What the first reads can see."""
        self.divided: list[bool] = []
        """Whether rows that tie with its last row follow each of the first chunks."""
        self.ended = False
        self._reached: dict[str, asyncio.Event] = {}
        self._gates: dict[str, asyncio.Event] = {}

    async def reached(self, step: str) -> None:
        """Wait until a held step has begun."""
        await self._reached.setdefault(step, asyncio.Event()).wait()

    def release(self, step: str) -> None:
        """Let a held step go on; it is not held again."""
        self.held.discard(step)
        self._gates.setdefault(step, asyncio.Event()).set()

    async def _step(self, step: str) -> None:
        self.calls.append(step)
        if step in self.held:
            self._reached.setdefault(step, asyncio.Event()).set()
            await self._gates.setdefault(step, asyncio.Event()).wait()
        error = self.failures[step].pop(0) if self.failures.get(step) else None
        if error is not None:
            raise error

    async def connect(self) -> None:
        """Have a connection."""
        await self._step("connect")

    async def write_opening(self, chunk_id: str) -> None:
        """Write the first watermark."""
        await self._step("write_opening")
        self.opened.put_nowait(chunk_id)

    async def write_closing(self, chunk_id: str) -> None:
        """Write the second watermark."""
        await self._step("write_closing")
        self.closed.put_nowait(chunk_id)

    async def position(self) -> int:
        """Where the WAL is written."""
        await self._step("position")
        return self.lsn

    async def look_at(self, collection: Collection) -> Target | Unreadable:
        """The table, if ``tables`` holds it. Raises KeyError for a surrogate key, which no table has."""
        await self._step("look_at")
        name = collection.name.removeprefix("public.")
        if name not in self.tables or name not in TABLES:
            return Unreadable("UNKNOWN_SCHEMA", "there is no such table")
        if collection.surrogate_key:
            raise KeyError(collection.surrogate_key)
        return target_of(collection)

    async def last_row(self, target: Target) -> KeyTexts | None:
        """The largest key."""
        await self._step("last_row")
        rows = self.tables[target.table.table]
        return (str(max(rows)),) if rows else None

    async def rows(self, target: Target, after: KeyTexts | None, upto: KeyTexts, most: int) -> ChunkRows:
        """Rows as COPY prints them."""
        await self._step("rows")
        first, last = -1 if after is None else int(after[0] or 0), int(upto[0] or 0)
        found = sorted((key, value) for key, value in self.tables[target.table.table].items() if first < key <= last)
        visible = self.first_visible.pop(0) if self.first_visible else self.visible
        return ChunkRows([f"{key}\t{value}".encode() for key, value in found[:most]], visible, bool(self.divided) and self.divided.pop(0))

    async def close(self) -> None:
        """End the connection."""
        self.ended = True
