"""A Delta table is created with its first rows in one commit, and is the table that SQL would create."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.sink_rig import INT, PLAIN, TEXT, by_arrow, down, effects, of_all_types, shown, table, up
from workers.spark.failure import JobError
from workers.spark.sinks.delta import new_table
from workers.spark.sinks.delta.arrow_files import ArrowFiles
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.log_folder import ENGINE, LogFolder
from workers.spark.sinks.delta.new_table import NewTables
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.tables.table import UPSERT, Column, Effects, Table

pytestmark = pytest.mark.pg_once
_NAMES = re.compile(r'"col-[0-9a-f-]{36}"')
"""The names of columns in files."""
_CDF = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"


def versions(folder: Path, of: Table = PLAIN) -> list[dict[str, Any]]:
    """The actions of each version; of several ones of the same kind, the last."""
    files = sorted((folder / of.schema / of.name / "_delta_log").glob("*.json"))
    lines = [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in files]
    return [{name: action for line in version for name, action in line.items()} for version in lines]


def engines(folder: Path, of: Table = PLAIN) -> list[bool]:
    """Of each version, whether it was made without SQL."""
    return [version["commitInfo"]["engineInfo"] == ENGINE for version in versions(folder, of)]


def described(version: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a version says of its table, without names and times that are made for one table."""
    metadata, protocol = version["metaData"], version["protocol"]
    columns = json.loads(_NAMES.sub('"name"', metadata["schemaString"]))
    features = [sorted(protocol.get(part, ())) for part in ("readerFeatures", "writerFeatures")]
    versions_ = [protocol[part] for part in ("minReaderVersion", "minWriterVersion")]
    return columns, metadata["configuration"], metadata["partitionColumns"], metadata["format"], features, versions_


def text_of(name: str) -> SparkColumn:
    return F.coalesce(F.col(f"`{name}`").cast("string"), F.lit("null"))


def by_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NewTables, "created", lambda *_: False)


@pytest.mark.parametrize("readers", ["spark", "all"])
def test_it_is_the_table_that_sql_creates(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: str) -> None:
    of, made = of_all_types()
    loose = table(Column("id", INT), Column("a b" if readers == "spark" else "ab", TEXT), key=(), name="loose")
    batches: list[Callable[[], Effects]] = [
        lambda: replace(made(spark, 1, 2), known=False),
        lambda: effects(spark, loose, [(UPSERT, ("p1",), (1, "x"), []), (UPSERT, ("p2",), (2, None), [])]),
    ]
    sinks = {name: DeltaSink(spark, str(tmp_path / name), readers=readers) for name in ("direct", "sql")}
    for batch in batches:
        sinks["direct"].apply(0, [batch()])
    with monkeypatch.context() as patch:
        by_sql(patch)
        for batch in batches:
            sinks["sql"].apply(0, [batch()])
    for one in (of, loose):
        (direct,), (created, filled) = versions(tmp_path / "direct", one), versions(tmp_path / "sql", one)
        for own, theirs in zip(described(direct), described(created), strict=True):
            assert own == theirs
        assert direct["commitInfo"]["engineInfo"] == ENGINE
        assert direct["commitInfo"]["operation"] == filled["commitInfo"]["operation"] == "WRITE"
        assert json.loads(direct["add"]["stats"]).keys() == json.loads(filled["add"]["stats"]).keys()
        there, other = (sink.read(one) for sink in sinks.values())
        assert there is not None
        assert other is not None
        assert there.schema == other.schema
        # As texts, because Spark compares no maps.
        texts = [sorted(tuple(row) for row in frame.select(*map(text_of, frame.columns)).collect()) for frame in (there, other)]
        assert texts[0] == texts[1] != []


def test_deltas_own_description_of_the_version_is_there(spark: SparkSession, tmp_path: Path) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20), down(3)])])
    spark.sparkContext.setJobGroup("look", "a look at the table")
    files = DeltaTableFiles(spark, str(tmp_path / "s" / "t"))
    assert (files.version, len(files.files()), files.size) == (0, 1, versions(tmp_path)[0]["add"]["size"])
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("look")
    assert shown(sink, PLAIN) == [(1, "x", 10), (2, "y", 20)]


