"""A source table against mirrors made by hand: which values and keys are equal, and how those that are not are named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.verify_rig import HELD, found, items_table, mirror_of, table_of
from workers.spark.compare.verdict import BOTH, MIRROR, SOURCE, Difference, verdict_text
from workers.spark.failure import JobError
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.fix_pg import Database, PgServer

pytestmark = [pytest.mark.pg_once]


@pytest.fixture(scope="module")
def database(pg: PgServer) -> Database:
    return pg.database("verify")


@pytest.fixture(scope="module")
def items(database: Database) -> Table:
    return items_table(database)


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


@pytest.mark.long
def test_no_more_keys_than_asked_for_are_named(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, mirror_of(spark, items, []), keys=2)
    assert [key.cells for key in verdict.keys] == [("2",), ("9",)]
    assert (verdict.only_source, verdict.same) == (4, 0)
    assert verdict_text(verdict).splitlines()[-1] == "  … and 2 more"


def test_row_that_the_mirror_has_twice(spark: SparkSession, database: Database, items: Table) -> None:
    verdict = found(spark, database, items, mirror_of(spark, items, [*HELD, ("9", "i", "x")]))
    assert verdict.keys == [Difference(("9",), BOTH, (), 1, 2, changing=False)]
    assert "1 rows in the source, 2 in the mirror" in verdict_text(verdict)


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_small_numbers_of_an_array_are_compared_in_a_place_without_small_ones(spark: SparkSession, database: Database) -> None:
    database.execute("create table smalls(id int primary key, n smallint[])", "insert into smalls values (1, '{7,null}'), (2, '{8}')")
    table = table_of(database, "smalls")
    frame = spark.sql("values (1, array(7, null)), (2, array(8)) as t(id, n)")
    verdict = found(spark, database, table, frame)
    assert (verdict.equal, verdict.aside) == (True, {})
    for other in ("array(9)", "array(65544)"):
        verdict = found(spark, database, table, frame.withColumn("n", F.when(F.col("id") == 2, F.expr(other)).otherwise(F.col("n"))))
        assert [(key.cells, key.columns) for key in verdict.keys] == [(("2",), ("n",))]


@pytest.mark.long
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
