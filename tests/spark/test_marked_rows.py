"""The rows of a batch are marked by Python as by a Spark job, and each goes on with the deletion vectors of the other."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_deletion_vectors import Rig, commits, merged
from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, Rows, down, few, kind, money, table, up
from workers.spark.maintenance.maintain import lake_of, maintain
from workers.spark.maintenance.settings import MaintainConfig
from workers.spark.sinks import small_tables
from workers.spark.sinks.delta import deletion_vectors, marked_rows
from workers.spark.sinks.delta.commit import DeltaTableFiles, Marked
from workers.spark.sinks.delta.key_search import KeySearch
from workers.spark.sinks.delta.log_folder import LogFolder
from workers.spark.sinks.delta.marked_rows import MarkedRows
from workers.spark.sinks.delta.roaring_array import decoded, encoded
from workers.spark.tables.table import Column, Table

pytestmark = pytest.mark.pg_once

Key = tuple[Any, ...]
SHORT, DAY = kind("int16"), kind("int32", "io.debezium.time.Date")
LETTERS = ["", " ", "a", "A", "ä", "ß", "a\u0308", "\U0001f600", "\uff5e", "'\"\\`", "\n\t\r", "null", "[1]", "\x01", "x" * 3000]


@pytest.fixture(autouse=True)
def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "SMALL", -1)
    monkeypatch.setattr(deletion_vectors, "SMALL", 0)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """By whom the rows of each batch are looked for from now on."""
    seen: list[str] = []
    own, job = MarkedRows.found, deletion_vectors._marked_by_job

    def found(self: MarkedRows, *given: Any) -> list[Marked] | None:
        made = own(self, *given)
        if made is not None:
            seen.append("python")
        return made

    def by_job(*given: Any) -> list[Marked]:
        seen.append("spark")
        return job(*given)

    monkeypatch.setattr(MarkedRows, "found", found)
    monkeypatch.setattr(deletion_vectors, "_marked_by_job", by_job)
    return seen


def by_spark(rig: Rig, rows: Rows) -> None:
    """Apply the rows, which Spark looks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marked_rows, "FILES", -1)
        rig.few(rows)


def marks(rig: Rig) -> list[tuple[int, list[int]]]:
    """Of each file of the newest version with a vector: its rows, and those that Delta finds marked."""
    java: Any = rig.spark.sparkContext._jvm
    own: Any = rig.spark._jsparkSession
    delta = java.org.apache.spark.sql.delta
    place = f"{rig.folder}/{rig.of.schema}/{rig.of.name}"
    log = delta.DeltaLog.forTable(own, place)
    store = delta.storage.dv.HadoopFileSystemDVStore(log.newDeltaHadoopConf())
    found = []
    none = java.scala.Option.empty()
    for add in log.update(False, none, none).allFiles().collectAsList():
        if add.deletionVector() is not None:
            rows = store.read(add.deletionVector(), log.dataPath()).toArray()
            found.append((json.loads(add.stats())["numRecords"], values(rig.spark, rows)))
    return sorted(found)


def values(spark: SparkSession, array: Any) -> list[int]:
    """The numbers of a Java array, in one call."""
    java: Any = spark.sparkContext._jvm
    return list(json.loads(java.java.util.Arrays.toString(array)))


SETS = {
    "none": [],
    "few": [0, 5, 65_535, 65_536, 200_000],
    "many": list(range(0, 30_000, 3)),
    "runs": [*range(10, 9_000), *range(65_000, 140_000)],
    "high": [7, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 3 * 2**32],
}


@pytest.mark.parametrize("name", SETS)
def test_vectors_are_those_of_delta(spark: SparkSession, name: str) -> None:
    java: Any = spark.sparkContext._jvm
    vectors = java.org.apache.spark.sql.delta.deletionvectors
    portable = vectors.RoaringBitmapArrayFormat.Portable()
    own, theirs = BitMap64(SETS[name]), vectors.RoaringBitmapArray()
    if len(SETS[name]) < 10:
        for row in SETS[name]:
            theirs.add(row)
    else:
        # One call for each row takes too long.
        theirs = vectors.RoaringBitmapArray.readFrom(encoded(own))
    for _ in range(2):
        assert decoded(bytes(theirs.serializeAsByteArray(portable))) == own
        back = vectors.RoaringBitmapArray.readFrom(encoded(own))
        assert back.equals(theirs)
        assert values(spark, back.toArray()) == SETS[name]
        # Runs of rows.
        own.run_optimize()
        theirs.runOptimize()


def text_key(chance: random.Random) -> Key:
    return ("".join(chance.choices(LETTERS, k=chance.choice((0, 1, 1, 1, 2)))),)


