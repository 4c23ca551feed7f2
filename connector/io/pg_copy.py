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

from connector.io.pg_connection import Connection, source_error

_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


async def readable(connection: Connection) -> None:
    """Wait until the connection's socket has something to read."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    socket = connection.pgconn.socket
    loop.add_reader(socket, _ready, ready)
    try:
        await ready
    finally:
        loop.remove_reader(socket)


async def flush(connection: Connection) -> None:
    """Wait until libpq has written what it was given."""
    loop = asyncio.get_running_loop()
    pgconn = connection.pgconn
    while pgconn.flush() == 1:
        ready = loop.create_future()
        loop.add_writer(pgconn.socket, _ready, ready)
        try:
            await ready
        finally:
            loop.remove_writer(pgconn.socket)


def _ready(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


async def send_command(connection: Connection, command: str, expected: pq.ExecStatus, doing: str) -> None:
    """Send a command that enters COPY mode and wait until it has. CdcError with what the server said otherwise."""
    pgconn = connection.pgconn
    try:
        pgconn.send_query(command.encode())
        await flush(connection)
        while pgconn.is_busy():
            await readable(connection)
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is not None and result.status != expected:
            # libpq takes the next command only when this one's results are all fetched, and a busy slot is asked for again.
            while result.status == pq.ExecStatus.FATAL_ERROR and pgconn.get_result() is not None:
                pass
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
        pgconn = self._connection.pgconn
        while True:
            while pgconn.is_busy():
                await readable(self._connection)
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                return
            if result.status in (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_BOTH):
                # The server ended its half of COPY BOTH; ours ends here.
                pgconn.put_copy_end()
                await flush(self._connection)
            elif result.status not in _OK:
                raise error_from_result(result)


async def copy_rows(connection: Connection, query: str, doing: str, *, most: int, most_bytes: int = 262_144) -> AsyncIterator[list[bytes]]:
    """Bursts of the text rows of ``COPY (query) TO STDOUT``, each row with its newline."""
    await send_command(connection, f"COPY ({query}) TO STDOUT", pq.ExecStatus.COPY_OUT, doing)
    reader = CopyReader(connection, doing)
    while rows := await reader.burst(most, most_bytes):
        yield rows
