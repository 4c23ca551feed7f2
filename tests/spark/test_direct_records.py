"""The records of a running mirror's batches that Python reads from Kafka itself, and those that Spark's tasks must read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError

from tests.spark.test_topics_live import configured, written
from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.topic_log import TopicLog, price
from workers.spark.jobs import direct_records
from workers.spark.jobs.direct_records import PAUSE, SAMPLE, DirectRecords
from workers.spark.jobs.mirror_config import MirrorConfig
from workers.spark.jobs.stream import run_mirror
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.range_reader import RangeReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["broker"]


class Runs:
    """Runs of a mirror up to the topics' present ends. ``read`` has the records of each batch that Python has read, None for others."""

    def __init__(self, spark: SparkSession, config: MirrorConfig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark, self.config = spark, config
        self.read: list[int | None] = []
        of = DirectRecords.of

        def noted(direct: DirectRecords, batch: int, octets: int) -> ArrowRecords | None:
            found = of(direct, batch, octets)
            self.read.append(None if found is None else len(found))
            return found

        monkeypatch.setattr(DirectRecords, "of", noted)

    def run(self) -> list[int | None]:
        self.read.clear()
        run_mirror(self.config, self.spark, lambda _: None)
        return self.read

    def rows(self, table: str) -> list[tuple[object, ...]]:
        found = self.spark.read.parquet(f"{self.config.sink.path}/public/{table}")
        return sorted(tuple(row) for row in found.select("id", "name").collect())


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Runs]:
    return lambda prefix: Runs(spark, configured(tmp_path, broker, prefix), monkeypatch)


async def test_batches_are_read_in_python(runs: Callable[[str], Runs], broker: Broker) -> None:
    mirror = runs("sparkdirect")
    items = written("sparkdirect.public.items", (1, "a"), (2, "b"))
    await broker.create(items)
    await broker.write(items)
    assert mirror.run() == [2]
    items.change("u", {"id": 1, "name": "a2"})
    items.change("d", {"id": 2, "name": "b"})
    other = written("sparkdirect.public.others", (5, "new"))
    await broker.create(other)
    await broker.write(items)
    await broker.write(other)
    # A delete has a tombstone. The other topic is new, with a schema that is not known.
    assert mirror.run() == [4]
    assert mirror.rows("items") == [(1, "a2")]
    assert mirror.rows("others") == [(5, "new")]
    other.fields = (*(other.fields or ()), price(2))
    other.change("c", {"id": 6, "name": "wide", "price": None})
    await broker.write(other)
    assert mirror.run() == [1]
    assert mirror.rows("others") == [(5, "new"), (6, "wide")]


