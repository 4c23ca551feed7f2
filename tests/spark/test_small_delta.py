"""Few rows of small Delta tables are committed without a MERGE, and the tables are those that a MERGE would leave."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.sink_rig import INT, PLAIN, TEXT, Rows, by_arrow, down, effects, few, of_all_types, shown, table, up
from workers.quickstart.embedded.wait import wait_until
from workers.spark.failure import JobError
from workers.spark.sinks import DeltaPlace, small_tables
from workers.spark.sinks.delta import checkpoints, log_folder
from workers.spark.sinks.delta import sink as delta
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.log_folder import ENGINE
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.tables.later import Later
from workers.spark.tables.local_rows import local
from workers.spark.tables.table import DELETE, LSN, UPSERT, Column, Effects, Table
from workers.spark.types import kind_of

pytestmark = pytest.mark.pg_once


def engines(folder: Path, name: str = "t") -> list[bool]:
    """Of each commit of the table, whether it was made without Spark."""
    log = folder / "s" / name / "_delta_log"
    texts = [path.read_text(encoding="utf-8") for path in sorted(log.glob("*.json"))]
    found = [next(document["commitInfo"] for line in text.splitlines() if "commitInfo" in (document := json.loads(line))) for text in texts]
    return [information["engineInfo"] == ENGINE for information in found]


class Rig:
    """A sink in ``folder``, and batches whose rows are in the driver, with ``arrow`` in Python too."""

    def __init__(self, spark: SparkSession, folder: Path, readers: str = "spark", *, arrow: bool = False) -> None:
        self.spark = spark
        self.arrow = arrow
        self.folder = folder
        place = DeltaPlace(str(folder), readers=readers)
        self.sink = DeltaSink(spark, place.folder, readers=place.readers)

    def fill(self, of: Table, rows: Rows) -> None:
        self.sink.apply(0, [effects(self.spark, of, rows)])

    def few(self, of: Table, rows: Rows, lsn: int = 200) -> None:
        found = few(self.spark, of, rows, lsn)
        self.sink.apply(1, [by_arrow(found) if self.arrow else found])


@pytest.fixture(params=[pytest.param("java", marks=pytest.mark.long), "arrow"])
def rig(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Rig:
    return Rig(spark, tmp_path, arrow=request.param == "arrow")


def test_few_rows_come_change_and_go_without_a_merge(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30)])
    for _ in range(2):
        rig.few(PLAIN, [up(1, "x2", 11), down(2), up(4, None, 40), down(9)])
        assert shown(rig.sink, PLAIN) == [(1, "x2", 11), (3, "z", 30), (4, None, 40)]
    rig.few(PLAIN, [down(1), down(4), up(5, "v", 50)], lsn=300)
    assert shown(rig.sink, PLAIN) == [(3, "z", 30), (5, "v", 50)]
    found = rig.sink.read(PLAIN)
    assert found is not None
    assert sorted((row["id"], row[LSN]) for row in found.collect()) == [(3, 100), (5, 300)]
    assert engines(rig.folder) == [True] * 4
    # Nothing that is there goes: no commit.
    rig.few(PLAIN, [down(9)])
    assert len(engines(rig.folder)) == 4
    rig.few(PLAIN, [down(3), down(5)])
    assert shown(rig.sink, PLAIN) == []
    rig.few(PLAIN, [up(6, "w", 60)])
    assert shown(rig.sink, PLAIN) == [(6, "w", 60)]
    assert engines(rig.folder)[4:] == [True, True]
    history = rig.spark.sql(f"DESCRIBE HISTORY delta.`{rig.folder}/s/t`").where("version = 1").first()
    assert history is not None
    assert history["operationMetrics"] == {"numTargetRowsInserted": "1", "numTargetRowsUpdated": "1", "numTargetRowsDeleted": "1"}


@pytest.mark.parametrize("readers", ["spark", pytest.param("all", marks=pytest.mark.long)])
def test_all_types_are_those_of_a_merge(spark: SparkSession, tmp_path: Path, readers: str) -> None:
    of, made = of_all_types()
    merged, direct = (Rig(spark, tmp_path / name, readers) for name in ("merged", "direct"))
    for rig in (merged, direct):
        rig.sink.apply(0, [replace(made(spark, 1, 2), known=False)])
    merged.sink.apply(1, [made(spark, 2, 3)])
    found = made(spark, 2, 3)
    direct.sink.apply(1, [found.with_rows(local(found.rows))])
    assert engines(direct.folder)[-1]
    assert not engines(merged.folder)[-1]

    def texts(rig: Rig) -> list[tuple[Any, ...]]:
        there = rig.sink.read(of)
        assert there is not None
        # As texts, because Python has no year beyond 9999 and no NaN that equals itself.
        return sorted(tuple(row) for row in there.select(*(F.col(name).cast("string") for name in there.columns)).collect())

    assert texts(direct) == texts(merged)
    assert [row[1:3] for row in texts(direct)] == [("true", "-32768"), ("true", "-32768"), (None, None)]
    if readers == "all":
        rows = (
            QueryBuilder().register("mirror", DeltaTable(str(tmp_path / "direct" / "s" / "t"))).execute("SELECT id FROM mirror").read_all()
        )
        assert rows.num_rows == 3


KEYS: Sequence[tuple[Any, str, str]] = (
    (kind_of({"type": "bytes"}), "X'00FF'", "X'00FE'"),
    (
        kind_of({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}),
        "timestamp_ntz'2024-01-01 00:00:00.000001'",
        "timestamp_ntz'2024-01-01'",
    ),
    (
        kind_of({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}),
        "timestamp'2024-01-01 00:00:00.000001Z'",
        "timestamp'2024-01-01 00:00:00Z'",
    ),
    (kind_of({"type": "int32", "name": "io.debezium.time.Date"}), "date'-0001-01-01'", "date'0001-01-01'"),
    (TEXT, "'a\",\"b\\n'", "'a'"),
    (kind_of({"type": "boolean"}), "true", "false"),
)


@pytest.mark.long
def test_keys_of_all_types_find_their_rows(rig: Rig) -> None:
    of = table(
        *(Column(f"k{at}", kind) for at, (kind, _, _) in enumerate(KEYS)), Column("n", INT), key=tuple(f"k{at}" for at in range(len(KEYS)))
    )

    def change(op: str, number: int, changed: int | None) -> Effects:
        """Of the row whose key differs from the first one's in the column ``changed``; null is in its place for -1."""
        texts = [second if at == changed else "null" if changed == -1 else first for at, (_, first, second) in enumerate(KEYS)]
        cells = [F.expr(text).cast(kind.type).alias(f"k{at}") for at, (text, (kind, _, _)) in enumerate(zip(texts, KEYS, strict=True))]
        return Effects(
            of,
            Later.of(
                rig.spark.range(1).select(
                    F.lit(op).alias("op"),
                    F.struct(*cells).alias("key"),
                    F.struct(*cells, F.lit(number).alias("n")).alias("row"),
                    F.array().cast("array<string>").alias("kept"),
                    F.lit(1).cast("bigint").alias("lsn"),
                )
            ),
        )

    rig.sink.apply(0, [change(UPSERT, 0, None)])
    changes = [change(UPSERT, at + 10, at) for at in (-1, *range(len(KEYS)))]
    for one in [*changes, change(DELETE, 0, None), change(UPSERT, 5, -1)]:
        rig.sink.apply(1, [replace(one.with_rows(local(one.rows)), known=True)])
    found = rig.sink.read(of)
    assert found is not None
    assert sorted(row["n"] for row in found.select("n").collect()) == [5, *range(10, 10 + len(KEYS))]
    assert all(engines(rig.folder))


