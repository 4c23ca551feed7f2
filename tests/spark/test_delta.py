"""What the Delta sink does beyond the suite of all sinks; and the statement that fills a new table of its and of Iceberg's."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.sink_rig import INT, PLAIN, Rows, down, effects, shown, table, up
from workers.spark.failure import JobError
from workers.spark.sinks import DeltaPlace, sink_of
from workers.spark.sinks.delta import sink as delta
from workers.spark.sinks.incoming import Incoming
from workers.spark.sinks.merge_statement import insert_statement
from workers.spark.tables.table import ALL, DELETE, LSN, POSITION, UPSERT, Column, Table

pytestmark = pytest.mark.pg_once

SETTING = "spark.databricks.delta.merge.deletionVectors.persistent"


def change_one_of_three_files(spark: SparkSession, folder: Path) -> dict[str, str]:
    """Write three files, and then an update and a delete of rows of one of them. Returns what Delta counted in that MERGE."""
    sink = sink_of(DeltaPlace(str(folder)), spark)
    for number in range(3):
        sink.apply(number, [effects(spark, PLAIN, [up(number * 100 + one, "x", one) for one in range(3)])])
    sink.apply(3, [effects(spark, PLAIN, [up(101, "y", 1), down(102)])])
    assert shown(sink, PLAIN) == sorted(
        [(n * 100 + o, "x", o) for n in (0, 2) for o in range(3)] + [(100, "x", 0), (101, "y", 1)], key=repr
    )
    history = spark.sql(f"DESCRIBE HISTORY delta.`{folder}/s/t`").where("version = 3").first()
    assert history is not None
    metrics: dict[str, str] = history["operationMetrics"]
    assert (metrics["numTargetRowsUpdated"], metrics["numTargetRowsDeleted"]) == ("1", "1")
    return metrics


def test_delta_marks_rows_in_the_files_of_the_keys(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "SMALL", 0)
    metrics = change_one_of_three_files(spark, tmp_path)
    # Only the file with the keys 100 to 102 was read, and it was not rewritten.
    assert (metrics["numTargetFilesRemoved"], metrics["numTargetRowsCopied"]) == ("0", "0")
    assert metrics["numTargetDeletionVectorsAdded"] == "1"


def test_delta_rewrites_the_files_of_a_small_table(spark: SparkSession, tmp_path: Path) -> None:
    former = spark.conf.get(SETTING, None)
    metrics = change_one_of_three_files(spark, tmp_path)
    # Only the file with the keys 100 to 102 was rewritten, with the one row of it that did not change.
    assert (metrics["numTargetFilesRemoved"], metrics["numTargetRowsCopied"]) == ("1", "1")
    assert metrics["numTargetDeletionVectorsAdded"] == "0"
    assert spark.conf.get(SETTING, None) == former


@pytest.mark.long
def test_delta_adds_rows_without_a_merge_if_no_file_can_have_their_keys(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    batches: list[Rows] = [
        [up(1, "a", 1), up(5, "e", 5)],
        [up(6, "f", 6), down(9)],
        [up(6, "f", 6), down(9)],
        [up(3, "c", 3)],
        [up(8, "h", 8)],
    ]
    for number, rows in enumerate(batches):
        sink.apply(number, [effects(spark, PLAIN, rows, truncated=200 if number == 4 else None)])
    assert shown(sink, PLAIN) == [(8, "h", 8)]
    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}/s/t`").orderBy("version").select("operation").collect()
    # The third batch repeats the second one. The key of the fourth is between others. The last one has a truncate.
    assert [row["operation"] for row in history] == ["WRITE", "WRITE", "MERGE", "MERGE", "MERGE"]
    assert spark.sql(f"SELECT id, a FROM delta.`{tmp_path}/s/t` VERSION AS OF 3 ORDER BY id").collect() == [
        (1, "a"),
        (3, "c"),
        (5, "e"),
        (6, "f"),
    ]


def operations(spark: SparkSession, folder: Path) -> list[str]:
    """How Spark has written each batch."""
    history = spark.sql(f"DESCRIBE HISTORY delta.`{folder}/s/t`").orderBy("version").select("operation").collect()
    return [row["operation"] for row in history]


@pytest.mark.long
def test_delta_knows_the_highest_key_of_tables_that_it_has_filled(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[DataFrame] = []
    frames = type(spark.range(0))
    files = frames.inputFiles

    def looked(frame: DataFrame) -> list[str]:
        looks.append(frame)
        found: list[str] = files(frame)
        return found

    monkeypatch.setattr(frames, "inputFiles", looked)
    monkeypatch.setattr(delta, "UNASKED", 1)
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    for number, key in enumerate((1, 5, 1, 7)):
        sink.apply(number, [effects(spark, PLAIN, [up(key, "a", number)])])
    assert operations(spark, tmp_path) == ["WRITE", "WRITE", "MERGE", "WRITE"]
    # The key of the third batch is not above the highest one, so the statistics decide.
    assert len(looks) == 1
    # A new process asks, and does not ask again before each batch of changes. Then it knows the highest key too.
    again = sink_of(DeltaPlace(str(tmp_path)), spark)
    for number, key in enumerate((5, 8, 9, 10), 4):
        again.apply(number, [effects(spark, PLAIN, [up(key, "a", number)])])
    assert operations(spark, tmp_path)[4:] == ["MERGE", "MERGE", "WRITE", "WRITE"]
    assert len(looks) == 4
    # Another process has written: what the first one knew of the table is over.
    sink.apply(8, [effects(spark, PLAIN, [up(8, "a", 8), up(9, "a", 8)])])
    assert operations(spark, tmp_path)[8:] == ["MERGE"]
    assert shown(sink, PLAIN) == [(1, "a", 2), (10, "a", 7), (5, "a", 4), (7, "a", 3), (8, "a", 8), (9, "a", 8)]


@pytest.mark.long
def test_delta_knows_a_table_in_the_place_of_another_one(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "a", 1)])])
    shutil.rmtree(tmp_path / "s")
    sink_of(DeltaPlace(str(tmp_path)), spark).apply(0, [effects(spark, PLAIN, [up(5, "b", 1)])])
    # Its version has the same number, and a key above the highest one of the former table.
    sink.apply(1, [effects(spark, PLAIN, [up(5, "c", 2)])])
    assert shown(sink, PLAIN) == [(5, "c", 2)]


@pytest.mark.long
def test_delta_adds_rows_without_a_merge_after_a_truncate(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    batches: list[Rows] = [[up(8, "a", 1)], [up(8, "b", 2)], [up(1, "c", 3)], [up(2, "d", 4)]]
    for number, rows in enumerate(batches):
        sink.apply(number, [effects(spark, PLAIN, rows, truncated=ALL if number == 2 else None)])
    assert operations(spark, tmp_path) == ["WRITE", "MERGE", "MERGE", "WRITE"]
    assert shown(sink, PLAIN) == [(1, "c", 3), (2, "d", 4)]


@pytest.mark.long
def test_delta_applies_small_and_large_tables_of_a_batch(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    large, small = replace(PLAIN, name="large"), replace(PLAIN, name="small")
    sink.apply(0, [effects(spark, of, [up(one, f"x{one}", one) for one in range(rows)]) for of, rows in ((large, 900), (small, 9))])
    sizes = [sum(file.stat().st_size for file in (tmp_path / "s" / name).rglob("part-*.parquet")) for name in ("small", "large")]
    monkeypatch.setattr(delta, "SMALL", sum(sizes) // 2)
    for number in (1, 2):
        sink.apply(number, [effects(spark, one, [up(number, "y", 0), down(number + 4)]) for one in (large, small)])
    assert shown(sink, small) == sorted([(1, "y", 0), (2, "y", 0), *((one, f"x{one}", one) for one in (0, 3, 4, 7, 8))], key=repr)
    assert shown(sink, large) == sorted([*shown(sink, small), *((one, f"x{one}", one) for one in range(9, 900))], key=repr)
    for name, vectors in (("large", "1"), ("small", "0")):
        history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}/s/{name}`").where("version = 2").first()
        assert history is not None
        assert history["operationMetrics"]["numTargetDeletionVectorsAdded"] == vectors


def test_delta_in_a_catalog(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path), "spark_catalog"), spark)
    mine = Table("sinks_schema", "t", PLAIN.columns, PLAIN.key)
    sink.apply(0, [effects(spark, mine, [up(1, "x", 1)])])
    assert [tuple(row) for row in spark.sql("SELECT id, a FROM sinks_schema.t").collect()] == [(1, "x")]
    wide = replace(mine, columns=(*mine.columns, Column("d", INT, 3)))
    sink.apply(1, [effects(spark, wide, [up(2, "y", 2, 2)])])
    assert shown(sink, wide) == [(1, "x", 1, 3), (2, "y", 2, 2)]
    spark.sql("DROP TABLE sinks_schema.t")
    spark.sql("DROP SCHEMA sinks_schema")


def test_delta_refuses_columns_that_differ_in_case(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(DeltaPlace(str(tmp_path)), spark)
    with pytest.raises(JobError, match="cannot distinguish the columns id, Id"):
        sink.apply(0, [effects(spark, table(Column("id", INT), Column("Id", INT)), [])])


# Of each row: op, lsn, kept, k0, then the columns of PLAIN as c0 to c2. What a delete holds in them must not be seen.
SENT = [
    (UPSERT, 101, "", "p1", 1, "x", 10),
    (UPSERT, 102, "a old", "p2", 2, "no row to keep of", 20),
    (DELETE, 103, "", "p3", 3, "gone", 30),
    (UPSERT, None, None, "p4", 4, "y", 40),
]


def inserted(of: Table, there: list[str]) -> list[tuple[Any, ...]]:
    """The rows of a new table with the columns ``there`` after SENT. SQLite runs the plain SQL, without Spark."""
    batch = Incoming(of, len(SENT), None, (), frozenset({"a"}), frozenset(), cast(DataFrame, None), None, None)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("array_contains", 2, lambda kept, name: None if kept is None else name in kept.split())
        connection.execute("CREATE TABLE batch (op, lsn, kept, k0, c0, c1, c2)")
        connection.executemany("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)", SENT)
        # The default shows where the statement leaves a column out.
        columns = ", ".join(f"{name} DEFAULT 'left out'" for name in there)
        connection.execute(f"CREATE TABLE mirror ({columns})")
        connection.execute(insert_statement("mirror", "batch", batch, there))
        return sorted(connection.execute("SELECT * FROM mirror").fetchall(), key=repr)


def test_new_table_is_filled_with_the_rows_that_stay() -> None:
    assert inserted(PLAIN, ["id", "a", "b", LSN]) == [(1, "x", 10, 101), (2, None, 20, 102), (4, "y", 40, None)]


def test_new_table_is_filled_by_the_names_of_its_columns() -> None:
    assert inserted(PLAIN, [LSN, "b", "old", "id", "a"]) == [(101, 10, None, 1, "x"), (102, 20, None, 2, None), (None, 40, None, 4, "y")]


def test_new_table_without_key_is_filled_with_positions() -> None:
    rows = [(1, "x", 10, 101, "p1"), (2, None, 20, 102, "p2"), (4, "y", 40, None, "p4")]
    assert inserted(replace(PLAIN, key=()), ["id", "a", "b", LSN, POSITION]) == rows


def test_relative_folder_is_in_the_working_directory(spark: SparkSession, tmp_path: Path) -> None:
    # The JVM's working directory is that of the process at its start.
    relative = os.path.relpath(tmp_path / "tables", str(spark._jvm.java.lang.System.getProperty("user.dir")))
    sink = sink_of(DeltaPlace(relative), spark)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 1)])])
    sink.apply(1, [effects(spark, PLAIN, [up(2, "y", 1)])])
    assert shown(sink, PLAIN) == shown(sink_of(DeltaPlace(str(tmp_path / "tables")), spark), PLAIN)
    assert (tmp_path / "tables" / "s" / "t" / "_delta_log").is_dir()
