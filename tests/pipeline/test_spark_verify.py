"""A source table against mirrors made by hand: what is equal, what is named, and that all readers of the source see one view of it."""

from __future__ import annotations

import argparse
import io
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import AtomicType, BinaryType, LongType, StringType, StructField, StructType
from source_table import source_table

from workers.spark.compare.command import add_verify, run
from workers.spark.compare.verdict import BOTH, MIRROR, SOURCE, Difference, Verdict, summary_text, verdict_text
from workers.spark.compare.verify import verify
from workers.spark.failure import JobError
from workers.spark.kinds import kind_of
from workers.spark.source.jdbc import jdbc_access
from workers.spark.source.relation import snapshot
from workers.spark.source.snapshot import Leaf, exported_snapshot, ranges, read_texts
from workers.spark.tables.table import LSN, POSITION, Column, Table

if TYPE_CHECKING:
    from fix_pg import Database, PgServer
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.pg_once]

Rows = Sequence[tuple[str | None, ...]]


@pytest.fixture(scope="module")
def database(pg: PgServer) -> Database:
    return pg.database("verify")


def table_of(database: Database, name: str, schema: str = "public") -> Table:
    with snapshot(database.dsn) as connection:
        table = source_table(connection, (schema, name))
    assert table is not None
    return table


def mirror_of(spark: SparkSession, table: Table, rows: Rows) -> DataFrame:
    """A mirror with the types that a sink keeps, from text that Spark itself reads: bytes as hex digits, nested values as JSON."""
    text = StructType([StructField(f"c{at}", StringType()) for at in range(len(table.columns))])

    def value(at: int, column: Column) -> object:
        cell = F.col(f"c{at}")
        if isinstance(column.kind.type, BinaryType):
            return F.unhex(cell)
        return cell.cast(column.kind.type) if isinstance(column.kind.type, AtomicType) else F.from_json(cell, column.kind.type)

    frame = spark.createDataFrame([tuple(row) for row in rows], text)
    frame = frame.select(*(value(at, column).alias(column.name) for at, column in enumerate(table.columns)))  # type: ignore[attr-defined]
    frame = frame.withColumn(LSN, F.lit(7).cast(LongType()))
    return frame if table.key else frame.withColumn(POSITION, F.uuid())


