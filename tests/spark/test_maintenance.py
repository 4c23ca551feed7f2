"""Maintenance of Delta's and Iceberg's mirrors: fewer files, the same rows, and a mirror that goes on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import SparkSession

from tests.support.spark.sink_rig import PLAIN, down, effects, shown, up
from workers.spark.maintenance.maintain import lake_of, maintain, size_of
from workers.spark.maintenance.report import Report
from workers.spark.maintenance.settings import MaintainConfig
from workers.spark.sinks import DeltaPlace, IcebergPlace, SinkPlace, sink_of

pytestmark = pytest.mark.pg_once

CONFIG = MaintainConfig(retention="1 days")


def place_of(what: str, folder: Path) -> SinkPlace:
    match what:
        case "delta":
            return DeltaPlace(str(folder))
        case "plain":
            return DeltaPlace(str(folder), readers="all")
        case _:
            # A catalog's settings are read once in a session.
            name = f"kept_{folder.name.translate(str.maketrans('[]-', '___'))}"
            return IcebergPlace(name, {"type": "hadoop", "warehouse": str(folder)})


@pytest.mark.parametrize("what", ["delta", pytest.param("plain", marks=pytest.mark.long), "iceberg"])
def test_small_files_become_one_and_the_mirror_goes_on(spark: SparkSession, tmp_path: Path, what: str) -> None:
    sink = sink_of(place_of(what, tmp_path), spark)
    for number in range(4):
        sink.apply(number, [effects(spark, PLAIN, [up(number * 10 + one, "x", one) for one in range(3)])])
    sink.apply(4, [effects(spark, PLAIN, [up(0, "y", 5), down(31)])])
    rows, lake = shown(sink, PLAIN), lake_of(sink)
    report = maintain(spark, lake, PLAIN, CONFIG)
    assert report.skipped is None
    assert report.before is not None
    assert report.before.files >= 4
    assert report.after is not None
    assert report.after.files == 1
    assert report.after == size_of(spark, lake, PLAIN)
    assert shown(sink, PLAIN) == rows
    sink.apply(5, [effects(spark, PLAIN, [up(1, "z", 6), down(2), up(40, "w", 7)])])
    assert shown(sink, PLAIN) == sorted([*(row for row in rows if row[0] not in {1, 2}), (1, "z", 6), (40, "w", 7)], key=repr)


@pytest.mark.long
@pytest.mark.parametrize("what", ["delta", "iceberg"])
def test_a_mirror_writes_while_another_thread_maintains(spark: SparkSession, tmp_path: Path, what: str) -> None:
    sink = sink_of(place_of(what, tmp_path), spark)
    sink.apply(0, [effects(spark, PLAIN, [up(one, "x", 0) for one in range(5)])])
    reports: list[Report] = []
    over = threading.Event()

    def keep() -> None:
        while not over.is_set():
            reports.append(maintain(spark, lake_of(sink), PLAIN, CONFIG))

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        for number in range(1, 6):
            sink.apply(number, [effects(spark, PLAIN, [up(number % 5, "y", number), up(10 + number, "z", number)])])
    finally:
        over.set()
        thread.join()
    assert reports
    assert not [report for report in reports if report.failed]
    expected = [*((one % 5, "y", one) for one in range(1, 6)), *((10 + one, "z", one) for one in range(1, 6))]
    assert shown(sink, PLAIN) == sorted(expected, key=repr)


def test_a_missing_table_is_reported_and_nothing_is_raised(spark: SparkSession, tmp_path: Path) -> None:
    report = maintain(spark, lake_of(sink_of(DeltaPlace(str(tmp_path)), spark)), PLAIN, CONFIG)
    assert report.failed
    assert report.text().startswith("s.t: maintenance skipped: ")
