"""Runs statements that contain a user's SQL: the condition of a signal, or a SELECT of a property or of a class.

They use the extended query protocol, in which a message has only one statement. If a second statement follows a semicolon, the server
refuses the message and runs nothing (PostgreSQL manual, 55.2.3 Extended Query). psycopg uses the simple protocol for statements without
parameters, in which a message may have several statements.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection

_CANCEL_S: Final = 1.0


async def readable(connection: Connection) -> None:
    """Wait until the connection's socket is readable."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    socket = connection.pgconn.socket
    loop.add_reader(socket, _ready, ready)
    try:
        await ready
    finally:
        loop.remove_reader(socket)


async def flush(connection: Connection) -> None:
    """Wait until libpq has written its output buffer to the socket."""
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


async def next_result(connection: Connection) -> PGresult | None:
    """Return the next result of the running statement; None after the last one."""
    pgconn = connection.pgconn
    while pgconn.is_busy():
        await readable(connection)
        pgconn.consume_input()
    return pgconn.get_result()


async def send(connection: Connection, statement: str, *, alone: bool) -> PGresult | None:
    """Send a statement and return its first result. With ``alone`` the server refuses a text with several statements.

    libpq accepts the next statement only after all results of this one are fetched. After an error, this function has fetched them. Raises
    psycopg.Error with the server's message, and CdcError for a text that cannot be sent.
    """
    pgconn = connection.pgconn
    text = _sendable(statement)
    if alone:
        # Parse, bind, execute and sync take one round trip, as a simple query does.
        pgconn.send_query_params(text, None)
    else:
        pgconn.send_query(text)
    await flush(connection)
    result = await next_result(connection)
    if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
        while await next_result(connection) is not None:
            pass
        raise error_from_result(result)
    return result


async def run_alone(connection: Connection, statement: str) -> PGresult:
    """Run one statement without parameters. The result's cells are the server's texts.

    Raises psycopg.Error with the server's message, and CdcError for a text that cannot be sent.
    """
    try:
        result = await send(connection, statement, alone=True)
        while await next_result(connection) is not None:
            pass
    except asyncio.CancelledError:
        await stop_statement(connection)
        raise
    if result is None:
        raise psycopg.OperationalError("the server answered nothing")
    return result


async def stop_statement(connection: Connection) -> None:
    """Cancel the running statement and close the connection, because its results will not be fetched."""
    try:
        await connection.cancel_safe(timeout=_CANCEL_S)
    except psycopg.Error:
        # An unreachable server ends the statement by itself when it detects the broken connection.
        pass
    finally:
        await connection.close()


@asynccontextmanager
async def reading(connection: Connection) -> AsyncIterator[None]:
    """Open a read-only transaction in which each statement sees everything that was committed before it."""
    await connection.execute(b"BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY")
    try:
        yield
    finally:
        if not connection.closed:
            await connection.execute(b"ROLLBACK")


def _sendable(statement: str) -> bytes:
    try:
        text = statement.encode()
    except UnicodeEncodeError as error:
        raise CdcError(ErrorKind.SOURCE_QUERY, "The statement holds half of a surrogate pair, which is no character", _TEXT) from error
    if b"\0" in text:
        # libpq would send only the text before the NUL.
        raise CdcError(ErrorKind.SOURCE_QUERY, "The statement holds a NUL character, which no SQL can hold", _TEXT)
    return text


_TEXT: Final = "Correct the condition, the SELECT or the name that it is made of"


def doubled(sql: str) -> str:
    """Return ``sql`` with its percent signs doubled, for a statement with psycopg's parameters."""
    return sql.replace("%", "%%")
