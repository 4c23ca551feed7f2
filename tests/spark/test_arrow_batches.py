"""Batches that Python decodes have the effects of those that Spark's jobs decode."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import ID, NAME, Json, Record, TopicLog, cents, frame, price
from workers.spark.effects import in_driver, small_batches
from workers.spark.effects.arrow_batches import ArrowBatches
from workers.spark.effects.in_driver import InDriver
from workers.spark.effects.small_batches import Reading
from workers.spark.failure import JobError
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.tables.later import Later
from workers.spark.tables.rules import Rules, TableRule
from workers.spark.tables.table import Effects
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.formats import json_format
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

REAL: Json = {"type": "float", "optional": True, "field": "real"}
TAGS: Json = {"type": "array", "items": {"type": "string", "optional": True}, "optional": True, "field": "tags"}
AT: Json = {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "optional": True, "field": "at"}
ZONED: Json = {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "optional": True, "field": "zoned"}
NOTE: Json = {"type": "string", "optional": True, "default": "n", "field": "note"}
ALL = (ID, NAME, price(2), REAL, TAGS, AT, ZONED)


class Mirrored:
    """One process that mirrors batches. ``taken`` has the tables of each batch that Python decoded."""

    def __init__(self, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, rules: Rules | None = None) -> None:
        self.spark = spark
        self.sink = MemorySink(spark)
        self.taken: list[list[str]] = []
        self.counts: Mapping[str, int] = {}
        job = Mirror(self.sink) if rules is None else Mirror(self.sink, rules)
        checkpoint = Checkpoint(spark, str(folder))
        self._batches = Batches(checkpoint, json_format(UNAVAILABLE, None), self.sink, job, counts=lambda _: self.counts)
        decode = ArrowBatches.effects

        def noted(
            arrow: ArrowBatches, session: SparkSession, records: ArrowRecords, topic: Topic, readings: Sequence[Reading]
        ) -> Effects | None:
            found = decode(arrow, session, records, topic, readings)
            if found is not None:
                self.taken[-1].append(topic.table.name)
            return found

        monkeypatch.setattr(ArrowBatches, "effects", noted)

    def batch(self, records: Sequence[Record]) -> list[str]:
        self.taken.append([])
        self.counts = Counter(record[0] for record in records)
        self._batches.apply(frame(self.spark, records), len(self.taken) - 1)
        return sorted(self.taken[-1])

    def rows(self, table: str) -> list[dict[str, object]]:
        return self.sink.rows(f"public.{table}")


def by_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Python nor the driver decodes."""
    monkeypatch.setattr(in_driver, "RECORDS", 0)
    monkeypatch.setattr(small_batches, "RECORDS", 0)


def row(chosen: random.Random, key: int, seed: str) -> Json:
    return {
        "id": key,
        "name": chosen.choice([seed, "", None, 'q"\\ 漢']),
        "price": chosen.choice([None, cents(chosen.randint(-999, 999))]),
        "real": chosen.choice([None, 0.1, 3, "Infinity"]),
        "tags": chosen.choice([None, [], ["a", None, "b"]]),
        "at": chosen.choice([None, 0, 1577934245678901]),
        "zoned": chosen.choice([None, "2020-01-02T03:04:05.678901Z"]),
    }


def workload(fields: Sequence[Json] = ALL) -> list[list[Record]]:
    """Changes of tables with and without a key; the first batch fills them. The columns of one change in the fourth."""
    keyed, other = TopicLog(fields, topic="shop.public.keyed"), TopicLog((ID, NAME), topic="shop.public.other")
    text = TopicLog((ID, NAME), key=(NAME,), topic="shop.public.text")
    bare, ordered = TopicLog(fields, key=(), topic="shop.public.bare"), TopicLog((ID,), key=(), topic="shop.public.ordered")
    batches = []
    for seed in range(6):
        chosen = random.Random(seed)
        for at in range(chosen.randint(6, 20)):
            key = chosen.randint(1, 6)
            keyed.change(chosen.choice("crud"), row(chosen, key, f"{seed} {at}"), partition=key % 2)
            if (seed, at) == (3, 3):
                other.fields = (ID, NAME, NOTE)
            more = {"note": None} if NOTE in (other.fields or ()) else {}
            other.change(chosen.choice("cud"), {"id": key, "name": f"{seed} {at}", **more})
            text.change(chosen.choice("cud"), {"id": at, "name": chosen.choice(["a", 'b"\\', "漢"])})
            bare.change(chosen.choice("crud"), row(chosen, key, f"{seed} {at}"), partition=at % 2)
            # COPY writes many rows with one LSN; their order in the transaction distinguishes them.
            ordered.change("c", {"id": at}, lsn=1_000 + seed, order=at + 1)
        batches.append([record for log in (keyed, other, text, bare, ordered) for record in log.new()])
    return batches


