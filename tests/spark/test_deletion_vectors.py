"""Rows of Delta tables that are not small are committed without a MERGE, and the tables are those that a MERGE would leave."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, Rows, by_arrow, down, effects, few, of_all_types, shown, table, up
from workers.quickstart.embedded.wait import wait_until
from workers.spark.sinks import small_tables
from workers.spark.sinks.delta import checkpoints, deletion_vectors, joined_files, small
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.log_folder import ENGINE
from workers.spark.sinks.delta.marked_rows import MarkedRows
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.tables.table import LSN, UPSERT, Column, Effects, Table

pytestmark = pytest.mark.pg_once

ROWS = 60
Model = dict[tuple[Any, ...], tuple[Any, ...]]


@pytest.fixture(autouse=True)
def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "SMALL", -1)
    monkeypatch.setattr(deletion_vectors, "SMALL", 0)


def text(at: int) -> str:
    return f"text {at}"


def commits(folder: Path, of: Table = PLAIN) -> list[list[dict[str, Any]]]:
    """The actions of each version of the table."""
    log = folder / of.schema / of.name / "_delta_log"
    return [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in sorted(log.glob("*.json"))]


def merged(folder: Path, of: Table = PLAIN) -> list[bool]:
    """Of each version, whether Delta committed it."""
    found = [next(action["commitInfo"] for action in actions if "commitInfo" in action) for actions in commits(folder, of)]
    return [information["engineInfo"] != ENGINE for information in found]


def files_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of files in which rows are looked for from now on, by Python or, if that returns None, by Spark."""
    read: list[int] = []
    own = MarkedRows.found

    def watched(self: MarkedRows, known: Any, files: Sequence[Any], changes: Any) -> Any:
        read.append(len(files))
        return own(self, known, files, changes)

    monkeypatch.setattr(MarkedRows, "found", watched)
    return read


