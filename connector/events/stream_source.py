"""The queries that a stream's runner needs besides the stream itself: the catalog, the slot, and single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from connector.catalog.table import CatalogTable
from connector.events.reselect import Reread
from connector.types.codec import Types


class NotReadError(Exception):
    """A row cannot be read again. The text gives the reason without any value."""


class StreamSource(Protocol):
    """Access to the catalog, the slot and single rows.

    Every method raises CdcError if the server refuses the query or the connection is lost.
    """

    async def read_table(self, schema: str, table: str) -> CatalogTable | None:
        """Return the table with its columns and keys; None if it does not exist."""

    async def read_types(self) -> Types:
        """Return all types by their oids."""

    async def slot_xmin(self, slot: str) -> int | None:
        """Return the ``catalog_xmin`` of a slot; None if the slot has none."""

    async def read_again(self, reread: Reread, types: Types, xid: int) -> Sequence[bytes | None]:
        """Return the texts of the requested columns of a row as it is now, in a state that includes transaction ``xid``.

        Raises NotReadError if the row cannot be read.
        """
