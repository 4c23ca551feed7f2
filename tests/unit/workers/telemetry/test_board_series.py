"""Every series that published boards ask for, and that is possible without a JVM, is there after a workload, with its labels."""

from __future__ import annotations

import time
from typing import Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from connector.delivery.progress import TableProgress
from connector.meters.connection_meter import Traffic
from connector.meters.task_meters import MeterSettings
from connector.ports import no_backtracking
from tests.support.herder_bench import worker
from tests.support.project import ROOT
from workers.telemetry.exposition import Exposition, load_rules

BOARDS: Final = yaml.safe_load((ROOT / "tests/support/board_series.yaml").read_text())


class Connection:
    """Stands for a connection, which is known by its identity."""


@pytest.mark.parametrize("board", BOARDS)
async def test_every_series_of_the_boards_is_there(board: str) -> None:
    connection = Connection()
    async with worker() as bench:
        await bench.create()
        context = bench.running["shop"]
        context.meters.settings = MeterSettings("shop")
        context.progress.tables = [TableProgress("public.a", rows=5, done=True)]
        context.meters.stream.committed(1, 1, 1)
        context.meters.stream.burst_ends(2, events=True)
        context.meters.producer.packed("shop.public.a", 5, 100, 50, time.monotonic())
        context.meters.source.batch_read(5, 1.0, 5, time.monotonic())
        bench.herder.meter.watch(lambda: {connection: Traffic(9, 8, 7)}, dict, dict.fromkeys(bench.herder.meter.consumers, dict))
        body, _ = Exposition(load_rules(BOARDS[board]["rules"], no_backtracking), bench.herder.mbeans)("")
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    lacking = {name: set(labels) - found.get(name, {"the series"}) for name, labels in BOARDS[board]["series"].items()}
    assert {name: labels for name, labels in lacking.items() if labels or name not in found} == {}


async def test_the_member_s_traffic_is_no_constant() -> None:
    connection = Connection()
    async with worker() as bench:
        bench.herder.meter.watch(lambda: {connection: Traffic(300, 600, 7)}, dict, {})
        body, _ = Exposition(load_rules("debezium", no_backtracking), bench.herder.mbeans)("")
    rates = {line.split("{")[0]: line.split()[-1] for line in body.decode().splitlines() if "_byte_rate{client=" in line}
    assert rates == {"kafka_connect_metrics_incoming_byte_rate": "20.0", "kafka_connect_metrics_outgoing_byte_rate": "10.0"}
