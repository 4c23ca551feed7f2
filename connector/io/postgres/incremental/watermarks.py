"""Writes the watermarks of incremental snapshots into the signal table (``signal.data.collection``)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import psycopg

from connector.catalog.identifiers import quote_table
from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.statement import doubled
from connector.log import EventLog
from connector.signals.signal import CLOSE, OPEN

LOG: Final = EventLog(__name__)


class Watermarks:
    """Writes watermarks into the signal table. With ``deletes`` the second watermark deletes the row of the first (insert_delete).

    With ``dated`` watermarks contain the time of their writing, and then ``labels``, which may change with each chunk. ``retries`` and
    ``backoff_s`` are those of ``signal.emit.failure.*``.
    """

    def __init__(self, schema: str, table: str, *, deletes: bool, dated: bool, retries: int, backoff_s: float) -> None:
        self._schema = schema
        self._table = table
        self._quoted = quote_table(schema, table)
        self._filled = doubled(self._quoted)
        """The quoted name for statements with psycopg's parameters."""
        self._deletes = deletes
        self._dated = dated
        self._retries = retries
        self._backoff_s = backoff_s
        self._opened = ""
        self.labels: Mapping[str, str] = {}

    async def open(self, connection: Connection, chunk_id: str) -> None:
        """Write a chunk's first watermark. Raises CdcError if all attempts fail."""
        self._opened = _instant()
        await self._insert(connection, f"{chunk_id}-open", OPEN, self._data({}))

    async def close(self, connection: Connection, chunk_id: str) -> None:
        """Write a chunk's second watermark. Raises CdcError if all attempts fail."""
        if self._deletes:
            await self._write(connection, f"DELETE FROM {self._filled} WHERE id = %s", (f"{chunk_id}-open",))
            return
        await self._insert(connection, f"{chunk_id}-close", CLOSE, self._data({"closeWindowTimestamp": _instant()}))

    def _data(self, closing: Mapping[str, str]) -> str | None:
        if not self._dated:
            return None
        return json.dumps({"openWindowTimestamp": self._opened, **closing, **self.labels}, ensure_ascii=False)

    async def _insert(self, connection: Connection, row_id: str, kind: str, data: str | None) -> None:
        await self._write(connection, f"INSERT INTO {self._filled} VALUES (%s, %s, %s)", (row_id, kind, data))

    async def _write(self, connection: Connection, statement: str, values: tuple[str | None, ...]) -> None:
        for attempt in range(self._retries + 1):
            try:
                await connection.execute(statement.encode(), values)
            except psycopg.Error as error:
                if attempt == self._retries or connection.closed:
                    raise source_error(error, f"writing a watermark to {self._schema}.{self._table}") from error
                LOG.warning("watermark not written, trying again", table=f"{self._schema}.{self._table}", sqlstate=error.sqlstate)
                await asyncio.sleep(self._backoff_s)
            else:
                return


def _instant() -> str:
    """Return the current time as Java prints an Instant."""
    now = datetime.now(UTC)
    return now.replace(tzinfo=None).isoformat(timespec="microseconds" if now.microsecond % 1000 else "milliseconds") + "Z"
