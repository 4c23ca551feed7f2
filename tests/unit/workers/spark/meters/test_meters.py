"""The figures of a running job, their text, and the server that shows them. No Spark is started."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.support.project import ROOT
from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.fallback import Fallbacks
from workers.spark.jobs import stream
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.jobs.metering import CountedSink, counted, resumed, unread_of
from workers.spark.jobs.mirror_config import MirrorConfig
from workers.spark.meters.endpoint import served
from workers.spark.meters.figures import Figures, TopicBatch
from workers.spark.meters.listener import TriggerListener
from workers.spark.meters.settings import MetricsConfig, check_metrics
from workers.spark.meters.text import NAMES, exposition
from workers.spark.tables.later import Later
from workers.spark.tables.table import Effects, Sink, Table
from workers.spark.topics.known import TopicState

LIMIT = 300.0
A, B = "shop.public.a", "shop.public.b"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def figures(clock: Clock) -> Figures:
    return Figures(clock)


def batch(figures: Figures, *, aside: dict[str, int] | None = None, **topics: int) -> None:
    figures.begun()
    read = {f"shop.public.{name}": TopicBatch(records, 990_000) for name, records in topics.items()}
    figures.applied(2.0, read, {A: "public.a", B: "public.b"}, aside or {})


def samples(figures: Figures, now: float = 1000.0) -> dict[tuple[str, str], float]:
    found = {}
    for line in exposition(figures, "shop", now).splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"understudy_spark_(\w+)\{(.*)\} (\S+)", line).groups()  # type: ignore[union-attr]
            table = re.search(r'table="([^"]*)"', labels)
            found[name, table[1] if table else ""] = float(value)
    return found


def test_rows_and_deletes_of_a_repeated_statement_count_once(figures: Figures) -> None:
    figures.begun()
    figures.tally("public.a", 5, 1)
    figures.tally("public.a", 5, 1)
    figures.applied(2.0, {A: TopicBatch(7, 990_000)}, {A: "public.a"}, {})
    # What a failed batch has counted is not counted again by its repetition.
    figures.begun()
    figures.tally("public.a", 100, 100)
    figures.failed()
    figures.begun()
    figures.tally("public.a", 1, 0)
    figures.applied(1.0, {A: TopicBatch(1, 995_000)}, {A: "public.a"}, {})
    seen = samples(figures)
    assert (seen["table_rows_total", "public.a"], seen["table_deletes_total", "public.a"]) == (6, 1)
    assert (seen["table_records_total", "public.a"], seen["records_total", ""]) == (8, 8)
    assert (seen["batches_total", ""], seen["batch_failures_total", ""], seen["batch_seconds_total", ""]) == (2, 1, 3)


def test_rows_of_all_turns_and_topics_of_a_batch_count(figures: Figures) -> None:
    counts = {100: (5, 1), 101: (2, 0)}

    class Counting:
        def apply(self, batch: int, effects: Sequence[Effects]) -> None:
            for one in effects:
                assert one.seen is not None
                one.seen(*counts[batch])

    table = Table("public", "a", (), ("id",))
    effects = [Effects(table, Later.of(cast(DataFrame, None))) for _ in range(2)]
    sink = CountedSink(cast(Sink, Counting()), figures)
    figures.begun()
    for turn in (100, 100, 101):
        sink.apply(turn, effects)
    figures.applied(2.0, {A: TopicBatch(7, 990_000)}, {A: "public.a"}, {})
    seen = samples(figures)
    assert (seen["table_rows_total", "public.a"], seen["table_deletes_total", "public.a"]) == (14, 2)


def test_lag_is_the_age_of_the_newest_record_while_some_are_unread(figures: Figures) -> None:
    batch(figures, a=3, b=4)
    figures.unread({A: 10, B: 0})
    seen = samples(figures, 1005.0)
    assert (seen["table_lag_records", "public.a"], seen["table_lag_seconds", "public.a"]) == (10, 15)
    assert (seen["table_lag_records", "public.b"], seen["table_lag_seconds", "public.b"]) == (0, 0)
    assert seen["unread_records", ""] == 10


def test_table_that_is_set_aside_is_counted_once(figures: Figures, clock: Clock) -> None:
    batch(figures, a=3, b=4)
    for _ in range(2):
        clock.now += 10
        batch(figures, a=1, b=2, aside={B: 2})
    seen = samples(figures)
    assert [seen[f"table_{name}", "public.b"] for name in ("set_aside", "failures_total", "dead_letters_total")] == [1, 1, 4]
    # Its records are read, but not applied.
    assert (seen["table_batches_total", "public.b"], seen["table_last_batch_timestamp_seconds", "public.b"]) == (1, 1000)
    assert (seen["table_batches_total", "public.a"], seen["table_last_batch_timestamp_seconds", "public.a"]) == (3, 1020)


def test_fallbacks_of_batches_are_counted_whether_or_not_the_batch_succeeds(figures: Figures) -> None:
    before = Fallbacks.total

    def apply(_records: Any, number: int) -> BatchTotals:
        Fallbacks("The commit of rows").report("public.a", TypeError())
        if number:
            raise ValueError("the batch fails")
        return BatchTotals(number)

    work = counted(apply, figures, dict)
    work(None, 0)
    assert samples(figures)["small_batch_fallbacks_total", ""] == before + 1
    with pytest.raises(ValueError, match="the batch fails"):
        work(None, 1)
    assert samples(figures)["small_batch_fallbacks_total", ""] == before + 2


def test_health_follows_the_batches(figures: Figures, clock: Clock) -> None:
    assert figures.trouble(LIMIT) is None
    figures.begun()
    clock.now += LIMIT + 1
    assert figures.trouble(LIMIT) == "a batch has been running for 301 s"
    figures.failed()
    assert figures.trouble(LIMIT) == "the last batch failed"
    batch(figures, a=1)
    assert figures.trouble(LIMIT) is None
    # Nothing is unread, so no batch is expected.
    clock.now += 10 * LIMIT
    figures.unread({A: 0})
    assert figures.trouble(LIMIT) is None
    figures.unread({A: 5})
    clock.now += LIMIT
    figures.unread({A: 5})
    assert figures.trouble(LIMIT) is None
    clock.now += 1
    assert figures.trouble(LIMIT) == "no batch for 301 s, though 5 records are unread"
    figures.unread({A: 0})
    clock.now += LIMIT + 1
    assert figures.trouble(LIMIT) == "Kafka has not been asked for unread records for 301 s"


def test_job_that_waits_for_its_interval_is_healthy(clock: Clock) -> None:
    figures = Figures(clock, between=600)
    figures.begun()
    figures.applied(1, {}, {}, {})
    for _ in range(91):
        clock.now += 10
        figures.unread({"t": 5})
        assert figures.trouble(LIMIT) is None
    clock.now += 10
    figures.unread({"t": 5})
    assert figures.trouble(LIMIT) == "no batch for 910 s, though 5 records are unread"


def test_job_is_healthy_while_it_maintains_a_table(figures: Figures, clock: Clock) -> None:
    batch(figures, a=1)
    figures.unread({A: 5})
    with figures.maintenance():
        clock.now += 10 * LIMIT
        assert figures.trouble(LIMIT) is None
        assert samples(figures)["maintenance_begin_timestamp_seconds", ""] == 1000
    # The waiting batches and the next look at Kafka come now.
    assert figures.trouble(LIMIT) is None
    assert samples(figures)["maintenance_begin_timestamp_seconds", ""] == 0
    clock.now += LIMIT + 1
    assert figures.trouble(LIMIT) == "no batch for 301 s, though 5 records are unread"
    figures.unread({A: 0})
    clock.now += LIMIT + 1
    assert figures.trouble(LIMIT) == "Kafka has not been asked for unread records for 301 s"


def test_transaction_that_does_not_become_whole_is_named(figures: Figures, clock: Clock) -> None:
    figures.lacks("transaction 5 has 2 events of public.a, of which 0 are read")
    clock.now += LIMIT
    batch(figures, a=1)
    figures.unread({A: 0})
    figures.lacks("transaction 5 has 2 events of public.a, of which 1 are read")
    assert figures.trouble(LIMIT) is None
    clock.now += 1
    said = "since 301 s no transaction can be applied: transaction 5 has 2 events of public.a, of which 1 are read. If Kafka no longer"
    assert str(figures.trouble(LIMIT)).startswith(said)
    figures.lacks("transaction 55 has 1 events of public.a, of which 0 are read")
    assert figures.trouble(LIMIT) is None
    figures.lacks(None)
    clock.now += 1
    assert figures.job.lacking is None


def test_run_to_the_end_fails_if_a_transaction_stays_incomplete() -> None:
    state = State(lacking="transaction 5 has 2 events of public.a, of which 0 are read", lacking_ms=1_000_000)
    stream._check_complete(state, 1000 + stream.LATE_SECONDS)
    with pytest.raises(JobError, match="Not up to date: transaction 5 has 2 events") as found:
        stream._check_complete(state, 1001 + stream.LATE_SECONDS)
    assert found.value.code == UNREADABLE


def test_restarted_job_shows_what_is_set_aside_and_counts_it_no_more(figures: Figures) -> None:
    resumed(figures, {A: TopicState(kept="public.a"), B: TopicState(kept="public.b", aside="a value")})
    seen = samples(figures)
    assert [seen["table_set_aside", f"public.{name}"] for name in "ab"] == [0, 1]
    batch(figures, b=2, aside={B: 2})
    seen = samples(figures)
    assert [seen[f"table_{name}", "public.b"] for name in ("set_aside", "failures_total", "dead_letters_total")] == [1, 0, 2]


def test_rows_of_a_table_that_several_topics_fill_count_once(figures: Figures) -> None:
    figures.begun()
    figures.tally("public.a", 10, 1, (0, 0))
    figures.tally("public.a", 5, 0, (0, 1))
    tables = {A: "public.a", B: "public.a"}
    figures.applied(1.0, {B: TopicBatch(16, 0)}, tables, {})
    known = figures.topics()
    assert [(known[topic].rows, known[topic].deletes) for topic in (A, B)] == [(0, 0), (15, 1)]


def test_labels_are_escaped(figures: Figures) -> None:
    figures.applied(1.0, {'a"\\\n': TopicBatch(1, 1)}, {}, {})
    assert 'topic="a\\"\\\\\\n"' in exposition(figures, "shop", 1.0)


def test_unread_records_of_each_topic() -> None:
    ends = {("a", 0): 5, ("a", 1): 3, ("b", 0): 0}
    assert unread_of({("a", 0): 2, ("a", 1): 4}, ends) == {"a": 3, "b": 0}


@pytest.fixture
def address(figures: Figures) -> Iterator[str]:
    with served(figures, "shop", 0, "127.0.0.1", LIMIT) as port:
        yield f"http://127.0.0.1:{port}"


def test_job_goes_on_if_unread_records_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise JobError(UNREADABLE, "Kafka at b does not answer: too slow.")

    monkeypatch.setattr(stream, "end_offsets", refuse)
    monkeypatch.setattr(stream, "LAG_SECONDS", 0.0)
    said: list[str] = []
    checkpoint = cast(Checkpoint, SimpleNamespace(offsets=dict))
    run = stream.Run(cast(MirrorConfig, None), cast(SparkSession, None), lambda *_: BatchTotals(0), checkpoint, said.append, None)
    run._tell_lag()
    assert said == ["The unread records could not be counted. Kafka at b does not answer: too slow."]


def test_server_shows_figures_and_health(figures: Figures, clock: Clock, address: str) -> None:
    batch(figures, a=1, aside={B: 0})
    with urlopen(f"{address}/metrics") as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b'understudy_spark_table_records_total{job_name="shop",table="public.a",topic="shop.public.a"} 1.0\n' in answer.read()
    with urlopen(f"{address}/health") as answer:
        assert json.load(answer) == {"status": "healthy", "why": None, "last_batch": 1000.0, "unread_records": 0, "set_aside": ["public.b"]}
    figures.begun()
    clock.now += LIMIT + 1
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{address}/health")
    assert refused.value.code == 503
    assert json.load(refused.value)["why"] == "a batch has been running for 301 s"
    with pytest.raises(HTTPError) as unknown:
        urlopen(f"{address}/")
    assert unknown.value.code == 404
    for answered in (refused, unknown):
        answered.value.close()


def test_port_that_is_taken_is_named(figures: Figures) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(JobError, match=rf"metrics.port {port} cannot be used: .*Set others"),
            served(figures, "m", port, "127.0.0.1", 1),
        ):
            pass


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (MetricsConfig(0), "metrics.port is 0. Use a port from 1 to 65535"),
        (MetricsConfig(9, healthy_within="5"), "metrics.healthy_within is '5'. Use an interval such as"),
        (MetricsConfig(9, healthy_within="0 seconds"), "metrics.healthy_within is '0 seconds'"),
        (MetricsConfig(9, ""), "metrics.address is empty"),
    ],
)
def test_wrong_settings_are_named(config: MetricsConfig, said: str) -> None:
    with pytest.raises(JobError, match=said) as refused:
        check_metrics(config)
    assert refused.value.code == WRONG


def test_triggers_of_the_job_s_own_query_are_counted(figures: Figures) -> None:
    listener = TriggerListener(figures, "shop")
    for name, ms in (("shop", 1500), ("another", 9000), ("shop", 2500)):
        listener.onQueryProgress(SimpleNamespace(progress=SimpleNamespace(name=name, durationMs={"addBatch": ms})))
    assert (figures.job.triggers, figures.job.phases) == (2, {"addBatch": 2.5})


def test_every_series_is_documented(figures: Figures) -> None:
    batch(figures, a=1)
    figures.triggered({"addBatch": 0.5})
    page = (ROOT / "docs" / "spark-operation.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(understudy_spark_\w+)`", page))
    assert documented == set(NAMES)
    shown = {f"understudy_spark_{name}" for name, _ in samples(figures)}
    assert shown == set(NAMES)
