"""A scrape of a real worker after a known workload."""

from __future__ import annotations

import uuid

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


def scraped(connector: Connector) -> dict[tuple[str, str], float]:
    """The connector's values by attribute and context; those of a table have its name behind the attribute."""
    answer = connector.worker.rest("GET", "/metrics")
    return {
        (sample.name.removeprefix("debezium_metrics_") + sample.labels.get("table", ""), sample.labels["context"]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.labels.get("name") == connector.name and "context" in sample.labels
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
    connector.delete()
