"""What a worker reports to OpenLineage on real servers equals what was recorded of Debezium for the same statements."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.project import ROOT
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

RECORDED: Final = json.loads((ROOT / "tests/unit/connector/lineage/events_recorded.json").read_text(encoding="utf-8"))["store"]["steps"]
STEPS: Final = ("snapshot", "insert", "first row of a table", "added column", "delete", "stop")
TABLES: Final = (
    (
        "CREATE TABLE orders (id serial PRIMARY KEY, customer varchar(40) NOT NULL, amount numeric(10,2), tags text[],"
        " placed timestamptz, note json)"
    ),
    "CREATE TABLE items (order_id int NOT NULL, pos smallint, name text, PRIMARY KEY (order_id, pos))",
    "CREATE TABLE nokey (a int, b uuid)",
    "INSERT INTO orders (customer) VALUES ('a')",
    "INSERT INTO items VALUES (1, 1, 'x')",
    "INSERT INTO nokey VALUES (1, NULL)",
)


def facts(events: list[dict[str, Any]]) -> set[str]:
    """Each kind of event once: Debezium describes some tables more often. Names of databases and prefixes are left out."""
    found = set()
    for event in events:
        sets = [(side, each["name"].split(".", 1)[1], each["facets"]) for side in ("inputs", "outputs") for each in event[side]]
        reported = [(side, name, facets["schema"]["fields"], facets["datasetType"]["datasetType"]) for side, name, facets in sets]
        found.add(json.dumps([event["eventType"], reported], sort_keys=True))
    return found


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("readers", ["1", "2"])
async def test_snapshot_stream_and_changed_table_are_reported_as_recorded(
    pg: PgServer, shared_worker: Worker, tmp_path: Path, readers: str
) -> None:
    """With reader processes too: the last row of each table passes through the task's own transforms."""
    database = pg.database("lineage")
    database.execute(*TABLES)
    events, settings = tmp_path / "events.jsonl", tmp_path / "openlineage.yml"
    settings.write_text(f"transport:\n  type: file\n  location: {events}\n", encoding="utf-8")
    connector = Connector(shared_worker, database, f"lineage_{uuid.uuid4().hex[:8]}")
    connector.create(
        {
            "table.include.list": "public.orders,public.items,public.nokey",
            "snapshot.max.threads": readers,
            "openlineage.integration.enabled": "true",
            "openlineage.integration.config.file.path": str(settings),
            "transforms": "lineage",
            "transforms.lineage.type": "io.debezium.transforms.openlineage.OpenLineage",
        }
    )
    connector.await_phase("streaming")
    database.execute("INSERT INTO orders (customer) VALUES ('c')", "INSERT INTO nokey VALUES (1, NULL)")
    connector.await_confirmed(connector.lsn())
    database.execute("ALTER TABLE orders ADD COLUMN extra int", "INSERT INTO orders (customer) VALUES ('d')")
    connector.await_confirmed(connector.lsn())
    connector.stop()
    wait_until(lambda: '"COMPLETE"' in events.read_text(encoding="utf-8"), "the run's last event", SECONDS)
    found = read(events)
    assert [found[0]["eventType"], found[-1]["eventType"]] == ["START", "COMPLETE"]
    assert facts(found) == facts([event for step in RECORDED if step["step"] in STEPS for event in step["events"]])
    connector.delete()
