"""Which topics of a real broker are read, and what is said and done when one is not what the mirror needs."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.topic_log import TopicLog
from workers.spark.changes import changes
from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.isolation import FOLDER
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig
from workers.spark.jobs.stream import run_mirror
from workers.spark.meters.settings import MetricsConfig
from workers.spark.topics.patterns import of_prefix
from workers.spark.topics.records import read_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["broker"]


def configured(folder: Path, broker: Broker, prefix: str) -> MirrorConfig:
    """A mirror of the topics with this ``prefix``. Only Spark reads its tables, so Parquet is sufficient."""
    sink = SinkConfig("parquet", str(folder / "tables"))
    return MirrorConfig(prefix, broker.bootstrap, str(folder / "checkpoint"), sink, prefix=prefix, trigger="available-now")


class Mirror:
    """Runs of a mirror: what each one says, and the rows of its tables."""

    def __init__(self, spark: SparkSession, config: MirrorConfig) -> None:
        self.spark = spark
        self.config = config
        self.metrics = ""
        """As they are after the last batch."""

    def metric(self, name: str, table: str) -> float:
        found = re.search(rf'^understudy_spark_table_{name}\{{.*topic="[^"]*\.{table}"\}} (.*)$', self.metrics, re.MULTILINE)
        assert found is not None, self.metrics
        return float(found[1])

    def run(self, *rebuild: str) -> list[str]:
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            if line.startswith("batch"):
                with urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
                    self.metrics = answer.read().decode()

        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        run_mirror(replace(self.config, metrics=MetricsConfig(self.port)), self.spark, say, rebuild)
        # Its lag depends on the machine.
        found = [line for line in said if not line.startswith("behind by")]
        return [line.partition(" in ")[0] if line.startswith(("batch", "rebuild")) else line for line in found]

    def refusal(self, *rebuild: str) -> str:
        with pytest.raises(JobError) as refused:
            self.run(*rebuild)
        assert refused.value.code == UNREADABLE
        return str(refused.value)

    def folder(self, table: str) -> Path:
        return Path(str(self.config.sink.path)) / "public" / table

    def rows(self, table: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in self.spark.read.parquet(str(self.folder(table))).select("id", "name").collect())

    def tables(self) -> list[str]:
        return sorted(path.name for path in (Path(str(self.config.sink.path)) / "public").iterdir())


def written(topic: str, *rows: tuple[int, str]) -> TopicLog:
    log = TopicLog(topic=topic)
    for number, name in rows:
        log.change("c", {"id": number, "name": name})
    return log


@pytest.mark.long
async def test_topics_are_matched_by_their_whole_names(spark: SparkSession, broker: Broker) -> None:
    names = ["sparkx.public.film", "sparkx.public.film_actor", "sparkxy.public.film", "y.sparkx.public.film", "sparkxXpublic.film"]
    logs = [written(name, (at, name)) for at, name in enumerate(names)]
    await broker.create(*logs)
    for log in logs:
        await broker.write(log)

    def read(pattern: str) -> list[str]:
        found = read_records(spark, broker.bootstrap, pattern).select("topic").distinct().collect()
        return sorted(row["topic"] for row in found)

    assert [row["after"]["name"] for row in changes(spark, broker.bootstrap, "sparkx.public.film").collect()] == ["sparkx.public.film"]
    assert read(of_prefix("sparkx")) == names[:2]
    assert read(of_prefix("sparkxy")) == names[2:3]
    # A pattern is the user's: a dot in it is any character.
    assert read("sparkx.public.film") == sorted([names[0], names[4]])
    assert read(r"sparkx\.public\.film|sparkxy\..*") == [names[0], names[2]]


@pytest.mark.long
async def test_reading_few_records_does_not_wait_for_more(spark: SparkSession, broker: Broker) -> None:
    logs = [written(f"sparkwait{at}.public.items", (at, "x")) for at in range(4)]
    await broker.create(*logs)
    for log in logs:
        await broker.write(log)
    before = set(fetch_waits(spark))
    assert read_records(spark, broker.bootstrap, "sparkwait.*").count() == 4
    # Each consumer has two requests for records answered: one with its record, and one with none.
    found = [wait for name, wait in fetch_waits(spark).items() if name not in before]
    assert len(found) == 4
    # By default the broker keeps the second one for 500 ms.
    assert min(found) < 400


def fetch_waits(spark: SparkSession) -> dict[str, float]:
    """The longest time (ms) that each consumer of the session's process has waited for an answer with records."""
    context: Any = spark.sparkContext
    java, array = context._jvm, context._gateway.new_array
    # The server's own class is not public, so Py4J finds its methods only by the interface.
    kind, beans = java.java.lang.Class.forName("javax.management.MBeanServer"), java.java.lang.management.ManagementFactory
    called = {method.getName(): method for method in kind.getMethods() if method.getName() in ("queryNames", "getAttribute")}

    def call(name: str, *values: Any) -> Any:
        given = array(java.java.lang.Object, 2)
        given[0], given[1] = values
        return called[name].invoke(beans.getPlatformMBeanServer(), given)

    wanted = java.javax.management.ObjectName("kafka.consumer:type=consumer-fetch-manager-metrics,client-id=*")
    return {str(name): call("getAttribute", name, "fetch-latency-max") for name in call("queryNames", wanted, None)}


