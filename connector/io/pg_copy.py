"""Reading COPY data in bursts: as much as has arrived, without an await per row.

psycopg's own ``copy()`` awaits each row; here libpq is asked directly (``psycopg.pq``) until it has no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from connector.io.pg_connection import Connection, source_error
from connector.io.pg_statement import flush, next_result, readable, send, stop_statement

_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


async def send_command(connection: Connection, command: str, expected: pq.ExecStatus, doing: str, *, alone: bool) -> None:
    """Send a command that enters COPY mode and wait until it has. CdcError with what the server said otherwise.

    ``alone`` as in :func:`connector.io.pg_statement.send`; a replication connection knows the simple protocol only.
    """
    try:
        result = await send(connection, command, alone=alone)
        if result is not None and result.status != expected:
            raise error_from_result(result)
    except psycopg.Error as error:
        raise source_error(error, doing) from error


class CopyReader:
    """The data rows of a connection in COPY OUT or COPY BOTH mode."""

    __slots__ = ("_connection", "_doing", "ended")

    def __init__(self, connection: Connection, doing: str) -> None:
        self._connection = connection
        self._doing = doing
        self.ended = False
        """The server has ended the copy in order."""

    async def burst(self, most: int, most_bytes: int) -> list[bytes]:
        """Wait for data, then answer what is there, up to a number of rows and bytes; empty once the copy has ended.

        Raises CdcError with what the server said when the copy or the connection breaks.
        """
        pgconn = self._connection.pgconn
        get = pgconn.get_copy_data
        rows: list[bytes] = []
        size = 0
        try:
            while not self.ended:
                length, data = get(1)
                if length > 0:
                    rows.append(bytes(data))
                    size += length
                    if len(rows) >= most or size >= most_bytes:
                        break
                elif length == 0:
                    if rows:
                        break
                    await readable(self._connection)
                    pgconn.consume_input()
                else:
                    self.ended = True
                    await self._finish()
        except psycopg.Error as error:
            raise source_error(error, self._doing) from error
        return rows

    async def _finish(self) -> None:
        refused: PGresult | None = None
        while (result := await next_result(self._connection)) is not None:
            if result.status in (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_BOTH):
                # The server ended its half of COPY BOTH; ours ends here.
                self._connection.pgconn.put_copy_end()
                await flush(self._connection)
            elif result.status not in _OK and refused is None:
                refused = result
        if refused is not None:
            # Raised when all results are fetched: the connection serves the next statement.
            raise error_from_result(refused)


async def copy_rows(connection: Connection, query: str, doing: str, *, most: int, most_bytes: int = 262_144) -> AsyncIterator[list[bytes]]:
    """Bursts of the text rows of ``COPY (query) TO STDOUT``, each row with its newline.

    The server must have taken SQL of a user in ``query`` for a whole statement or expression before: such a text has no parenthesis
    that could end COPY's, and with it no destination of its own (``) TO PROGRAM ...``).
    """
    try:
        await send_command(connection, f"COPY ({query}) TO STDOUT", pq.ExecStatus.COPY_OUT, doing, alone=True)
        reader = CopyReader(connection, doing)
        while rows := await reader.burst(most, most_bytes):
            yield rows
    except asyncio.CancelledError:
        await stop_statement(connection)
        raise
