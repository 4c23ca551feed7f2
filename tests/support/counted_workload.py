"""One workload with known counts, for any worker: Kafka Connect with Debezium and JMX exporter, or Understudy.

It has snapshots, transactions, filtered tables, messages, a truncate, an incremental snapshot, and records that a transform refuses. Run it
and keep what the worker shows afterwards::

    python -m tests.support.counted_workload --url http://127.0.0.1:8083 --metrics http://127.0.0.1:9404/metrics \\
        --dsn 'host=127.0.0.1 user=postgres dbname=postgres' --out theirs.txt

The exporter needs the rules of ``workers/telemetry/rules/debezium.yml``. ``tests.support.compare_counts`` compares two such files.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import httpx
import psycopg
from prometheus_client.parser import text_string_to_metric_families
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workers.quickstart.embedded.wait import wait_until

TABLES: Final = (
    "CREATE TABLE a (id int PRIMARY KEY, v text)",
    "CREATE TABLE b (id int PRIMARY KEY, v text, w int)",
    "CREATE TABLE empty (id int PRIMARY KEY)",
    "CREATE TABLE keyless (v text)",
    "CREATE TABLE named (id text PRIMARY KEY)",
    "CREATE TABLE hidden (id int PRIMARY KEY)",
    "CREATE TABLE sig (id text PRIMARY KEY, type text, data text)",
    "ALTER TABLE keyless REPLICA IDENTITY FULL",
    "ALTER TABLE b REPLICA IDENTITY FULL",
    "INSERT INTO a SELECT i, 'x' FROM generate_series(1, 50) i",
    "INSERT INTO b SELECT i, 'y', 0 FROM generate_series(1, 30) i",
    "INSERT INTO keyless VALUES ('k'), ('l')",
    "INSERT INTO hidden VALUES (1), (2)",
)
"""What there is before the connectors."""
CHANGES: Final = (
    "INSERT INTO a SELECT i, 'x' FROM generate_series(51, 60) i",
    "UPDATE a SET v = 'z' WHERE id <= 5",
    "UPDATE a SET id = 100 WHERE id = 6",
    "DELETE FROM a WHERE id BETWEEN 10 AND 12",
    "UPDATE b SET v = v",
    "DELETE FROM b WHERE id = 30",
    "INSERT INTO keyless VALUES ('m')",
    "UPDATE keyless SET v = 'n' WHERE v = 'm'",
    "DELETE FROM keyless WHERE v = 'n'",
    "INSERT INTO hidden VALUES (3), (4), (5)",
    "UPDATE hidden SET id = 6 WHERE id = 3",
    "BEGIN; INSERT INTO a VALUES (61, 'p'); UPDATE b SET w = 1 WHERE id = 1; INSERT INTO hidden VALUES (7); COMMIT",
    "BEGIN; INSERT INTO a VALUES (62, 'q'); ROLLBACK",
    "BEGIN; INSERT INTO a VALUES (63, 'r'); SAVEPOINT s; INSERT INTO a VALUES (64, 's'); ROLLBACK TO s; COMMIT",
    "SELECT pg_logical_emit_message(true, 'm', 'within')",
    "SELECT pg_logical_emit_message(false, 'm', 'beside')",
    "INSERT INTO named VALUES ('1'), ('x'), ('2')",
    "TRUNCATE b",
    "INSERT INTO b VALUES (31, 'u', 3)",
    "INSERT INTO sig VALUES ('s1', 'execute-snapshot', '{\"data-collections\": [\"public.a\"]}')",
)
"""Each is sent alone, so that it is a transaction unless it says otherwise."""
ALL: Final = "public.a,public.b,public.empty,public.keyless,public.sig"
CAST: Final = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Key", "transforms.c.spec": "id:int32"}
CONNECTORS: Final[Mapping[str, Mapping[str, str]]] = {
    "whole": {
        "publication.autocreate.mode": "all_tables",
        "table.include.list": ALL,
        "signal.data.collection": "public.sig",
        "internal.advanced.metrics.enable": "true",
        "custom.metric.tags": "team=x",
    },
    "ordered": {
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.a,public.b",
        "snapshot.mode": "no_data",
        "provide.transaction.metadata": "true",
        "skip.messages.without.change": "true",
        "skipped.operations": "t,d",
    },
    "tolerant": {
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.named",
        "snapshot.mode": "no_data",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
        **CAST,
    },
    "failing": {
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.named",
        "snapshot.mode": "no_data",
        **CAST,
    },
}
"""Connector → its own settings. The task of ``failing`` fails at the record whose key is no number."""


DONE: Final[Mapping[str, Mapping[str, float]]] = {
    "kafka_connect_source_task_source_record_write": {"whole": 212, "ordered": 38, "tolerant": 4},
    "debezium_metrics_NumberOfCommittedTransactions": {"whole": 17, "ordered": 6, "tolerant": 1},
    "kafka_connect_worker_connector_failed_task_count": {"failing": 1},
}
"""The values at the end: series → connector → value."""
SECONDS: Final = 240.0


class CountedRun:
    """The workload in a new database beside the one of ``dsn``. ``metrics`` returns what the worker's exporter shows."""

    def __init__(self, client: httpx.Client, metrics: Callable[[], str], dsn: str) -> None:
        self._client = client
        self._metrics = metrics
        self._server = dsn
        self.database: Final = f"counts_{uuid.uuid4().hex[:8]}"
        self._dsn = make_conninfo(dsn, dbname=self.database)

    def run(self) -> str:
        """Create the connectors, make the changes, and return what the exporter shows when all is counted, with plain names."""
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute(f"CREATE DATABASE {self.database} TEMPLATE template0".encode())
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            for statement in TABLES:
                connection.execute(statement.encode())
            for name in CONNECTORS:
                body = {"name": f"{self.database}_{name}", "config": self._config(name)}
                self._client.post("/connectors", json=body).raise_for_status()
            self._await({"debezium_metrics_Connected": dict.fromkeys(CONNECTORS, 1.0)})
            for statement in CHANGES:
                connection.execute(statement.encode())
        self._await(DONE)
        return self._shown()

    def remove(self) -> None:
        """Remove the connectors, which drop their slots, and the database."""
        for name in CONNECTORS:
            self._client.delete(f"/connectors/{self.database}_{name}")
        with psycopg.connect(self._server, autocommit=True) as server:

            def free() -> bool:
                held = server.execute("SELECT active FROM pg_replication_slots WHERE database = %s", [self.database]).fetchall()
                return not any(active for (active,) in held)

            wait_until(free, "the slots to be free", SECONDS)
            # The slot of a failed task stays.
            drop = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s"
            server.execute(drop.encode(), [self.database])
            server.execute(f"DROP DATABASE {self.database} WITH (FORCE)".encode())

    def _shown(self) -> str:
        return self._metrics().replace(f"{self.database}_", "")

    def _await(self, wanted: Mapping[str, Mapping[str, float]]) -> None:
        def missing() -> dict[str, float]:
            found = {
                (sample.name, sample.labels.get("connector") or sample.labels.get("name", "")): sample.value
                for family in text_string_to_metric_families(self._shown())
                for sample in family.samples
                if sample.name in wanted and sample.labels.get("context") != "snapshot"
            }
            return {
                f"{series} of {name}": found.get((series, name), -1.0)
                for series, values in wanted.items()
                for name, value in values.items()
                if found.get((series, name)) != value
            }

        wait_until(lambda: not missing(), lambda: f"other counts than {missing()}", SECONDS)

    def _config(self, name: str) -> dict[str, str]:
        own, place = f"{self.database}_{name}", conninfo_to_dict(self._dsn)
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": str(place.get("host", "127.0.0.1")),
            "database.port": str(place.get("port", 5432)),
            "database.user": str(place.get("user", "postgres")),
            "database.password": "unused",
            "database.dbname": self.database,
            "topic.prefix": own,
            "plugin.name": "pgoutput",
            "slot.name": own,
            "publication.name": own,
            "slot.drop.on.stop": "true",
            **CONNECTORS[name],
        }


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.counted_workload", description=__doc__)
    parser.add_argument("--url", required=True, help="the worker's REST interface")
    parser.add_argument("--metrics", required=True, help="the address that Prometheus would scrape")
    parser.add_argument("--dsn", required=True, help="a superuser's connection to the PostgreSQL server")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    chosen = parser.parse_args()
    with httpx.Client(base_url=chosen.url, timeout=90) as client:
        counted = CountedRun(client, lambda: client.get(chosen.metrics).text, chosen.dsn)
        try:
            chosen.out.write_text(counted.run(), encoding="utf-8")
        finally:
            counted.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
