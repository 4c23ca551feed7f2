"""The own figures as OTLP: sent by the SDK's exporter to a receiver in this process, and decoded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

from connector.meters.task_meters import TaskMeters
from tests.support.log_line import log_text
from tests.support.otlp_receiver import OtlpReceiver
from workers.telemetry.open_telemetry.metrics import MetricExport, interval
from workers.telemetry.open_telemetry.resource import resource_of
from workers.telemetry.own.figure import ConnectorFacts, WorkerFacts
from workers.telemetry.worker_meter import TaskOutcomes, WorkerMeter

CUMULATIVE = 2


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as found:
        yield found


class Rig:
    def __init__(self, receiver: OtlpReceiver) -> None:
        self.meters = TaskMeters()
        self.meter = WorkerMeter(lambda: 0.0)
        self.now_ns = 1_000
        self.fresh = 0
        resource = resource_of({}, "host:8083", "0.1")
        exporter = OTLPMetricExporter(f"{receiver.url}/v1/metrics")
        self.export = MetricExport(exporter, resource, self.worker, self.connectors, self.be_fresh, lambda: self.now_ns)

    def worker(self) -> WorkerFacts:
        return WorkerFacts(self.meter, 0.0)

    def connectors(self) -> list[ConnectorFacts]:
        return [ConnectorFacts("shop", "running", self.meters, None, TaskOutcomes(1))]

    async def be_fresh(self) -> None:
        self.fresh += 1

    async def send(self, now_ns: int) -> None:
        self.now_ns = now_ns
        await self.export.send()


def labels(point: Any) -> dict[str, str]:
    return {attribute.key: attribute.value.string_value for attribute in point.attributes}


async def test_the_table_as_otlp(receiver: OtlpReceiver) -> None:
    rig = Rig(receiver)
    rig.meters.stream.counts("public.t").creates = 3
    rig.meters.stream.committed(1, 1, 1_000)
    rig.meters.delays.sent(1, rig.meters.stream)
    rig.meters.delays.acknowledged(1, 1_003)
    await rig.send(2_000)
    found = receiver.metrics()
    assert rig.fresh == 1
    assert {each.key: each.value.string_value for each in found[""].attributes}.items() >= {
        ("service.name", "understudy"),
        ("service.instance.id", "host:8083"),
        ("service.version", "0.1"),
    }
    events = found["understudy_events"]
    assert (events.sum.is_monotonic, events.sum.aggregation_temporality, events.description) == (
        True,
        CUMULATIVE,
        "Change events of the stream.",
    )
    [point] = events.sum.data_points
    assert (point.as_int, labels(point)) == (3, {"connector": "shop", "table": "public.t", "operation": "create"})
    assert (point.start_time_unix_nano, point.time_unix_nano) == (1_000, 2_000)
    delay = found["understudy_delay_seconds"]
    assert (delay.unit, delay.histogram.aggregation_temporality) == ("s", CUMULATIVE)
    [histogram] = delay.histogram.data_points
    assert (histogram.count, histogram.sum, list(histogram.bucket_counts)[:4]) == (1, 0.003, [0, 0, 1, 0])
    assert list(histogram.explicit_bounds)[:3] == [0.001, 0.0025, 0.005]
    assert not histogram.HasField("min")
    [state] = found["understudy_task_state"].gauge.data_points
    assert (state.as_int, labels(state)) == (1, {"connector": "shop", "state": "running"})
    assert found["understudy_in_flight_bytes"].unit == "By"
    # A figure without points is no metric.
    assert "understudy_slot_lag_bytes" not in found


async def test_a_counter_that_begins_again_says_when(receiver: OtlpReceiver) -> None:
    rig = Rig(receiver)

    async def events(now_ns: int) -> tuple[int, int]:
        await rig.send(now_ns)
        [point] = receiver.metrics()["understudy_events"].sum.data_points
        return point.as_int, point.start_time_unix_nano

    rig.meters.stream.counts("public.t").creates = 5
    assert await events(2_000) == (5, 1_000)
    rig.meters.stream.counts("public.t").creates = 9
    assert await events(3_000) == (9, 1_000)
    # The task started again.
    rig.meters = TaskMeters()
    rig.meters.stream.counts("public.t").creates = 2
    assert await events(4_000) == (2, 3_000)
    assert await events(5_000) == (2, 3_000)


async def test_a_receiver_that_refuses_is_logged_once(receiver: OtlpReceiver, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(receiver)
    receiver.status = 400
    with caplog.at_level(logging.INFO, "workers"):
        await rig.send(2_000)
        await rig.send(3_000)
        receiver.status = 200
        await rig.send(4_000)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("workers")] == [
        "metrics cannot be exported by OTLP, trying again at the next interval",
        "metrics are exported by OTLP again",
    ]
    assert log_text(caplog.records)


async def test_it_sends_at_the_interval_until_it_is_cancelled(receiver: OtlpReceiver) -> None:
    rig = Rig(receiver)
    running = asyncio.create_task(rig.export.run(0.001))
    for _ in range(2):
        assert await asyncio.to_thread(receiver.arrived.acquire, timeout=10)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()


@pytest.mark.parametrize(("text", "seconds"), [("", 60.0), ("5000", 5.0), ("0", 60.0), ("x", 60.0)])
def test_the_interval(text: str, seconds: float) -> None:
    assert interval({"OTEL_METRIC_EXPORT_INTERVAL": text}) == seconds


def test_given_attributes_go_before_the_worker_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"OTEL_SERVICE_NAME": "cdc", "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=a,team=x"}
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    found = resource_of(environment, "host:8083", "0.1").attributes
    assert (found["service.name"], found["service.instance.id"], found["team"], found["service.version"]) == ("cdc", "a", "x", "0.1")
