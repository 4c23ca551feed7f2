"""A worker after a workload with known counts: beside the recorded counts of Debezium, and through Prometheus with queries of boards."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker, properties_of
from tests.support.compare_counts import EqualCounts
from tests.support.counted_workload import CountedRun
from tests.support.project import ROOT
from tests.support.prometheus import PROGRAM, SECONDS, Prometheus, scraping
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

RECORDED: Final = ROOT / "tests/unit/workers/telemetry/counts_debezium.txt"
PLACE: Final = {"kind": "KafkaConnect", "cluster": "c", "pod": "p-0"}
ALERT: Final = {
    "groups": [
        {
            "name": "connect",
            "rules": [
                {"alert": "TaskFailed", "expr": "sum(kafka_connect_worker_connector_failed_task_count) by (pod) > 0"},
                {"alert": "ConnectorFailed", "expr": 'sum(kafka_connect_connector_status{status="failed"}) by (pod) > 0'},
            ],
        }
    ]
}
"""As Strimzi's alerts, of which the first applies: a connector whose task failed is not FAILED itself."""


def queries(run: CountedRun) -> dict[str, float | None]:
    """Queries as boards have them, with the value of the answer or, for times and traffic, None."""
    whole = f'plugin="postgres",name="{run.database}_whole"'
    classes = "group_left(connector_class) kafka_connect_connector_connector_class"
    states = 'group_left(status) kafka_connect_connector_task_status{cluster="c",status="failed"}'
    return {
        f'debezium_metrics_TotalNumberOfEventsSeen{{{whole},context=~"(binlog|streaming)"}}': 130,
        f'debezium_metrics_MilliSecondsSinceLastEvent{{{whole},context=~"(binlog|streaming)"}}': None,
        f'sum(debezium_metrics_RowsScanned{{{whole},table=~"public.*"}})': 91,
        f'debezium_metrics_RemainingTableCount{{{whole},context="snapshot"}}': 1,
        "kafka_connect_metrics_incoming_byte_rate > 0": None,
        'sum(kafka_connect_worker_connector_count{kind=~"KafkaConnect.*",cluster="c"})': 4,
        'sum(kafka_connect_worker_task_count{kind=~"KafkaConnect.*",cluster="c"})': 4,
        'sum(kafka_producer_connection_count{cluster="c"}) > 0': None,
        'sum(kafka_consumer_connection_count{cluster="c"}) > 0': None,
        'sum(rate(kafka_producer_outgoing_byte_total{cluster="c"}[1m])) by (pod)': None,
        'sum(kafka_connect_worker_connector_failed_task_count{cluster="c"}) by (connector) != 0': 1,
        f'sum(kafka_connect_connector_status{{cluster="c"}} * on(connector) {classes}{{cluster="c"}})': 4,
        f'count(kafka_connect_task_error_total_record_failures{{cluster="c"}} * on(connector, task) {states})': 1,
        'rate(process_cpu_seconds_total{job="debezium"}[1m]) > 0': None,
    }


def answered(prometheus: Prometheus, wanted: dict[str, float | None]) -> None:
    """Wait until each query is answered, and with its value if one is given."""

    def missing() -> dict[str, object]:
        answers = {query: prometheus.ask(query) for query in wanted}
        return {
            query: answers[query]
            for query, value in wanted.items()
            if not answers[query] or (value is not None and [found for _, found in answers[query]] != [value])
        }

    wait_until(lambda: not missing(), lambda: f"other answers than {missing()}", SECONDS)


@dataclass(frozen=True, slots=True)
class Counted:
    """A worker after the workload: what it showed then, and the port on which it shows the names of Strimzi's boards."""

    worker: Worker
    run: CountedRun
    shown: str
    port: int


@pytest.fixture(scope="module")
def counted(pg: PgServer, kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    port = free_port()
    properties = {**properties_of(f"counts-{uuid.uuid4().hex[:12]}", kafka_bootstrap), "metrics.agent": f"127.0.0.1:{port}:strimzi"}
    worker = Worker(tmp_path_factory.mktemp("worker"), properties, dict(os.environ))
    worker.start()
    with httpx.Client(base_url=worker.url, timeout=SECONDS) as client:
        run = CountedRun(client, lambda: worker.rest("GET", "/metrics").text, pg.dsn)
        try:
            yield Counted(worker, run, run.run(), port)
            run.remove()
        finally:
            worker.close()


def test_the_counts_are_those_of_debezium(counted: Counted) -> None:
    assert list(EqualCounts.load().differences(RECORDED.read_text(), counted.shown)) == []


@pytest.mark.skipif(PROGRAM is None, reason="needs Debian's package prometheus")
def test_prometheus_answers_what_boards_and_alerts_ask(counted: Counted, tmp_path: Path) -> None:
    targets: dict[str, tuple[int, dict[str, str]]] = {"debezium": (counted.worker.port, {}), "strimzi": (counted.port, PLACE)}
    with scraping(tmp_path, targets, ALERT) as prometheus:
        answered(prometheus, queries(counted.run))
        wait_until(lambda: prometheus.alerts() == {"TaskFailed"}, lambda: f"other alerts: {prometheus.alerts()}", SECONDS)
