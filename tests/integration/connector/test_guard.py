"""The lock that shows whether a reader still uses a snapshot."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import psycopg
import pytest

from connector.config.connector_config import ConnectorConfig, parse
from connector.errors import CdcError, ErrorKind
from connector.io.postgres import guard as pg_guard
from connector.io.postgres.connection import Connection, connect
from connector.runner.snapshot import bulk_lock
from connector.runner.snapshot.bulk_lock import sole_snapshot
from tests.fix_pg import Database, PgServer

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


def of_shop(database: Database, **more: str) -> ConnectorConfig:
    config, _ = parse(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": database.host,
            "database.port": str(database.port),
            "database.user": "postgres",
            "database.dbname": database.name,
            "name": "shop",
            "topic.prefix": "shop",
            "slot.name": "shop",
            **more,
        }
    )
    return config


async def test_only_one_command_takes_the_snapshot_of_a_connector(pg: PgServer) -> None:
    database = pg.database("guard")
    config, other = of_shop(database), of_shop(database, **{"slot.name": "other"})
    async with sole_snapshot(config):
        with pytest.raises(CdcError, match="Another command takes the snapshot of shop with the slot shop") as caught:
            async with sole_snapshot(config):
                raise AssertionError
        assert caught.value.kind is ErrorKind.SLOT_BUSY
        async with sole_snapshot(other):
            pass
    async with sole_snapshot(config):
        pass


async def test_the_next_command_need_not_wait_for_the_end_of_the_connection(pg: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    config = of_shop(pg.database("guard"))
    async with AsyncExitStack() as stack:

        async def kept(*given: Any) -> Connection:
            connection = await connect(*given)
            stack.push_async_callback(connection.close)
            monkeypatch.setattr(connection, "close", partial(asyncio.sleep, 0))
            return connection

        monkeypatch.setattr(bulk_lock, "connect", kept)
        async with sole_snapshot(config):
            pass
        with pytest.raises(LookupError):
            async with sole_snapshot(config):
                raise LookupError
        async with sole_snapshot(config):
            pass