def test_effects_are_those_of_jobs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        read = Mirrored(spark, tmp_path / "read", patch)
        every = ["bare", "keyed", "ordered", "other", "text"]
        # Spark decodes a batch in which the columns change.
        without = ["bare", "keyed", "ordered", "text"]
        assert [read.batch(records) for records in workload()] == [every, every, every, without, every, every]
    with monkeypatch.context() as patch:
        by_jobs(patch)
        jobs = Mirrored(spark, tmp_path / "jobs", patch)
        assert not any(jobs.batch(records) for records in workload())
    assert read.sink.tables == jobs.sink.tables
    assert min(len(read.rows(table)) for table in every) > 1


def test_a_change_that_may_lack_values_is_decoded_by_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mirrored(spark, tmp_path, monkeypatch)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "long"})
    read.batch(log.new())
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    assert read.batch(log.new()) == []
    log.move({"id": 1}, {"id": 2, "name": UNAVAILABLE})
    assert read.batch(log.new()) == []
    assert read.rows("items") == [{"id": 2, "name": "long"}]
    log.change("t")
    log.change("c", {"id": 3, "name": "new"}, partition=1)
    assert read.batch(log.new()) == []
    # The truncate counts for what was logged before it and is read later.
    log.change("c", {"id": 4, "name": "older"}, partition=1, lsn=101)
    log.change("c", {"id": 5, "name": "newer"}, partition=1, lsn=10_000)
    assert read.batch(log.new()) == ["items"]
    assert read.rows("items") == [{"id": 3, "name": "new"}, {"id": 5, "name": "newer"}]


def test_a_snapshot_of_a_table_without_a_key_is_decoded_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for limited in (False, True):
        with monkeypatch.context() as patch:
            if limited:
                by_jobs(patch)
            one = Mirrored(spark, tmp_path / str(limited), patch)
            log = TopicLog(key=())
            log.change("r", {"id": 1, "name": "a"}, snapshot="first")
            log.change("r", {"id": 1, "name": "a"}, snapshot="last")
            taken = [one.batch(log.new())]
            log.change("c", {"id": 2, "name": "b"})
            # What was logged before the snapshot is in it.
            log.change("c", {"id": 3, "name": "older"}, partition=1, lsn=101)
            taken.append(one.batch(log.new()))
            log.change("r", {"id": 9, "name": "again"}, snapshot="first")
            taken.append(one.batch(log.new()))
            # Equal rows of one LSN have numbers.
            log.change("c", {"id": 4, "name": "x"}, lsn=20_000)
            log.change("c", {"id": 4, "name": "x"}, lsn=20_000)
            taken.append(one.batch(log.new()))
            log.change("c", {"id": 5, "name": "y"}, lsn=20_001)
            taken.append(one.batch(log.new()))
            found.append((one.sink.tables, taken))
    (read, taken), (jobs, none) = found
    assert read == jobs
    assert taken == [[], ["items"], [], [], ["items"]]
    assert none == [[]] * 5


def test_a_key_with_several_texts_is_one_row(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mirrored(spark, tmp_path, monkeypatch)
    log = TopicLog(fields=None)
    log.change("c", {"id": 1, "name": "a"})
    read.batch(log.new())
    log.change("u", {"id": 1, "name": "b"})
    log.change("u", {"id": 1, "name": "c"})
    first, (topic, partition, offset, at, _, value, headers) = log.new()
    assert read.batch([first, (topic, partition, offset, at, b'{"id": 1}', value, headers)]) == []
    assert read.rows("items") == [{"id": 1, "name": "c"}]
    log.change("u", {"id": 1, "name": "d"})
    assert read.batch(log.new()) == ["items"]
    assert read.rows("items") == [{"id": 1, "name": "d"}]


@pytest.mark.parametrize(
    "payload",
    [
        {"after": {"id": 2, "name": 5}, "op": "c", "source": {"lsn": 900}},
        {"after": {"id": 2, "name": "x"}, "op": "c", "source": {"lsn": "9"}},
        {"after": {"id": 2, "name": "x"}, "op": "z", "source": {"lsn": 900}},
        {"after": {"id": 2, "name": "x"}, "op": ["c"], "source": {"lsn": 900}},
        {"after": [2], "op": "c", "source": {"lsn": 900}},
        {"after": {"id": 2, "name": "x"}, "op": "c", "source": [1]},
    ],
    ids=str,
)
def test_what_python_does_not_read_is_left_to_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: Json
) -> None:
    read = Mirrored(spark, tmp_path, monkeypatch)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "first"})
    read.batch(log.new())
    log.record({"id": 2}, payload)
    # Spark refuses some of them, which ends the batch.
    with suppress(JobError, PySparkException, Py4JJavaError):
        read.batch(log.new())
    assert read.taken[-1] == []