class Rig:
    """A sink in ``folder``, the table ``of``, and the rows that it must have."""

    def __init__(self, spark: SparkSession, folder: Path, of: Table = PLAIN) -> None:
        self.spark, self.folder, self.of = spark, folder, of
        self.sink = DeltaSink(spark, str(folder))
        self.model: Model = {}
        self.arrow = False

    def fill(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Create the table."""
        made = [up(*row, key=len(self.of.key)) for row in rows]
        self._model(made)
        self.sink.apply(0, [effects(self.spark, self.of, made)])

    def restart(self) -> None:
        """Another process goes on, which does not know the table's size."""
        self.sink = DeltaSink(self.spark, str(self.folder))

    def few(self, rows: Rows, lsn: int = 200) -> None:
        self._model(rows)
        found = few(self.spark, self.of, rows, lsn)
        self.sink.apply(1, [by_arrow(found) if self.arrow else found])

    def many(self, rows: Rows) -> None:
        """A batch whose rows are not in the driver yet."""
        self._model(rows)
        self.sink.apply(1, [replace(effects(self.spark, self.of, rows), known=True, octets=1, changes=len(rows))])

    def spread(self, rows: Rows) -> None:
        """A batch whose rows are too many for the driver."""
        self._model(rows)
        found = effects(self.spark, self.of, rows)
        many = small_tables.CHANGES + 1
        self.sink.apply(1, [replace(found.with_rows(found.rows.repartition(3)), known=True, octets=1, changes=many)])

    def check(self) -> None:
        assert shown(self.sink, self.of) == sorted(self.model.values(), key=repr)

    def _model(self, rows: Iterable[tuple[str, tuple[Any, ...], tuple[Any, ...] | None, list[str]]]) -> None:
        for _, key, row, _ in rows:
            self.model.pop(key, None)
            if row is not None:
                self.model[key] = row


@pytest.fixture(params=[pytest.param("java", marks=pytest.mark.long), "arrow"])
def rig(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Rig:
    found = Rig(spark, tmp_path)
    found.arrow = request.param == "arrow"
    found.fill([(at, text(at), at) for at in range(ROWS)])
    return found


def test_rows_come_change_and_go_without_a_merge(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "COMMITS", 4)
    before, luck = len(commits(rig.folder)), random.Random(7)
    for batch in range(9):
        rows = [down(at) if luck.random() < 0.3 else up(at, text(batch), luck.randrange(9)) for at in luck.sample(range(ROWS + 20), 40)]
        (rig.few, rig.many, rig.spread)[batch % 3](rows)
        rig.check()
    assert merged(rig.folder)[before:] == [False] * 9
    wait_until(lambda: list((rig.folder / "s" / "t" / "_delta_log").glob("*.checkpoint.parquet")), "a checkpoint")
    # Delta's own command finds the table in order.
    rig.spark.sql(f"OPTIMIZE delta.`{rig.folder}/s/t`")
    rig.check()
    rig.few([up(1, "after", 1), down(2)])
    rig.check()


def test_the_rows_have_the_lsn_of_their_change(rig: Rig) -> None:
    rig.few([up(5, "x", 1), up(ROWS + 1, "y", 2)], lsn=321)
    found = rig.sink.read(PLAIN)
    assert found is not None
    assert sorted(row["id"] for row in found.where(f"{LSN} = 321").collect()) == [5, ROWS + 1]
    history = rig.spark.sql(f"DESCRIBE HISTORY delta.`{rig.folder}/s/t`").first()
    assert history is not None
    assert history["operationMetrics"] == {"numTargetRowsInserted": "1", "numTargetRowsUpdated": "1"}


def test_the_statistics_are_those_of_the_rows(rig: Rig) -> None:
    rig.few([down(3), up(ROWS + 4, "x", 1), up(ROWS + 9, "y", 2), down(ROWS + 90)])
    stats = [json.loads(action["add"]["stats"]) for action in commits(rig.folder)[-1] if "add" in action]
    assert [found["numRecords"] for found in stats] == [ROWS, 2]
    assert [found["tightBounds"] for found in stats] == [False, True]
    assert [next(iter(stats[1][side].values())) for side in ("minValues", "maxValues")] == [ROWS + 4, ROWS + 9]
    # Spark answers this from the statistics if they have exact bounds.
    assert rig.spark.sql(f"SELECT min(id), max(id), count(*) FROM delta.`{rig.folder}/s/t`").first() == (0, ROWS + 9, ROWS + 1)


def test_the_statistics_of_many_rows_are_those_of_delta(rig: Rig) -> None:
    rig.spread([down(3), up(ROWS + 4, "x", 1), up(ROWS + 9, "y", 2), down(ROWS + 90)])
    kept, new = [json.loads(action["add"]["stats"]) for action in commits(rig.folder)[-1] if "add" in action]
    assert (kept["numRecords"], new["numRecords"]) == (ROWS, 2)
    assert len(new["minValues"]) == 4, "those of all columns"
    assert rig.spark.sql(f"SELECT min(id), max(id), count(*) FROM delta.`{rig.folder}/s/t`").first() == (0, ROWS + 9, ROWS + 1)
    before = len(commits(rig.folder))
    rig.spread([down(ROWS + 90)])
    assert len(commits(rig.folder)) == before, "no row is left to remove"
    rig.spread([down(ROWS + 4), down(ROWS + 9)])
    assert not any("deletionVector" in action.get("add", {}) for action in commits(rig.folder)[-1])
    rig.check()


def test_a_file_whose_rows_have_all_gone_goes(rig: Rig) -> None:
    rig.few([up(ROWS + 1, "x", 1)])
    rig.few([up(ROWS + 1, "y", 1)])
    newest = commits(rig.folder)[-1]
    assert [sorted(action) for action in newest] == [["commitInfo"], ["remove"], ["add"]]
    rig.few([down(ROWS + 1)])
    assert [sorted(action) for action in commits(rig.folder)[-1]] == [["commitInfo"], ["remove"]]
    before = len(commits(rig.folder))
    rig.few([down(ROWS + 1)])
    assert len(commits(rig.folder)) == before, "nothing is left to remove"
    rig.check()


def test_only_files_that_may_hold_the_keys_are_read(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    read = files_read(monkeypatch)
    rig.few([up(ROWS + 10, "x", 1), up(ROWS + 20, "x", 1)])
    assert not read, "no file has such keys"
    rig.few([up(ROWS + 15, "y", 1)])
    assert read == [1], "the file of the batch before it"
    rig.few([down(ROWS + 10), up(3, "z", 1)])
    read.clear()
    rig.spread([up(ROWS + 30, "x", 1)])
    assert not read, "no file has such keys"
    rig.spread([up(ROWS + 19, "x", 1), up(ROWS + 30, "y", 1)])
    assert read == [2], "the files of two batches before it, but not the first one"
    rig.check()


def test_another_process_may_commit_in_between(rig: Rig) -> None:
    rig.few([up(1, "x", 1)])
    rig.spark.sql(f"DELETE FROM delta.`{rig.folder}/s/t` WHERE id = 3")
    del rig.model[(3,)]
    before = len(commits(rig.folder))
    rig.few([up(1, "y", 2), up(3, "z", 3)])
    assert merged(rig.folder)[before:] == [True]
    rig.few([up(1, "w", 4)])
    assert merged(rig.folder)[before:] == [True, False]
    rig.spark.sql(f"DELETE FROM delta.`{rig.folder}/s/t` WHERE id = 4")
    rig.spread([up(1, "z", 5), up(3, "w", 3), up(4, "v", 4)])
    rig.spread([up(4, "w", 4)])
    assert merged(rig.folder)[before + 2 :] == [True, True, False]
    rig.check()


def test_a_failure_takes_the_slower_way(rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise FileExistsError

    def broken(*_: object) -> None:
        raise TypeError("secret")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTableFiles, "commit", fail)
        rig.few([up(1, "x", 1), down(2)])
    assert merged(rig.folder)[-1]
    assert not caplog.records, "a version that exists is in order"
    with monkeypatch.context() as patch:
        patch.setattr(deletion_vectors, "_commit", broken)
        rig.few([up(1, "y", 1)])
        rig.spread([up(1, "z", 1), up(5, "z", 2)])
    assert merged(rig.folder)[-2:] == [True, True]
    assert [record.getMessage() for record in caplog.records] == [
        "The commit of rows of table s.t failed with TypeError: they take the slower way"
    ]
    rig.check()


def test_columns_that_stay_as_they_are_need_a_merge(rig: Rig) -> None:
    for at, apply in enumerate((rig.few, rig.spread)):
        apply([up(at, None, 9, kept=["a"])])
        assert merged(rig.folder)[-1]
        rig.model[(at,)] = (at, text(at), 9)
    rig.check()


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(table(Column("a", TEXT), Column("b", LONG), Column("c", TEXT), key=("a", "b")), id="text first"),
        pytest.param(table(Column("k 1", INT), Column("b;", TEXT), Column("a`b", TEXT), key=("k 1", "b;")), id="names"),
    ],
)
def test_keys_of_several_columns_with_nulls(spark: SparkSession, tmp_path: Path, of: Table) -> None:
    rig, first = Rig(spark, tmp_path, of), str if of.key[0] == "a" else int
    second = int if of.key[0] == "a" else str
    rig.fill([(first(at), second(at % 7), text(at)) for at in range(ROWS)])
    before = len(commits(tmp_path))
    rig.few([up(first(8), second(1), "x", key=2), up(first(8), None, "y", key=2), down(first(9), second(3)), down(first(9), second(2))])
    rig.many([up(None, second(1), "z", key=2), up(first(8), None, "y2", key=2)])
    rig.spread([up(None, second(1), "z2", key=2), up(first(8), None, "y3", key=2), up(first(10), second(3), "x2", key=2)])
    rig.few([down(None, second(1)), down(first(8), None)])
    rig.check()
    assert merged(tmp_path)[before:] == [False] * 4


def test_rows_without_a_key_are_added_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = table(Column("id", INT), Column("a", TEXT), key=())
    rig, read = Rig(spark, tmp_path, of), files_read(monkeypatch)

    def rows(first: int) -> Rows:
        # As in workers.spark.effects.places. Delta's statistics have only the first characters of such a place.
        return [(UPSERT, (f"{at:016X}/{at + 1000}/{'F' * 16}/1",), (at, text(at)), []) for at in range(first, first + 20)]

    rig.sink.apply(0, [effects(spark, of, rows(0))])
    rig.few(rows(20))
    assert not read, "they are after all others"
    for apply in (rig.spread, rig.many, rig.few):
        apply(rows(40))
    rig.spread(rows(60))
    assert read == [1, 1], "the files of the rows that came again, not those of earlier ones"
    rig.model = {(at,): (at, text(at)) for at in range(80)}
    rig.check()
    assert not any(merged(tmp_path))
    rig.sink.apply(1, [replace(effects(spark, of, rows(80), truncated=1_000), known=True)])
    rig.sink.apply(1, [replace(effects(spark, of, rows(100)), known=True, replaced=(("0", "1"),))])
    assert merged(tmp_path).count(True) == 2, "what removes rows by their places is merged"


def test_a_table_of_too_many_files_is_merged_for_some_batches(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_vectors, "FILES", 3)
    monkeypatch.setattr(deletion_vectors, "AGAIN", 1)
    before = len(commits(rig.folder))
    for at in range(4):
        rig.few([up(ROWS + at, "x", 1)])
    rig.spark.sql(f"OPTIMIZE delta.`{rig.folder}/s/t`")
    done = len(commits(rig.folder))
    for at in range(2):
        rig.few([up(ROWS + at, "y", 1)])
    rig.check()
    found = merged(rig.folder)
    assert (found[before : done - 1], found[done:]) == ([False, False, False, True], [True, False])


def test_small_files_are_joined_when_they_are_many(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_files, "MANY", 5)
    for at in range(3):
        rig.few([up(ROWS + at, "x", at), up(1, text(at), at)])
    before = commits(rig.folder)
    assert not any("OPTIMIZE" in json.dumps(actions) for actions in before)
    rig.few([up(ROWS + 2, "y", 9), down(ROWS + 3)])
    rig.check()
    done = commits(rig.folder)[-1]
    changed = [next(iter(action.values()))["dataChange"] for action in done if "commitInfo" not in action]
    assert changed == [False] * 6, "the first file and those of four batches go, and one comes: readers of changes see none"
    assert sum("add" in action for action in done) == 1
    history = rig.spark.sql(f"DESCRIBE HISTORY delta.`{rig.folder}/s/t`").first()
    assert history is not None
    assert history["operation"] == "OPTIMIZE"
    rig.spread([up(ROWS, "z", 1), up(2, "z", 2)])
    rig.few([up(ROWS + 1, "w", 1)])
    rig.check()
    assert not any(merged(rig.folder)[len(before) :])


def test_large_files_are_not_joined(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_files, "MANY", 2)
    monkeypatch.setattr(joined_files, "SMALL_FILE", 10)
    before = len(commits(rig.folder))
    for at in range(4):
        rig.few([up(ROWS + at, "x", at)])
    assert len(commits(rig.folder)) == before + 4


@pytest.mark.parametrize("race", [False, True])
def test_files_that_cannot_be_joined_stay(rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, race: bool) -> None:
    def fail(*_: object) -> None:
        raise FileExistsError if race else TypeError("secret")

    monkeypatch.setattr(joined_files, "MANY", 2)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTableFiles, "unchanged", fail)
        for at in range(4):
            rig.few([up(ROWS + at, "x", at)])
    assert caplog.messages == (
        [] if race else ["The joining of small files of table s.t failed with TypeError: they are left for maintenance"]
    )
    rig.few([up(ROWS + 9, "x", 9)])
    assert any("OPTIMIZE" in json.dumps(actions) for actions in commits(rig.folder)) == race, "an error is not repeated by each batch"
    rig.check()


