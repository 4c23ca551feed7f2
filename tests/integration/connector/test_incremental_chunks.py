"""Chunks on a real server: every row once and in order, whatever orders the table; and what a chunk knows of others' transactions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector.errors import CdcError
from connector.incremental.chunk_query import ChunkOrder, OrderColumn, chunk_order, chunk_statement
from connector.incremental.chunk_reader import ChunkRows, TableChangedError
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.incremental import chunk_lines
from connector.io.postgres.incremental import chunks as pg_chunks
from tests.fix_pg import Database, PgServer
from tests.support.chunk_walk import connected, table_of, walk
from workers.quickstart.embedded.wait import wait_until

COLUMNS = {
    "i": ("int", ["-2147483648", "-1", "0", "7", "2147483647"]),
    "t": ("text", ["", " ", "a", "A", "ä", "b'c", 'q"', "tab\there", "\\N", "\\", "line\nbreak", "é", "z"]),
    "c": ("char(3)", ["a", "a b", "", "é"]),
    "n": ("numeric", ["NaN", "1.0", "1.00", "-5", "100000000000000000000.5", "0.0001"]),
    "f": ("double precision", ["NaN", "Infinity", "-Infinity", "0.1", "-0.0", "5e-324"]),
    "e": ("mood", ["sad", "ok", "happy"]),
    "u": ("uuid", ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    "b": ("bytea", ["\\x", "\\x00", "\\x5c5c", "\\xff"]),
    "d": ("date", ["4713-01-01 BC", "-infinity", "infinity", "2024-02-29"]),
    "s": ("timestamptz", ["infinity", "2024-02-29 12:00:00.000001+03", "0044-03-15 00:00:00+00 BC"]),
    "v": ("interval", ["1 mon", "30 days", "-1 day 2:03:04.5", "0"]),
    "g": ("bit(3)", ["101", "000", "111"]),
    "m": ("small", ["1", "2", "3"]),
    "x": ("bool", ["t", "f"]),
}
ALL = list(COLUMNS)
DDL = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE DOMAIN small AS smallint CHECK (value > 0)",
    f"CREATE TABLE many (row int NOT NULL, {', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())})",
)


@pytest.mark.parametrize("divided", [False, True])
async def test_every_row_comes_once_and_in_order_for_any_key(pg: PgServer, divided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    database = pg.database("chunks")
    database.execute(*DDL)
    if divided:
        # As soon as ties make a chunk larger than wanted.
        monkeypatch.setattr(chunk_lines, "_MOST_FACTOR", 1)
        database.execute("ALTER TABLE many ADD PRIMARY KEY (row)")
    async with connected(database) as connection:
        types = await pg_catalog.read_types(connection)
        table = await table_of(connection)
        loop = asyncio.get_running_loop()

        async def check(names: Sequence[str], rows: Sequence[Sequence[str | None]], size: int, condition: str | None) -> None:
            async with connection.transaction(force_rollback=False):
                await connection.execute("TRUNCATE many")
                for number, row in enumerate(rows):
                    marks = ", ".join(["%s"] * (len(names) + 1))
                    columns = ", ".join(names)
                    await connection.execute(f"INSERT INTO many (row, {columns}) VALUES ({marks})".encode(), [number, *row])
            order = chunk_order(table, names, types)
            assert not order.unique
            by = ", ".join(names)
            where = f" WHERE {condition}" if condition else ""
            cursor = await connection.execute(
                f"SELECT row::text, dense_rank() OVER (ORDER BY {by}) FROM many{where} ORDER BY {by}".encode()
            )
            rank = {str(row): int(place) for row, place in await cursor.fetchall()}
            chunks = await walk(connection, table, order, size, condition)
            came = [row for chunk in chunks for row in chunk]
            assert sorted(came) == sorted(rank)
            assert [rank[row] for row in came] == sorted(rank.values())
            # Without a primary key, rows that tie are never parted, and a chunk is no larger than that makes it.
            for chunk in chunks:
                assert not divided or len(chunk) <= size
                assert len([row for row in chunk if rank[row] != rank[chunk[-1]]]) < size

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(data=st.data(), names=st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True), size=st.integers(1, 9))
        def walks(data: st.DataObject, names: list[str], size: int) -> None:
            row = st.tuples(*(st.one_of(st.none(), st.sampled_from(COLUMNS[name][1])) for name in names))
            rows = data.draw(st.lists(row, max_size=25))
            condition = data.draw(st.sampled_from([None, "(row % 3 <> 0)"]))
            asyncio.run_coroutine_threadsafe(check(names, rows, size, condition), loop).result(60)

        await asyncio.to_thread(walks)


@pytest.mark.parametrize("key", ['t COLLATE "C", i', "e, n", "f", "b, s", "v", "g, d", "c, u"])
async def test_a_unique_key_is_cut_exactly(pg: PgServer, key: str) -> None:
    database = pg.database("keys")
    database.execute(*DDL)
    columns = [part.split()[0] for part in key.split(", ")]
    if "COLLATE" in key:
        database.execute('ALTER TABLE many ALTER t TYPE text COLLATE "C"')
    values = " CROSS JOIN ".join(
        f"unnest(%s::{COLUMNS[name][0] if COLUMNS[name][0] != 'text' else 'text'}[]) AS of_{name}({name})" for name in columns
    )
    with psycopg.connect(database.dsn, autocommit=True) as plain:
        names = ", ".join(columns)
        lists = [COLUMNS[name][1] for name in columns]
        # Values that are equal though they look different (1.0 and 1.00; a month and 30 days) are one key.
        plain.execute(f"INSERT INTO many (row, {names}) SELECT DISTINCT ON ({names}) 0, {names} FROM {values}".encode(), lists)
        plain.execute(
            b"UPDATE many SET row = numbered.n FROM (SELECT ctid AS at, row_number() OVER () AS n FROM many) numbered WHERE ctid = at"
        )
        plain.execute(f"ALTER TABLE many ADD PRIMARY KEY ({names})".encode())
    async with connected(database) as connection:
        table = await table_of(connection)
        order = chunk_order(table, columns, await pg_catalog.read_types(connection))
        assert order.unique
        wanted = [str(row) for (row,) in database.execute(f"SELECT row FROM many ORDER BY {names}")]
        for size in (1, 2, 3, 100):
            chunks = await walk(connection, table, order, size)
            assert [row for chunk in chunks for row in chunk] == wanted
            assert all(len(chunk) == size for chunk in chunks[:-1])


async def test_a_surrogate_that_ties_loses_no_row(pg: PgServer) -> None:
    database = pg.database("ties")
    choice = random.Random(7)
    database.execute("CREATE TABLE tied (id int PRIMARY KEY, v int)")
    with psycopg.connect(database.dsn, autocommit=True) as plain:
        for number in range(200):
            plain.execute("INSERT INTO tied VALUES (%s, %s)", (number, choice.choice([None, 1, 1, 1, 2, number])))
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        order = chunk_order(table, ["v"], await pg_catalog.read_types(connection))
        for size in (1, 7, 50, 500):
            came = [row for chunk in await walk(connection, table, order, size) for row in chunk]
            assert sorted(map(int, came)) == list(range(200))


@pytest.mark.parametrize(
    ("statements", "key"),
    [
        (("CREATE TABLE tied (row int, v int NOT NULL)", "CREATE UNIQUE INDEX ON tied (v) WHERE row = 0"), ("v",)),
        (
            (
                "CREATE TABLE tied (row int, v int PRIMARY KEY)",
                *(f"CREATE TABLE tied_{child} () INHERITS (tied)" for child in range(3)),
                *(f"INSERT INTO tied_{child} SELECT 1000 * ({child} + 1) + i, i FROM generate_series(1, 20) i" for child in range(3)),
            ),
            ("v",),
        ),
    ],
    ids=["partial index", "inheritance"],
)
async def test_a_key_that_rows_may_repeat_loses_no_row(pg: PgServer, statements: tuple[str, ...], key: tuple[str, ...]) -> None:
    database = pg.database("repeated")
    database.execute(*statements)
    if "PRIMARY" not in statements[0]:
        database.execute("INSERT INTO tied SELECT i, i / 7 FROM generate_series(1, 100) i")
    wanted = sorted(int(str(row)) for (row,) in database.execute("SELECT row FROM tied"))
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        assert (table.primary_key or table.unique_key) == key
        order = chunk_order(table, key, await pg_catalog.read_types(connection))
        for size in (1, 5, 50):
            came = [int(row) for chunk in await walk(connection, table, order, size) for row in chunk]
            assert sorted(came) == wanted


@pytest.mark.parametrize(
    "change", ["DROP INDEX v_of_tied; CREATE UNIQUE INDEX v_of_tied ON tied (v) WHERE row = 0", "CREATE TABLE child () INHERITS (tied)"]
)
async def test_a_key_that_rows_may_repeat_from_now_on_changes_the_shape(pg: PgServer, change: str) -> None:
    database = pg.database("reshaped")
    database.execute("CREATE TABLE tied (row int, v int NOT NULL)", "CREATE UNIQUE INDEX v_of_tied ON tied (v)")
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        before = await pg_chunks.shape(connection, table)
        database.execute(*change.split("; "))
        assert await pg_chunks.shape(connection, table) not in (before, None)


@pytest.mark.parametrize("nulls", [False, True])
async def test_very_many_ties_are_divided_by_the_primary_key(pg: PgServer, nulls: bool) -> None:
    database = pg.database("many_ties")
    database.execute(
        'CREATE TABLE tied (id int, v int, w text COLLATE "C", PRIMARY KEY (w, id))',
        f"INSERT INTO tied SELECT i, {'NULL' if nulls else '5'}, 'w' || i % 3 FROM generate_series(1, 300) i",
        "INSERT INTO tied SELECT i, i / 2, 'w' FROM generate_series(1, 20) i",
    )
    wanted = [str(row) for (row,) in database.execute("SELECT id FROM tied ORDER BY v, w, id")]
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        order = chunk_order(table, ["v"], await pg_catalog.read_types(connection))
        chunks = await walk(connection, table, order, 10)
        assert sorted(row for chunk in chunks for row in chunk) == sorted(wanted)
        assert max(map(len, chunks)) < 20
        few = [row for chunk in await walk(connection, table, order, 10, "(w = 'w1')") for row in chunk]
        assert len(few) == len(set(few)) == 100


async def test_ties_that_cannot_be_divided_nor_held_are_refused(pg: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_lines, "MOST_TIED_BYTES", 2000)
    database = pg.database("no_key")
    database.execute("CREATE TABLE tied (id int, v int)", "INSERT INTO tied SELECT i, i / 1000 FROM generate_series(1, 1500) i")
    async with connected(database) as connection:
        table = await table_of(connection, "public.tied")
        order = chunk_order(table, ["v"], await pg_catalog.read_types(connection))
        with pytest.raises(CdcError, match=r"Too many rows of public\.tied have equal values in v .* primary key"):
            await walk(connection, table, order, 10)
        # The connection still serves.
        assert len(await walk(connection, table, order, 10, "(id > 1490)")) == 1


async def test_an_index_serves_a_chunk(pg: PgServer) -> None:
    database = pg.database("plans")
    database.execute(
        "CREATE TABLE large (a int, b text, PRIMARY KEY (a, b))",
        "INSERT INTO large SELECT i / 10, i::text FROM generate_series(1, 20000) i",
        "ANALYZE large",
    )
    async with connected(database) as connection:
        table = await table_of(connection, "public.large")
        order = chunk_order(table, ["a", "b"], await pg_catalog.read_types(connection))
        statement = chunk_statement(table, ["a", "b"], order, after=("900", "9005"), upto=("2000", "20000"), condition=None, rows=100)
        plan = "\n".join(str(row) for (row,) in database.execute(f"EXPLAIN {statement}"))
    assert "Index" in plan
    assert "Sort" not in plan


@asynccontextmanager
async def held(database: Database, *statements: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
    """Another session is in a transaction with ``statements`` done, until the test commits it."""
    other = await psycopg.AsyncConnection.connect(database.dsn)
    try:
        for statement in statements:
            await other.execute(statement.encode())
        yield other
    finally:
        await other.close()


def waiting(database: Database) -> bool:
    return bool(database.execute("SELECT 1 FROM pg_locks WHERE NOT granted"))


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE large ALTER a TYPE bigint",
        "ALTER TABLE large DROP COLUMN b CASCADE",
        "ALTER TABLE large ADD c int",
        "ALTER TABLE large DROP CONSTRAINT large_pkey, ADD PRIMARY KEY (a)",
        "DROP TABLE large",
    ],
)
async def test_a_table_altered_during_a_chunk_does_not_end_the_snapshot(pg: PgServer, change: str) -> None:
    database = pg.database("altered")
    database.execute(
        "CREATE TABLE large (a int, b text, PRIMARY KEY (a, b))", "INSERT INTO large SELECT i, 'x' FROM generate_series(1, 20) i"
    )
    async with connected(database) as connection:
        table = await table_of(connection, "public.large")
        known = await pg_chunks.shape(connection, table)
        order = ChunkOrder((OrderColumn("a", '"pg_catalog"."int4"'),), unique=True)

        async def read() -> ChunkRows:
            return await pg_chunks.read_chunk(
                connection, table, known, ["a", "b"], order, after=None, upto=("20",), condition=None, rows=10
            )

        async with held(database, change) as other:
            reading = asyncio.create_task(read())
            try:
                await asyncio.to_thread(wait_until, lambda: waiting(database), lambda: "the chunk to wait for the lock", 30.0)
            finally:
                await other.commit()
            with pytest.raises(TableChangedError):
                await reading


async def test_a_chunk_knows_of_a_commit_that_it_could_not_see(pg: PgServer) -> None:
    if pg.embedded is None:
        pytest.skip("synchronous_standby_names must not be changed on a server of somebody else's")
    database = pg.database("lag")
    database.execute("CREATE TABLE large (a int PRIMARY KEY, b text)", "INSERT INTO large VALUES (1, 'old')")
    table_facts = "SELECT pg_reload_conf()"
    async with connected(database) as connection:
        table = await table_of(connection, "public.large")
        known = await pg_chunks.shape(connection, table)
        order = ChunkOrder((OrderColumn("a", '"pg_catalog"."int4"'),), unique=True)
        database.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", table_facts)
        try:
            async with held(database, "SET synchronous_commit = on", "UPDATE large SET b = 'new'", "SELECT pg_current_xact_id()") as other:
                [(pid,)] = database.execute(
                    "SELECT pid FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()"
                )
                [(xid,)] = database.execute(f"SELECT backend_xid::text::bigint FROM pg_stat_activity WHERE pid = {pid}")
                committing = asyncio.create_task(other.commit())
                blocked = f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'SyncRep'"
                await asyncio.to_thread(
                    wait_until, lambda: bool(database.execute(blocked)), lambda: "the commit to wait for its standby", 30.0
                )

                async def read() -> ChunkRows:
                    return await pg_chunks.read_chunk(
                        connection, table, known, ["a", "b"], order, after=None, upto=("9",), condition=None, rows=10
                    )

                # Nothing newer has ended: the list of open transactions in the snapshot does not hold it.
                before = await read()
                assert before.lines == [b"1\told\n"]
                assert before.visible.hides_any([int(str(xid))])
                database.execute(f"SELECT pg_cancel_backend({pid})")
                await committing
                behind = await read()
                assert behind.lines == [b"1\tnew\n"]
                assert not behind.visible.hides_any([int(str(xid))])
        finally:
            database.execute("ALTER SYSTEM RESET synchronous_standby_names", table_facts)
