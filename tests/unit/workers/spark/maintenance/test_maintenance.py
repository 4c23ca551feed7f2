"""The maintenance of mirrors without Spark: settings, statements, reports, and the schedule of a running mirror."""

from __future__ import annotations

import io
import json
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.each_case import each_case

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import DataFrame, SparkSession

from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig, parse_config
from workers.spark.jobs.stream import Run
from workers.spark.maintenance.command import chosen, run
from workers.spark.maintenance.report import Report, Size
from workers.spark.maintenance.schedule import Schedule
from workers.spark.maintenance.settings import MaintainConfig
from workers.spark.maintenance.statements import cluster_columns, delta_settings, delta_statements, iceberg_statements
from workers.spark.session import SHUFFLE_PARTITIONS
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

INT, FLAG = kind_of({"type": "int32"}), kind_of({"type": "boolean"})
TABLES = [Table("s", name, (Column("id", INT), Column("flag", FLAG)), ("id", "flag")) for name in ("a", "b")]
MB = 1024**2
DONE = Report("s.a", Size(412, 2000), Size(3, 1000), 3.14)


def config(maintain: dict[str, Any], **sink: Any) -> MaintainConfig:
    least = {"name": "m", "bootstrap": "k:9092", "checkpoint": "/c", "prefix": "shop", "sink": {"path": "/t", **sink}}
    return parse_config({**least, "maintain": maintain}).maintain


def test_settings_have_units() -> None:
    assert config({}) == MaintainConfig()
    assert MaintainConfig().seconds is None
    found = config({"interval": "30 minutes", "file_size": "1 GB", "retention": "36 hours", "cluster": True})
    assert (found.seconds, found.bytes, found.kept_seconds, found.cluster) == (1800, 1024 * MB, 36 * 3600, True)


@each_case(
    ("maintain", "sink", "said"),
    [
        ({"interval": "often"}, {}, "maintain.interval is 'often'"),
        ({"interval": "0 hours"}, {}, "maintain.interval is '0 hours'"),
        ({"interval": "1 hours"}, {"format": "parquet"}, "tables of the format parquet need no maintenance"),
        ({"file_size": "128"}, {}, "maintain.file_size is '128'"),
        ({"file_size": "1 KB"}, {}, "Use 1 MB or more"),
        ({"retention": "23 hours"}, {}, "Use 24 hours or more"),
        ({"cluster": "yes"}, {}, "maintain.cluster must be true or false"),
        ({"vacuum": "yes"}, {}, "unknown key maintain.vacuum"),
        ({}, {"readers": "some"}, "sink.readers is 'some'"),
        ({}, {"readers": "all", "format": "iceberg"}, "sink.readers is for the format delta"),
    ],
)
def test_wrong_settings_are_named(maintain: dict[str, Any], sink: dict[str, Any], said: str) -> None:
    with pytest.raises(JobError, match=said) as raised:
        config(maintain, **sink)
    assert raised.value.code == WRONG


def test_delta_is_compacted_and_then_vacuumed() -> None:
    settings = MaintainConfig(file_size="100 MB", retention="2 days")
    assert delta_statements("delta.`/t`", settings, []) == ["OPTIMIZE delta.`/t`", "VACUUM delta.`/t` RETAIN 48 HOURS"]
    assert delta_statements("t", settings, ["id", "a`b"])[0] == "OPTIMIZE t ZORDER BY (`id`, `a``b`)"
    sizes = delta_settings(settings, "4")
    assert sizes["spark.sql.sources.parallelPartitionDiscovery.parallelism"] == "4"
    assert sizes["spark.databricks.delta.optimize.maxFileSize"] == str(100 * MB)
    assert sizes["spark.databricks.delta.optimize.minFileSize"] == str(75 * MB)


def test_iceberg_is_compacted_before_its_snapshots_expire() -> None:
    now = 1_800_000_000
    settings = MaintainConfig(file_size="1 MB", retention="2 days")
    found = iceberg_statements("cat", "`cat`.`s`.`o'k`", settings, [], now)
    assert found == [
        (
            r"CALL `cat`.system.rewrite_data_files(table => '`cat`.`s`.`o\'k`', options => map('target-file-size-bytes', '1048576', "
            "'min-input-files', '2', 'delete-file-threshold', '1', 'remove-dangling-deletes', 'true'))"
        ),
        r"CALL `cat`.system.rewrite_position_delete_files(table => '`cat`.`s`.`o\'k`', options => map('rewrite-all', 'true'))",
        r"CALL `cat`.system.rewrite_manifests(table => '`cat`.`s`.`o\'k`', use_caching => false)",
        (
            r"CALL `cat`.system.expire_snapshots(table => '`cat`.`s`.`o\'k`', older_than => TIMESTAMP '2027-01-13 08:00:00+00:00', "
            "retain_last => 1)"
        ),
        r"CALL `cat`.system.remove_orphan_files(table => '`cat`.`s`.`o\'k`', older_than => TIMESTAMP '2027-01-13 08:00:00+00:00')",
    ]
    assert "strategy => 'sort', sort_order => '`id`, `n`'" in iceberg_statements("cat", "t", settings, ["id", "n"], now)[0]


