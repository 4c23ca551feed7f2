"""The lock that shows whether a reader still uses a snapshot."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import psycopg
import pytest

from connector.io.postgres import guard as pg_guard
from tests.fix_pg import PgServer

KEY = (1 << 61) + 12345


async def opened(stack: AsyncExitStack, dsn: str) -> psycopg.AsyncConnection:
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    stack.push_async_callback(connection.close)
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    return connection


async def test_it_is_closed_after_the_last_reader_and_admits_no_other(pg: PgServer) -> None:
    dsn = pg.database("guard").dsn
    async with AsyncExitStack() as stack:
        owner, first, second, late = [await opened(stack, dsn) for _ in range(4)]
        assert await pg_guard.share(first, KEY)
        assert await pg_guard.share(second, KEY)
        closing = asyncio.create_task(pg_guard.close(owner, KEY, 60.0))
        await first.execute("COMMIT")
        done, _ = await asyncio.wait([closing], timeout=0.5)
        assert not done
        await second.execute("COMMIT")
        await asyncio.wait_for(closing, 10)
        assert not await pg_guard.share(late, KEY)
        assert await pg_guard.share(late, KEY + 1)
        await owner.execute("COMMIT")
        assert await pg_guard.share(late, KEY)


async def test_readers_that_stay_lose_their_connections(pg: PgServer) -> None:
    dsn = pg.database("guard").dsn
    async with AsyncExitStack() as stack:
        owner, reader, other = [await opened(stack, dsn) for _ in range(3)]
        assert await pg_guard.share(reader, KEY)
        assert await pg_guard.share(other, KEY - 1)
        await asyncio.wait_for(pg_guard.close(owner, KEY, 0.2), 10)
        with pytest.raises(psycopg.OperationalError):
            await reader.execute("SELECT 1")
        await other.execute("SELECT 1")