def test_rows_that_are_deleted_softly_are_decoded_by_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules((TableRule("public.items", soft_delete=True),))
    read = Mirrored(spark, tmp_path, monkeypatch, rules)
    log = TopicLog()
    log.change("c", {"id": 1, "name": "a"})
    read.batch(log.new())
    log.change("u", {"id": 1, "name": "b"})
    assert read.batch(log.new()) == []


def group(records: int, octets: int, topic: str = "t") -> Group:
    return Group(topic, 1, 1, False, records, octets, False, False, False, False, 0, (0, 0))


def test_only_records_that_the_driver_can_hold_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_driver, "arrow_records", lambda cut: cut)
    driver = InDriver()
    some: Any = Later(object)  # it is only handed on

    def takes(**counts: int) -> bool:
        return driver.read(some, counts, lambda _: None) is not None

    assert not takes()
    assert takes(t=in_driver.FEW)
    # How long the records are is not known.
    assert not takes(t=in_driver.FEW + 1)
    driver.after([group(10, 90), group(10, 110)])
    assert takes(t=in_driver.OF_A_TOPIC)
    assert not takes(t=in_driver.OF_A_TOPIC + 1)
    driver.after([group(10, 100, "u"), group(10, 100, "v")])
    most = in_driver.OF_A_TOPIC
    assert takes(t=most, u=most, v=most)
    driver.after([group(10, 100, name) for name in ("w", "x")])
    assert not takes(t=most, u=most, v=most, w=most, x=1)
    # A MiB each.
    driver.after([group(2, 2 * 1024 * 1024)])
    assert takes(t=128)
    assert not takes(t=129)


class Direct:
    """Reads records without a job; ``asked`` has the most bytes that they may have."""

    def __init__(self) -> None:
        self.found: Any = object()  # it is only handed on
        self.asked: list[int] = []

    def __call__(self, octets: int) -> ArrowRecords | None:
        self.asked.append(octets)
        found: ArrowRecords | None = self.found
        return found


def test_records_that_are_read_without_a_job_need_no_known_length() -> None:
    direct = Direct()

    def unread() -> DataFrame:
        raise AssertionError

    driver, cut, most = InDriver(), Later(unread), in_driver.OF_A_TOPIC
    assert driver.read(cut, {"t": most, "u": most}, direct) is direct.found
    assert driver.read(cut, {"t": most + 1}, direct) is None
    assert direct.asked == [in_driver.OCTETS]


def test_python_decodes_large_topics_if_spark_has_few_cores_and_the_sink_takes_arrow() -> None:
    direct = Direct()
    cut: Any = Later(object)
    few, many = InDriver(in_driver.CORES), InDriver(in_driver.CORES + 1)
    assert few.takes(in_driver.RECORDS)
    assert not few.takes(in_driver.RECORDS + 1)
    assert not many.takes(1)
    assert not InDriver().takes(1)
    assert few.read(cut, {"t": in_driver.RECORDS}, direct) is direct.found
    assert many.read(cut, {"t": in_driver.OF_A_TOPIC + 1}, direct) is None
    assert many.read(cut, {"t": in_driver.OF_A_TOPIC}, direct) is direct.found
    assert direct.asked == [in_driver.WIDE, in_driver.OCTETS]


def test_records_that_cannot_be_read_are_left_to_jobs(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: DataFrame) -> ArrowRecords:
        raise Py4JError("too large")

    monkeypatch.setattr(in_driver, "arrow_records", fails)
    some: Any = Later(object)  # it is only handed on
    assert InDriver().read(some, {"u": 5, "t": 5}, lambda _: None) is None
    assert "The reading of a batch with records of table t failed with Py4JError: they take the slower way" in caplog.text


def test_the_records_of_a_batch_are_counted_by_its_offsets(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path))
    folder = tmp_path / "stream" / "offsets"
    folder.mkdir(parents=True)
    ends = [{"a": {"0": 5, "1": 7}}, {"a": {"0": 9, "1": 7}, "b": {"0": 2}}, {"a": {"0": 9, "1": 8}, "b": {"0": 2}}]
    for number, end in enumerate(ends):
        (folder / str(number)).write_text(f"v1\n{{}}\n{json.dumps(end)}", encoding="utf-8")
    # Where the first batch begins is in no file.
    assert checkpoint.ranges(0) == {("a", 0): (None, 5), ("a", 1): (None, 7)}
    assert checkpoint.counts(0) == {"a": 12}
    assert Checkpoint(spark, str(tmp_path), from_begin=False).counts(0) == {}
    assert checkpoint.counts(1) == {"a": 4, "b": 2}
    assert checkpoint.counts(2) == {"a": 1}
    assert checkpoint.ranges(1) == {("a", 0): (5, 9), ("b", 0): (None, 2)}
    assert checkpoint.ranges(2) == {("a", 1): (7, 8)}
    # A repeated batch, of a process that has no other.
    assert Checkpoint(spark, str(tmp_path)).counts(2) == {"a": 1}
