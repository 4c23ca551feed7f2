"""Reads COPY data in bursts of the rows that have arrived, without an await for each row.

psycopg's own ``copy()`` awaits each row. This module calls libpq directly (``psycopg.pq``) until it has no more rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.statement import flush, next_result, readable, send, stop_statement

_LOOK_S: Final = 0.005
"""How often a burst that waits for more rows looks for them. The buffers of a socket hold more than comes meanwhile."""
_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


async def send_command(connection: Connection, command: str, expected: pq.ExecStatus, doing: str, *, alone: bool) -> None:
    """Send a command that enters COPY mode, and wait until the mode is entered. Raises CdcError with the server's message.

    ``alone`` is as in :func:`connector.io.postgres.statement.send`. A replication connection supports only the simple protocol.
    """
    try:
        result = await send(connection, command, alone=alone)
        if result is not None and result.status != expected:
            raise error_from_result(result)
    except psycopg.Error as error:
        raise source_error(error, doing) from error


class CopyReader:
    """Reads the data rows of a connection in COPY OUT or COPY BOTH mode."""

    __slots__ = ("_connection", "_doing", "ended")

    def __init__(self, connection: Connection, doing: str) -> None:
        self._connection = connection
        self._doing = doing
        self.ended = False
        """Whether the server has ended the copy without an error."""

    async def burst(self, most: int, most_bytes: int, until: float = 0.0) -> list[bytes]:
        """Wait for data and return the rows that have arrived, up to the limits; return no row after the end of the copy.

        Before ``until`` (of :func:`time.monotonic`) it waits for more rows. It does not await while rows are available: a caller that reads
        many bursts lets other tasks run between them. Raises CdcError with the server's message if the copy or the
        connection fails.
        """
        pgconn = self._connection.pgconn
        get = pgconn.get_copy_data
        rows: list[bytes] = []
        size = 0
        # libpq reads about 16 kB at once, some 100 rows. A stream in bursts of that size has a quarter less throughput: 126,000 in place of
        # 169,000 events/s (flat JSON, 2 cores AMD EPYC). So the socket is read again until it has no more.
        drained = False
        try:
            while not self.ended:
                length, data = get(1)
                if length > 0:
                    drained = False
                    rows.append(bytes(data))
                    size += length
                    if len(rows) >= most or size >= most_bytes:
                        break
                elif length < 0:
                    self.ended = True
                    await self._finish()
                elif not drained:
                    pgconn.consume_input()
                    drained = True
                elif rows and until and (left := until - time.monotonic()) > 0:
                    await asyncio.sleep(min(left, _LOOK_S))
                    drained = False
                elif rows:
                    break
                else:
                    await readable(self._connection)
                    drained = False
        except psycopg.Error as error:
            raise source_error(error, self._doing) from error
        return rows

    async def _finish(self) -> None:
        refused: PGresult | None = None
        while (result := await next_result(self._connection)) is not None:
            if result.status in (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_BOTH):
                # The server has ended its half of COPY BOTH, so the client's half ends now.
                self._connection.pgconn.put_copy_end()
                await flush(self._connection)
            elif result.status not in _OK and refused is None:
                refused = result
        if refused is not None:
            # All results are fetched, so the connection can run the next statement.
            raise error_from_result(refused)


async def copy_rows(connection: Connection, query: str, doing: str, *, most: int, most_bytes: int = 262_144) -> AsyncIterator[list[bytes]]:
    """Yield bursts of the text rows of ``COPY (query) TO STDOUT``, each row with its newline.

    If ``query`` contains a user's SQL, the server must have accepted this SQL as a complete statement or expression before. It then cannot
    close COPY's parenthesis and add another destination (``) TO PROGRAM ...``).
    """
    try:
        await send_command(connection, f"COPY ({query}) TO STDOUT", pq.ExecStatus.COPY_OUT, doing, alone=True)
        reader = CopyReader(connection, doing)
        while rows := await reader.burst(most, most_bytes):
            yield rows
    except asyncio.CancelledError:
        await stop_statement(connection)
        raise
