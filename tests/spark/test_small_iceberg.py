"""Few rows of small Iceberg tables are committed without a MERGE, and the tables are those that a MERGE would leave."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.sink_rig import INT, PLAIN, TEXT, Rows, down, effects, few, kind, of_all_types, shown, table, up
from workers.spark.failure import JobError
from workers.spark.sinks import small_tables
from workers.spark.sinks.iceberg import small
from workers.spark.sinks.iceberg.sink import IcebergSink
from workers.spark.sinks.iceberg.small import ENGINE, WRITER, IcebergFiles
from workers.spark.tables.local_rows import local
from workers.spark.tables.table import LSN, UPSERT, Column, Table

pytestmark = pytest.mark.pg_once


class Rig:
    """A sink with a warehouse in ``folder``, and batches whose rows are in the driver."""

    def __init__(self, spark: SparkSession, folder: Path, catalog: str) -> None:
        self.spark = spark
        self.folder = folder
        self._settings = {"type": "hadoop", "warehouse": str(folder)}
        self.catalog = catalog
        self.sink = self.again()

    def again(self) -> IcebergSink:
        """The sink of another process."""
        return IcebergSink(self.spark, self.catalog, self._settings)

    def fill(self, of: Table, rows: Rows) -> None:
        self.sink.apply(0, [effects(self.spark, of, rows)])

    def few(self, of: Table, rows: Rows, lsn: int = 200, sink: IcebergSink | None = None) -> None:
        (sink or self.sink).apply(1, [few(self.spark, of, rows, lsn)])

    def engines(self, of: Table = PLAIN) -> list[bool]:
        """Of each snapshot of the table, whether it was made without Spark."""
        found = self.spark.sql(f"SELECT summary FROM {self.sink.identifier(of)}.snapshots ORDER BY committed_at").collect()
        return [row["summary"].get(WRITER) == ENGINE for row in found]

    def sql(self, statement: str, of: Table = PLAIN) -> None:
        self.spark.sql(statement.format(self.sink.identifier(of)))


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> Callable[[str], Rig]:
    # A catalog's settings are read once in a session.
    mine = f"few_{tmp_path.name.translate(str.maketrans('[]-', '___'))}"
    return lambda name: Rig(spark, tmp_path / name, f"{mine}_{name}")


@pytest.fixture
def rig(make: Callable[[str], Rig]) -> Rig:
    return make("own")


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
    assert rig.engines() == [False, True, True, True]
    # Nothing that is there goes: no commit.
    rig.few(PLAIN, [down(9)])
    assert len(rig.engines()) == 4
    rig.few(PLAIN, [down(3), down(5)])
    assert shown(rig.sink, PLAIN) == []
    rig.few(PLAIN, [up(6, "w", 60)])
    assert shown(rig.sink, PLAIN) == [(6, "w", 60)]
    assert rig.engines()[4:] == [True, True]
    # Each commit has one file, whose statistics let readers skip it.
    files = rig.spark.sql(f"SELECT record_count, readable_metrics.id.upper_bound FROM {rig.sink.identifier(PLAIN)}.files").collect()
    assert [tuple(row) for row in files] == [(1, 6)]


def test_all_types_are_those_of_a_merge(make: Callable[[str], Rig], spark: SparkSession) -> None:
    of, made = of_all_types()
    merged, direct = make("merged"), make("direct")
    for rig in (merged, direct):
        rig.sink.apply(0, [replace(made(spark, 1, 2), known=False)])
    merged.sink.apply(1, [made(spark, 2, 3)])
    found = made(spark, 2, 3)
    direct.sink.apply(1, [found.with_rows(local(found.rows))])
    assert direct.engines(of)[-1]
    assert not merged.engines(of)[-1]

    def texts(rig: Rig) -> list[tuple[Any, ...]]:
        there = rig.sink.read(of)
        assert there is not None
        # As texts, because Python has no year beyond 9999 and no NaN that equals itself.
        return sorted(tuple(row) for row in there.select(*(F.col(name).cast("string") for name in there.columns)).collect())

    assert texts(direct) == texts(merged)
    assert len(texts(direct)) == 3


@pytest.mark.long
def test_sequences_of_batches_leave_the_table_of_merges(make: Callable[[str], Rig], spark: SparkSession) -> None:
    chance = random.Random(3)
    narrow = table(Column("x", INT), Column("y", TEXT), Column("s", kind("int16")), key=("x", "y"))
    wide = replace(narrow, columns=(narrow.columns[0], Column("n", TEXT), *narrow.columns[1:]))
    merged, direct = make("merged"), make("direct")
    former = None
    for batch in range(8):
        of = narrow if batch < 4 else wide
        keys = sorted({(chance.choice((None, 1, 2)), chance.choice((None, "", "a"))) for _ in range(5)}, key=repr)
        rows = [
            (down(*key) if chance.random() < 0.3 else ("upsert", key, (key[0], *(["n"] if of is wide else []), key[1], batch), []))
            for key in keys
        ]
        for rig in (merged, direct):
            one = replace(effects(spark, of, rows, 101 if batch == 2 else None, lsn=100 + batch), known=batch > 0, former=former)
            rig.sink.apply(batch, [one.with_rows(local(one.rows)) if rig is direct else one])
        assert shown(direct.sink, of) == shown(merged.sink, of)
        former = of
    # The table is created, truncated, and gets a column. A table with a new column has it in a snapshot after the next MERGE.
    assert direct.engines(narrow) == [False, True, False, True, False, True, True, True]
    assert not any(merged.engines(narrow))


@pytest.mark.long
def test_commits_of_other_processes_are_kept(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    rig.few(PLAIN, [up(1, "x2", 11)])
    rig.few(PLAIN, [down(2), up(3, "other", 30)], sink=rig.again())
    rig.few(PLAIN, [up(4, "mine", 40)])
    assert shown(rig.sink, PLAIN) == [(1, "x2", 11), (3, "other", 30), (4, "mine", 40)]
    # The rows are read again for the batch after that.
    rig.few(PLAIN, [up(5, "later", 50)])
    rig.sql("UPDATE {} SET b = 51 WHERE id = 5")
    rig.few(PLAIN, [down(1)])
    assert shown(rig.sink, PLAIN) == [(3, "other", 30), (4, "mine", 40), (5, "later", 51)]
    assert rig.engines() == [False, True, True, False, True, False, False]
    # A column that another process adds goes again.
    rig.few(PLAIN, [down(3)])
    rig.sql("ALTER TABLE {} ADD COLUMN more int")
    rig.few(PLAIN, [up(6, "w", 60)])
    assert shown(rig.sink, PLAIN) == [(4, "mine", 40), (5, "later", 51), (6, "w", 60)]
    assert rig.engines()[7:] == [True, False]
    rig.sql("ALTER TABLE {} ADD COLUMN more int FIRST")
    rig.few(PLAIN, [up(7, "t", 70)], sink=rig.again())
    assert shown(rig.sink, PLAIN) == [(4, "mine", 40), (5, "later", 51), (6, "w", 60), (7, "t", 70)]
    assert rig.engines()[9:] == [False]


COMPACTED = [(1, "x2", 11), (2, "y", 20), (3, "z", 30)]


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        pytest.param("INSERT INTO {} (id) VALUES (9)", [(1, "x2", 11), (2, "y", 20), (3, "z", 30), (9, None, None)], id="insert"),
        pytest.param("DELETE FROM {} WHERE id = 2", [(1, "x2", 11), (3, "z", 30)], id="delete"),
        pytest.param("DELETE FROM {}", [(3, "z", 30)], id="delete of files"),
        pytest.param("CALL system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))", COMPACTED, id="compaction"),
    ],
)
def test_commit_between_look_and_commit_is_kept(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, statement: str, rows: list[tuple[Any, ...]]
) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    rig.few(PLAIN, [up(1, "x2", 11)])
    written = IcebergFiles._written

    def late(files: IcebergFiles, held: Any) -> Any:
        found = written(files, held)
        monkeypatch.undo()
        rig.sql(statement.replace("CALL ", f"CALL {rig.catalog}."))
        return found

    monkeypatch.setattr(IcebergFiles, "_written", late)
    rig.few(PLAIN, [up(3, "z", 30)])
    assert shown(rig.sink, PLAIN) == rows
    assert not rig.engines()[-1]
    # The file that was not committed is gone.
    there = {row[0] for row in rig.spark.sql(f"SELECT file_path FROM {rig.sink.identifier(PLAIN)}.all_data_files").collect()}
    assert {path.name for path in rig.folder.rglob("*.parquet")} == {Path(path).name for path in there} | {
        Path(row[0]).name for row in rig.spark.sql(f"SELECT file_path FROM {rig.sink.identifier(PLAIN)}.all_delete_files").collect()
    }
    rig.few(PLAIN, [down(3)])
    assert [row[0] for row in shown(rig.sink, PLAIN)] == [row[0] for row in rows if row[0] != 3]


def test_batch_that_ended_after_the_commit_is_repeated(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    replaced = IcebergFiles.replace

    def stopping(files: IcebergFiles, rows: Any, keys: Any, counts: Any) -> bool:
        replaced(files, rows, keys, counts)
        raise RuntimeError("the machine stopped")

    with monkeypatch.context() as patch:
        patch.setattr(IcebergFiles, "replace", stopping)
        with pytest.raises(RuntimeError, match="the machine stopped"):
            rig.few(PLAIN, [up(1, "x2", 11), down(2), up(3, "z", 30)])
    sink = rig.again()
    for _ in range(2):
        rig.few(PLAIN, [up(1, "x2", 11), down(2), up(3, "z", 30)], sink=sink)
        assert shown(sink, PLAIN) == [(1, "x2", 11), (3, "z", 30)]
    assert rig.engines() == [False, True, True, True]


@pytest.mark.long
def test_table_that_is_gone_is_not_made_again(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    rig.few(PLAIN, [up(2, "y", 20)])
    rig.sql("DROP TABLE {}")
    with pytest.raises(JobError, match="is gone, though earlier batches have filled it"):
        rig.few(PLAIN, [up(3, "z", 30)])
    # Another table in its place.
    rig.fill(PLAIN, [up(7, "t", 70)])
    for key in (8, 9):
        rig.few(PLAIN, [up(key, "t", 70)], sink=rig.again())
    rig.few(PLAIN, [up(3, "z", 30)])
    assert [row[0] for row in shown(rig.sink, PLAIN)] == [3, 7, 8, 9]


def test_rows_without_a_key_are_added_once(rig: Rig) -> None:
    of = table(Column("id", INT), Column("a", TEXT), key=())
    rig.sink.apply(0, [effects(rig.spark, of, [(UPSERT, ("p1",), (1, "x"), []), (UPSERT, ("p2",), (1, "x"), [])])])
    before = len(rig.engines())
    for _ in range(2):
        rig.few(of, [(UPSERT, ("p2",), (1, "x"), []), (UPSERT, ("p3",), (3, None), [])])
        assert shown(rig.sink, of) == [(1, "x"), (1, "x"), (3, None)]
    assert rig.engines()[before:] == [True, True]


@pytest.mark.long
def test_everything_else_is_merged(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    rig.few(PLAIN, [up(1, "x2", 11)])
    rig.few(PLAIN, [up(1, "ignored", 12, kept=["a"])])
    assert shown(rig.sink, PLAIN) == [(1, "x2", 12), (2, "y", 20)]
    rig.sink.apply(2, [replace(few(rig.spark, PLAIN, [up(3, "z", 30)], 400), truncated=300)])
    assert shown(rig.sink, PLAIN) == [(3, "z", 30)]
    monkeypatch.setattr(small_tables, "ROWS", 0)
    rig.few(PLAIN, [up(4, "w", 40)])
    monkeypatch.undo()
    monkeypatch.setattr(small, "SMALL", 100)
    rig.few(PLAIN, [up(5, "v", 50)], sink=rig.again())
    monkeypatch.undo()
    assert not any(rig.engines()[2:])
    for statement in ("SET TBLPROPERTIES ('write.wap.enabled' = 'true')", "UNSET TBLPROPERTIES ('write.wap.enabled')"):
        rig.sql(f"ALTER TABLE {{}} {statement}")
        rig.few(PLAIN, [up(6, "u", len(statement))], sink=rig.again())
    assert rig.engines()[-2:] == [False, True]
    rig.sql("ALTER TABLE {} SET TBLPROPERTIES ('format-version' = '3')")
    rig.few(PLAIN, [up(7, "t", 70)], sink=rig.again())
    assert rig.engines()[-1] is False
    assert [row[0] for row in shown(rig.sink, PLAIN)] == [3, 4, 5, 6, 7]
    parted = replace(PLAIN, name="parted", partition_by=("a",))
    rig.fill(parted, [up(1, "x", 10)])
    rig.few(parted, [up(2, "y", 20)])
    assert not any(rig.engines(parted))


@pytest.mark.long
def test_many_changes_of_few_rows_are_reduced_in_the_driver(rig: Rig) -> None:
    def gathered(rows: Rows) -> None:
        rig.sink.apply(1, [replace(effects(rig.spark, PLAIN, rows, lsn=200), known=True, octets=1_000)])

    rig.fill(PLAIN, [up(1, "x", 10), up(2, "y", 20)])
    # The first batch of a process does not know whether the table is small.
    gathered([up(1, "x1", 11)])
    for _ in range(2):
        gathered([up(1, "x2", 12), down(2), up(3, "z", 30)])
        assert shown(rig.sink, PLAIN) == [(1, "x2", 12), (3, "z", 30)]
    assert rig.engines() == [False, False, True, True]


@pytest.mark.long
def test_properties_of_the_table_are_those_of_its_files(rig: Rig) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    rig.sql("ALTER TABLE {} SET TBLPROPERTIES ('write.parquet.compression-codec' = 'gzip', 'write.metadata.metrics.default' = 'none')")
    rig.few(PLAIN, [up(2, "y", 20)])
    (file,) = rig.spark.sql(f"SELECT file_path, upper_bounds FROM {rig.sink.identifier(PLAIN)}.files").collect()
    assert not file["upper_bounds"]


@pytest.mark.long
def test_failure_of_the_cheap_way_is_reported(rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig.fill(PLAIN, [up(1, "x", 10)])
    with monkeypatch.context() as patch:
        # As another version of Iceberg would.
        patch.setattr(IcebergFiles, "prepare", lambda self: self._table.methodOfAnotherVersion())
        rig.few(PLAIN, [up(2, "y", 20)])
    assert caplog.messages == ["The commit of rows of table s.t failed with Py4JError: they take the slower way"]
    rig.few(PLAIN, [up(3, "z", 30)])
    assert shown(rig.sink, PLAIN) == [(1, "x", 10), (2, "y", 20), (3, "z", 30)]
    assert rig.engines() == [False, False, True]