KEYS: dict[str, tuple[Table, Any]] = {
    "int": (PLAIN, lambda chance: (chance.randrange(-30, 40),)),
    "long": (
        table(Column("id", LONG), Column("a", TEXT), Column("b", LONG)),
        lambda chance: (chance.choice((-(2**63), 2**63 - 1, 0)) if chance.random() < 0.1 else chance.randrange(2**40, 2**40 + 70),),
    ),
    "text": (table(Column("id", TEXT), Column("a", TEXT), Column("b", LONG)), text_key),
    "several": (
        table(Column("x", TEXT), Column("y", SHORT), Column("z", LONG), Column("b", LONG), key=("x", "y", "z")),
        lambda chance: (chance.choice(("", "ä", "x")), chance.randrange(-3, 3), chance.randrange(6)),
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_random_batches_leave_what_spark_leaves(spark: SparkSession, tmp_path: Path, ways: list[str], name: str) -> None:
    of, draw = KEYS[name]
    chance, many = random.Random(3), len(of.columns) - len(of.key)
    rigs = [Rig(spark, tmp_path / way, of) for way in ("python", "spark")]

    def row(key: Key, batch: int) -> Any:
        return up(*key, *(["text", batch] if many == 2 else [batch]), key=len(key))

    first = sorted({draw(chance) for _ in range(60)}, key=repr)
    for rig in rigs:
        rig.fill([row(key, 0)[2] for key in first])
    for batch in range(1, 8):
        keys = sorted({draw(chance) for _ in range(chance.choice((1, 5, 40)))}, key=repr)
        rows = [down(*key) if chance.random() < 0.4 else row(key, batch) for key in keys]
        rigs[0].few(rows)
        by_spark(rigs[1], rows)
        assert marks(rigs[0]) == marks(rigs[1])
    for rig in rigs:
        rig.check()
        assert not any(merged(rig.folder, of)[1:])
    metrics = [[actions[0]["commitInfo"]["operationMetrics"] for actions in commits(rig.folder, of)[1:]] for rig in rigs]
    assert metrics[0] == metrics[1]
    kinds = [[sorted(next(iter(action)) for action in actions) for actions in commits(rig.folder, of)[1:]] for rig in rigs]
    assert kinds[0] == kinds[1]
    assert ways.count("python") == ways.count("spark") >= 6


def wide(rig: Rig, rows: int) -> None:
    """Create the table with one file of so many rows."""
    rig.fill([(-1, "x", 0)])
    there = rig.sink.read(PLAIN)
    assert there is not None
    made = rig.spark.range(0, rows, 1, 1).selectExpr("cast(id AS int)", "'x' AS a", "id AS b", "1L AS lsn").toDF(*there.columns)
    made.write.format("delta").mode("append").save(place(rig))


def place(rig: Rig) -> str:
    return f"{rig.folder}/s/t"


def there(rig: Rig) -> DataFrame:
    found = rig.sink.read(PLAIN)
    assert found is not None
    return found.select("id", "a")


def test_large_vectors_go_from_spark_to_python_and_back(spark: SparkSession, tmp_path: Path, ways: list[str]) -> None:
    rig, rows = Rig(spark, tmp_path), 200_000
    wide(rig, rows)
    # Single rows, more than 4,096 of 65,536, and all of them.
    spark.sql(f"DELETE FROM delta.`{place(rig)}` WHERE (id < 60000 AND id % 5 = 0) OR (id BETWEEN 70000 AND 150000) OR id = 190000")
    gone = {at for at in range(rows) if (at < 60000 and at % 5 == 0) or 70000 <= at <= 150000 or at == 190000}
    keys = [0, 1, 2, 65_535, 65_536, 69_999, 70_000, 190_000, 190_001, rows - 1, rows]
    rig.few([down(key) if key % 2 else up(key, "new", 1) for key in keys])
    assert ways == ["python"]
    gone |= {key for key in keys if key < rows}
    assert marks(rig) == [(rows, sorted(gone))]
    new = {key for key in keys if key % 2 == 0}
    by_spark(rig, [down(4), up(65_536, "again", 1)])
    rig.few([up(4, "back", 1), down(6), up(65_536, "again", 2)])
    assert ways == ["python", "spark", "python"]
    gone |= {4, 6}
    spark.sql(f"DELETE FROM delta.`{place(rig)}` WHERE id = 7")
    spark.sql(f"MERGE INTO delta.`{place(rig)}` t USING (SELECT 8 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 'merged'")
    gone |= {7, 8}
    assert dict(there(rig).where("a <> 'x'").collect()) == {**dict.fromkeys(new, "new"), 65_536: "again", 4: "back", 8: "merged"}
    left = [-1, *(at for at in range(rows) if at not in gone)]
    assert there(rig).where("a = 'x'").selectExpr("count(*)", "sum(id)").first() == (len(left), sum(left))


def test_maintenance_finds_the_table_in_order(spark: SparkSession, tmp_path: Path, ways: list[str]) -> None:
    rig = Rig(spark, tmp_path)
    rig.fill([(at, "x", at) for at in range(40)])
    for batch in range(3):
        rig.few([up(3, "y", batch), up(50 + batch, "z", batch), down(20 + batch)])
    assert ways == ["python"] * 3
    vectors = list(Path(place(rig)).glob("deletion_vector_*.bin"))
    assert len(vectors) == 3
    assert {path.stat().st_mode & 0o777 for path in vectors} == {0o644}
    maintain(spark, lake_of(rig.sink), PLAIN, MaintainConfig())
    rig.check()
    assert not any(add.deletionVector() for add in DeltaTableFiles(spark, place(rig)).files())
    # The first batch after another commit is merged.
    rig.few([up(3, "w", 9), down(25)])
    rig.few([up(3, "v", 9), down(26)])
    rig.check()
    assert ways[-1] == "python"


def test_python_needs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    rig = Rig(spark, tmp_path)
    rig.fill([(at, "x", at) for at in range(40)])
    vectors = deletion_vectors.DeletionVectors("spark")
    assert vectors.applied(few(spark, PLAIN, [up(1, "y", 1)]), place(rig))
    batches = [few(spark, PLAIN, [up(1, text, 1), up(30, text, 2), up(90, text, 2)]) for text in "ab"]
    spark.sparkContext.setJobGroup("rows", "rows of a table")
    try:
        assert [vectors.applied(batch, place(rig)) for batch in batches] == [True, True]
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("rows")
    assert sorted(row[0] for row in there(rig).where("a = 'b'").collect()) == [1, 30, 90]


def test_files_from_before_a_wider_type_are_read(spark: SparkSession, tmp_path: Path, ways: list[str]) -> None:
    rig = Rig(spark, tmp_path)
    rig.fill([(at, "x", at) for at in range(9)])
    rig.of = table(Column("id", LONG), Column("a", TEXT), Column("b", LONG))
    rig.few([up(2**40, "y", 1)])
    rig.few([up(5, "z", 1), down(2**40), down(2**40 + 1)])
    assert ways[-1] == "python"
    rig.check()


def fail(*_: object) -> Any:
    raise OSError("secret")


DAYS = [f"2024-01-0{at}" for at in range(1, 5)]
OTHERS: dict[str, tuple[Table, list[Key]]] = {
    "date": (table(Column("id", DAY), Column("a", TEXT)), [(day,) for day in DAYS]),
    "number": (table(Column("id", money(5, 2)), Column("a", TEXT)), [("1.00",), ("2.50",), ("3.10",), ("9.99",)]),
    "second": (table(Column("id", INT), Column("d", DAY), Column("a", TEXT), key=("id", "d")), [(1, day) for day in DAYS]),
    "null": (table(Column("id", INT), Column("c", TEXT), Column("a", TEXT), key=("id", "c")), [(1, None), (1, "x"), (2, "y"), (2, None)]),
    "letter": (table(Column("id", TEXT), Column("a", TEXT)), [("\ufffd",), ("b",), ("c",), ("d",)]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_keys_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, ways: list[str], caplog: pytest.LogCaptureFixture, name: str
) -> None:
    of, keys = OTHERS[name]
    rig, many = Rig(spark, tmp_path, of), len(of.key)
    rig.fill([(*key, "x") for key in keys])
    rig.few([up(*keys[0], "y", key=many), down(*keys[1]), down(*keys[-1])])
    assert ways == ["spark"]
    found = rig.sink.read(of)
    assert found is not None
    assert sorted(row["a"] for row in found.collect()) == ["x", "y"]
    assert not merged(tmp_path, of)[-1]
    assert not caplog.records


@pytest.mark.parametrize("why", ["other file system", "many files", "many rows", "many bytes", "many changes"])
def test_other_tables_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: list[str], caplog: pytest.LogCaptureFixture, why: str
) -> None:
    rig = Rig(spark, tmp_path)
    rig.fill([(at, "x", at) for at in range(9)])
    match why:
        case "other file system":
            monkeypatch.setattr(LogFolder, "local", None)
        case "many files":
            monkeypatch.setattr(marked_rows, "FILES", 0)
        case "many rows":
            monkeypatch.setattr(marked_rows, "ROWS", 8)
        case "many bytes":
            monkeypatch.setattr(marked_rows, "OCTETS", 8)
    (rig.spread if why == "many changes" else rig.few)([up(1, "y", 1), down(2)])
    assert ways == ["spark"]
    rig.check()
    assert not caplog.records


@pytest.mark.parametrize("what", ["reading", "writing", "looking"])
def test_a_failure_is_reported_and_left_to_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: list[str], caplog: pytest.LogCaptureFixture, what: str
) -> None:
    rig = Rig(spark, tmp_path)
    rig.fill([(at, "x", at) for at in range(9)])
    rig.few([up(1, "y", 1)])
    (vector,) = Path(place(rig)).glob("deletion_vector_*.bin")
    kept = vector.read_bytes()
    with monkeypatch.context() as patch:
        match what:
            case "reading":
                patch.setattr(KeySearch, "groups", fail)
            case "writing":
                patch.setattr(Path, "hardlink_to", fail)
            case _:
                patch.setattr(KeySearch, "rows", fail)
        rig.few([up(1, "z", 1), down(2)])
        rig.few([up(1, "w", 1), down(3)])
    assert vector.read_bytes() == kept
    assert ways[0] == "python"
    assert "spark" in ways
    rig.check()
    assert not any(merged(tmp_path))
    assert not list(Path(place(rig)).glob(".*.tmp"))
    assert caplog.messages == ["The search for rows of table s.t failed with OSError: Spark looks for them"]
