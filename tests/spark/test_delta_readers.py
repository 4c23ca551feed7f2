"""Delta mirrors for all readers: delta-rs and DuckDB read what Spark reads, through every change of columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, QueryBuilder

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.duck import duck
from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, TYPES, down, effects, money, shown, table, up
from workers.spark.failure import JobError
from workers.spark.sinks import DeltaPlace, sink_of
from workers.spark.tables.later import Later
from workers.spark.tables.table import LSN, UPSERT, Column, Effects, Sink, Table

__all__ = ["duck"]
pytestmark = pytest.mark.pg_once


def agreed(duck: duckdb.DuckDBPyConnection, sink: Sink, of: Table, folder: Path) -> list[tuple[object, ...]]:
    """The mirror's rows, after the check that DuckDB, delta-rs and Spark read the same rows in the same columns.

    Spark exports what it reads to Parquet, and DuckDB compares, so that no value passes through Python's narrower types.
    """
    place, export = folder / "s" / of.name, folder / f"export_{of.name}"
    found = sink.read(of)
    assert found is not None
    found.write.mode("overwrite").option("compression", "zstd").parquet(str(export))
    duck.execute("CREATE OR REPLACE TEMP TABLE spark AS SELECT * FROM read_parquet($1)", [f"{export}/*.parquet"])
    duck.execute(f"CREATE OR REPLACE TEMP TABLE duck AS SELECT * FROM delta_scan('{place}')")
    rust = QueryBuilder().register("mirror", DeltaTable(str(place))).execute("SELECT * FROM mirror")
    duck.register("arrow", rust)
    duck.execute("CREATE OR REPLACE TEMP TABLE rust AS SELECT * FROM arrow")
    duck.unregister("arrow")
    for other in ("duck", "rust"):
        columns = {name: [row[0] for row in duck.execute(f"DESCRIBE {name}").fetchall()] for name in (other, "spark")}
        assert sorted(columns[other]) == sorted(columns["spark"])
        for one, two in ((other, "spark"), ("spark", other)):
            names = ", ".join(f'"{name}"' for name in columns["spark"])
            # Counted, because Python has no year beyond 9999.
            found_only = f"SELECT count(*) FROM (SELECT {names} FROM {one} EXCEPT ALL SELECT {names} FROM {two})"
            assert duck.execute(found_only).fetchone() == (0,), f"{one} has rows that {two} lacks"
    names = ", ".join(f'"{column.name}"' for column in of.columns)
    return sorted(duck.execute(f"SELECT {names} FROM duck").fetchall(), key=repr)


def test_all_readers_read_all_types(spark: SparkSession, duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path), readers="all"), spark)
    of = table(Column("id", INT), *(Column(name, kind) for name, (kind, _) in TYPES.items()))
    values = F.struct(F.lit(1).alias("id"), *(F.expr(text).cast(kind.type).alias(name) for name, (kind, text) in TYPES.items()))
    key = F.struct(F.lit(1).alias("id"))
    kept = F.array().cast("array<string>").alias("kept")
    row = spark.range(1).select(
        F.lit(UPSERT).alias("op"), key.alias("key"), values.alias("row"), kept, F.lit(1).cast("bigint").alias("lsn")
    )
    sink.apply(0, [Effects(of, Later.of(row))])
    names = "count(*), " + ", ".join(f'count("{name}")' for name in TYPES)
    agreed(duck, sink, replace(of, columns=of.columns[:1]), tmp_path)
    assert duck.execute(f"SELECT {names} FROM duck").fetchone() == (1,) * (len(TYPES) + 1)


@pytest.mark.long
def test_all_readers_follow_changed_rows_and_columns(spark: SparkSession, duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path), readers="all"), spark)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30)])])
    sink.apply(1, [effects(spark, PLAIN, [up(1, "x2", 11), down(2), up(3, "ignored", 31, kept=["a"])])])
    assert agreed(duck, sink, PLAIN, tmp_path) == [(1, "x2", 11), (3, "z", 31)]

    # A rename, a wider type, and a column with a default; then a drop; then the key goes and comes back.
    wide = replace(PLAIN, columns=(Column("id", LONG), Column("name", TEXT), Column("b", money(20, 2)), Column("d", INT, 7)))
    sink.apply(2, [effects(spark, wide, [up(4, "new", "1.50", 8)])])
    assert [row[:2] + row[3:] for row in agreed(duck, sink, wide, tmp_path)] == [(1, "x2", 7), (3, "z", 7), (4, "new", 8)]
    narrow = replace(wide, columns=(wide.columns[0], wide.columns[2], wide.columns[3]))
    sink.apply(3, [effects(spark, narrow, [down(3)])])
    assert [row[::2] for row in agreed(duck, sink, narrow, tmp_path)] == [(1, 7), (4, 8)]
    keyless = replace(narrow, key=())
    sink.apply(4, [effects(spark, keyless, [])])
    sink.apply(5, [effects(spark, narrow, [up(5, "2.00", 9)])])
    assert [row[0] for row in agreed(duck, sink, narrow, tmp_path)] == [1, 4, 5]
    found = spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/s/t`").select("tableFeatures", "minReaderVersion").first()
    assert found is not None
    assert found["minReaderVersion"] == 1
    assert not {"columnMapping", "deletionVectors", "typeWidening"} & {*found["tableFeatures"]}
    # Every column is the source's or the mirror's own.
    assert [column[0] for column in duck.execute("DESCRIBE duck").fetchall()] == ["id", "b", "d", LSN]


def test_table_with_features_is_refused_with_the_remedy(spark: SparkSession, tmp_path: Path) -> None:
    modern, plain = (sink_of(DeltaPlace(str(tmp_path), readers=readers), spark) for readers in ("spark", "all"))
    modern.apply(0, [effects(spark, PLAIN, [up(1, "x", 1)])])
    with pytest.raises(
        JobError, match=r"columnMapping, deletionVectors.*Remove the table and start once with --rebuild s\.t, or set readers"
    ):
        plain.apply(1, [effects(spark, PLAIN, [up(2, "y", 2)])])
    assert shown(modern, PLAIN) == [(1, "x", 1)]


@pytest.mark.long
def test_columns_of_a_plain_table_change_for_all_readers_only(spark: SparkSession, tmp_path: Path) -> None:
    modern, plain = (sink_of(DeltaPlace(str(tmp_path), readers=readers), spark) for readers in ("spark", "all"))
    plain.apply(0, [effects(spark, PLAIN, [up(1, "x", 1)])])
    modern.apply(1, [effects(spark, PLAIN, [up(2, "y", 2)])])
    fewer = replace(PLAIN, columns=PLAIN.columns[:2])
    with pytest.raises(JobError, match=r'made with readers = "all"'):
        modern.apply(2, [effects(spark, fewer, [])])
    plain.apply(2, [effects(spark, fewer, [])])
    assert shown(plain, fewer) == [(1, "x"), (2, "y")]