@pytest.mark.parametrize(
    ("cluster", "files", "size", "columns"),
    [
        (True, 100, 200 * MB, ["id"]),
        (False, 100, 200 * MB, []),
        # All rows fit into one file, or the files are large already, or there is none.
        (True, 100, 100 * MB, []),
        (True, 2, 200 * MB, []),
        (True, 0, 0, []),
    ],
)
def test_rows_are_sorted_by_the_key_where_it_pays(cluster: bool, files: int, size: int, columns: list[str]) -> None:
    # A boolean has no range that would let a reader skip files.
    assert cluster_columns(TABLES[0], MaintainConfig(cluster=cluster, file_size="128 MB"), files, size) == columns


def test_table_without_key_is_not_sorted() -> None:
    keyless = Table("s", "a", TABLES[0].columns, ())
    assert cluster_columns(keyless, MaintainConfig(cluster=True), 1000, 1000 * MB) == []


def test_results_are_lines_or_one_document() -> None:
    reports = {"a": DONE, "b": Report("s.b", skipped="the reason.")}
    to = io.StringIO()
    assert run(TABLES, lambda table: reports[table.name], as_json=False, stream=to) == 0
    assert to.getvalue().splitlines() == [
        "s.a: 412 files of 2,000 bytes before, 3 files of 1,000 bytes after, in 3.1 s",
        "s.b: maintenance skipped: the reason.",
    ]
    to = io.StringIO()
    run(TABLES, lambda table: reports[table.name], as_json=True, stream=to)
    first, second = json.loads(to.getvalue())["tables"]
    assert (first["table"], first["before"], first["after"]) == ("s.a", {"files": 412, "bytes": 2000}, {"files": 3, "bytes": 1000})
    assert (second["before"], second["skipped"], second["failed"]) == (None, "the reason.", False)


def test_failed_table_ends_the_command_with_its_code_after_the_others() -> None:
    seen: list[str] = []

    def maintain(table: Table) -> Report:
        seen.append(table.name)
        return Report(table.full_name, skipped="Spark stopped with X.", failed=table.name == "a")

    assert run(TABLES, maintain, as_json=False, stream=io.StringIO()) == UNREADABLE
    assert seen == ["a", "b"]


def test_tables_are_chosen_by_name() -> None:
    assert chosen(TABLES, None) == TABLES
    assert chosen(TABLES, ["s.b"]) == TABLES[1:]
    assert [chosen(TABLES, [name], {"s.b": "public.b"}) for name in ("public.b", "s.b")] == [TABLES[1:], TABLES[1:]]
    with pytest.raises(JobError, match=r"no table s\.c"):
        chosen(TABLES, ["s.a", "s.c"])
    with pytest.raises(JobError, match="no table yet"):
        chosen([], None)


def test_schedule_maintains_one_table_at_a_time() -> None:
    now, said = [100.0], list[str]()
    schedule = Schedule(60, lambda: TABLES, lambda table: Report(table.full_name, skipped=f"at {now[0]:g}"), said.append, lambda: now[0])
    assert not schedule.due()
    now[0] = 160
    assert schedule.due()
    schedule.step()
    assert len(said) == 1
    now[0] = 190
    assert schedule.due()
    schedule.step()
    assert not schedule.due()
    now[0] = 219
    assert not schedule.due()
    # A round begins a minute after the beginning of the last one, also if that one took long.
    now[0] = 220
    assert schedule.due()
    schedule.step()
    assert said == [f"s.{name}: maintenance skipped: at {at}" for name, at in (("a", 160), ("b", 190), ("a", 220))]
    empty = Schedule(0, list, lambda _table: DONE, said.append, lambda: now[0])
    empty.step()
    assert len(said) == 3


def test_tables_that_cannot_be_found_do_not_end_the_mirror() -> None:
    said: list[str] = []

    def tables() -> list[Table]:
        raise JobError(UNREADABLE, "The checkpoint is damaged.")

    Schedule(0, tables, lambda _table: DONE, said.append).step()
    assert said == ["maintenance skipped: The checkpoint is damaged."]


def test_a_running_mirror_maintains_between_two_batches() -> None:
    seen: list[str] = []
    asked, begun = threading.Event(), threading.Event()

    class Watched(Schedule):
        def due(self) -> bool:
            asked.set()
            return True

        def step(self) -> None:
            seen.append("maintained")

    def apply(_records: DataFrame, number: int) -> BatchTotals:
        seen.append("batch begins")
        begun.set()
        assert asked.wait(60)
        seen.append("batch ends")
        return BatchTotals(number)

    # A session is asked for the number of its shuffles only.
    spark = cast(SparkSession, SimpleNamespace(conf={SHUFFLE_PARTITIONS: "1"}))
    records = cast(DataFrame, SimpleNamespace(sparkSession=SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None))))
    schedule = Watched(0, list, lambda _: DONE, seen.append)
    run = Run(cast(MirrorConfig, None), spark, apply, cast(Checkpoint, None), lambda _text: None, None, schedule)
    batch = threading.Thread(target=run._batch, args=(records, 0))
    batch.start()
    assert begun.wait(60)
    run._maintain()
    batch.join()
    assert seen == ["batch begins", "batch ends", "maintained"]