def test_a_table_without_rows_is_created_too(spark: SparkSession, tmp_path: Path) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    sink.apply(0, [effects(spark, PLAIN, [down(1)])])
    (version,) = versions(tmp_path)
    assert (version["commitInfo"]["operation"], "add" in version) == ("CREATE TABLE", False)
    assert shown(sink, PLAIN) == []
    sink.apply(1, [replace(effects(spark, PLAIN, [up(1, "x", 10)]), known=True)])
    assert shown(sink, PLAIN) == [(1, "x", 10)]


def test_a_table_that_is_not_as_usual_is_created_by_sql(spark: SparkSession, tmp_path: Path) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    spark.conf.set(_CDF, "true")
    try:
        sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10)])])
    finally:
        spark.conf.unset(_CDF)
    assert engines(tmp_path) == [False, False]
    assert versions(tmp_path)[0]["metaData"]["configuration"]["delta.enableChangeDataFeed"] == "true"
    of = replace(PLAIN, name="parted", partition_by=("a",))
    sink.apply(0, [effects(spark, of, [up(1, "x", 10)])])
    assert engines(tmp_path, of) == [False, False]
    assert shown(sink, of) == [(1, "x", 10)]


@pytest.mark.parametrize("step", ["__init__", "write_by_job"])
def test_another_version_of_delta_leaves_the_table_to_sql(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    monkeypatch.setattr(new_table._NewTable, step, lambda *_: spark._jsparkSession.methodOfAnotherVersion())
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10)])])
    assert engines(tmp_path) == [False, False]
    assert shown(sink, PLAIN) == [(1, "x", 10)]
    assert caplog.messages == ["The creation of table s.t failed with Py4JError: it is created by SQL"]


def test_a_failure_of_the_commit_is_raised_and_the_batch_may_be_repeated(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = DeltaSink(spark, str(tmp_path))

    def full(*_: Any) -> None:
        spark._jvm.java.nio.file.Files.createDirectory(spark._jvm.java.nio.file.Path.of("/proc/none", []))

    with monkeypatch.context() as patch:
        patch.setattr(LogFolder, "add", full)
        with pytest.raises((Py4JJavaError, PySparkException, JobError)):
            sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10)])])
    assert versions(tmp_path) == []
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10)])])
    assert shown(sink, PLAIN) == [(1, "x", 10)]
    assert engines(tmp_path) == [True]


def test_a_version_without_a_description_is_whole(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = DeltaSink(spark, str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(LogFolder, "describe", lambda self, *_: self._log.methodOfAnotherVersion())
        sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20)])])
    assert engines(tmp_path) == [True]
    sink.apply(1, [replace(effects(spark, PLAIN, [up(2, "y2", 21)]), known=True)])
    assert shown(sink, PLAIN) == [(1, "x", 10), (2, "y2", 21)]


def test_a_table_that_another_process_creates_meanwhile_is_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make = LogFolder.make
    other = DeltaSink(spark, str(tmp_path))

    def late(self: LogFolder) -> None:
        monkeypatch.undo()
        other.apply(0, [effects(spark, PLAIN, [up(1, "theirs", 1), up(3, "z", 30)])])
        make(self)

    monkeypatch.setattr(LogFolder, "make", late)
    DeltaSink(spark, str(tmp_path)).apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20)])])
    assert shown(other, PLAIN) == [(1, "x", 10), (2, "y", 20), (3, "z", 30)]
    assert caplog.messages == []


@pytest.mark.parametrize("error", [pa.ArrowInvalid("x"), OSError(28, "No space left on device")], ids=["arrow", "disk"])
def test_first_rows_that_arrow_does_not_write(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> str:
        raise error

    sink, batch = DeltaSink(spark, str(tmp_path)), by_arrow(effects(spark, PLAIN, [up(1, "x", 10)]))
    with monkeypatch.context() as patch:
        patch.setattr(ArrowFiles, "write", fails)
        if isinstance(error, OSError):
            with pytest.raises(JobError, match=r"The table s\.t could not be read or written at .* \(OSError\)\. Check that this place"):
                sink.apply(0, [batch])
        else:
            sink.apply(0, [batch])
            assert shown(sink, PLAIN) == [(1, "x", 10)]
    sink.apply(0, [batch])
    assert shown(sink, PLAIN) == [(1, "x", 10)]
