"""The publication is made and changed exactly as ``publication.autocreate.mode`` asks; the server's own catalog is what counts."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

TABLES = ("CREATE TABLE one (id int PRIMARY KEY)", "CREATE TABLE two (id int PRIMARY KEY)", "CREATE TABLE three (id int PRIMARY KEY)")
OPERATIONS = "pubinsert, pubupdate, pubdelete, pubtruncate"


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> Connector:
    name = f"{request.node.originalname.removeprefix('test_')[:40]}_{uuid.uuid4().hex[:8]}"
    database = pg.database("publication")
    database.execute(*TABLES)
    return Connector(shared_worker, database, name)


def published(connector: Connector) -> list[str]:
    query = f"SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = '{connector.name}' ORDER BY 1"
    return [str(row[0]) for row in connector.database.execute(query)]


def publication(database: Database, name: str, columns: str) -> tuple[object, ...]:
    [row] = database.execute(f"SELECT {columns} FROM pg_publication WHERE pubname = '{name}'")
    return row


def test_all_tables_is_the_default(connector: Connector) -> None:
    connector.create({"table.include.list": "public.one"})
    assert publication(connector.database, connector.name, f"puballtables, pubviaroot, {OPERATIONS}") == (
        True,
        False,
        True,
        True,
        True,
        True,
    )
    connector.delete()
    # The publication is left to its owner.
    assert published(connector) == ["public.one", "public.three", "public.two"]


async def test_filtered_follows_the_tables_captured(connector: Connector) -> None:
    mode = {"publication.autocreate.mode": "filtered"}
    connector.create({**mode, "table.include.list": "public.one,public.two"})
    assert published(connector) == ["public.one", "public.two"]
    assert publication(connector.database, connector.name, "puballtables") == (False,)
    connector.stop()
    changed = connector.config({**mode, "table.include.list": "public.two,public.three"})
    assert connector.worker.rest("PUT", f"/connectors/{connector.name}/config", changed).is_success
    connector.put("resume")
    connector.await_phase("streaming")
    assert published(connector) == ["public.three", "public.two"]
    connector.database.execute("INSERT INTO three VALUES (7)", "INSERT INTO one VALUES (7)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.three") == [("c", 7)]
    assert await connector.raw(f"{connector.name}.public.one") == []
    connector.delete()


def test_filtered_does_not_touch_a_publication_of_all_tables(connector: Connector) -> None:
    config = {"publication.autocreate.mode": "filtered", "table.include.list": "public.one"}
    connector.create(config)
    connector.stop()
    connector.database.execute(f"DROP PUBLICATION {connector.name}", f"CREATE PUBLICATION {connector.name} FOR ALL TABLES")
    connector.put("resume")
    message = connector.trace()
    assert f"Publication {connector.name} is for all tables" in message
    assert f'DROP PUBLICATION "{connector.name}";' in message
    assert publication(connector.database, connector.name, "puballtables") == (True,)
    connector.delete()


def test_filtered_without_tables_says_so(connector: Connector) -> None:
    connector.post({"publication.autocreate.mode": "filtered", "table.include.list": "public.none"})
    assert "No table filters found for filtered publication" in connector.trace()
    assert connector.database.execute("SELECT pubname FROM pg_publication") == []
    connector.delete()


async def test_filtered_streams_on_if_its_tables_are_dropped(connector: Connector) -> None:
    connector.create({"publication.autocreate.mode": "filtered", "table.include.list": "public.one,public.two"})
    connector.stop()
    connector.database.execute("DROP TABLE one, two", f"ALTER PUBLICATION {connector.name} SET TABLE three")
    connector.put("resume")
    connector.await_phase("streaming")
    assert published(connector) == ["public.three"]
    connector.delete()


def test_no_tables_makes_an_empty_publication(connector: Connector) -> None:
    connector.create({"publication.autocreate.mode": "no_tables"})
    assert publication(connector.database, connector.name, "puballtables") == (False,)
    assert published(connector) == []
    connector.delete()


def test_disabled_creates_none_and_reports_the_statement(connector: Connector) -> None:
    config = {"publication.autocreate.mode": "disabled", "table.include.list": "public.one"}
    connector.post(config)
    assert f'Run CREATE PUBLICATION "{connector.name}" FOR TABLE "public"."one";' in connector.trace()
    assert connector.database.execute("SELECT pubname FROM pg_publication") == []
    assert connector.slot() == {}
    connector.delete()


def test_disabled_takes_what_is_there(connector: Connector) -> None:
    connector.database.execute(f"CREATE PUBLICATION {connector.name} FOR TABLE one WITH (publish = 'insert')")
    connector.create({"publication.autocreate.mode": "disabled"})
    assert publication(connector.database, connector.name, OPERATIONS) == (True, False, False, False)
    assert published(connector) == ["public.one"]
    connector.delete()


@pytest.mark.parametrize(
    ("skipped", "operations"),
    [("none", (True, True, True, True)), ("t", (True, True, True, False)), ("c,u", (False, False, True, True))],
)
def test_skipped_operations_are_not_published(connector: Connector, skipped: str, operations: tuple[bool, ...]) -> None:
    connector.create({"skipped.operations": skipped})
    assert publication(connector.database, connector.name, OPERATIONS) == operations
    connector.delete()


def test_version_2_makes_a_plain_publication(connector: Connector) -> None:
    connector.create(
        {"connector.plugin.version": "2.3.4.Final", "skipped.operations": "c,u", "publish.via.partition.root": "true"},
    )
    assert publication(connector.database, connector.name, f"{OPERATIONS}, pubviaroot") == (True, True, True, True, False)
    connector.delete()


async def test_published_via_the_root(connector: Connector) -> None:
    connector.database.execute(
        "CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (100)",
    )
    connector.create({"publish.via.partition.root": "true", "table.include.list": "public.parted"})
    assert publication(connector.database, connector.name, "pubviaroot") == (True,)
    connector.database.execute("INSERT INTO parted VALUES (5)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.parted") == [("c", 5)]
    connector.delete()


def test_another_connector_may_make_it_in_the_same_moment(connector: Connector) -> None:
    database = connector.database
    with psycopg.connect(database.dsn) as other:
        # The publication is not committed yet. The connector does not see it, and must wait for this transaction.
        other.execute(f"CREATE PUBLICATION {connector.name} FOR ALL TABLES".encode())
        connector.post()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'CREATE PUBLICATION%'"
        wait_until(lambda: database.execute(waiting) == [(1,)], "the connector to wait for the other's publication")
        other.commit()
    connector.await_phase("streaming")
    connector.delete()
