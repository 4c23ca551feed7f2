"""What a publication publishes, compared with the server's view, and that a fitting publication is not changed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from connector.catalog.selection import TableName
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection
from connector.io.postgres.publication_setup import ensure_publication, publication_state
from tests.fix_pg import Database, PgServer

TABLES = (
    "CREATE TABLE one (id int PRIMARY KEY)",
    "CREATE TABLE two (id int PRIMARY KEY)",
    "CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY)",
    "CREATE VIEW looked AS SELECT * FROM one",
    "CREATE TABLE root (id int PRIMARY KEY) PARTITION BY RANGE (id)",
    "CREATE TABLE low PARTITION OF root FOR VALUES FROM (0) TO (9)",
    "CREATE TABLE middle PARTITION OF root FOR VALUES FROM (10) TO (19) PARTITION BY RANGE (id)",
    "CREATE TABLE inner_leaf PARTITION OF middle FOR VALUES FROM (10) TO (15)",
    "CREATE SCHEMA other",
    "CREATE TABLE other.outside PARTITION OF root FOR VALUES FROM (20) TO (29)",
)
LISTED = ["FOR TABLE one", "FOR TABLE one, low", "", "FOR ALL TABLES"]
OF_ROOTS = ["FOR TABLE root", "FOR TABLE middle, two", "FOR TABLE root, inner_leaf"]
OF_SCHEMAS = [
    "FOR TABLES IN SCHEMA public",
    "FOR TABLES IN SCHEMA other",
    "FOR TABLES IN SCHEMA public, other",
    "FOR TABLES IN SCHEMA other, TABLE root",
]
VIA_ROOT = " WITH (publish_via_partition_root = true)"


@asynccontextmanager
async def connected(database: Database, role: str | None = None) -> AsyncIterator[Connection]:
    connection = await psycopg.AsyncConnection.connect(database.dsn, autocommit=True)
    async with connection:
        if role:
            await connection.execute(f'SET SESSION AUTHORIZATION "{role}"'.encode())
        yield connection


def shown(database: Database) -> set[TableName]:
    rows = database.execute("SELECT schemaname::text, tablename::text FROM pg_publication_tables WHERE pubname = 'p'")
    return {(str(schema), str(table)) for schema, table in rows}


async def assert_state_is_the_servers(pg: PgServer, publications: list[str]) -> None:
    database = pg.database("publication")
    database.execute(*TABLES)
    async with connected(database) as connection:
        for publication in publications:
            database.execute(f"CREATE PUBLICATION p {publication}")
            state = await publication_state(connection, "p")
            assert state is not None
            assert state.all_tables is ("ALL TABLES" in publication)
            assert state.published == (frozenset() if state.all_tables else shown(database)), publication
            database.execute("DROP PUBLICATION p")
        assert await publication_state(connection, "p") is None


async def test_listed_tables(pg: PgServer) -> None:
    await assert_state_is_the_servers(pg, LISTED)


@pytest.mark.pg(">= 13")
async def test_partitioned_tables(pg: PgServer) -> None:
    await assert_state_is_the_servers(pg, [publication + option for publication in OF_ROOTS for option in ("", VIA_ROOT)])


@pytest.mark.pg(">= 15")
async def test_schemas(pg: PgServer) -> None:
    await assert_state_is_the_servers(pg, [publication + option for publication in OF_SCHEMAS for option in ("", VIA_ROOT)])


async def ensure(connection: Connection, *captured: str, standby: bool = False) -> None:
    tables = [("public", table) for table in captured]
    await ensure_publication(connection, "p", "filtered", tables, via_root=False, skipped=None, timeout_s=30, standby=standby)


@pytest.mark.pg(">= 15")
@pytest.mark.pg_once
@pytest.mark.parametrize(
    ("publication", "captured"),
    [
        ("FOR TABLES IN SCHEMA public", ["one", "two"]),
        ("FOR TABLES IN SCHEMA public", ["one", "two", "root", "low"]),
        ("FOR TABLE root", ["low"]),
        ("FOR TABLE root", ["root"]),
    ],
)
async def test_a_fitting_publication_of_somebody_else_is_left_alone(pg: PgServer, publication: str, captured: list[str]) -> None:
    database = pg.database("publication")
    database.execute(*TABLES[:2])
    if "root" in publication or "root" in captured:
        database.execute(*TABLES[4:6])
    database.execute(f'CREATE ROLE "{database.name}_role"', f"CREATE PUBLICATION p {publication}")
    async with connected(database, f"{database.name}_role") as connection:
        await ensure(connection, *captured)
        # It would have to change the publication, which belongs to somebody else.
        with pytest.raises(CdcError) as refused:
            await ensure(connection, captured[0], "missing")
    assert refused.value.kind is ErrorKind.SOURCE_PERMISSION


@pytest.mark.pg(">= 15")
@pytest.mark.pg_once
async def test_schemas_that_a_publication_loses_are_named(pg: PgServer, caplog: pytest.LogCaptureFixture) -> None:
    database = pg.database("publication")
    database.execute(*TABLES[:2], "CREATE PUBLICATION p FOR TABLES IN SCHEMA public")
    async with connected(database) as connection:
        await ensure(connection, "one")
    assert shown(database) == {("public", "one")}
    [warning] = [record.__dict__["fields"] for record in caplog.records if record.levelno == logging.WARNING]
    assert "(public)" in warning["reason"]


@pytest.mark.pg_once
async def test_a_publication_stays_as_it_is_if_no_table_is_captured(pg: PgServer, caplog: pytest.LogCaptureFixture) -> None:
    database = pg.database("publication")
    database.execute(*TABLES[:2], "CREATE PUBLICATION p FOR TABLE one")
    async with connected(database) as connection:
        await ensure(connection)
    assert shown(database) == {("public", "one")}
    [warning] = [record.__dict__["fields"] for record in caplog.records if record.levelno == logging.WARNING]
    assert "No table filters found for filtered publication p" in warning["reason"]


@pytest.mark.pg_once
async def test_a_standby_changes_no_publication(pg: PgServer, caplog: pytest.LogCaptureFixture) -> None:
    database = pg.database("publication")
    database.execute(*TABLES[:2])
    async with connected(database) as connection:
        await connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(CdcError, match=r"Publication p does not exist, and the server is a standby"):
            await ensure(connection, "one", standby=True)
        database.execute("CREATE PUBLICATION p FOR TABLE one, two")
        await ensure(connection, "one", standby=True)
        assert caplog.records == []
        database.execute("ALTER PUBLICATION p DROP TABLE two")
        await ensure(connection, "one", "two", standby=True)
    [warning] = [record.__dict__["fields"] for record in caplog.records]
    assert 'Run ALTER PUBLICATION "p" ADD TABLE "public"."two"; on the primary' in warning["reason"]


@pytest.mark.pg_once
async def test_a_primary_that_refuses_to_write_is_not_called_a_standby(pg: PgServer) -> None:
    database = pg.database("publication")
    database.execute(*TABLES[:2], "CREATE PUBLICATION p FOR TABLE one, two")
    async with connected(database) as connection:
        await connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(CdcError, match="cannot execute ALTER PUBLICATION in a read-only transaction"):
            await ensure(connection, "one")
