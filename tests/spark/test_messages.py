"""What a mirror says of Kafka and of Spark before and while it runs, and the sizes that it gives its session."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.own_session import own_session
from workers.spark.commands import main
from workers.spark.failure import UNREADABLE, JobError, failure_sentence
from workers.spark.jobs.arrival import lost
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig
from workers.spark.jobs.stream import Run, _check_topics
from workers.spark.session import SHUFFLE_PARTITIONS
from workers.spark.topics.broker import Broker, check_reachable


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_kafka_that_is_away_is_named_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("workers.spark.jobs.stream.find_java", lambda: Path("/java"))
    monkeypatch.setattr("workers.spark.jobs.stream.open_session", started)
    port, config = closed_port(), tmp_path / "mirror.toml"
    sink = f'checkpoint = "{tmp_path}/c"\n[sink]\npath = "{tmp_path}/d"\n'
    config.write_text(f'name = "m"\nbootstrap = "127.0.0.1:{port},PLAINTEXT://127.0.0.1:{port}"\nprefix = "p"\n{sink}')
    assert main(["mirror", "--config", str(config)]) == UNREADABLE
    said = capsys.readouterr().err
    assert f"Kafka cannot be reached: 127.0.0.1:{port} (Connection refused), PLAINTEXT://127.0.0.1:{port} (" in said
    assert "Check bootstrap" in said


@pytest.mark.parametrize("bootstrap", ["", "kafka", "kafka:port", "127.0.0.1:99999"])
def test_bootstrap_that_is_none_is_named(bootstrap: str) -> None:
    with pytest.raises(JobError, match=r"^Kafka cannot be reached: .*Check bootstrap"):
        check_reachable(bootstrap)


def test_one_server_of_several_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_reachable(f"127.0.0.1:{closed_port()}, SSL://127.0.0.1:{server.getsockname()[1]}")


def test_kafka_that_does_not_answer_is_named(spark: SparkSession) -> None:
    # It takes connections and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as server:
        bootstrap = f"127.0.0.1:{server.getsockname()[1]}"
        options = {"kafka.request.timeout.ms": "300", "kafka.default.api.timeout.ms": "600"}
        with pytest.raises(JobError, match=rf"^Kafka at {bootstrap} does not answer: .*\. Check bootstrap and the login") as refused:
            Broker(spark, bootstrap, options).topics(".*")
    assert refused.value.code == UNREADABLE


def test_mirror_without_topics_says_so_and_waits() -> None:
    said: list[str] = []
    config = MirrorConfig("m", "kafka:9092", "/c", SinkConfig(), topics=r"shop\..*")
    _check_topics(config, ["shop.a"], now=True, say=said.append)
    assert said == []
    _check_topics(config, [], now=False, say=said.append)
    assert said == [r"No topic on kafka:9092 matches topics 'shop\\..*' as a whole yet: waiting for one."]


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        ({("a", 0): 5, ("b", 0): 0}, {("a", 0): 9, ("b", 0): 7}, None),
        ({("a", 0): 6, ("b", 0): 0}, {("a", 0): 9, ("b", 0): 7}, "removed records of the topic a that .*: offsets 5 to 5 of partition 0"),
        ({("a", 0): 0, ("b", 0): 0}, {("a", 0): 9, ("b", 0): 6}, "The topic b was made again"),
        ({("b", 0): 0}, {("b", 0): 7}, "The topic a, .* is gone"),
    ],
)
def test_records_that_are_lost_are_named(begins: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int], said: str) -> None:
    found = lost({("a", 0): 5, ("b", 0): 7}, begins, ends)
    if said is None:
        assert found is None
    else:
        with pytest.raises(JobError, match=said):
            raise JobError(UNREADABLE, found or "")


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("An error occurred while calling o1.x.\n: java.lang.OutOfMemoryError: heap of 'secret'\n\tat a.b", "OutOfMemoryError"),
        ("x\n: org.apache.spark.SparkException: [TASK_WRITE_FAILED] secret", "TASK_WRITE_FAILED"),
        ("org.apache.kafka.common.errors.TimeoutException: Call timed out", "Call timed out. Check bootstrap and [kafka]"),
    ],
)
def test_spark_s_failure_has_a_name_and_no_values(trace: str, said: str) -> None:
    assert said in failure_sentence(trace)
    assert "secret" not in failure_sentence(trace)


def test_shuffles_have_a_partition_for_each_core_also_after_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    cores = str(spark.sparkContext.defaultParallelism)
    assert spark.conf.get(SHUFFLE_PARTITIONS) == cores
    # What a streaming query brings back from a checkpoint that was begun elsewhere.
    session = own_session(spark)
    session.conf.set(SHUFFLE_PARTITIONS, "200")
    seen: list[str | None] = []

    def apply(records: DataFrame, batch: int) -> BatchTotals:
        seen.append(records.sparkSession.conf.get(SHUFFLE_PARTITIONS))
        return BatchTotals(batch)

    config = MirrorConfig("m", "kafka:9092", str(tmp_path), SinkConfig(), prefix="p")
    Run(config, spark, apply, Checkpoint(spark, str(tmp_path)), lambda _: None, None)._batch(session.range(1), 0)
    assert seen == [cores]
