"""SQL and names of users on a real server: a condition stays a condition, a SELECT stays a SELECT, and every name is a name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from connector.catalog.identifiers import quote_identifier
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError
from connector.events.reselect import Reread
from connector.incremental.chunk_query import ChunkOrder, chunk_order
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.copy import copy_rows
from connector.io.postgres.incremental import chunks as pg_chunks
from connector.io.postgres.incremental.watermarks import Watermarks
from connector.io.postgres.publication_setup import ensure_publication
from connector.io.postgres.replication_connection import Replication
from connector.io.postgres.reselect import read_again
from connector.io.postgres.signal_source import PostgresSignalSource
from connector.io.postgres.statement import run_alone
from connector.wire.output_plugin import start_options
from tests.fix_pg import Database, PgServer
from tests.support.stream_rig import configured
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


def config_of(database: Database) -> ConnectorConfig:
    return configured(
        database_hostname=database.host, database_port=str(database.port), database_user=database.user, database_dbname=database.name
    )


@asynccontextmanager
async def connected(database: Database, *, replication: bool = False) -> AsyncIterator[Connection]:
    connection = await connect(config_of(database), "test", replication=replication)
    try:
        yield connection
    finally:
        await connection.close()


async def maximum_of(connection: Connection, condition: str) -> object:
    table, order = await ordered(connection)
    return await pg_chunks.maximum(connection, table, order, condition)


async def chunk_of(connection: Connection, condition: str) -> list[bytes]:
    table, order = await ordered(connection)
    known = await pg_chunks.shape(connection, table)
    read = await pg_chunks.read_chunk(connection, table, known, ["id"], order, after=None, upto=("9",), condition=condition, rows=10)
    return read.lines


async def ordered(connection: Connection) -> tuple[CatalogTable, ChunkOrder]:
    table = await pg_chunks.find_table(connection, "public.a")
    assert table is not None
    return table, chunk_order(table, ["id"], await pg_catalog.read_types(connection))


TABLE = ("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1), (2), (3)", "CREATE SEQUENCE numbers")


@pytest.mark.parametrize(
    ("condition", "reported"),
    [
        ("true; CREATE TABLE stacked AS SELECT 1", "cannot insert multiple commands"),
        ("true; COMMIT; CREATE TABLE stacked AS SELECT 1", "cannot insert multiple commands"),
        ("true)); CREATE TABLE stacked (i int); --", "syntax error"),
        ("true) OR (true", "syntax error"),
        ("true) UNION SELECT 9 WHERE (true", "syntax error"),
        ("true UNION SELECT", "syntax error"),
        ("nextval('numbers') > 0", "read-only transaction"),
        ("1 / (id - 3) < 9", "division by zero"),
        ("id > 0\0", "NUL character"),
        ("id > 0 /* begun", "unterminated"),
        ("id > '\ud800'", "surrogate"),
    ],
)
async def test_a_condition_runs_no_second_statement_and_writes_nothing(pg: PgServer, condition: str, reported: str) -> None:
    database = pg.database("condition")
    database.execute(*TABLE)
    async with connected(database) as connection:
        for read in (maximum_of, chunk_of):
            with pytest.raises(CdcError, match=reported):
                await read(connection, condition)
        # The connection serves the next table.
        assert await chunk_of(connection, "id > 1 -- not the first") == [b"2\n", b"3\n"]
        assert await maximum_of(connection, "id < 3") == ("2",)
    assert database.execute("SELECT to_regclass('stacked') IS NULL, last_value, is_called FROM numbers") == [(True, 1, False)]


async def test_a_condition_cannot_end_the_copy_that_reads_a_chunk(pg: PgServer, tmp_path: Path) -> None:
    if pg.embedded is None:
        pytest.skip("the server's files are not to be seen")
    database = pg.database("program")
    database.execute(*TABLE)
    written = tmp_path / "written"
    async with connected(database) as connection:
        for ending in (
            f"true)) TO PROGRAM 'touch {written}' --",
            f"true)) TO '{written}' --",
            f"true) ) TO PROGRAM 'touch {written}' WITH (FORMAT text",
        ):
            with pytest.raises(CdcError, match="syntax error"):
                await chunk_of(connection, ending)
    assert not written.exists()


async def test_a_select_runs_no_second_statement(pg: PgServer) -> None:
    database = pg.database("selects")
    database.execute(*TABLE)
    async with connected(database) as connection:
        with pytest.raises(psycopg.Error, match="cannot insert multiple commands"):
            await run_alone(connection, "SELECT * FROM (SELECT 1) AS a; CREATE TABLE stacked (i int)")
        with pytest.raises(CdcError, match="cannot insert multiple commands"):
            async for _ in copy_rows(connection, "SELECT 1) TO STDOUT; CREATE TABLE stacked (i int); --", "reading", most=1):
                pass
        # What COPY meets in the middle of its rows leaves the connection in order too.
        with pytest.raises(CdcError, match="division by zero"):
            async for _ in copy_rows(connection, "SELECT 1 / (3 - i) FROM generate_series(1, 5) i", "reading", most=1):
                pass
        assert [row async for rows in copy_rows(connection, "SELECT 7", "reading", most=9) for row in rows] == [b"7\n"]
    assert database.execute("SELECT to_regclass('stacked') IS NULL") == [(True,)]


async def test_a_condition_that_takes_for_ever_ends_with_its_task(pg: PgServer) -> None:
    database = pg.database("endless")
    database.execute(*TABLE)
    sleeping = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    for read in (maximum_of, chunk_of):
        async with connected(database) as connection:
            reading = asyncio.create_task(read(connection, "pg_sleep(1000) IS NOT NULL"))
            await asyncio.to_thread(wait_until, lambda: bool(database.execute(sleeping)), lambda: "the condition to be asked", 30.0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        await asyncio.to_thread(wait_until, lambda: not database.execute(sleeping), lambda: "the server to end it", 30.0)


PUBLICATIONS = (
    "mypub",
    "MyPub",
    """We"ird,'pub""",
    "a,b",
    "with blank",
    " ",
    "ключ" * 7 + "клюx",
    "x" * 80,
    "select",
    '"',
    "%s {} $1",
    "back\\slash\nline\ttab",
    "🙂",
)


