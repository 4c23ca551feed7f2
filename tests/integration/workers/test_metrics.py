"""A scrape of a real worker after a known workload."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.project import ROOT
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

RECORDED: Final = json.loads((ROOT / "tests/unit/workers/telemetry/series_recorded.json").read_text())["debezium"]
STRIMZI: Final = """
lowercaseOutputName: true
rules:
- pattern: 'kafka.connect<type=source-task-metrics, connector=(.+), task=(.+)><>([a-z-]+)-total'
  name: kafka_connect_source_task_$3
  type: COUNTER
  labels: {connector: $1, task: $2}
- pattern: 'kafka.producer<type=producer-metrics, client-id=(.+)><>record-send-total'
  name: sent
  labels: {client: $1}
"""


def scraped(connector: Connector) -> dict[tuple[str, str], float]:
    """The connector's values by attribute and context; those of a table have its name behind the attribute."""
    answer = connector.worker.rest("GET", "/metrics")
    return {
        (sample.name.removeprefix("debezium_metrics_") + sample.labels.get("table", ""), sample.labels["context"]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.labels.get("name") == connector.name and "context" in sample.labels
    }


def own_series(connector: Connector) -> dict[tuple[str | tuple[str, str], ...], float]:
    """The connector's own series by name and labels."""
    return {
        (sample.name, *sorted((label, value) for label, value in sample.labels.items() if label != "connector")): sample.value
        for family in text_string_to_metric_families(connector.worker.rest("GET", "/metrics").text)
        for sample in family.samples
        if sample.labels.get("connector") == connector.name and sample.name.startswith("understudy_")
    }


def test_counts_after_a_workload(pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("metrics")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1), (2), (3)")
    connector = Connector(shared_worker, database, f"metrics_{uuid.uuid4().hex[:8]}")
    connector.create()
    database.execute("INSERT INTO t VALUES (4), (5)", "UPDATE t SET v = 'a' WHERE id < 4", "DELETE FROM t WHERE id = 5")
    connector.await_confirmed(connector.lsn())
    wait_until(lambda: scraped(connector)["NumberOfCommittedTransactions", "streaming"] == 3, lambda: str(scraped(connector)), SECONDS)
    found = scraped(connector)
    assert {
        name: found[name, "streaming"]
        for name in ("Connected", *(f"TotalNumberOf{op}EventsSeen" for op in ("", "Create", "Update", "Delete")))
    } == {
        "Connected": 1,
        "TotalNumberOfEventsSeen": 6,
        "TotalNumberOfCreateEventsSeen": 2,
        "TotalNumberOfUpdateEventsSeen": 3,
        "TotalNumberOfDeleteEventsSeen": 1,
    }
    assert found["RowsScannedpublic.t", "snapshot"] == 3
    assert (found["SnapshotCompleted", "snapshot"], found["RemainingTableCount", "snapshot"]) == (1, 0)
    status = f'kafka_connect_connector_status{{connector="{connector.name}",status="running"}} 1.0'
    assert status in connector.worker.rest("GET", "/metrics").text
    own = own_series(connector)
    table, topic = ("table", "public.t"), ("topic", f"{connector.name}.public.t")
    assert {name: own[name] for name in own if name[0] == "understudy_events_total"} == {
        ("understudy_events_total", ("operation", "create"), table): 2,
        ("understudy_events_total", ("operation", "update"), table): 3,
        ("understudy_events_total", ("operation", "delete"), table): 1,
    }
    assert own["understudy_snapshot_rows_total", table] == 3
    assert own["understudy_delay_seconds_count",] == 3
    # The delete has a tombstone.
    assert own["understudy_sent_records_total", topic] == 10
    assert own["understudy_sent_compressed_bytes_total", topic] > 0
    assert own["understudy_task_state", ("state", "running")] == 1
    # The slot is looked at every few seconds.
    wait_until(lambda: own_series(connector).get(("understudy_slot_lag_bytes",)) == 0, lambda: str(own_series(connector)), SECONDS)
    own = own_series(connector)
    assert own["understudy_slot_active",] == 1
    assert own["understudy_slot_wal_status", ("wal_status", "reserved")] == 1
    assert own["understudy_server_wal_position_bytes",] > own["understudy_slot_retained_wal_bytes",] >= 0
    connector.delete()


def test_the_exporter_s_port_jolokia_and_otlp(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        _seen_by_others(pg, worker, tmp_path, receiver)


def _seen_by_others(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path, receiver: OtlpReceiver) -> None:
    rules, port = tmp_path / "config.yml", free_port()
    rules.write_text(STRIMZI)
    agent = f"-javaagent:/opt/libs/jmx_prometheus_javaagent-1.0.1.jar=127.0.0.1:{port}:{rules}"
    otlp = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_METRIC_EXPORT_INTERVAL": "200", "OTEL_BSP_SCHEDULE_DELAY": "200"}
    started = worker(environment={"KAFKA_OPTS": agent, **otlp}, jolokia_enabled="true")
    database = pg.database("jolokia")
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY)",
        "CREATE TABLE sig (id text PRIMARY KEY, type text, data text)",
        "INSERT INTO a VALUES (1), (2)",
    )
    connector = Connector(started, database, "dbz")
    connector.create({"signal.enabled.channels": "source,jmx", "signal.data.collection": "public.sig"})

    def jolokia(request: dict[str, Any]) -> Any:
        return started.rest("POST", "/jolokia/", request).json()

    def events() -> Any:
        name = "debezium.postgres:context=snapshot,server=dbz,type=connector-metrics"
        return jolokia({"type": "read", "mbean": name, "attribute": "TotalNumberOfEventsSeen"}).get("value")

    wait_until(lambda: events() == 2, lambda: str(events()), SECONDS)
    database.execute("INSERT INTO a VALUES (3)")
    connector.await_confirmed(connector.lsn())
    signal = {"mbean": "debezium.postgres:type=management,context=signals,server=dbz", "operation": "signal"}
    asked = {"type": "exec", **signal, "arguments": ["s1", "execute-snapshot", '{"data-collections": ["public.a"]}']}
    wait_until(lambda: jolokia(asked).get("status") == 200, lambda: str(jolokia(asked)), SECONDS)
    wait_until(lambda: events() >= 5, lambda: str(events()), SECONDS)

    there = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    polled = re.search(r'^kafka_connect_source_task_source_record_poll_total\{connector="dbz",task="0"\} (.+)$', there, re.MULTILINE)
    assert polled is not None
    assert float(polled[1]) >= 6
    assert 'sent{client="connector-producer-dbz-0"}' in there
    rules.write_text("rules: [{pattern: 'kafka.connect<type=connect-worker-metrics><>connector-count', name: changed}]")
    there = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    assert "\nchanged 1.0\n" in there
    assert "\njmx_config_reload_success_total 1.0\n" in there
    families = text_string_to_metric_families(started.rest("GET", "/metrics").text)
    found = {sample.name for family in families for sample in family.samples}
    assert {re.split(r"[{ ]", series)[0] for series in RECORDED} - found == set()

    def spans() -> dict[str, Any]:
        return {span.name: span for span in receiver.spans()}

    wait_until(lambda: "incremental snapshot table" in spans(), lambda: str(spans()), SECONDS)
    start, table = spans()["task start"], spans()["snapshot table"]
    assert {each.key: each.value for each in table.attributes}["understudy.rows"].int_value == 2
    assert start.trace_id == table.trace_id
    sent = "understudy_sent_records"
    wait_until(
        lambda: sum(point.as_int for point in receiver.metrics()[sent].sum.data_points) >= 6, lambda: str(receiver.metrics()), SECONDS
    )
    wait_until(lambda: "understudy_slot_lag_bytes" in receiver.metrics(), lambda: str(receiver.metrics()), SECONDS)
    connector.delete()