def test_commit_of_another_process_is_kept(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    rig.few(PLAIN, [up(1, "x2", 11)])
    other = Rig(rig.spark, rig.folder)
    other.few(PLAIN, [down(2), up(3, "other", 30)])
    rig.few(PLAIN, [up(4, "mine", 40)])
    assert shown(rig.sink, PLAIN) == [(1, "x2", 11), (3, "other", 30), (4, "mine", 40)]
    # The rows are read again for the batch after that.
    rig.few(PLAIN, [up(5, "later", 50)])
    rig.spark.sql(f"OPTIMIZE delta.`{rig.folder}/s/t`")
    rig.few(PLAIN, [down(5)])
    assert shown(rig.sink, PLAIN) == [(1, "x2", 11), (3, "other", 30), (4, "mine", 40)]
    assert engines(rig.folder)[1:5] == [True, True, False, True]


@pytest.mark.parametrize("way", ["a link", *(pytest.param(way, marks=pytest.mark.long) for way in ("another file system", "no links"))])
def test_version_is_added_by_a_link_or_by_deltas_store(rig: Rig, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    def refused(_: Path, __: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if way == "another file system":
        monkeypatch.setattr(log_folder, "local_folder", lambda *_: None)
    elif way == "no links":
        monkeypatch.setattr(Path, "hardlink_to", refused)
    rig.fill(PLAIN, [up(1, "x", 10)])
    rig.few(PLAIN, [up(2, "y", 20)])
    log = rig.folder / "s" / "t" / "_delta_log"
    # Hadoop writes a checksum beside each file.
    assert (log / f".{1:020}.json.crc").exists() is (way != "a link")
    assert not [*log.glob(".*.tmp")]
    assert (log / f"{1:020}.json").stat().st_mode & 0o777 == 0o644
    other = Rig(rig.spark, rig.folder)
    other.few(PLAIN, [up(3, "z", 30)])
    rig.few(PLAIN, [up(4, "w", 40)])
    assert engines(rig.folder) == [True, True, True, False]
    assert shown(rig.sink, PLAIN) == [(1, "x", 10), (2, "y", 20), (3, "z", 30), (4, "w", 40)]
    assert {row["id"] for row in rig.spark.read.format("delta").load(str(log.parent)).collect()} == {1, 2, 3, 4}


def test_table_that_is_gone_is_not_made_again(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    rig.few(PLAIN, [up(2, "y", 20)])
    shutil.rmtree(rig.folder / "s" / "t")
    with pytest.raises(JobError, match="is gone, though earlier batches have filled it"):
        rig.few(PLAIN, [up(3, "z", 30)])
    assert not (rig.folder / "s" / "t").exists()


def test_rows_without_a_key_are_added_once(rig: Rig) -> None:
    of = table(Column("id", INT), Column("a", TEXT), key=())
    rig.sink.apply(0, [effects(rig.spark, of, [(UPSERT, ("p1",), (1, "x"), []), (UPSERT, ("p2",), (1, "x"), [])])])
    before = len(engines(rig.folder))
    for _ in range(2):
        rig.few(of, [(UPSERT, ("p2",), (1, "x"), []), (UPSERT, ("p3",), (3, None), [])])
        assert shown(rig.sink, of) == [(1, "x"), (1, "x"), (3, None)]
    assert engines(rig.folder)[before:] == [True, True]


@pytest.mark.long
def test_everything_else_is_merged(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    rig.few(PLAIN, [up(1, "x2", 11)])
    rig.few(PLAIN, [up(1, "ignored", 12, kept=["a"])])
    assert shown(rig.sink, PLAIN) == [(1, "x2", 12), (2, "y", 20)]
    rig.sink.apply(2, [replace(few(rig.spark, PLAIN, [up(3, "z", 30)], 400), truncated=300)])
    assert shown(rig.sink, PLAIN) == [(3, "z", 30)]
    wide = replace(PLAIN, columns=(*PLAIN.columns, Column("n", INT)))
    rig.few(wide, [up(4, "w", 40, 4)])
    assert shown(rig.sink, wide) == [(3, "z", 30, None), (4, "w", 40, 4)]
    merges = len(engines(rig.folder))
    assert engines(rig.folder) == [True, True, *[False] * (merges - 2)]
    monkeypatch.setattr(small_tables, "ROWS", 1)
    rig.few(wide, [up(5, "v", 50, 5)])
    monkeypatch.undo()
    # Tables with more rows have another way (test_deletion_vectors.py), which adds a file instead of replacing all.
    assert engines(rig.folder)[merges:] == [True]
    newest = (rig.folder / "s" / "t" / "_delta_log" / f"{merges:020}.json").read_text(encoding="utf-8")
    assert [next(iter(json.loads(line))) for line in newest.splitlines()] == ["commitInfo", "add"]
    other = Rig(rig.spark, rig.folder)
    rig.spark.sql(f"ALTER TABLE delta.`{rig.folder}/s/t` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    other.few(wide, [up(6, "u", 60, 6)])
    assert [row[0] for row in shown(rig.sink, wide)] == [3, 4, 5, 6]
    assert not any(engines(rig.folder)[merges + 1 :])


def gathered(rig: Rig, rows: Rows, octets: int | None) -> None:
    rig.sink.apply(1, [replace(effects(rig.spark, PLAIN, rows, lsn=200), known=True, octets=octets)])


def test_many_changes_of_few_rows_are_reduced_in_the_driver(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    # The first batch of another process looks at the size of the table.
    rig.sink = DeltaSink(rig.spark, str(rig.folder))
    gathered(rig, [up(1, "x1", 11)], 1_000)
    for _ in range(2):
        gathered(rig, [up(1, "x2", 12), down(2), up(3, "z", 30)], 1_000)
        assert shown(rig.sink, PLAIN) == [(1, "x2", 12), (3, "z", 30)]
    rig.few(PLAIN, [up(3, "z2", 31)])
    assert engines(rig.folder) == [True, True, True, True, True]
    # Many bytes of changes are merged, and effects that depend on more than the changes. Many rows are applied as those of a large table.
    gathered(rig, [up(4, "w", 40)], small_tables.GATHERED + 1)
    gathered(rig, [up(5, "v", 50)], None)
    monkeypatch.setattr(small_tables, "ROWS", 2)
    gathered(rig, [up(6, "u", 60), up(7, "t", 70), up(1, "x3", 13)], 1_000)
    assert engines(rig.folder)[5:] == [False, False, True]
    assert [row[:2] for row in shown(rig.sink, PLAIN)] == [(1, "x3"), (3, "z2"), (4, "w"), (5, "v"), (6, "u"), (7, "t")]


@pytest.mark.long
def test_effects_of_several_topics_on_a_table_stay_in_their_order(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    truncate = replace(effects(rig.spark, PLAIN, [], truncated=150), known=True)
    rig.sink.apply(1, [truncate, few(rig.spark, PLAIN, [up(2, "y", 20)], lsn=100)])
    assert shown(rig.sink, PLAIN) == [(2, "y", 20)]


@pytest.mark.long
def test_failure_of_the_cheap_way_is_reported(rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    with monkeypatch.context() as patch:
        # As another version of Delta would.
        patch.setattr(DeltaTableFiles, "files", lambda self: list(self._snapshot.filesOfAnotherVersion()))
        rig.few(PLAIN, [up(2, "y", 20)])
    assert caplog.messages == ["The commit of rows of table s.t failed with Py4JError: they take the slower way"]
    rig.few(PLAIN, [up(3, "z", 30)])
    assert shown(rig.sink, PLAIN) == [(1, "x", 10), (2, "y", 20), (3, "z", 30)]
    assert engines(rig.folder)[1:] == [False, True]
    assert len(caplog.messages) == 1


@pytest.mark.long
def test_marked_rows_stay_deleted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.fill(PLAIN, [up(number, "x", number) for number in range(1, 5)])
    monkeypatch.setattr(delta, "SMALL", -1)
    rig.sink.apply(1, [effects(rig.spark, PLAIN, [down(2), up(3, "y", 30)])])
    monkeypatch.undo()
    log = (rig.folder / "s" / "t" / "_delta_log" / f"{1:020}.json").read_text(encoding="utf-8")
    assert '"deletionVector"' in log
    Rig(rig.spark, rig.folder).few(PLAIN, [up(4, "z", 40)])
    assert shown(rig.sink, PLAIN) == [(1, "x", 1), (3, "y", 30), (4, "z", 40)]
    assert engines(rig.folder) == [True, False, True]


@pytest.mark.long
def test_log_gets_checkpoints(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "COMMITS", 2)
    rig.fill(PLAIN, [up(1, "x", 10)])
    for number in range(2, 6):
        rig.few(PLAIN, [up(number, "y", number)])
    # It is written after the second commit, while the next batches may be applied already.
    last = rig.folder / "s" / "t" / "_delta_log" / "_last_checkpoint"
    wait_until(last.exists, "a checkpoint")
    assert 2 <= json.loads(last.read_text(encoding="utf-8"))["version"] <= 4
    assert [row[0] for row in shown(rig.sink, PLAIN)] == [1, 2, 3, 4, 5]
    assert engines(rig.folder) == [True] * 5