@pytest.mark.parametrize("name", PUBLICATIONS)
async def test_the_stream_finds_a_publication_with_any_name(pg: PgServer, name: str) -> None:
    database = pg.database("publication")
    database.execute(*TABLE)
    async with connected(database) as connection, connected(database, replication=True) as streaming:
        # Found the second time, not made again.
        for _ in range(2):
            await ensure_publication(
                connection, name, "filtered", [("public", "a")], via_root=False, skipped=None, timeout_s=30, standby=False
            )
        replication = Replication(streaming)
        slot = await replication.create_slot("user_sql", "pgoutput", temporary=True)
        database.execute("INSERT INTO a VALUES (4)")
        [options] = start_options("pgoutput", connection.info.server_version, name, {})
        await replication.start(slot.name, slot.consistent_point, options)
        kinds = b""
        async with asyncio.timeout(180):
            while b"I" not in kinds:
                kinds += b"".join(frame[25:26] for frame in await replication.frames(100, 100_000) if frame[:1] == b"w")
        await replication.close()


NAMES = (
    "%s",
    "%",
    "%(id)s",
    "{}",
    "{0}",
    "a.b",
    '"',
    "'",
    ";--",
    "$$",
    "\\",
    "\t",
    "\n",
    " ",
    "SELECT",
    "ключ" * 7 + "клюx",
    "🙂",
    "مرحبا",
    "$1",
)


@pytest.mark.parametrize("name", NAMES)
async def test_a_signal_table_can_have_any_name(pg: PgServer, name: str) -> None:
    database = pg.database("signals")
    schema = quote_identifier(name)
    table = f"{schema}.{schema}"
    database.execute(
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {table} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        f"CREATE PUBLICATION {schema} FOR TABLE {table}",
    )
    async with connected(database) as connection:
        for deletes in (False, True):
            marks = Watermarks(name, name, deletes=deletes, dated=True, retries=0, backoff_s=0)
            await PostgresSignalSource(connection, name).check_signal_table(name, name, deletes=deletes)
            await marks.open(connection, f"c{deletes}")
            await marks.close(connection, f"c{deletes}")
    assert [row for (row,) in database.execute(f"SELECT id FROM {table} ORDER BY id")] == ["cFalse-close", "cFalse-open"]


@pytest.mark.parametrize(("publish", "deletes", "lacks"), [("update, delete", False, "insert"), ("insert", True, "delete")])
async def test_watermarks_must_be_published(pg: PgServer, publish: str, deletes: bool, lacks: str) -> None:
    database = pg.database("signals")
    database.execute(
        "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        f"CREATE PUBLICATION pub FOR TABLE sig WITH (publish = '{publish}')",
    )
    async with connected(database) as connection:
        with pytest.raises(CdcError) as raised:
            await PostgresSignalSource(connection, "pub").check_signal_table("public", "sig", deletes=deletes)
        assert raised.value.message == f"Publication pub does not publish {lacks}: watermarks would never come back"
        await PostgresSignalSource(connection, None).check_signal_table("public", "sig", deletes=deletes)
        database.execute("ALTER PUBLICATION pub SET (publish = 'insert, delete')")
        await PostgresSignalSource(connection, "pub").check_signal_table("public", "sig", deletes=deletes)


@pytest.mark.parametrize("name", NAMES)
async def test_a_row_is_read_again_from_a_table_of_any_name(pg: PgServer, name: str) -> None:
    database = pg.database("reread")
    quoted = quote_identifier(name)
    database.execute(f"CREATE TABLE {quoted} ({quoted} text PRIMARY KEY)", f"INSERT INTO {quoted} VALUES ('%s')")
    async with connected(database) as connection:
        table = await pg_catalog.read_table(connection, "public", name)
        assert table is not None
        types = await pg_catalog.read_types(connection)
        reread = Reread(table, (0,), ((name, b"%s"),), strict=True, rule="r")
        assert await read_again(connection, reread, types, 3) == [b"%s"]
