"""What rows show for columns that are younger than they are: each type against PostgreSQL's own rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.topic_log import ID, Json, TopicLog
from tests.support.spark.verify_rig import found, table_of
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.wal_position import position_of
from workers.spark.sinks import ParquetPlace, PostgresPlace, SinkPlace, sink_of
from workers.spark.source.missing import missing_of
from workers.spark.source.relation import catalog_of
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.fix_pg import Database, PgServer

UUID: Final = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
# Type and default, as SQL. What is evaluated (now() and the like) has one value for all rows too.
DEFAULTS: Final[Sequence[tuple[str, str]]] = [
    ("bool", "true"),
    ("int2", "'-7'"),
    ("int4", "2147483647"),
    ("int8", "-9223372036854775808"),
    ("oid", "4294967295"),
    ("float4", "'NaN'"),
    ("float8", "1e300"),
    ("numeric(10,2)", "1.50"),
    ("numeric(60,5)", "-1234567890123456789012345678901234567890.12345"),
    ("numeric", "1e40"),
    ("money", "'92233720368547758.07'"),
    ("text", "E'q\\'\"\\\\{},NULL\\n'"),
    ("varchar(9)", "''"),
    ("char(5)", "'ab'"),
    ("uuid", f"'{UUID}'"),
    ("json", '\'{"b":1.50, "a":[null,true]}\''),
    ("jsonb", '\'{"b":1.50, "a":[null,true]}\''),
    ("hstore", "'a=>\"1\", b=>NULL'"),
    ("inet", "'10.0.0.1/8'"),
    ("macaddr", "'08:00:2b:01:02:03'"),
    ("int4range", "'[1,5)'"),
    ("tstzrange", "'[2026-01-01 00:00+00,)'"),
    ("mood", "'so, so'"),
    ("even", "4"),
    ("bytea", "'\\x00ff10'"),
    ("bit(5)", "B'00011'"),
    ("varbit(70)", "B'101'"),
    ("date", "'0044-03-15 BC'"),
    ("date", "current_date"),
    ("time(3)", "'13:51:02.123'"),
    ("time", "'24:00:00'"),
    ("timetz", "'13:51:02.123789+02'"),
    ("timestamp(3)", "'1969-12-31 23:59:59.999'"),
    ("timestamp", "'infinity'"),
    ("timestamptz", "now()"),
    ("interval", "'1 year 2 mons -3 days 04:05:06.789'"),
    ("point", "'(1.5,-2)'"),
    ("bool[]", "'{t,NULL,f}'"),
    ("int4[]", "'{}'"),
    ("int8[]", "array[1,null,-3]"),
    ("float8[]", "'{0.1,1e300,NULL}'"),
    ("numeric[]", "'{1.5}'"),
    ("numeric(10,2)[]", "'{1.1,NULL,-0.05}'"),
    ("text[]", r"""'{"a,b",NULL,"q\"","{}","NULL"}'"""),
    ("varchar(3)[]", "'{abc}'"),
    ("uuid[]", f"'{{{UUID},NULL}}'"),
    ("jsonb[]", r"""'{"{\"b\": 1, \"a\": 2}",NULL}'"""),
    ("bytea[]", "array['\\x01ff'::bytea,null]"),
    ("date[]", "'{2016-11-04,NULL,infinity,-infinity}'"),
    ("time[]", "'{13:51:02.123456,NULL}'"),
    ("timestamp[]", "'{\"2016-11-04 13:51:30.123456\",NULL}'"),
    ("timestamptz[]", "'{\"2016-11-04 13:51:30.1+02\",NULL}'"),
    ("mood[]", "'{\"so, so\",NULL}'"),
]


def source(database: Database) -> None:
    """Table ``t`` of two rows: one older than its other columns, one that has null in all of them."""
    database.execute(
        "create extension hstore",
        "create type mood as enum ('well', 'so, so')",
        "create domain even as int",
        "create table t(id int primary key)",
        "insert into t values (1)",
        *(f"alter table t add c{at} {of} default {value}" for at, (of, value) in enumerate(DEFAULTS)),
        # The default of now says nothing of rows that were there.
        "alter table t alter c2 set default 5",
        "insert into t values (2, " + ", ".join("null" for _ in DEFAULTS) + ")",
    )


@pytest.mark.pg(">= 14")
@pytest.mark.pg_has("hstore")
@pytest.mark.pg_once
@pytest.mark.parametrize("together", [pytest.param(False, marks=pytest.mark.long), True], ids=["later", "together"])
def test_rows_older_than_a_column_show_what_postgresql_shows(spark: SparkSession, pg: PgServer, tmp_path: Path, *, together: bool) -> None:
    database = pg.database("sparkmissing")
    source(database)
    table = table_of(database, "t")
    log = TopicLog(None, topic="shop.public.t")
    log.change("c", {"id": 1})
    early = log.batch(spark)
    log.change("c", {"id": 2, **{column.name: None for column in table.columns[1:]}})
    # Rows that are in a table when the column comes, and older events that come with newer ones, are filled by different code.
    batches = [early.unionAll(log.batch(spark))] if together else [early, log.batch(spark)]
    place: SinkPlace = ParquetPlace(str(tmp_path / "tables"))
    if not together:
        mirror = pg.database("sparkmissingmirror")
        mirror.execute("create extension hstore")
        place = PostgresPlace(mirror.dsn)
    sink = sink_of(place, spark)
    form = json_format(UNAVAILABLE, catalog_of(database.dsn))
    work = Batches(Checkpoint(spark, str(tmp_path / "checkpoint")), form, sink, Mirror(sink), missing=missing_of(database.dsn))
    for number, records in enumerate(batches):
        work.apply(records, number)
    verdict = found(spark, database, table, sink.read(table))
    assert verdict.aside == {}
    assert {DEFAULTS[int(name.removeprefix("c"))]: keys for name, keys in verdict.columns.items()} == {}
    assert (verdict.equal, verdict.same) == (True, 2)


@pytest.mark.long
@pytest.mark.pg(">= 14")
@pytest.mark.pg_once
@pytest.mark.parametrize("together", [False, True], ids=["later", "together"])
def test_columns_that_were_renamed_before_their_event_was_read(
    spark: SparkSession, pg: PgServer, tmp_path: Path, *, together: bool
) -> None:
    database = pg.database("sparkrenamed")
    database.execute(
        "create table t(id int primary key)",
        "insert into t values (1)",
        "alter table t add a text default 'old'",
        "insert into t values (2, 'b')",
        "alter table t add c int",
        "insert into t values (3, 'c', 3)",
        "alter table t rename a to d",
        "insert into t values (4, 'd', 4)",
    )
    log = TopicLog((ID,), topic="shop.public.t")
    log.change("c", {"id": 1})
    batches = [log.batch(spark)]
    # A connector that reads an event after the renaming does not find the column's default.
    text: Json = {"type": "string", "optional": True, "field": "a"}
    number: Json = {"type": "int32", "optional": True, "field": "c"}
    log.fields = (ID, text)
    log.change("c", {"id": 2, "a": "b"})
    if not together:
        batches.append(log.batch(spark))
    log.fields = (ID, text, number)
    log.change("c", {"id": 3, "a": "c", "c": 3})
    log.fields = (ID, {**text, "field": "d", "default": "old"}, number)
    log.change("c", {"id": 4, "d": "d", "c": 4})
    batches.append(log.batch(spark))
    sink = sink_of(ParquetPlace(str(tmp_path / "tables")), spark)
    form = json_format(UNAVAILABLE, catalog_of(database.dsn))
    work = Batches(Checkpoint(spark, str(tmp_path / "checkpoint")), form, sink, Mirror(sink), missing=missing_of(database.dsn))
    table = table_of(database, "t")
    for batch, records in enumerate(batches):
        work.apply(records, batch)
        if batch == 1 and not together:
            rows = sink.read(table)
            assert rows is not None
            assert [row["a"] for row in rows.orderBy("id").collect()] == ["old", "b"]
    verdict = found(spark, database, table, sink.read(table))
    assert (verdict.equal, verdict.same) == (True, 4)


def test_source_says_where_its_wal_ends(pg: PgServer) -> None:
    database = pg.database("wal_position")
    before = position_of(database.dsn)
    database.execute("CREATE TABLE t AS SELECT 1 AS a")
    after = position_of(database.dsn)
    assert before is not None
    assert after is not None
    assert 0 < before < after
