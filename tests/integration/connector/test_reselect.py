"""Rows read again on a real server: by which columns, with which values, and which failures are only reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.reselect import Reread
from connector.events.stream_source import NotReadError
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.connection import Connection
from connector.io.postgres.reselect import read_again
from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once

SEEN = 3
"""The first xid of a new server: every read sees it."""
RESELECT = {"post.processors": "r", "r.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor"}


@asynccontextmanager
async def connected(database: Database) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
        yield connection


async def read(connection: Connection, name: str, columns: list[str], key: dict[str, bytes]) -> list[bytes | None]:
    """Read ``columns`` again of the row of table public.``name`` that has the ``key``, as the catalog describes it now."""
    table = await pg_catalog.read_table(connection, "public", name)
    assert table is not None
    places = {column.name: at for at, column in enumerate(table.columns)}
    reread = Reread(table, tuple(places[column] for column in columns), tuple(key.items()), strict=False, rule="r")
    return await read_again(connection, reread, await pg_catalog.read_types(connection), SEEN)


async def test_values_come_as_the_stream_prints_them(pg: PgServer) -> None:
    database = pg.database("reread")
    database.execute(
        "CREATE DOMAIN few AS int; CREATE DOMAIN fewer AS few",
        'CREATE TABLE "T %s" ("I ""d" int PRIMARY KEY, b bool, c char(4), j jsonb, a text[], f fewer, n text)',
        """INSERT INTO "T %s" VALUES (1, true, 'x', '{"a":1}', '{a,"b c"}', 7, NULL)""",
    )
    async with connected(database) as connection:
        found = await read(connection, "T %s", ["n", "b", "c", "j", "a", "f"], {'I "d': b"1"})
    assert found == [None, b"t", b"x   ", b'{"a": 1}', b'{a,"b c"}', b"7"]


async def test_a_row_is_found_by_texts_of_any_type(pg: PgServer) -> None:
    database = pg.database("reread")
    database.execute(
        "CREATE TYPE word AS ENUM ('one', 'two')",
        "CREATE TABLE k (d date, t timestamp, b bytea, i interval, a int[], w word, f float8, c char(4), v text)",
        "ALTER TABLE k ADD PRIMARY KEY (d, t, b, i, a, w, f, c)",
        r"INSERT INTO k VALUES ('2024-02-29', '2024-02-29 12:34:56.789', '\xdead', '1 day', '{1,2}', 'two', 0.1, '''%s', 'found')",
    )
    values = (b"2024-02-29", b"2024-02-29 12:34:56.789", b"\\xdead", b"1 day", b"{1,2}", b"two", b"0.1", b"'%s ")
    async with connected(database) as connection:
        assert await read(connection, "k", ["v"], dict(zip("dtbiawfc", values, strict=True))) == [b"found"]


async def test_unreadable_values_are_reported_without_the_values(pg: PgServer) -> None:
    database = pg.database("reread")
    database.execute("CREATE TABLE k (id int PRIMARY KEY, v int)", "INSERT INTO k VALUES (1, 5)")
    async with connected(database) as connection:
        table = await pg_catalog.read_table(connection, "public", "k")
        types = await pg_catalog.read_types(connection)
        assert table is not None

        async def reported(key: bytes | None) -> str:
            named = () if key is None else (("id", key),)
            with pytest.raises(NotReadError) as caught:
                await read_again(connection, Reread(table, (1,), named, strict=False, rule="r"), types, SEEN)
            return str(caught.value)

        assert await reported(None) == "it has no key to be found by"
        assert await reported(b"2") == "it is gone"
        assert await reported(b"secret") == "SQLSTATE 22P02"
        database.execute("ALTER TABLE k ALTER v TYPE text")
        assert await reported(b"1") == "column v has another type by now"
        database.execute("ALTER TABLE k DROP v")
        assert "column" in await reported(b"1")
        await connection.close()
        with pytest.raises(CdcError) as caught:
            await read_again(connection, Reread(table, (1,), (("id", b"1"),), strict=False, rule="r"), types, SEEN)
    assert caught.value.kind in (ErrorKind.SOURCE_UNREACHABLE, ErrorKind.SOURCE_CONNECTION_LOST)


async def test_a_number_is_not_read_with_another_scale(pg: PgServer) -> None:
    database = pg.database("reread")
    database.execute("CREATE TABLE k (id int PRIMARY KEY, v numeric(10,2), w varchar(5))", "INSERT INTO k VALUES (1, 5, 'x')")
    async with connected(database) as connection:
        table = await pg_catalog.read_table(connection, "public", "k")
        types = await pg_catalog.read_types(connection)
        assert table is not None
        reread = Reread(table, (1, 2), (("id", b"1"),), strict=False, rule="r")
        database.execute("ALTER TABLE k ALTER v TYPE numeric(12,2), ALTER w TYPE varchar(9)")
        assert await read_again(connection, reread, types, SEEN) == [b"5.00", b"x"]
        database.execute("ALTER TABLE k ALTER v TYPE numeric(12,4)")
        with pytest.raises(NotReadError, match="column v has another type by now"):
            await read_again(connection, reread, types, SEEN)


async def test_a_row_is_read_once_the_transaction_can_be_seen(pg: PgServer) -> None:
    database = pg.database("reread")
    database.execute("CREATE TABLE k (id int PRIMARY KEY, v text)", "INSERT INTO k VALUES (1, 'before')")
    async with connected(database) as writer, connected(database) as connection:
        async with writer.transaction():
            await writer.execute("UPDATE k SET v = 'after'; INSERT INTO k VALUES (2, 'new')")
            [[xid]] = await (await writer.execute("SELECT (txid_current() % 4294967296)::bigint")).fetchall()
            table = await pg_catalog.read_table(connection, "public", "k")
            assert table is not None
            types = await pg_catalog.read_types(connection)
            reads = [
                asyncio.ensure_future(read_again(connection, Reread(table, (1,), (("id", key),), strict=False, rule="r"), types, xid))
                for key in (b"1", b"2")
            ]
            # Both have read the table, and found the row as it was before, or none, when this third read has its answer.
            assert await read(connection, "k", ["v"], {"id": b"1"}) == [b"before"]
            assert not any(task.done() for task in reads)
        assert await asyncio.gather(*reads) == [[b"after"], [b"new"]]


def rows(events: list[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """Operation and new row of each event; tombstones left out."""
    return [(value["op"], value["after"]) for _, value in events if value is not None]


async def test_events_that_the_reference_fails_on_or_shows_unmasked(pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("reselect")
    database.execute('CREATE TABLE "Visits" ("Day" date PRIMARY KEY, "Secret" text, "At" time, "Note-1" text)')
    connector = Connector(shared_worker, database, f"{database.name}_odd")
    connector.create(
        {
            **RESELECT,
            "column.exclude.list": "public.Visits.Day",
            "column.mask.hash.v2.SHA-256.with.salt.s": "public.Visits.Secret",
            "field.name.adjustment.mode": "avro",
        }
    )
    with psycopg.connect(database.dsn) as connection:
        connection.execute("""INSERT INTO "Visits" VALUES ('2024-02-29')""")
        connection.execute("""UPDATE "Visits" SET "Secret" = 'plain', "At" = '12:34:56.789012', "Note-1" = 'n'""")
    connector.await_confirmed(connector.lsn())
    created, updated = (after for _, after in rows(await connector.events("public.Visits")))
    assert created == updated
    assert (created["At"], created["Note_1"], len(created["Secret"])) == (45_296_789_012, "n", 64)


async def test_a_failed_event_comes_when_it_is_allowed_to(pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("reselect")
    database.execute("CREATE TABLE r (id int PRIMARY KEY, v text)")
    connector = Connector(shared_worker, database, f"{database.name}_fail")
    connector.create({**RESELECT, "r.reselect.error.handling.mode": "fail"})
    database.execute("INSERT INTO r VALUES (1, 'v')")
    with psycopg.connect(database.dsn) as connection:
        connection.execute("INSERT INTO r VALUES (2, NULL), (3, 'w')")
        connection.execute("DELETE FROM r WHERE id = 2")
    assert "public.r cannot be read again: it is gone" in connector.trace()
    shared_worker.rest("PUT", f"/connectors/{connector.name}/config", connector.config(RESELECT))
    connector.await_confirmed(connector.lsn())
    assert rows(await connector.events("public.r"))[-4:] == [
        ("c", {"id": 1, "v": "v"}),
        ("c", {"id": 2, "v": None}),
        ("c", {"id": 3, "v": "w"}),
        ("d", None),
    ]
