"""How a source is read for ``verify``: in parts, all of one view, and again while it and its mirror are on the move."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.verify_rig import HELD, Rows, found, items_table, mirror_of, table_of
from workers.spark.compare.verdict import BOTH, SOURCE, Difference, Verdict, verdict_text
from workers.spark.compare.verify import verify
from workers.spark.failure import JobError
from workers.spark.source.jdbc import jdbc_access
from workers.spark.source.snapshot import FEW_PAGES, Leaf, all_small, exported_snapshot, ranges, read_texts
from workers.spark.tables.table import LSN, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.fix_pg import Database, PgServer

pytestmark = [pytest.mark.pg_once]

LARGE = 100_000


@pytest.fixture(scope="module")
def database(pg: PgServer) -> Database:
    return pg.database("verify")


@pytest.fixture(scope="module")
def items(database: Database) -> Table:
    return items_table(database)


@pytest.fixture(scope="module")
def large(database: Database) -> Table:
    database.execute(
        "create table large(id bigint, day date, v numeric(12,2), t text, primary key (id, day)) partition by range (day)",
        "create table large_a partition of large for values from (minvalue) to ('2021-01-01')",
        "create table large_b partition of large for values from ('2021-01-01') to ('2022-01-01')",
        "create table large_c partition of large for values from ('2022-01-01') to (maxvalue)",
        f"insert into large select n, date '2020-06-01' + n % 500, n / 4.0, repeat('t', n % 50) from generate_series(1, {LARGE}) n",
    )
    return table_of(database, "large")


def large_mirror(spark: SparkSession) -> DataFrame:
    return spark.range(1, LARGE + 1, 1, 3).select(
        "id",
        F.date_add(F.lit("2020-06-01").cast("date"), (F.col("id") % 500).cast("int")).alias("day"),
        (F.col("id") / F.lit(4)).cast("decimal(12,2)").alias("v"),
        F.repeat(F.lit("t"), (F.col("id") % 50).cast("int")).alias("t"),
        F.lit(1).cast("bigint").alias(LSN),
    )


def test_tables_are_small_if_their_leaves_have_few_pages(database: Database, items: Table) -> None:
    database.execute(
        "create table paged(id int, t text) partition by list (id)",
        *(f"create table paged_{at} partition of paged for values in ({at})" for at in range(2)),
        *(f"alter table paged_{at} alter t set storage plain" for at in range(2)),
        # A row fills a page.
        f"insert into paged select n % 2, repeat('x', 5000) from generate_series(1, {FEW_PAGES}) n",
    )
    named = [(items.schema, items.name), ("public", "paged")]
    assert all_small(database.dsn, named)
    database.execute("insert into paged values (0, repeat('x', 5000))")
    assert not all_small(database.dsn, named)
    assert all_small(database.dsn, named[:1])
    # Nobody knows how large a table is that cannot be read in ranges of pages.
    assert not all_small(database.dsn, [("public", "absent")])


@pytest.mark.long
def test_hundred_thousand_rows_in_partitions(spark: SparkSession, database: Database, large: Table) -> None:
    with exported_snapshot(database.dsn, ("public", "large")) as view:
        assert [leaf.name[1] for leaf in view.leaves] == ["large_a", "large_b", "large_c"]
        assert read_texts(spark, view, large.columns, 6).rdd.getNumPartitions() >= 6
    assert found(spark, database, large, large_mirror(spark), partitions=6).equal
    changed = (
        large_mirror(spark)
        .where("id <> 77777")
        .withColumn("v", F.when(F.col("id").isin(5, 99_999), F.col("v") + F.lit("0.01").cast("decimal(3,2)")).otherwise(F.col("v")))
    )
    verdict = found(spark, database, large, changed.withColumn("v", F.col("v").cast("decimal(12,2)")), partitions=6)
    assert (verdict.source, verdict.mirror, verdict.same) == (LARGE, LARGE - 1, LARGE - 3)
    assert [(key.cells[0], key.where, key.columns) for key in verdict.keys] == [
        ("5", BOTH, ("v",)),
        ("77777", SOURCE, ()),
        ("99999", BOTH, ("v",)),
    ]


@pytest.mark.long
def test_each_row_is_in_one_range_for_any_number_of_pages(spark: SparkSession, database: Database, large: Table) -> None:
    with exported_snapshot(database.dsn, ("public", "large")) as view:
        for leaves in (view.leaves, [replace(leaf, pages=3) for leaf in view.leaves], [replace(leaf, pages=10**4) for leaf in view.leaves]):
            texts = read_texts(spark, replace(view, leaves=leaves), large.columns[:1], 5)
            assert texts.select(F.count("*"), F.count_distinct("c0")).collect()[0][:] == (LARGE, LARGE)


def test_ranges_reads_pages_and_no_more(database: Database, large: Table) -> None:
    """A range is read by a scan of its pages; of the leaves only its own is read."""
    with exported_snapshot(database.dsn, ("public", "large")) as view:
        condition = ranges(view.leaves, 10)[1]
        query = f"""select c0 from (select 0 as "#leaf", ctid as "#ctid", id as c0 from only large_a
            union all select 1, ctid, id from only large_b) t where {condition}"""
        plan = "\n".join(str(row[0]) for row in view.connection.execute(f"explain (costs off) {query}".encode()))
    assert "Tid Range Scan on large_a" in plan
    assert "large_b" not in plan


def test_range_conditions() -> None:
    heap, other = Leaf(("s", "a"), heap=True, pages=5), Leaf(("s", "b"), heap=False, pages=9)
    assert ranges([heap, other, replace(heap, pages=0)], 2) == [
        '"#leaf" = 0 and "#ctid" < \'(2,0)\'::tid',
        '"#leaf" = 0 and "#ctid" >= \'(2,0)\'::tid and "#ctid" < \'(4,0)\'::tid',
        '"#leaf" = 0 and "#ctid" >= \'(4,0)\'::tid',
        '"#leaf" = 1',
        '"#leaf" = 2',
    ]


@pytest.fixture
def accounts(database: Database) -> Table:
    """Whatever is moved between accounts, their sum is zero in every view of one moment."""
    database.execute(
        "drop table if exists accounts",
        "create table accounts(id int primary key, amount bigint, fill text)",
        "insert into accounts select n, 0, repeat('x', 900) from generate_series(1, 2000) n",
    )
    return table_of(database, "accounts")


def test_all_readers_see_one_view_under_writes(spark: SparkSession, database: Database, accounts: Table) -> None:
    stop, begun = threading.Event(), threading.Event()

    def move() -> None:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            number = 0
            while not stop.is_set():
                number += 1
                connection.execute(
                    "update accounts set amount = amount + case id when %s then -1 else 1 end where id in (%s, %s)",
                    (number % 1000 + 1, number % 1000 + 1, 2000 - number % 1000),
                )
                begun.set()

    writer = threading.Thread(target=move)
    writer.start()
    try:
        assert begun.wait(10)
        sums = []
        for _ in range(3):
            with exported_snapshot(database.dsn, ("public", "accounts")) as view:
                rows = read_texts(spark, view, accounts.columns[:2], 8)
                assert rows.rdd.getNumPartitions() == 8
                sums.append(rows.select(F.count("*"), F.sum(F.col("c1").cast("bigint")), F.sum(F.abs(F.col("c1").cast("bigint")))).first())
    finally:
        stop.set()
        writer.join()
    assert [tuple(row[:2]) for row in sums if row] == [(2000, 0)] * 3
    assert len({row[2] for row in sums if row}) > 1, "the writer wrote nothing between the views"


def test_view_does_not_change_and_its_position_covers_its_commits(spark: SparkSession, database: Database, accounts: Table) -> None:
    with exported_snapshot(database.dsn, ("public", "accounts")) as view:
        rows = read_texts(spark, view, accounts.columns[:2], 4)
        before = database.execute("select (pg_current_wal_insert_lsn() - '0/0')::bigint")[0][0]
        database.execute("delete from accounts where id % 2 = 0", "insert into accounts values (9999, 5, '')")
        assert rows.where("c1 = '0'").count() == 2000
        assert view.position <= int(str(before))
        with psycopg.connect(database.dsn) as other:
            other.execute("set lock_timeout = '10ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("truncate accounts")


def test_live_source_is_looked_at_again(spark: SparkSession, database: Database, items: Table) -> None:
    """A mirror ahead of the snapshot: row 9 will arrive, row 10 stays wrong, row 11 changes each time."""
    database.execute("create table live as table items", "alter table live add primary key (id)")
    table = table_of(database, "live")
    asked: list[int] = []
    looks = 0

    def reached(position: int) -> bool:
        asked.append(position)
        return len(asked) != 1

    def mirror() -> DataFrame:
        nonlocal looks
        looks += 1
        # Between the source's snapshot and this view of the mirror.
        database.execute("update live set name = 'later' where id = 9", f"update live set name = 'v{looks}' where id = 11")
        return mirror_of(spark, table, [HELD[0], ("9", "later", "x"), ("10", "wrong", "y"), ("11", f"v{looks}", "z")])

    verdict = verify(spark, database.dsn, table, mirror, reached=reached, patience=60, rounds=4)
    assert looks == 4
    assert (verdict.different, verdict.changing, verdict.same, verdict.equal) == (1, 1, 2, False)
    assert verdict.keys == [
        Difference(("10",), BOTH, ("name",), 1, 1, changing=False),
        Difference(("11",), BOTH, ("name",), 1, 1, changing=True),
    ]
    assert len(asked) == 5
    assert asked == sorted(asked)
    assert "name (still changing)" in verdict_text(verdict)


@pytest.mark.long
def test_live_source_ends_early_when_all_is_settled(spark: SparkSession, database: Database, items: Table) -> None:
    def looks_of(views: list[Rows]) -> tuple[Verdict, int]:
        left = list(views)

        def mirror() -> DataFrame:
            return mirror_of(spark, items, left.pop(0))

        return verify(spark, database.dsn, items, mirror, reached=lambda _: True, rounds=9), len(views) - len(left)

    late, wrong = HELD[:3], [*HELD[:3], ("11", None, "w")]
    verdict, looks = looks_of([late, HELD])
    assert (verdict.equal, looks, verdict.same) == (True, 2, 4)
    verdict, looks = looks_of([wrong, wrong])
    assert (verdict.different, verdict.changing, looks) == (1, 0, 2)


def test_mirror_that_does_not_get_there_ends_the_job(spark: SparkSession, database: Database, items: Table) -> None:
    with pytest.raises(JobError, match=r"The mirror did not reach the source's position [0-9A-F]+/[0-9A-F]+ in 0 s"):
        found(spark, database, items, None, reached=lambda _: False, patience=0)


def test_password_reaches_the_driver_and_no_plan(spark: SparkSession, database: Database, items: Table) -> None:
    dsn = f"{database.dsn} password=s3cr'et sslmode=disable connect_timeout=7".replace("s3cr'et", r"s3cr\'et")
    with exported_snapshot(dsn, ("public", "items")) as view:
        assert view.access == {
            "url": f"jdbc:postgresql://127.0.0.1:{database.port}/{database.name}",
            "driver": "org.postgresql.Driver",
            "user": "postgres",
            "password": "s3cr'et",
            "sslmode": "disable",
            "connectTimeout": "7",
        }
        rows = read_texts(spark, view, items.columns)
        assert rows.count() == 4
        assert "s3cr" not in str(rows._jdf.queryExecution().toString())
        assert "s3cr" not in repr(view)


def test_unix_socket_is_refused() -> None:
    class Info:
        host = "/run/postgresql"

    class Connection:
        info = Info()

    with pytest.raises(JobError, match=r"Unix socket.*name a host"):
        jdbc_access(Connection())  # type: ignore[arg-type]
