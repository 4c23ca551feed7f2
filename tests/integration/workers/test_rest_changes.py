"""What REST changes beside configurations, on real servers: offsets, topics in use, levels of loggers."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Connector:
    database = pg.database("changes")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    return Connector(shared_worker, database, f"changes_{uuid.uuid4().hex[:8]}")


def resume(connector: Connector) -> None:
    connector.put("resume")
    connector.worker.await_state(connector.name, "RUNNING")
    connector.await_phase("streaming")


async def test_without_its_offset_a_connector_takes_a_new_snapshot(connector: Connector) -> None:
    connector.create()
    connector.await_confirmed(connector.lsn())
    path = f"/connectors/{connector.name}/offsets"
    assert connector.worker.rest("DELETE", path).status_code == httpx.codes.BAD_REQUEST
    connector.stop()
    assert "reset successfully" in connector.worker.rest("DELETE", path).text
    assert connector.worker.rest("GET", path).json() == {"offsets": []}
    resume(connector)
    connector.database.execute("INSERT INTO t VALUES (2)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1), ("r", 1), ("c", 2)]
    connector.delete()


async def test_with_the_offset_restored_it_continues(connector: Connector) -> None:
    connector.create()
    connector.await_confirmed(connector.lsn())
    connector.stop()
    path = f"/connectors/{connector.name}/offsets"
    kept = connector.worker.rest("GET", path).json()
    assert connector.worker.rest("DELETE", path).is_success
    assert "altered successfully" in connector.worker.rest("PATCH", path, kept).text
    assert connector.worker.rest("GET", path).json() == kept
    # The topic itself, which another worker would read.
    assert (await connector.stored())[-2:] == [None, kept["offsets"][0]["offset"]]
    resume(connector)
    connector.database.execute("INSERT INTO t VALUES (2)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1), ("c", 2)]
    connector.delete()


def test_a_topic_that_was_forgotten_comes_back_with_the_next_event(connector: Connector) -> None:
    connector.create()
    path = f"/connectors/{connector.name}/topics"
    topics = {connector.name: {"topics": [f"{connector.name}.public.t"]}}
    wait_until(lambda: connector.worker.rest("GET", path).json() == topics, "the topic in use", SECONDS)
    connector.await_confirmed(connector.lsn())
    assert connector.worker.rest("PUT", f"{path}/reset").status_code == httpx.codes.ACCEPTED
    assert connector.worker.rest("GET", path).json() == {connector.name: {"topics": []}}
    connector.database.execute("INSERT INTO t VALUES (2)")
    wait_until(lambda: connector.worker.rest("GET", path).json() == topics, "the topic in use again", SECONDS)
    connector.delete()


def test_a_level_for_the_cluster_reaches_every_worker(worker: Callable[..., Worker]) -> None:
    group = f"levels-{uuid.uuid4().hex[:8]}"
    one, other = worker(group=group), worker(group=group)
    path = "/admin/loggers/io.debezium"
    assert other.rest("GET", path).status_code == httpx.codes.NOT_FOUND
    assert one.rest("PUT", f"{path}?scope=cluster", {"level": "debug"}).status_code == httpx.codes.NO_CONTENT
    assert one.rest("GET", "/admin/loggers/connector").json()["level"] == "DEBUG"
    wait_until(lambda: other.rest("GET", path).is_success, "the level on the other worker", SECONDS)
    assert other.rest("GET", "/admin/loggers/connector").json()["level"] == "DEBUG"
    assert other.rest("GET", "/admin/loggers/root").json() == {"level": "INFO", "last_modified": None}
    assert one.rest("PUT", path, {"level": "info"}).json()[:1] == ["connector"]
    # What was asked for in the past is not taken up at a start.
    other.restart()
    assert other.rest("GET", path).status_code == httpx.codes.NOT_FOUND


def test_a_level_is_heard_at_once(shared_worker: Worker) -> None:
    def lines() -> int:
        return shared_worker.log.count("of=connect_api.heard")

    assert shared_worker.rest("PUT", "/admin/loggers/workers.telemetry.loggers", {"level": "WARN"}).is_success
    reported = lines()
    shared_worker.rest("PUT", "/admin/loggers/connect_api.heard", {"level": "DEBUG"})
    shared_worker.rest("PUT", "/admin/loggers/workers.telemetry.loggers", {"level": "INFO"})
    assert lines() == reported
    shared_worker.rest("PUT", "/admin/loggers/connect_api.heard", {"level": "INFO"})
    wait_until(lambda: lines() == reported + 1, "the line", SECONDS)