def found(spark: SparkSession, database: Database, table: Table, frame: DataFrame | None, **options: object) -> Verdict:
    return verify(spark, database.dsn, table, lambda: frame, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Family:
    """A type: ``value`` and ``other`` are SQL literals, ``held`` is what the mirror has for ``value``."""

    type: str
    value: str
    held: str
    other: str


FAMILIES = {
    "flag": Family("boolean", "true", "true", "false"),
    "small": Family("smallint", "-7", "-7", "7"),
    "whole": Family("integer", "2147483647", "2147483647", "2147483646"),
    "big": Family("bigint", "9223372036854775807", "9223372036854775807", "9223372036854775806"),
    "price": Family("numeric(12,2)", "1.10", "1.10", "1.11"),
    "exact": Family("numeric", "12345678901234567890123456789012345678901.50", "12345678901234567890123456789012345678901.5", "0"),
    "single": Family("real", "1.5", "1.5", "1.25"),
    "double": Family("double precision", "0.1", "0.1", "0.10000000000000002"),
    "nan": Family("double precision", "'NaN'", "NaN", "'Infinity'"),
    "word": Family("text", "'漢字 ''x'''", "漢字 'x'", "'漢字 ''x'' '"),
    "short": Family("varchar(9)", "''", "", "' '"),
    "bytes": Family("bytea", "'\\x00ff'", "00ff", "'\\x00fe'"),
    "day": Family("date", "'2020-02-29'", "2020-02-29", "'2020-03-01'"),
    "clock": Family("time", "'13:51:02.5'", "13:51:02.5", "'13:51:02.4'"),
    "at": Family("timestamp", "'2016-11-04 13:51:30.123456'", "2016-11-04 13:51:30.123456", "'2016-11-04 13:51:30.123457'"),
    "zoned": Family("timestamptz", "'2016-11-04 13:51:30.12+02'", "2016-11-04 11:51:30.12", "'2016-11-04 13:51:30.12+01'"),
    "pause": Family("interval", "'1 day'", "86400000000", "'25 hours'"),
    "id": Family(
        "uuid",
        "'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'",
    ),
    "doc": Family("jsonb", """'{"b": 1.50, "a": [null]}'""", '{"a":[null],"b":1.5}', """'{"b": 1.5, "a": []}'"""),
    "bits": Family("bit(5)", "B'00101'", "101", "B'00111'"),
    "spot": Family("point", "'(1.5,-2)'", '{"x":1.5,"y":-2.0}', "'(1.5,2)'"),
    "words": Family("text[]", "array['a',null,'b']", '["a",null,"b"]', "array['a','','b']"),
    "days": Family("date[]", "array[date '2020-02-29']", '["2020-02-29"]', "array[date '2020-03-01']"),
}


@pytest.fixture(scope="module")
def families(database: Database) -> Table:
    """Row 0 holds every value, row 1 nulls, and row n the other value in its nth column."""
    columns = ", ".join(f"{name} {family.type}" for name, family in FAMILIES.items())
    rows = [[family.value for family in FAMILIES.values()], ["null"] * len(FAMILIES)]
    rows += [[family.other if name == changed else family.value for name, family in FAMILIES.items()] for changed in FAMILIES]
    values = ", ".join(f"({at}, {', '.join(row)})" for at, row in enumerate(rows))
    database.execute(f"create table families(n int primary key, {columns})", f"insert into families values {values}")
    return table_of(database, "families")


def held_rows(count: int) -> list[tuple[str | None, ...]]:
    values = [family.held for family in FAMILIES.values()]
    return [(str(at), *([None] * len(values) if at == 1 else values)) for at in range(count)]


def test_equal_tables_of_many_types_need_one_look(spark: SparkSession, database: Database, families: Table) -> None:
    database.execute(
        "create table alike as select * from families where n < 2", "alter table alike add primary key (n)", "update alike set n = n - 5"
    )
    rows = [(str(int(row[0] or 0) - 5), *row[1:]) for row in held_rows(2)]
    verdict = found(spark, database, table_of(database, "alike"), mirror_of(spark, families, rows))
    assert (verdict.equal, verdict.source, verdict.mirror, verdict.same, verdict.keys) == (True, 2, 2, 2, ())
    assert (verdict.aside, verdict.columns_only_source, verdict.columns_only_mirror) == ({}, (), ())


def test_a_differing_value_of_each_type_is_named(spark: SparkSession, database: Database, families: Table) -> None:
    verdict = found(spark, database, families, mirror_of(spark, families, held_rows(2 + len(FAMILIES))), keys=100)
    assert [(key.cells, key.where, key.columns) for key in verdict.keys] == [
        ((str(at),), BOTH, (name,)) for at, name in enumerate(FAMILIES, start=2)
    ]
    assert verdict.columns == dict.fromkeys(FAMILIES, 1)
    assert (verdict.different, verdict.only_source, verdict.only_mirror, verdict.same) == (len(FAMILIES), 0, 0, 2)


@pytest.fixture(scope="module")
def items(database: Database) -> Table:
    database.execute(
        "create table items(id int primary key, name text, note text)",
        "insert into items values (2, 'b', null), (9, 'i', 'x'), (10, 'j', 'y'), (11, null, 'z')",
    )
    return table_of(database, "items")


HELD: Rows = [("2", "b", None), ("9", "i", "x"), ("10", "j", "y"), ("11", None, "z")]


def test_missing_extra_and_differing_rows(spark: SparkSession, database: Database, items: Table) -> None:
    held = [("2", "b", ""), ("10", "j", "y"), ("11", "z", None), ("100", "new", None)]
    verdict = found(spark, database, items, mirror_of(spark, items, held))
    assert verdict.keys == [
        Difference(("2",), BOTH, ("note",), 1, 1, changing=False),
        Difference(("9",), SOURCE, (), 1, 0, changing=False),
        Difference(("11",), BOTH, ("name", "note"), 1, 1, changing=False),
        Difference(("100",), MIRROR, (), 0, 1, changing=False),
    ]
    assert (verdict.source, verdict.mirror, verdict.same) == (4, 4, 1)
    assert (verdict.only_source, verdict.only_mirror, verdict.different, verdict.changing) == (1, 1, 2, 0)
    assert (verdict.columns, verdict.equal, verdict.key) == ({"name": 1, "note": 2}, False, ("id",))


def test_no_more_keys_than_asked_for_are_named(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, mirror_of(spark, items, []), keys=2)
    assert [key.cells for key in verdict.keys] == [("2",), ("9",)]
    assert (verdict.only_source, verdict.same) == (4, 0)
    assert verdict_text(verdict).splitlines()[-1] == "  … and 2 more"


def test_row_that_the_mirror_has_twice(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, mirror_of(spark, items, [*HELD, ("9", "i", "x")]))
    assert verdict.keys == [Difference(("9",), BOTH, (), 1, 2, changing=False)]
    assert "1 rows in the source, 2 in the mirror" in verdict_text(verdict)


def test_key_of_several_types(spark: SparkSession, database: Database) -> None:
    database.execute(
        "create table keyed(t text, u uuid, n numeric, at timestamptz, v int, primary key (t, u, n, at))",
        "insert into keyed select x, '00000000-0000-0000-0000-00000000000a', m, '2020-01-01 00:00+00', 1"
        " from unnest(array['', 'a', '漢']) x, unnest(array[1.50, -1]) m",
    )
    table = table_of(database, "keyed")
    assert table.key == ("t", "u", "n", "at")
    uuid, at = "00000000-0000-0000-0000-00000000000a", "2020-01-01 00:00:00"
    held = [(text, uuid, number, at, "1") for text in ("", "a", "漢") for number in ("1.5", "-1")]
    assert found(spark, database, table, mirror_of(spark, table, held)).equal
    wrong = [*held[:3], ("a", uuid, "-1", at, None), ("漢", uuid, "1.5", "2020-01-01 00:00:01", "1"), held[5]]
    verdict = found(spark, database, table, mirror_of(spark, table, wrong))
    assert sorted((key.cells[0] or "", key.cells[2] or "", key.where, *key.columns) for key in verdict.keys) == [
        ("a", "-1", BOTH, "v"),
        ("漢", "1.5", MIRROR),
        ("漢", "1.5", SOURCE),
    ]


def test_null_in_a_key(spark: SparkSession, database: Database) -> None:
    database.execute("create table loose(a int, b text)", "insert into loose values (1, null), (null, ''), (null, null)")
    table = replace(table_of(database, "loose"), key=("a", "b"))
    assert found(spark, database, table, mirror_of(spark, table, [(None, None), (None, ""), ("1", None)])).equal
    verdict = found(spark, database, table, mirror_of(spark, table, [(None, None), ("1", ""), ("1", None)]))
    assert [(key.cells, key.where) for key in verdict.keys] == [((None, ""), SOURCE), (("1", ""), MIRROR)]


def test_table_without_key_is_a_multiset(spark: SparkSession, database: Database) -> None:
    database.execute("create table log(a int, b text)", "insert into log values (1, 'x'), (1, 'x'), (1, 'x'), (2, null), (2, null)")
    table = table_of(database, "log")
    assert table.key == ()
    twins = [("1", "x"), ("2", None), ("1", "x"), ("2", None), ("1", "x")]
    assert found(spark, database, table, mirror_of(spark, table, twins)).equal
    verdict = found(spark, database, table, mirror_of(spark, table, [("1", "x"), ("2", None), ("2", None), ("2", None), ("2", "")]))
    assert (verdict.only_source, verdict.only_mirror, verdict.different, verdict.same) == (2, 2, 0, 3)
    assert verdict.keys == [
        Difference(("1", "x"), SOURCE, (), 3, 1, changing=False),
        Difference(("2", None), MIRROR, (), 2, 3, changing=False),
        Difference(("2", ""), MIRROR, (), 0, 1, changing=False),
    ]
    assert verdict_text(verdict).splitlines()[0] == "public.log: 4 rows differ"


def test_columns_of_one_side_and_columns_left_out_are_named(spark: SparkSession, database: Database) -> None:
    database.execute(
        "create table sides(id int primary key, gone text, coded bytea, shape polygon, n int)",
        "insert into sides values (1, 'a', '\\x01', null, 5)",
    )
    table = table_of(database, "sides")
    coded = tuple(Column("coded", kind_of({"type": "string"})) if column.name == "coded" else column for column in table.columns)
    table = replace(table, columns=coded)
    frame = mirror_of(spark, table, [("1", "b", "AQ==", None, "5")]).withColumnRenamed("gone", "come").withColumn("n", F.array(F.lit(5)))
    verdict = found(spark, database, table, frame)
    assert (verdict.equal, verdict.columns_only_source, verdict.columns_only_mirror) == (True, ("gone",), ("come",))
    assert {"coded", "n"} <= set(verdict.aside)
    text = verdict_text(verdict)
    assert "not compared: coded (bytes sent as text: nothing says in which encoding)" in text
    assert "not compared: n (the mirror holds array<int>, not int)" in text
    assert "columns only in the source: gone" in text


def test_tables_without_a_column_in_common_are_counted(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, spark.range(3).withColumnRenamed("id", "other"))
    assert (verdict.equal, verdict.source, verdict.mirror, verdict.only_source) == (False, 4, 3, 1)
    assert verdict.columns_only_source == ("id", "name", "note")


def test_mirror_in_wider_types_is_compared_by_value(spark: SparkSession, database: Database, families: Table) -> None:
    database.execute(
        "create table wide(id int primary key, n smallint, d numeric, t text)",
        "insert into wide values (1, 7, 1.10, 'a'), (2, null, 0.5, '')",
    )
    table = table_of(database, "wide")
    frame = spark.sql("values (1L, 7, 1.100000000000000000BD, 'a'), (2L, null, 0.5BD, '') as t(id, n, d, t)")
    assert found(spark, database, table, frame.withColumn("n", F.col("n").cast("string"))).equal
    verdict = found(spark, database, table, frame.withColumn("n", F.coalesce("n", F.lit(0))))
    assert [(key.cells, key.columns) for key in verdict.keys] == [(("2",), ("n",))]


def test_odd_names(spark: SparkSession, database: Database) -> None:
    database.execute('create schema "S.x"', 'create table "S.x"."T""?"("a?`.{c}""B" int primary key, "%s" text)')
    database.execute("""insert into "S.x"."T""?" values (1, 'a'), (2, 'b')""")
    table = table_of(database, 'T"?', "S.x")
    assert found(spark, database, table, mirror_of(spark, table, [("1", "a"), ("2", "b")])).equal
    verdict = found(spark, database, table, mirror_of(spark, table, [("1", "a"), ("2", "c")]))
    assert verdict.columns == {"%s": 1}


def test_tables_that_are_not_there(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, None)
    assert (verdict.absent, verdict.equal) == (MIRROR, False)
    assert verdict_text(verdict) == "public.items: not equal, the mirror has no such table"
    with pytest.raises(JobError, match=r"The source has no table public\.nothing: see its name"):
        found(spark, database, replace(items, name="nothing"), mirror_of(spark, items, HELD))


LARGE = 100_000


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


@pytest.mark.slow
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


def test_each_row_is_in_one_range_whatever_the_number_of_pages(spark: SparkSession, database: Database, large: Table) -> None:
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


def test_view_stands_still_and_its_position_is_reached_by_what_it_shows(spark: SparkSession, database: Database, accounts: Table) -> None:
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
    """A mirror ahead of the snapshot: row 9 is on its way, 10 is wrong for good, 11 changes each time."""
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


def test_report_is_aligned() -> None:
    keys = [
        Difference(("漢字", "1"), SOURCE, (), 1, 0, changing=False),
        Difference(("a", None), BOTH, ("price", "note"), 1, 1, changing=False),
        Difference(("b", "2"), MIRROR, (), 0, 1, changing=True),
    ]
    verdict = Verdict("public.t", ("k", "l"), True, 1000, 1000, 998, 1, 0, 1, 1, {"price": 1, "note": 1}, keys, position=2**32 + 255)
    assert verdict_text(verdict).splitlines() == [
        "public.t: 3 keys differ",
        "  1,000 rows in the source, 1,000 in the mirror, 998 the same",
        "  only in the source 1, different 1, still changing 1",
        "  columns that differ: price (1), note (1)",
        "          k     l  differs in",
        "  source  漢字  1",
        "  both    a     ∅  price, note",
        "  mirror  b     2  (still changing)",
    ]
    assert summary_text([verdict, Verdict("public.u", absent=MIRROR)]).splitlines() == [
        "table     source  mirror    only source  only mirror  different  changing",
        "public.t  1,000   1,000     1            0            1          1         NOT EQUAL",
        "public.u          no table                                                 NOT EQUAL",
    ]


def test_command_prints_and_answers(spark: SparkSession, database: Database, items: Table) -> None:
    frames: dict[str, Callable[[], DataFrame]] = {"items": lambda: mirror_of(spark, items, [*HELD[:3], ("11", "q", "z")])}
    out = io.StringIO()
    assert run(spark, database.dsn, [items], lambda table: frames[table.name](), as_json=True, stream=out) == 1
    told = json.loads(out.getvalue())
    assert told["equal"] is False
    assert told["tables"][0]["keys"] == [
        {"key": {"id": "11"}, "where": "both", "columns": ["name"], "inSource": 1, "inMirror": 1, "changing": False}
    ]
    assert told["tables"][0]["rows"] == {"source": 4, "mirror": 4, "same": 3}
    out = io.StringIO()
    assert run(spark, database.dsn, [items, items], lambda table: mirror_of(spark, table, HELD), stream=out) == 0
    assert out.getvalue().count("public.items: equal\n  4 rows in the source, 4 in the mirror\n") == 2
    assert out.getvalue().splitlines()[-1].split() == ["public.items", "4", "4", "0", "0", "0", "0", "equal"]


def test_arguments() -> None:
    parser = argparse.ArgumentParser()
    add_verify(parser)
    options = parser.parse_args(["--config", "m.toml", "--json", "--wait", "5", "--table", "a.b", "--table", "a.c"])
    assert (options.json, options.wait, options.table, options.keys, options.rounds) == (True, 5.0, ["a.b", "a.c"], 20, 3)
    with pytest.raises(SystemExit):
        parser.parse_args(["--rounds", "0"])
