"""A role without superuser needs REPLICATION, SELECT and, to create a publication, ownership of the tables. Missing rights are reported."""

from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once


@pytest.fixture
def owner(pg: PgServer) -> Database:
    """A database with a table of the superuser's and a table of the role ``<database>_role``, as that role sees it."""
    database = pg.database("role")
    role = f"{database.name}_role"
    database.execute(
        f"CREATE ROLE {role} LOGIN REPLICATION",
        f"GRANT CREATE ON DATABASE {database.name} TO {role}",
        "CREATE TABLE foreign_table (id int PRIMARY KEY)",
        "CREATE TABLE own (id int PRIMARY KEY, v text)",
        f"ALTER TABLE own OWNER TO {role}",
        "INSERT INTO own VALUES (1, 'x')",
        "INSERT INTO foreign_table VALUES (1)",
    )
    return database


def as_role(database: Database) -> Database:
    role = f"{database.name}_role"
    return Database(database.name, database.host, database.port, role, make_conninfo(database.dsn, user=role))


def connector_of(owner: Database, worker: Worker, name: str) -> Connector:
    """It connects as the role; the tests look as the superuser."""
    return Connector(worker, owner, name)


def user(owner: Database) -> dict[str, str]:
    return {"database.user": f"{owner.name}_role"}


async def test_owner_of_the_tables_can_do_all_with_filtered(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_filtered")
    connector.create({**user(owner), "publication.autocreate.mode": "filtered", "table.include.list": "public.own"})
    as_role(owner).execute("UPDATE own SET v = 'y'")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.own") == [("r", 1), ("u", 1)]
    [(publisher,)] = owner.execute(f"SELECT pg_get_userbyid(pubowner) FROM pg_publication WHERE pubname = '{connector.name}'")
    assert publisher == f"{owner.name}_role"
    connector.delete()


def test_all_tables_needs_a_superuser_and_says_which_statement(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_all_tables")
    connector.post(user(owner))
    message = connector.trace()
    assert f"The connector's role may not create or change publication {connector.name}" in message
    assert f'CREATE PUBLICATION "{connector.name}" FOR ALL TABLES' in message
    assert "publication.autocreate.mode to filtered" in message
    assert connector.slot() == {}
    # Done what it says, it runs.
    owner.execute(f'CREATE PUBLICATION "{connector.name}" FOR ALL TABLES', f"GRANT SELECT ON foreign_table TO {owner.name}_role")
    assert shared_worker.rest("POST", f"/connectors/{connector.name}/restart?includeTasks=true").is_success
    shared_worker.await_state(connector.name, "RUNNING")
    connector.await_phase("streaming")
    connector.delete()


def test_a_table_of_another_owner_is_named(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_foreign")
    connector.post({**user(owner), "publication.autocreate.mode": "filtered"})
    message = connector.trace()
    assert 'FOR TABLE "public"."foreign_table", "public"."own"' in message
    assert "must be owner of table foreign_table" in message
    connector.delete()


def test_a_table_that_may_not_be_read_is_named(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_unread")
    owner.execute(f'CREATE PUBLICATION "{connector.name}" FOR ALL TABLES')
    connector.post({**user(owner), "table.include.list": "public.foreign_table"})
    message = connector.trace()
    assert "reading table public.foreign_table" in message
    assert "permission denied for table foreign_table" in message
    connector.delete()


def test_a_role_without_replication_is_reported(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_plain")
    config = {**user(owner), "publication.autocreate.mode": "filtered", "table.include.list": "public.own"}
    connector.create(config)
    connector.stop()
    owner.execute(f"ALTER ROLE {owner.name}_role NOREPLICATION")
    connector.put("resume")
    message = connector.trace()
    assert "to start wal" in message.lower()
    assert f"Postgres roles LOGIN and REPLICATION are not assigned to user: {owner.name}_role. " in message
    assert f'ALTER ROLE "{owner.name}_role" REPLICATION;' in message
    connector.delete()


def test_a_role_that_may_not_connect_is_reported(owner: Database, shared_worker: Worker) -> None:
    connector = connector_of(owner, shared_worker, "role_shut_out")
    connector.create({**user(owner), "publication.autocreate.mode": "filtered", "table.include.list": "public.own"})
    connector.stop()
    owner.execute(f"REVOKE CONNECT, TEMPORARY ON DATABASE {owner.name} FROM PUBLIC")
    connector.put("resume")
    assert "permission denied for database" in connector.trace()
    connector.delete()
