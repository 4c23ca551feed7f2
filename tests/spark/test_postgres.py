"""What the PostgreSQL sink does beyond the suite of all sinks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import INT, PLAIN, TEXT, TYPES, effects, few, shown, table, up
from workers.spark.failure import JobError, TableError
from workers.spark.sinks import PostgresPlace, sink_of
from workers.spark.tables.table import Column, Effects

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

pytestmark = pytest.mark.pg_once


@pytest.mark.long
def test_postgres_does_a_batch_of_a_known_number_once(spark: SparkSession, pg: PgServer) -> None:
    database = pg.database("sinks_once")
    sink = sink_of(PostgresPlace(database.dsn, {"s": "Copy"}, mirror="m1"), spark)
    sink.apply(7, [effects(spark, PLAIN, [up(1, "x", 1)])])
    database.execute('DELETE FROM "Copy".t')
    sink.apply(7, [effects(spark, PLAIN, [up(1, "x", 1)])])
    assert shown(sink, PLAIN) == []
    sink.apply(8, [effects(spark, PLAIN, [up(1, "x", 1)])])
    sink_of(PostgresPlace(database.dsn, {"s": "Copy"}, mirror="m2"), spark).apply(8, [effects(spark, PLAIN, [up(2, "y", 2)])])
    assert shown(sink, PLAIN) == [(1, "x", 1), (2, "y", 2)]
    assert database.execute("SELECT * FROM understudy.ledger ORDER BY mirror") == [("m1", 8, ["s.t"]), ("m2", 8, ["s.t"])]
    assert database.execute("SELECT relname FROM pg_class WHERE relname LIKE 'batch_%'") == []


@pytest.mark.long
def test_repeated_batch_is_applied_to_tables_that_it_was_applied_without(spark: SparkSession, pg: PgServer) -> None:
    database = pg.database("sinks_without")
    other = replace(PLAIN, name="other")
    sink = sink_of(PostgresPlace(database.dsn, mirror="m1"), spark)
    sink.apply(1, [effects(spark, one, [up(1, "x", 1)]) for one in (PLAIN, other)])
    database.execute("ALTER TABLE s.other ADD CHECK (a <> 'refused')")

    def batch() -> list[Effects]:
        return [effects(spark, PLAIN, [up(1, "y", 2)]), effects(spark, other, [up(1, "refused", 2)])]

    # The first run of the batch ends after this commit. Its repetition begins with all effects.
    for _ in range(2):
        with pytest.raises(TableError) as raised:
            sink.apply(2, batch())
        assert raised.value.table == "s.other"
        sink.apply(2, batch()[:1])
    assert (shown(sink, PLAIN), shown(sink, other)) == ([(1, "y", 2)], [(1, "x", 1)])
    database.execute("DELETE FROM s.t")
    database.execute("ALTER TABLE s.other DROP CONSTRAINT other_a_check")
    sink.apply(2, batch())
    assert (shown(sink, PLAIN), shown(sink, other)) == ([], [(1, "refused", 2)])
    assert database.execute("SELECT tables FROM understudy.ledger") == [(["s.t", "s.other"],)]


def test_ledger_of_an_earlier_version_counts_for_all_tables(spark: SparkSession, pg: PgServer) -> None:
    database = pg.database("sinks_ledger")
    database.execute("CREATE SCHEMA understudy")
    database.execute("CREATE TABLE understudy.ledger (mirror text PRIMARY KEY, batch bigint NOT NULL)")
    database.execute("INSERT INTO understudy.ledger VALUES ('m1', 7)")
    sink = sink_of(PostgresPlace(database.dsn, mirror="m1"), spark)
    sink.apply(7, [effects(spark, PLAIN, [up(1, "x", 1)])])
    assert sink.read(PLAIN) is None
    sink.apply(8, [effects(spark, PLAIN, [up(1, "x", 1)])])
    assert shown(sink, PLAIN) == [(1, "x", 1)]
    assert database.execute("SELECT * FROM understudy.ledger") == [("m1", 8, ["s.t"])]


def test_postgres_has_its_own_types_and_keys(spark: SparkSession, pg: PgServer) -> None:
    database = pg.database("sinks_own")
    sink = sink_of(PostgresPlace(database.dsn), spark)
    of = table(Column("id", INT), *(Column(name, kind_) for name, (kind_, _) in TYPES.items()))
    sink.apply(0, [effects(spark, of, [])])
    query = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 's.t'::regclass AND attnum > 0"
    types = {str(name): str(of_) for name, of_ in database.execute(query)}
    assert (
        types
        | {
            "decimal": "numeric(38,10)",
            "digits": "numeric",
            "long_digits": "numeric",
            "texts": "text[]",
            "blobs": "bytea[]",
            "arrays": "jsonb",
            "point": "jsonb",
            "zoned": "timestamp with time zone",
        }
        == types
    )
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 's' AND tablename = 'k'"
    keyed = table(Column("id", INT), Column("v", INT), name="k")
    sink.apply(1, [effects(spark, keyed, [up(1, 1)])])
    assert database.execute(indexes) == [("CREATE UNIQUE INDEX k_pkey ON s.k USING btree (id)",)]
    sink.apply(2, [effects(spark, keyed, [up(None, 1)])])
    (definition,) = [str(row[0]) for row in database.execute(indexes)]
    assert definition.endswith("(id) NULLS NOT DISTINCT") == (pg.major >= 15)
    sink.apply(3, [effects(spark, replace(keyed, key=("v",)), [])])
    (definition,) = [str(row[0]) for row in database.execute(indexes)]
    # Both rows hold 1: not unique before the source's own events make it so.
    assert definition == "CREATE INDEX k_v_idx ON s.k USING btree (v)"


def test_postgres_errors_show_no_values(spark: SparkSession, pg: PgServer) -> None:
    database = pg.database("sinks_values")
    sink = sink_of(PostgresPlace(database.dsn), spark)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "secret", 1)])])
    database.execute("ALTER TABLE s.t ADD CHECK (a <> 'secret2')")
    with pytest.raises(JobError, match="23514") as refusal:
        sink.apply(1, [effects(spark, PLAIN, [up(1, "secret2", 1)])])
    assert "secret" not in str(refusal.value)
    assert shown(sink, PLAIN) == [(1, "secret", 1)]


@pytest.mark.long
def test_database_of_another_encoding_has_the_same_names_and_values(spark: SparkSession, pg: PgServer) -> None:
    with psycopg.connect(pg.dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE sinks_latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    sink = sink_of(PostgresPlace(psycopg.conninfo.make_conninfo(pg.dsn, dbname="sinks_latin")), spark)
    of = replace(table(Column("id", INT), Column("größe", TEXT)), name="täglich")
    sink.apply(0, [effects(spark, of, [up(1, "ä"), up(2, "b")])])
    sink.apply(1, [few(spark, of, [up(2, "ö"), up(3, "ü")])])
    assert shown(sink, of) == [(1, "ä"), (2, "ö"), (3, "ü")]
    # The encoding does not have the character.
    for one in (effects(spark, of, [up(4, "€")]), few(spark, of, [up(4, "€")])):
        with pytest.raises((JobError, Py4JJavaError)):
            sink.apply(2, [one])
    assert len(shown(sink, of)) == 3
