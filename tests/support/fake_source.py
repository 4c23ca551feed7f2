"""A catalog as a dict (:class:`connector.events.stream_source.StreamSource`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from connector.catalog.table import CatalogTable
from connector.events.reselect import Reread
from connector.events.stream_source import NotReadError
from connector.types.codec import Types

from .faults import Faults
from .stream_rig import TYPES


@dataclass(slots=True)
class FakeSource:
    """Steps: ``read_table``, ``read_types``, ``slot_xmin``, ``read_again``."""

    tables: dict[tuple[str, str], CatalogTable]
    faults: Faults = field(default_factory=Faults)
    xmin: int | None = 700
    rows: dict[tuple[bytes, ...], dict[str, bytes | None]] = field(default_factory=dict)
    """What a row is by now, by the texts of its key; a row that is not here is gone."""

    async def read_table(self, schema: str, table: str) -> CatalogTable | None:
        """The table, if the dict has it."""
        await asyncio.sleep(0)
        self.faults.at("read_table")
        return self.tables.get((schema, table))

    async def read_types(self) -> Types:
        """The types that every server has."""
        await asyncio.sleep(0)
        self.faults.at("read_types")
        return TYPES

    async def slot_xmin(self, slot: str) -> int | None:
        """The same for any slot."""
        await asyncio.sleep(0)
        self.faults.at("slot_xmin")
        return self.xmin

    async def read_again(self, reread: Reread, types: Types, xid: int) -> Sequence[bytes | None]:
        """What ``rows`` says."""
        await asyncio.sleep(0)
        self.faults.at("read_again")
        row = self.rows.get(tuple(cell for _, cell in reread.key))
        if row is None:
            raise NotReadError("it is gone")
        return [row[reread.table.columns[at].name] for at in reread.columns]
