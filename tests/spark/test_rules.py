"""Mirrors whose tables follow rules: selected, masked and routed columns, and rows that are marked instead of removed."""

from __future__ import annotations

import hashlib
import io
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.local_frame import local_frame
from tests.support.spark.memory_sink import Crash
from tests.support.spark.topic_log import EPOCH, ID, NAME, Json, TopicLog
from workers.spark.compare.show import show
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.isolation import Isolation
from workers.spark.jobs.kept_tables import kept_of
from workers.spark.jobs.mirror import Mirror
from workers.spark.sinks.parquet import ParquetSink
from workers.spark.sinks.ruled_sink import RuledSink
from workers.spark.source.catalog import CatalogColumn
from workers.spark.tables.rules import DELETED, DELETED_AT, Rules, TableRule
from workers.spark.tables.table import Column, Table
from workers.spark.topics.formats import json_format
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SECRET: Json = {**NAME, "field": "secret"}
NOTE: Json = {**NAME, "field": "note"}


class Rig:
    """A mirror with rules into Parquet."""

    def __init__(self, spark: SparkSession, folder: Path, *rules: TableRule) -> None:
        self.spark = spark
        self.rules = Rules(rules)
        self.place = ParquetSink(spark, str(folder / "tables"))
        self.said: list[str] = []
        self.sink = RuledSink(self.place, self.rules, self.said.append)
        self.checkpoint = Checkpoint(spark, str(folder))
        self._folder = folder
        self._next = 0

    def restarted(self, *rules: TableRule) -> Rig:
        """The same mirror in a new process, with other rules if there are any."""
        again = Rig(self.spark, self._folder, *(rules or self.rules.rules))
        topics, layout = self.checkpoint.last().topics, json_format(UNAVAILABLE, None).schemas.layout
        known = [topic.table for name, state in topics.items() if (topic := Topic(name, state, layout)).is_table]
        again.sink = RuledSink(again.place, again.rules, known=known, filled=[one.table for one in kept_of(topics, layout)])
        again._next = self._next
        return again

    def batch(self, records: DataFrame, *, moves_on: bool = True) -> BatchTotals:
        job, isolation = Mirror(self.sink, self.rules), Isolation(self.checkpoint)
        done = Batches(self.checkpoint, json_format(UNAVAILABLE, None), self.sink, job, isolation=isolation).apply(records, self._next)
        self._next += moves_on
        return done

    def table(self, log: TopicLog) -> Table:
        """The source's table."""
        form = json_format(UNAVAILABLE, None)
        return Topic(log.topic, self.checkpoint.last().topics[log.topic], form.schemas.layout).table

    def rows(self, table: str = "public/items") -> list[Row]:
        return list(self.spark.read.parquet(str(self._folder / "tables" / table)).drop("__lsn").orderBy("id").collect())


