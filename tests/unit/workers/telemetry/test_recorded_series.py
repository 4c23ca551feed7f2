"""Every series that boards and alerts of a Debezium under JMX exporter find exists here, with the same name and labels."""

from __future__ import annotations

import json
import re
import time
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connector.delivery.progress import TableProgress
from connector.meters.task_meters import MeterSettings
from connector.ports import no_backtracking
from tests.support.herder_bench import worker
from tests.support.project import ROOT
from workers.telemetry.exposition import Exposition, load_rules

RECORDED: Final = json.loads((ROOT / "tests/unit/workers/telemetry/series_recorded.json").read_text())
STORES: Final = {"configs": "debezium3-configs", "offsets": "debezium3-offsets", "statuses": "debezium3-status"}
CLIENT: Final = re.compile(r'(client|clientid|leader_name)="(?:[^"\\]|\\.)*"')


def names(text: str) -> set[str]:
    """The series of an exposition, with C for every client."""
    found = set()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found.add(sample.name + (f"{{{labels}}}" if labels else ""))
    return {CLIENT.sub(r'\1="C"', re.sub(r'(clientid|client|leader_name)=""([^"]*)""', r'\1="C"', series)) for series in found}


@pytest.mark.parametrize("rules", ["debezium", "strimzi"])
async def test_every_recorded_series_is_there(rules: str) -> None:
    async with worker() as bench:
        await bench.create()
        context = bench.running["shop"]
        context.meters.settings = MeterSettings("shop")
        context.progress.tables = [TableProgress("public.a", rows=5, done=True)]
        context.meters.stream.committed(1, 1, 1)
        context.meters.stream.burst_ends(2, events=True)
        for topic in ("shop.public.a", "shop.public.sig"):
            context.meters.producer.packed(topic, 5, 100, 50, time.monotonic())
        for store, topic in STORES.items():
            bench.herder.meter.stores[store].packed(topic, 1, 10, 10, time.monotonic())
        body, _ = Exposition(load_rules(rules, no_backtracking), bench.herder.mbeans)("")
    assert len(RECORDED[rules]) > 80
    recorded = {series.replace("NAME", "shop") for series in RECORDED[rules]}
    assert recorded - names(body.decode()) == set()
