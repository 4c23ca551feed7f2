"""What the PostgreSQL sink does beyond the suite of all sinks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import INT, PLAIN, TYPES, effects, shown, table, up
from workers.spark.failure import JobError
from workers.spark.sinks import PostgresPlace, sink_of
from workers.spark.tables.table import Column

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

pytestmark = pytest.mark.pg_once


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
    assert database.execute("SELECT * FROM understudy.ledger ORDER BY mirror") == [("m1", 8), ("m2", 8)]
    assert database.execute("SELECT relname FROM pg_class WHERE relname LIKE 'batch_%'") == []


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