def test_deleted_rows_are_marked_and_keep_their_values(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig, log = Rig(spark, tmp_path, TableRule("public.items", soft_delete=True)), TopicLog()
    for number in (1, 2, 3):
        log.change("c", {"id": number, "name": f"n{number}"})
    log.change("d", {"id": 3, "name": None})
    third = log.lsn
    rig.batch(log.batch(spark))

    def shown() -> list[tuple[object, ...]]:
        return [(row["id"], row["name"], row[DELETED]) for row in rig.rows()]

    assert shown() == [(1, "n1", False), (2, "n2", False), (3, "n3", True)]
    log.change("u", {"id": 2, "name": UNAVAILABLE})
    log.change("d", {"id": 2, "name": None})
    second = log.lsn
    log.change("d", {"id": 1, "name": None})
    log.change("c", {"id": 1, "name": "again"})
    # A tombstone alone has no time and no LSN.
    log.record({"id": 3}, None)
    records = log.batch(spark)
    with monkeypatch.context() as patch:

        def crash(*_: object) -> None:
            raise Crash

        patch.setattr(rig.checkpoint, "after", crash)
        with pytest.raises(Crash):
            rig.batch(records, moves_on=False)
    rig.batch(records)
    assert shown() == [(1, "again", False), (2, "n2", True), (3, "n3", True)]
    times = spark.read.parquet(str(tmp_path / "tables/public/items")).selectExpr("id", f"unix_millis({DELETED_AT}) as ms")
    began = int(EPOCH.timestamp() * 1000)
    assert [row["ms"] for row in times.orderBy("id").collect()] == [None, began + second, began + third]
    lsns = spark.read.parquet(str(tmp_path / "tables/public/items")).where("id = 3").select("__lsn").collect()
    assert [row[0] for row in lsns] == [third]
    # A reader of the mirror, such as verify, sees the rows of the source.
    read = rig.sink.read(rig.table(log))
    assert read is not None
    assert (read.columns, [row["id"] for row in read.collect()]) == (["id", "name", "__lsn"], [1])


def test_columns_are_selected_masked_and_routed(spark: SparkSession, tmp_path: Path) -> None:
    masks = {"id": "hash", "name": "truncate:2"}
    rule = TableRule("public.items", exclude_columns=("secret",), mask=masks, salt="s", route="lake.${table}_v1")
    rig, log = Rig(spark, tmp_path, rule), TopicLog((ID, NAME, SECRET, NOTE))
    log.change("c", {"id": 1, "name": "Ada", "secret": "x", "note": "long"})
    log.change("c", {"id": 2, "name": None, "secret": "y", "note": None})
    rig.batch(log.batch(spark))
    log.change("u", {"id": 1, "name": UNAVAILABLE, "secret": UNAVAILABLE, "note": UNAVAILABLE})
    log.change("d", {"id": 2, "name": None})
    rig.batch(log.batch(spark))
    [row] = rig.rows("lake/items_v1")
    assert row.asDict() == {"id": hashlib.sha256(b"s1").hexdigest(), "name": "Ad", "note": "long"}
    read = rig.sink.read(rig.table(log))
    assert read is not None
    assert read.columns == ["note", "__lsn"]


@pytest.mark.long
def test_columns_that_the_mirror_lacks_are_named_and_not_compared(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked = TableRule("public.items", exclude_columns=("secret",), mask={"note": "truncate:1"})
    hidden = TableRule(".*", columns=(), mask={"id": "hash"}, salt="s")
    log = TopicLog((ID, NAME, SECRET, NOTE))
    log.change("c", {"id": 1, "name": "Ada", "secret": "x", "note": "long"})
    records = log.batch(spark)
    source: tuple[str | None, ...] = ("1", "Ada", "x", "long")
    names = ("id", "name", "secret", "note")

    def rows(_spark: object, _connection: object, _table: object, columns: list[Column]) -> DataFrame:
        chosen = [column.name for column in columns]
        return local_frame(spark, [source], ", ".join(f"{name} string" for name in names)).select(*chosen)

    monkeypatch.setattr("workers.spark.compare.show.snapshot", lambda _: nullcontext())
    monkeypatch.setattr(
        "workers.spark.compare.show.table_columns", lambda *_: [CatalogColumn(name, "text", "b", -1, False) for name in names]
    )
    monkeypatch.setattr("workers.spark.compare.show.rows_as_text", rows)

    def shown(rule: TableRule) -> tuple[bool, str]:
        rig, output = Rig(spark, tmp_path / ("hidden" if rule is hidden else "masked"), rule), io.StringIO()
        rig.batch(records)
        return show(spark, "", [rig.table(log)], rig.sink, 5, output), output.getvalue()

    equal, said = shown(masked)
    assert (equal, "not compared: note, secret\n" in said) == (True, True)
    equal, said = shown(hidden)
    assert (equal, "public.items: no column of the mirror can be compared." in said) == (False, True)


def test_renamed_column_is_not_shown_in_clear(spark: SparkSession, tmp_path: Path) -> None:
    rule = TableRule(r"public\..*", exclude_columns=("secret", "emial"))
    rig, log = Rig(spark, tmp_path, rule), TopicLog((ID, SECRET, NAME))
    log.change("c", {"id": 1, "secret": "hidden", "name": "a"})
    rig.batch(log.batch(spark))
    assert [line.partition(", a column")[0] for line in rig.said] == [f"[[table]] with match = {rule.match!r} masks or leaves out emial"]
    log.fields = (ID, {**SECRET, "field": "private"}, NAME)
    log.change("c", {"id": 2, "private": "hidden", "name": "b"})
    done = rig.batch(log.batch(spark))
    assert (done.dead, [row.asDict() for row in rig.rows()]) == (1, [{"id": 1, "name": "a"}])
    assert "public.items has lost secret, which its rule masks or leaves out, and has got private" in done.aside[0]


@pytest.mark.long
def test_renamed_column_is_not_shown_in_clear_if_the_first_batch_has_both_names(spark: SparkSession, tmp_path: Path) -> None:
    log = TopicLog((ID, SECRET, NAME))
    log.change("c", {"id": 1, "secret": "hidden", "name": "a"})
    log.fields = (ID, {**SECRET, "field": "private"}, NAME)
    log.change("c", {"id": 2, "private": "hidden", "name": "b"})
    records = log.batch(spark)
    rig = Rig(spark, tmp_path / "one", TableRule(r"public\..*", mask={"secret": "hash"}, salt="s"))
    done = rig.batch(records)
    assert (done.dead, (tmp_path / "one/tables/public/items").exists()) == (2, False)
    assert "public.items has lost secret, which its rule masks or leaves out, and has got private" in done.aside[0]
    # A rule for this table alone may name both.
    rig = Rig(spark, tmp_path / "both", TableRule("public.items", mask={"secret": "hash", "private": "null"}, salt="s"))
    assert rig.batch(records).dead == 0
    assert [row.asDict() for row in rig.rows()] == [{"id": 1, "private": None, "name": "a"}, {"id": 2, "private": None, "name": "b"}]


@pytest.mark.long
def test_former_name_that_a_later_batch_shows_is_not_shown_in_clear(spark: SparkSession, tmp_path: Path) -> None:
    former, log = (ID, SECRET, NAME), TopicLog((ID, {**SECRET, "field": "private"}, NAME))
    log.lsn = 100
    log.change("c", {"id": 2, "private": "hidden", "name": "b"})
    rig = Rig(spark, tmp_path, TableRule(r"public\..*", exclude_columns=("secret",)))
    rig.batch(log.batch(spark))
    # Another partition, which was read later, has an older change.
    log.fields, log.lsn = former, 0
    log.change("c", {"id": 1, "secret": "hidden", "name": "a"}, partition=1)
    assert rig.batch(log.batch(spark)).dead == 1
    assert [row["id"] for row in rig.rows()] == [2]


@pytest.mark.long
def test_columns_that_changed_before_the_table_had_a_rule_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    rig, log = Rig(spark, tmp_path), TopicLog((ID, SECRET))
    log.change("c", {"id": 1, "secret": "a"})
    # The column is replaced by another one, and comes again.
    log.fields = (ID, NOTE)
    log.change("c", {"id": 2, "note": "b"})
    log.fields = (ID, NOTE, SECRET)
    log.change("c", {"id": 3, "note": "c", "secret": "x"})
    rig.batch(log.batch(spark))
    rig = rig.restarted(TableRule(".*", exclude_columns=("secret",)))
    log.change("c", {"id": 4, "note": "d", "secret": "x"})
    rig.batch(log.batch(spark))
    # A batch has changes of the known form too, and another one of the unknown form alone.
    log.change("c", {"id": 5, "note": "e", "secret": "x"})
    log.fields = (ID, NOTE, SECRET, NAME)
    log.change("c", {"id": 6, "note": "f", "secret": "x", "name": "y"})
    assert rig.batch(log.batch(spark)).aside == ()
    log.fields = (ID, NOTE, SECRET, NAME, {**NAME, "field": "more"})
    log.change("c", {"id": 7, "note": "g", "secret": "x", "name": "y", "more": "z"})
    assert rig.batch(log.batch(spark)).aside == ()
    assert [row["id"] for row in rig.rows()] == [1, 2, 3, 4, 5, 6, 7]
    # A form that is not known yet is compared with the one before it.
    log.fields = (ID, NOTE, {**NAME, "field": "private"}, NAME)
    log.change("c", {"id": 8, "note": "h", "private": "x", "name": "y"})
    (said,) = rig.batch(log.batch(spark)).aside
    assert "public.items has lost secret, which its rule masks or leaves out, and has got private" in said


def test_two_tables_with_one_route_are_not_mixed(spark: SparkSession, tmp_path: Path) -> None:
    rig = Rig(spark, tmp_path, TableRule(".*", route="lake.all"))
    one, other = TopicLog(), TopicLog(topic="shop.public.others")
    one.change("c", {"id": 1, "name": "x"})
    other.change("c", {"id": 1, "name": "y"})
    rig.batch(one.batch(spark))
    done = rig.batch(other.batch(spark))
    assert [row["name"] for row in rig.rows("lake/all")] == ["x"]
    assert done.dead == 1
    assert "route leads both public.items and public.others to lake.all" in done.aside[0]


@pytest.mark.long
def test_two_tables_with_one_route_are_not_mixed_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rule = TableRule(".*", route="lake.all")
    rig = Rig(spark, tmp_path, rule)
    one, other = TopicLog(topic="shop.public.others"), TopicLog()
    one.change("c", {"id": 1, "name": "x"})
    other.change("c", {"id": 1, "name": "y"})
    rig.batch(one.batch(spark))
    for _ in range(2):
        # The second table is set aside in the first turn, and is known in the next start.
        rig = rig.restarted()
        rig.batch(other.batch(spark))
        one.change("u", {"id": 1, "name": "z"})
        rig.batch(one.batch(spark))
        assert [row["name"] for row in rig.rows("lake/all")] == ["z"]
    reason = rig.checkpoint.last().topics[other.topic].aside
    assert reason is not None
    assert "route leads both public.others and public.items to lake.all" in reason