async def test_records_of_another_form_are_spark_s(runs: Callable[[str], Runs], broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    mirror = runs("sparkodd")
    items = written("sparkodd.public.items", (1, "a"))
    await broker.create(items)
    await broker.write(items)
    mirror.run()
    items.change("c", {"id": 2, "name": "b"})
    _, _, _, at, key, value, headers = items.records[-1]
    assert value is not None
    items.records[-1] = (items.topic, 0, 1, at, key, value.replace(b'"payload":', b' "payload":'), headers)
    await broker.write(items)
    assert mirror.run() == [None]
    assert mirror.rows("items") == [(1, "a"), (2, "b")]
    assert "Topic sparkodd.public.items has a record that is not JSON as JsonConverter writes it" in caplog.text


async def test_options_of_kafka_that_only_spark_knows(runs: Callable[[str], Runs], broker: Broker) -> None:
    mirror, said = runs("sparkgroup"), list[str]()
    items = written("sparkgroup.public.items", (1, "a"))
    await broker.create(items)
    await broker.write(items)
    mirror.config = replace(mirror.config, kafka={**mirror.config.kafka, "kafka.group.id": "sparkgroup"})
    run_mirror(mirror.config, mirror.spark, said.append)
    assert mirror.read == []
    assert mirror.rows("items") == [(1, "a")]
    assert any("Python's client does not know all options of [kafka]" in line for line in said)


async def test_a_first_batch_that_begins_elsewhere_is_spark_s(runs: Callable[[str], Runs], broker: Broker) -> None:
    mirror = runs("sparkbegin")
    items = written("sparkbegin.public.items", (1, "a"), (2, "b"))
    await broker.create(items)
    await broker.write(items)
    begin = json.dumps({items.topic: {"0": 1}})
    mirror.config = replace(mirror.config, kafka={**mirror.config.kafka, "startingOffsets": begin})
    assert mirror.run() == []
    assert mirror.rows("items") == [(2, "b")]
    items.change("c", {"id": 3, "name": "c"})
    await broker.write(items)
    assert mirror.run() == [1]
    assert mirror.rows("items") == [(2, "b"), (3, "c")]


async def test_a_batch_that_cannot_be_read_is_spark_s(
    runs: Callable[[str], Runs], broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = runs("sparkunread")
    items = written("sparkunread.public.items", (1, "a"))
    await broker.create(items)
    await broker.write(items)
    mirror.run()

    def fails(*_: object) -> None:
        raise KafkaConnectionError

    monkeypatch.setattr(RangeReader, "read", fails)
    items.change("c", {"id": 2, "name": "b"})
    await broker.write(items)
    assert mirror.run() == [None]
    assert mirror.rows("items") == [(1, "a"), (2, "b")]
    said = "The reading of records of table sparkunread.public.items failed with KafkaConnectionError: Spark's tasks read them"
    assert said in caplog.text


async def test_whole_transactions_are_found_by_spark(runs: Callable[[str], Runs], broker: Broker) -> None:
    mirror = runs("sparkwhole")
    mirror.config = replace(mirror.config, consistency="transaction")
    items, ends = TopicLog(topic="sparkwhole.public.items"), TopicLog(None, topic="sparkwhole.transaction")
    await broker.create(items, ends)
    for number in range(2):
        items.change("c", {"id": number, "name": "a"}, order=1)
        ends.record(None, {"status": "END", "id": f"500:{items.lsn}", "event_count": 1, "data_collections": [], "ts_ms": 1})
        await broker.write(items)
        await broker.write(ends)
        assert mirror.run() == []
        assert mirror.rows("items") == [(one, "a") for one in range(number + 1)]


class FakeCheckpoint:
    """Batches of one partition."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], tuple[int | None, int]] = {("t", 0): (0, 1)}

    def ranges(self, _: int) -> dict[tuple[str, int], tuple[int | None, int]]:
        return self.found


class FakeReader:
    """Gives no records, or raises ``error``; counts the calls."""

    def __init__(self, *_: object) -> None:
        self.error: Exception | None = None
        self.calls = 0

    def read(self, *_: object) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


def test_after_a_failure_spark_reads_some_batches(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    reader = FakeReader()
    monkeypatch.setattr(direct_records, "RangeReader", lambda _: reader)
    checkpoint: Any = FakeCheckpoint()
    direct = DirectRecords(lambda _octets, _seed: 0, checkpoint, {})

    def asked(batch: int) -> bool:
        before = reader.calls
        assert direct.of(batch, 100) is None
        return reader.calls > before

    assert asked(5)
    reader.error = TimeoutError()
    assert asked(6)
    assert not any(asked(batch) for batch in range(7, 6 + PAUSE))
    # Records that Kafka has removed are no failure to connect: Spark decides what it means.
    reader.error = OffsetOutOfRangeError({})
    assert asked(6 + PAUSE)
    assert asked(7 + PAUSE)
    assert caplog.text.count("The reading of records of table t failed") == 1
    checkpoint.found = {}
    assert not asked(8 + PAUSE)


def test_too_many_bytes_are_left_to_spark(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    record = ConsumerRecord("t", 0, 0, 0, 0, b'{"id":1}', b'{"op":"c"}', None, 8, 10, ())

    class Reader(FakeReader):
        def read(self, *given: Any) -> None:
            _, take = given
            take(("t", 0), [record] * 10)

    monkeypatch.setattr(direct_records, "RangeReader", Reader)
    checkpoint: Any = FakeCheckpoint()
    direct = DirectRecords(lambda _octets, _seed: 0, checkpoint, {})
    read = [direct.of(batch, octets) for batch, octets in ((5, 10_000), (6, 100), (7, 10_000))]
    assert [None if found is None else len(found) for found in read] == [10, None, 10]
    assert not caplog.records


def test_the_first_records_show_that_all_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    record = ConsumerRecord("t", 0, 0, 0, 0, b'{"id":1}', b'{"op":"c"}', None, 8, 10, ())
    taken: list[int] = []

    class Reader(FakeReader):
        def read(self, *given: Any) -> None:
            _, take = given
            for number in range(10):
                taken.append(number)
                take(("t", 0), [record] * SAMPLE)

    monkeypatch.setattr(direct_records, "RangeReader", Reader)
    checkpoint: Any = FakeCheckpoint()
    checkpoint.found = {("t", 0): (5, 5 + 10 * SAMPLE), ("u", 0): (0, 7)}
    direct = DirectRecords(lambda _octets, _seed: 0, checkpoint, {})
    assert direct.of(5, 200_000) is None
    assert taken == [0]
    found = direct.of(6, 10_000_000)
    assert found is not None
    assert len(found) == 10 * SAMPLE