@pytest.mark.long
async def test_foreign_topic_is_set_aside_and_comes_back(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    items, odd = written("sparkaside.public.items", (1, "a")), written("sparkaside.public.odd", (7, "x"))
    mirror = Mirror(spark, configured(tmp_path, broker, "sparkaside"))
    await broker.create(items, odd)
    await broker.write(items)
    await broker.send(odd.topic, b"secret, and no JSON", b"\0\0\0\0\7Avro")
    line = (
        "The topic sparkaside.public.odd is set aside, nothing of it is mirrored: partition 0, offset 0: it is not JSON. "
        "When the cause is fixed, start once with --rebuild sparkaside.public.odd; see `understudy docs spark`."
    )
    assert mirror.run() == [line, "batch 0: 3 records of 1 tables"]
    assert [mirror.metric(name, "items") for name in ("records_total", "rows_total", "set_aside")] == [1, 1, 0]
    assert [mirror.metric(name, "odd") for name in ("records_total", "dead_letters_total", "set_aside")] == [2, 2, 1]
    letters = spark.read.parquet(f"{mirror.config.checkpoint}/{FOLDER}").orderBy("offset").collect()
    assert [bytes(row["value"]) for row in letters] == [b"secret, and no JSON", b"\0\0\0\0\7Avro"]
    assert (mirror.tables(), mirror.rows("items")) == (["items"], [(1, "a")])
    # What it holds later is not read either, for what came before is missing; it is named once in each run.
    items.change("u", {"id": 1, "name": "b"})
    await broker.write(items)
    await broker.write(odd)
    assert mirror.run() == [line, "batch 1: 2 records of 1 tables"]
    assert (mirror.tables(), mirror.rows("items")) == (["items"], [(1, "b")])
    assert spark.read.parquet(f"{mirror.config.checkpoint}/{FOLDER}").count() == 3
    # Asked for, it is read from its start, and what cannot be read is counted.
    assert mirror.run(odd.topic) == ["rebuild: 3 records of 1 tables"]
    assert not list((Path(mirror.config.checkpoint) / FOLDER).glob("topic=*"))
    assert (mirror.rows("odd"), mirror.rows("items")) == ([(7, "x")], [(1, "b")])
    odd.change("d", {"id": 7, "name": None})
    await broker.write(odd)
    assert mirror.run() == ["batch 2: 2 records of 1 tables"]
    assert (mirror.rows("odd"), mirror.metric("deletes_total", "odd"), mirror.metric("set_aside", "odd")) == ([], 1, 0)

    # A topic whose table is kept is set aside likewise, and the run does not end as if all were well.
    await broker.send(items.topic, b"[")
    items.change("u", {"id": 1, "name": "c"})
    await broker.write(items)
    assert mirror.refusal() == "Not up to date: public.items. Their topics are set aside for the reasons above."
    assert mirror.rows("items") == [(1, "b")]
    assert mirror.run("public.items") == ["rebuild: 4 records of 1 tables"]
    assert mirror.rows("items") == [(1, "c")]


@pytest.mark.long
async def test_table_that_was_removed_is_rebuilt_when_asked_for(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    items, others = written("sparkgone.public.items", (1, "a"), (2, "b")), written("sparkgone.public.others", (1, "o"))
    mirror = Mirror(spark, configured(tmp_path, broker, "sparkgone"))
    await broker.create(items, others)
    await broker.write(items)
    await broker.write(others)
    mirror.run()
    shutil.rmtree(mirror.folder("items"))
    items.change("u", {"id": 2, "name": "b2"})
    await broker.write(items)
    place = mirror.folder("items")
    said = (
        f"The table {place} is gone, though earlier batches have filled it: made again it would hold new rows only. "
        "Put it back, or start once with --rebuild public.items."
    )
    # The check is repeated: no table appears in the meantime.
    assert [mirror.refusal(), mirror.refusal()] == [said, said]
    assert mirror.tables() == ["others"]
    before = sorted(path.name for path in mirror.folder("others").iterdir())
    # What was read before comes by the rebuild, what was not by the stream.
    assert mirror.run("public.items") == ["rebuild: 2 records of 1 tables", "batch 1: 1 records of 1 tables"]
    assert mirror.rows("items") == [(1, "a"), (2, "b2")]
    assert sorted(path.name for path in mirror.folder("others").iterdir()) == before
    with pytest.raises(
        JobError, match=r"--rebuild public\.itmes: no such table is mirrored. Known are public\.items, public\.others"
    ) as refused:
        mirror.run("public.itmes")
    assert refused.value.code == WRONG

    # Tables without their checkpoint: their rows are of unknown origin, so they are not changed without permission to replace them.
    shutil.move(mirror.config.checkpoint, tmp_path / "lost")
    found = mirror.refusal()
    assert found.startswith("The table of public.items holds rows already, but the checkpoint ")
    assert found.endswith("or replace its rows with --rebuild public.items.")
    items.change("d", {"id": 1, "name": None})
    await broker.write(items)
    mirror.run("public.items", "public.others")
    assert (mirror.rows("items"), mirror.rows("others")) == ([(2, "b2")], [(1, "o")])


@pytest.mark.long
async def test_records_that_retention_removed_are_named(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    items = written("sparkretention.public.items", (1, "a"), (2, "b"))
    mirror = Mirror(spark, configured(tmp_path, broker, "sparkretention"))
    await broker.create(items)
    await broker.write(items)
    mirror.run()
    for number in (3, 4, 5):
        items.change("c", {"id": number, "name": "new"})
    items.change("d", {"id": 2, "name": None})
    await broker.write(items)
    await broker.remove(items.topic, 4)
    said = mirror.refusal()
    assert said.startswith(
        "Kafka has removed records of the topic sparkretention.public.items that were not read yet (retention): "
        "offsets 2 to 3 of partition 0. Signal a blocking snapshot of its table"
    )
    assert 'failOnDataLoss = "false" in [kafka] and --rebuild' in said
    # A rebuild needs all of the table: there is no snapshot yet.
    mirror.config = replace(mirror.config, kafka={"failOnDataLoss": "false"})
    said = mirror.refusal("public.items")
    lacking = "no longer holds the records before offset 4 of partition 0 (retention), nor a whole snapshot after them"
    assert said.startswith(f"public.items cannot be rebuilt: its topic {items.topic} {lacking}. Signal a blocking snapshot")
    for number, mark in ((1, "first_in_data_collection"), (3, "true"), (4, "true"), (5, "last_in_data_collection")):
        items.change("r", {"id": number, "name": "read"}, lsn=items.lsn if number > 1 else None, snapshot=mark)
    await broker.write(items)
    mirror.run("public.items")
    assert mirror.rows("items") == [(1, "read"), (3, "read"), (4, "read"), (5, "read")]
    mirror.config = replace(mirror.config, kafka={})
    assert mirror.run() == []


async def test_no_topic_and_no_pattern(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    config = configured(tmp_path, broker, "sparknothing")
    said = Mirror(spark, config).refusal()
    assert said.startswith(f"No topic on {broker.bootstrap} begins with prefix 'sparknothing'. Check it, and whether the connector has")
    with pytest.raises(JobError, match=r"topics is 'sparknothing\[', which Java cannot read as a pattern: .* near index") as refused:
        Mirror(spark, replace(config, prefix=None, topics="sparknothing[")).run()
    assert refused.value.code == WRONG


@pytest.mark.long
async def test_checkpoint_that_is_damaged_is_named(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    items = written("sparkdamage.public.items", (1, "a"))
    mirror = Mirror(spark, configured(tmp_path, broker, "sparkdamage"))
    await broker.create(items)
    await broker.write(items)
    mirror.run()
    folder = Path(mirror.config.checkpoint)
    start_again: Sequence[str] = ("Restore it from a backup.", "--rebuild for each table")
    for path, contents in ((folder / "understudy/state/0.json", '{"form": 2,'), (folder / "stream/offsets/0", "")):
        kept = path.read_text()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(contents)
        said = mirror.refusal()
        assert said.startswith(f"The checkpoint's file {path} is damaged. "), said
        assert all(part in said for part in start_again), said
        path.write_text(kept)
    # A batch that was planned and has changed nothing may be planned again.
    planned = folder / "stream/offsets/1"
    planned.touch()
    remedy = "Remove it: its batch has changed nothing yet and is planned again."
    assert mirror.refusal() == f"The checkpoint's file {planned} is damaged. {remedy}"
    planned.unlink()
    assert mirror.run() == []
    assert Checkpoint(spark, mirror.config.checkpoint).finished() == 0