def test_only_rows_of_many_changes_stay_with_the_tasks(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    own = DeltaTableFiles.write_by_job

    def watched(self: DeltaTableFiles, rows: Any) -> list[Any]:
        written.append(rows)
        return own(self, rows)

    monkeypatch.setattr(DeltaTableFiles, "write_by_job", watched)
    monkeypatch.setattr(deletion_vectors, "CHANGES", 1)
    rig.many([up(1, "x", 1)])
    assert not written
    rig.many([up(1, "x", 1), up(2, "x", 1)])
    assert len(written) == 1
    rig.check()


def test_a_truncate_is_merged(rig: Rig) -> None:
    rig.sink.apply(1, [replace(effects(rig.spark, PLAIN, [up(1, "x", 1)], truncated=1_000), known=True)])
    assert merged(rig.folder)[-1]
    rig.model = {(1,): (1, "x", 1)}
    rig.spread([up(2, "y", 1)])
    assert not merged(rig.folder)[-1]
    rig.check()


def test_all_types_are_those_of_a_merge(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, made = of_all_types()
    found: list[list[tuple[Any, ...]]] = []
    for name, direct in (("merged", False), ("direct", True), ("by jobs", False)):
        sink = DeltaSink(spark, str(tmp_path / name))
        sink.apply(0, [replace(made(spark, 1, 2), known=False)])
        one = replace(made(spark, 2, 3), octets=1)
        if direct:
            vectors = deletion_vectors.DeletionVectors("spark")
            assert vectors.applied(one, str(tmp_path / name / of.schema / of.name))
        elif name == "merged":
            with monkeypatch.context() as patch:
                patch.setattr(DeltaSink, "shortened", lambda *_: False)
                sink.apply(1, [replace(one, octets=None)])
        else:
            sink.apply(1, [replace(one, octets=None)])
        assert merged(tmp_path / name, of)[-1] == (name == "merged")
        there = sink.read(of)
        assert there is not None
        found.append(sorted(tuple(row) for row in there.selectExpr(*(f"cast(`{column}` AS string)" for column in there.columns)).collect()))
    assert found[0] == found[1] == found[2]


def test_small_tables_are_left_to_their_own_way(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_vectors, "SMALL", 256 * 1024)
    place = f"{rig.folder}/s/t"
    assert not deletion_vectors.DeletionVectors("spark").applied(few(rig.spark, PLAIN, [up(1, "y", 1)]), place)


def test_small_tables_of_many_rows_are_not(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (small_tables, small, deletion_vectors):
        monkeypatch.setattr(module, "SMALL", 256 * 1024)
    monkeypatch.setattr(small_tables, "ROWS", ROWS - 1)
    rig.few([up(1, "y", 1)])
    rig.few([up(2, "y", 1), down(3)])
    vectors = ["deletionVector" in action["add"] for actions in commits(rig.folder)[-2:] for action in actions if "add" in action]
    assert vectors == [True, False, True, False]
    rig.check()


def test_many_rows_for_a_small_table_are_not_merged(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (small_tables, small, deletion_vectors):
        monkeypatch.setattr(module, "SMALL", 256 * 1024)
    monkeypatch.setattr(small_tables, "ROWS", 9)
    rig = Rig(spark, tmp_path)
    rig.fill([(at, text(at), at) for at in range(5)])
    rig.many([up(at, "y", at) for at in range(3, 20)])
    rig.many([up(at, "z", at) for at in range(2)])
    rig.check()
    assert merged(tmp_path) == [False, False, False]
    assert ["deletionVector" in action["add"] for action in commits(tmp_path)[1] if "add" in action] == [True, False]


def test_a_table_that_grows_is_not_merged(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (small_tables, small, deletion_vectors):
        monkeypatch.setattr(module, "SMALL", 8_000)
    rig.restart()
    before, chance = len(commits(rig.folder)), random.Random(5)
    for batch in range(5):
        rig.many([up(ROWS + 40 * batch + at, chance.randbytes(30).hex(), at) for at in range(40)])
    assert merged(rig.folder)[before:] == [False] * 5
    assert len([path for path in rig.folder.rglob("*.parquet") if "_delta_log" not in path.parts]) > 5, "files are added at last"
    rig.check()


def test_a_large_table_is_looked_at_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (small_tables, small):
        monkeypatch.setattr(module, "SMALL", 1)
    rig.restart()
    opened: list[str] = []
    own = DeltaTableFiles.__init__

    def watched(self: DeltaTableFiles, session: SparkSession, folder: str) -> None:
        opened.append(folder)
        own(self, session, folder)

    monkeypatch.setattr(DeltaTableFiles, "__init__", watched)
    for at in range(3):
        rig.few([up(1, "y", at)])
    assert len(opened) == 2, "once as a small table, and once as a large one"
    rig.check()


def test_a_table_without_vectors_is_merged(spark: SparkSession, tmp_path: Path) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 1)])])
    place = f"{tmp_path}/s/t"
    one: Effects = few(spark, PLAIN, [up(1, "y", 1)])
    assert deletion_vectors.DeletionVectors("spark").applied(one, place)
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES (delta.enableDeletionVectors = false)")
    assert not deletion_vectors.DeletionVectors("spark").applied(one, place)
