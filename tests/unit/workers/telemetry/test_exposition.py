"""A scrape of the MBeans by the built-in rules and by a file."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from connector.errors import CdcError
from connector.ports import no_backtracking
from tests.support.log_line import log_text
from workers.telemetry.exposition import Exposition, load_rules
from workers.telemetry.mbean import MBean
from workers.telemetry.rules.text_format import OPEN_METRICS, PROMETHEUS

STREAMING = MBean(
    "debezium.postgres",
    (("type", "connector-metrics"), ("context", "streaming"), ("server", "shop"), ("data-center", "eu")),
    {"TotalNumberOfEventsSeen": 7, "Connected": True, "LastEvent": "0/1", "CapturedTables": ["public.t"], "RowsScanned": {"public.t": 3}},
)
WORKER = MBean("kafka.connect", (("type", "connect-worker-metrics"),), {"connector-count": 2.0})
STATE = MBean("kafka.connect", (("type", "connector-metrics"), ("connector", "shop")), {"status": "running", "connector-type": "source"})


def scraped(*beans: MBean, rules: str = "debezium") -> dict[tuple[str, ...], float]:
    """Name and labels of each series, without those of the scrape and the process."""
    body, _ = Exposition(load_rules(rules, no_backtracking), lambda: beans)("")
    return {
        (sample.name, *(f"{label}={value}" for label, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if not family.name.startswith(("jmx_", "process_"))
    }


def test_numbers_booleans_and_numbers_by_table_are_series() -> None:
    labels = ("context=streaming", "data_center=eu", "name=shop", "plugin=postgres")
    assert scraped(STREAMING) == {
        ("debezium_metrics_TotalNumberOfEventsSeen", *labels): 7.0,
        ("debezium_metrics_Connected", *labels): 1.0,
        ("debezium_metrics_RowsScanned", *labels, "table=public.t"): 3.0,
    }


@pytest.mark.parametrize(
    ("tag", "label"),
    [("data-center", "data_center"), ("2nd", "_2nd"), ("größe", "gr_e"), ("__x", "_x"), ("context", None), ("name", None)],
)
def test_a_tag_is_a_valid_label_and_hides_no_other(tag: str, label: str | None) -> None:
    bean = MBean(STREAMING.domain, (*STREAMING.keys[:3], (tag, "eu")), {"Connected": True})
    labels = {"context=streaming", "name=shop", "plugin=postgres"} | ({f"{label}=eu"} if label else set())
    assert scraped(bean) == {("debezium_metrics_Connected", *sorted(labels)): 1.0}


def test_the_name_of_the_worker_depends_on_the_rules() -> None:
    assert scraped(WORKER) == {("kafka_connect_worker_metrics_connector_count",): 2.0}
    assert scraped(WORKER, rules="strimzi") == {("kafka_connect_worker_connector_count",): 2.0}


def test_states_are_labels() -> None:
    assert scraped(STATE) == {
        ("kafka_connect_connector_status", "connector=shop", "status=running"): 1.0,
        ("kafka_connect_connector_connector_type", "connector=shop", "connector_type=source"): 1.0,
    }


def test_a_state_that_changes_is_another_series() -> None:
    beans = [STATE]
    exposition = Exposition(load_rules("debezium", no_backtracking), lambda: beans)
    assert b'status="running"' in exposition("")[0]
    beans[0] = MBean(STATE.domain, STATE.keys, {"status": "failed"})
    body = exposition("")[0]
    assert b'status="failed"' in body
    assert b'status="running"' not in body


def test_the_format_is_the_one_that_the_scrape_accepts() -> None:
    exposition = Exposition(load_rules("debezium", no_backtracking), lambda: [WORKER])
    assert exposition("")[1] == PROMETHEUS
    assert exposition("text/plain;version=0.0.4")[1] == PROMETHEUS
    assert exposition("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.8")[1] == PROMETHEUS
    body, form = exposition("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1")
    assert form == OPEN_METRICS
    assert "process_cpu_seconds" in {family.name for family in open_metrics(body.decode())}  # type: ignore[no-untyped-call]


def test_a_scrape_may_name_series() -> None:
    exposition = Exposition(load_rules("debezium", no_backtracking), lambda: [WORKER, STREAMING])
    body, _ = exposition("", ["debezium_metrics_Connected", "process_cpu_seconds_total"])
    found = [sample.name for family in text_string_to_metric_families(body.decode()) for sample in family.samples]
    assert sorted(found) == ["debezium_metrics_Connected", "process_cpu_seconds_total"]


def test_a_file_of_the_user(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"startDelaySeconds": 5, "rules": [{"pattern": "kafka.connect.+<>(.+)-count", "name": "mine_$1"}]}')
    with caplog.at_level(logging.INFO):
        assert scraped(WORKER, rules=str(file)) == {("mine_connector",): 2.0}
    assert "startDelaySeconds" in log_text(caplog.records)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rules: 5", "rules must be a list"),
        ("{", "it is not YAML"),
        ("- a", "it must be a map"),
        ("rules: [{pattern: '(', name: x}]", "rule 1 has the pattern"),
        ("httpServer: {authentication: {basic: {username: u, password: p}}}", "httpServer is not supported"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(text)
    with pytest.raises(CdcError, match="cannot be used") as refused:
        load_rules(str(file), no_backtracking)
    assert reason in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CdcError, match="No such file"):
        load_rules(str(tmp_path / "none.yml"), no_backtracking)


def test_boards_of_strimzi_find_totals_with_and_without_the_ending() -> None:
    sent = MBean("kafka.producer", (("type", "producer-metrics"), ("client-id", "p")), {"outgoing-byte-total": 7.0, "request-rate": 2.0})
    found = {name: value for (name, *_), value in scraped(sent, rules="strimzi").items()}
    assert found == {"kafka_producer_outgoing_byte": 7, "kafka_producer_outgoing_byte_total": 7, "kafka_producer_request_rate": 2}
    assert "kafka_producer_outgoing_byte_total" not in {name for name, *_ in scraped(sent)}
    body, _ = Exposition(load_rules("strimzi", no_backtracking), lambda: (sent,))("application/openmetrics-text")
    samples = {sample.name for family in open_metrics(body.decode()) for sample in family.samples}  # type: ignore[no-untyped-call]
    assert {"kafka_producer_outgoing_byte", "kafka_producer_outgoing_byte_total"} <= samples


def test_a_scrape_of_many_lines_keeps_no_former_run_of_a_task_in_memory() -> None:
    class Run:
        def __init__(self) -> None:
            self.itself = self

    async def scrape(exposition: Exposition) -> weakref.ref[Run]:
        run = Run()
        await exposition.scrape("")
        return weakref.ref(run)

    tables = MBean("debezium.postgres", STREAMING.keys, {"RowsScanned": {f"public.t{number}": number for number in range(1_500)}})
    ended = asyncio.run(scrape(Exposition(load_rules("debezium", no_backtracking), lambda: [tables])))
    gc.collect()
    assert ended() is None


async def test_the_cpu_time_of_a_scrape_is_told() -> None:
    spent: list[float] = []
    exposition = Exposition(load_rules("debezium", no_backtracking), lambda: (WORKER,), spent=spent.append)
    await exposition.scrape("")
    # Each turn tells its own; this short one has at least one.
    assert sum(spent) > 0
    before = len(spent)
    await exposition.scrape("")
    assert len(spent) > before
