"""``understudy migrate`` against a running Kafka Connect with Debezium: what it foretells comes true, and rehearsals agree."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fix_connect import Cluster
from tests.fix_pg import Database, PgServer
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

MIGRATE = (sys.executable, "-P", "-m", "workers", "migrate", "-o", "json", "--from")
FLAT = {
    "transforms": "unwrap,route",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.add.fields": "op,lsn,ts_ms,source.ts_ms",
    "transforms.unwrap.add.headers": "op,ts_ms",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": r"(.*)\.public\.(.*)",
    "transforms.route.replacement": "$1-flat-$2",
    "transforms.route.predicate": "rows",
    "predicates": "rows",
    "predicates.rows.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "predicates.rows.pattern": r".*\.public\..*",
}


def test_what_migrate_foretells_comes_true(pg: PgServer, seats: Callable[..., Cluster]) -> None:
    database = pg.database("migrate")
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, name text)", "ALTER TABLE t REPLICA IDENTITY FULL", "INSERT INTO t VALUES (1, 'one')"
    )
    cluster = seats(1, plugin_discovery="service_load")
    [seat] = cluster.seats
    file = seat._folder / "worker.properties"
    cluster.start(real=True)
    suffix = uuid.uuid4().hex[:6]
    plain, flat, lost = (Connector(seat, database, f"{role}_{suffix}") for role in ("plain", "flat", "lost"))
    for connector, more in ((plain, {}), (flat, FLAT), (lost, {})):
        connector.post(more)
    for connector in (plain, flat, lost):
        await_offset(connector)
    lost.stop()
    lost.drop_slot()

    plans = foretold(file)
    assert {name: plan["verdict"] for name, plan in plans.items()} == {plain.name: "resumes", flat.name: "resumes", lost.name: "stops"}
    assert (plans[plain.name]["state"], plans[lost.name]["state"]) == ("RUNNING", "STOPPED")
    assert plans[plain.name]["slot"]["holder"].endswith(f"since {streaming_since(plain)})")
    assert [plans[plain.name][kind] for kind in ("unknown", "findings")] == [[], []]

    for connector in (plain, flat):
        rehearse(file, connector)

    cluster.end(killed=False)
    cluster.start(real=False)
    for connector in (plain, flat):
        connector.await_phase("streaming")
    assert seat.rest("PUT", f"/connectors/{lost.name}/resume").is_success
    assert lost.trace().startswith(plans[lost.name]["why"])


def await_offset(connector: Connector) -> None:
    """Change a row until the real Connect has stored an offset of the stream: its snapshot may have read the first changes."""

    def look() -> bool:
        connector.database.execute("UPDATE t SET name = 'uno' WHERE id = 1")
        answer = connector.worker.rest("GET", f"/connectors/{connector.name}/offsets")
        return answer.status_code == httpx.codes.OK and any("lsn_commit" in each["offset"] for each in answer.json()["offsets"])

    wait_until(look, lambda: f"an offset of {connector.name}", SECONDS, pause=0.5)


def streaming_since(connector: Connector) -> str:
    [(since,)] = connector.database.execute(
        f"SELECT date_trunc('second', backend_start)::text FROM pg_stat_replication WHERE pid = {connector.slot()['active_pid']}"
    )
    return str(since)


def foretold(file: Path) -> dict[str, dict[str, Any]]:
    done = subprocess.run([*MIGRATE, file], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return {plan["name"]: plan for plan in json.loads(done.stdout)["connectors"]}


def rehearse(file: Path, connector: Connector) -> None:
    """Insert, change and delete a row meanwhile. All records of both workers are the same."""
    command = [*MIGRATE, str(file), "--rehearse", connector.name, "--events", "3", "--seconds", str(SECONDS)]
    rehearsal = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert rehearsal.stderr is not None
    assert rehearsal.stderr.readline().startswith("Reading the next 3 records")
    change(connector.database)
    answer, error = rehearsal.communicate(timeout=3 * SECONDS)
    assert rehearsal.returncode == 0, error + answer
    assert (json.loads(answer)["records"], json.loads(answer)["equal"]) == (3, 3)


def change(database: Database) -> None:
    database.execute("INSERT INTO t VALUES (7, 'seven')", "UPDATE t SET name = 'sieben' WHERE id = 7", "DELETE FROM t WHERE id = 7")
