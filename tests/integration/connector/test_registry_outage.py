"""A connector whose schema registry goes away, and one whose table changes in a way that the registry refuses."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.avro_topic import decoded
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.registry import EmbeddedRegistry
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once
REMEDY: Final = "Check that it runs, its URL, and the network."


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Iterator[Connector]:
    """A connector for one table of one row, not created yet."""
    database = pg.database("registry")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 10)")
    made = Connector(shared_worker, database, f"registry_{uuid.uuid4().hex[:8]}")
    yield made
    made.delete()


def avro(registry: EmbeddedRegistry) -> dict[str, str]:
    """Converters that ask the registry once before they give up, so that the task's own retries begin at once."""
    options = {"": "io.confluent.connect.avro.AvroConverter", ".schema.registry.url": registry.confluent, ".max.retries": "0"}
    return {f"{part}.converter{name}": value for part in ("key", "value") for name, value in options.items()}


async def rows(connector: Connector, registry: EmbeddedRegistry) -> list[tuple[str, dict[str, object]]]:
    """Operation and new row of each event, in the topic's order."""
    topic = f"{connector.name}.public.t"
    return [(value["op"], value["after"]) for _, value in decoded(registry.confluent, topic, await connector.raw(topic))]


def subject_of(connector: Connector) -> str:
    return f"{connector.name}.public.t-value"


def require(registry: EmbeddedRegistry, subject: str, level: str) -> None:
    """Set the subject's compatibility level."""
    httpx.put(f"{registry.confluent}/config/{subject}", json={"compatibility": level}).raise_for_status()


def await_log(connector: Connector, said: str) -> None:
    wait_until(lambda: said in connector.worker.log, lambda: f"{said}\n{connector.worker.log[-6000:]}", SECONDS)


def restart_task(connector: Connector) -> None:
    assert connector.worker.rest("POST", f"/connectors/{connector.name}/tasks/0/restart").is_success
    connector.await_phase("streaming")


async def test_a_task_waits_for_its_registry_and_loses_nothing(connector: Connector, schema_registry: EmbeddedRegistry) -> None:
    connector.create(avro(schema_registry))
    schema_registry.halt()
    # The schema is known, so the registry is not needed.
    connector.database.execute("INSERT INTO t VALUES (2, 20)")
    connector.await_confirmed(connector.lsn())
    # This has no changes, so that its position may be confirmed before theirs.
    connector.database.execute("ALTER TABLE t ADD COLUMN more text")
    before = connector.lsn()
    connector.database.execute("INSERT INTO t VALUES (3, 30, 'a')", "INSERT INTO t VALUES (4, 40, NULL), (5, 50, 'b')")
    # A task that starts again has forgotten the key's schema too, and asks for it first.
    for subject in (subject_of(connector), f"{connector.name}.public.t-key"):
        await_log(connector, f"{schema_registry.confluent} did not answer about the subject {subject}: ConnectError. {REMEDY}")
    # Each attempt reads the changes again, and delivers none of them.
    own = f"connector={connector.name}"
    wait_until(
        lambda: any(own in line and "failures=3" in line for line in connector.worker.log.splitlines()),
        lambda: f"the third failure\n{connector.worker.log[-6000:]}",
        SECONDS,
    )
    [(confirmed,)] = connector.database.execute(
        f"SELECT confirmed_flush_lsn > '{before}' FROM pg_replication_slots WHERE slot_name = '{connector.name}'"
    )
    assert not confirmed
    schema_registry.resume()
    connector.await_confirmed(connector.lsn())
    assert await rows(connector, schema_registry) == [
        ("r", {"id": 1, "v": 10}),
        ("c", {"id": 2, "v": 20}),
        ("c", {"id": 3, "v": 30, "more": "a"}),
        ("c", {"id": 4, "v": 40, "more": None}),
        ("c", {"id": 5, "v": 50, "more": "b"}),
    ]


async def test_a_task_without_retries_fails_and_continues_after_a_restart(connector: Connector, schema_registry: EmbeddedRegistry) -> None:
    connector.create(avro(schema_registry) | {"errors.max.retries": "0"})
    schema_registry.halt()
    connector.database.execute(
        "ALTER TABLE t ADD COLUMN more text", "INSERT INTO t VALUES (2, 20, 'a')", "INSERT INTO t VALUES (3, 30, 'b')"
    )
    trace = connector.trace()
    assert f"did not answer about the subject {subject_of(connector)}" in trace
    assert REMEDY in trace
    schema_registry.resume()
    restart_task(connector)
    connector.await_confirmed(connector.lsn())
    assert await rows(connector, schema_registry) == [
        ("r", {"id": 1, "v": 10}),
        ("c", {"id": 2, "v": 20, "more": "a"}),
        ("c", {"id": 3, "v": 30, "more": "b"}),
    ]


async def test_an_incompatible_change_fails_the_task_until_it_is_permitted(connector: Connector, schema_registry: EmbeddedRegistry) -> None:
    connector.create(avro(schema_registry))
    connector.await_confirmed(connector.lsn())
    require(schema_registry, subject_of(connector), "BACKWARD")
    connector.database.execute("ALTER TABLE t ALTER COLUMN v TYPE text", "INSERT INTO t VALUES (2, 'secret')")
    trace = connector.trace()
    assert f"refuses the new schema of the subject {subject_of(connector)}, because it is not compatible" in trace
    assert "Change the subject's compatibility level, or undo the change of the table, then restart the task." in trace
    assert "secret" not in trace
    require(schema_registry, subject_of(connector), "NONE")
    restart_task(connector)
    connector.await_confirmed(connector.lsn())
    assert await rows(connector, schema_registry) == [("r", {"id": 1, "v": 10}), ("c", {"id": 2, "v": "secret"})]
