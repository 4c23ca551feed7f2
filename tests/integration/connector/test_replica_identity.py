"""Replica identities set by a role that owns one of the tables only, and xmin, on a real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import psycopg
import pytest

from connector.catalog.replica_identity import IdentityRule
from connector.config.packed import ReplicaIdentity
from connector.errors import CdcError
from connector.io.postgres.connection import Connection
from connector.io.postgres.replica_identity import set_replica_identities
from connector.io.postgres.server import slot_xmin
from tests.fix_pg import Database, PgServer
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


@asynccontextmanager
async def connected(database: Database, role: str | None = None) -> AsyncIterator[Connection]:
    connection = await psycopg.AsyncConnection.connect(database.dsn, autocommit=True)
    async with connection:
        if role:
            await connection.execute(f'SET SESSION AUTHORIZATION "{role}"'.encode())
        yield connection


def identities(database: Database) -> dict[object, object]:
    rows = database.execute("SELECT relname::text, relreplident::text FROM pg_class WHERE relname IN ('a', 'b', 'other')")
    return {row[0]: row[1] for row in rows}


def rule(table: str, identity: Literal["FULL", "INDEX"], index: str | None = None) -> IdentityRule:
    return IdentityRule.of(ReplicaIdentity(table, identity, index), "")


def every_table(_schema: str, table: str) -> bool:
    return table != "other"


async def test_identities_are_set_once(pg: PgServer, caplog: pytest.LogCaptureFixture) -> None:
    database = pg.database("identity")
    database.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY)")
    rules = [rule("public.(a|other)", "FULL"), rule("public.b", "INDEX", "b_pkey")]
    caplog.set_level(logging.INFO, "connector.io.postgres.replica_identity")
    async with connected(database) as connection:
        await set_replica_identities(connection, rules, every_table)
        assert identities(database) == {"a": "f", "b": "i", "other": "d"}
        await set_replica_identities(connection, rules, every_table)
    warnings = [record.getMessage().split(" table=")[0] for record in caplog.records]
    assert warnings == ["replica identity set"] * 2 + ["replica identity is already set"] * 2


async def test_a_table_of_another_owner_is_reported_and_not_changed(pg: PgServer, caplog: pytest.LogCaptureFixture) -> None:
    database = pg.database("identity")
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)",
        f'CREATE ROLE "{database.name}_role"',
        f'ALTER TABLE b OWNER TO "{database.name}_role"',
    )
    async with connected(database, f"{database.name}_role") as connection:
        await set_replica_identities(connection, [rule("public.*", "FULL")], every_table)
    assert identities(database) == {"a": "d", "b": "f"}
    [warning] = [record.__dict__["fields"] for record in caplog.records if record.levelno == logging.WARNING]
    assert 'ALTER TABLE "public"."a" REPLICA IDENTITY FULL;' in warning["remedy"]


@pytest.mark.parametrize(
    ("preparation", "rules", "reason"),
    [
        ("", [rule("public.a", "INDEX", "nothing"), rule("public.b", "FULL")], 'index "nothing" for table "a" does not exist'),
        ("SET default_transaction_read_only = on", [rule("public.a", "FULL")], "cannot execute ALTER TABLE in a read-only transaction"),
    ],
    ids=["no index", "read only"],
)
async def test_a_change_that_the_server_refuses_is_reported_and_the_next_is_made(
    pg: PgServer, caplog: pytest.LogCaptureFixture, preparation: str, rules: list[IdentityRule], reason: str
) -> None:
    database = pg.database("identity")
    database.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)")
    async with connected(database) as connection:
        await connection.execute(preparation.encode())
        await set_replica_identities(connection, rules, every_table)
    assert identities(database) == {"a": "d", "b": "f" if len(rules) > 1 else "d"}
    [error] = [record.__dict__["fields"] for record in caplog.records if record.levelno == logging.ERROR]
    assert (error["table"], error["identity"]) == ("public.a", "USING INDEX nothing" if rules[0].wanted.index else "FULL")
    assert reason in str(error["reason"])


async def test_a_lost_connection_is_an_error(pg: PgServer) -> None:
    database = pg.database("identity")
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    async with connected(database) as connection:
        pid = connection.info.backend_pid
        end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {pid} AND wait_event_type = 'Lock'"
        with psycopg.connect(database.dsn) as other:
            other.execute("LOCK TABLE a")
            setting = asyncio.create_task(set_replica_identities(connection, [rule("public.a", "FULL")], every_table))
            await asyncio.to_thread(wait_until, lambda: database.execute(end) == [(True,)], "the change to wait for the lock")
            with pytest.raises(CdcError, match=r"setting the replica identity of table public\.a"):
                await setting


async def test_xmin_of_a_slot(pg: PgServer) -> None:
    database = pg.database("xmin")
    slot = f"{database.name}_slot"
    database.execute(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    try:
        async with connected(database) as connection:
            xmin = await slot_xmin(connection, slot)
            assert xmin is not None
            assert xmin > 0
            assert await slot_xmin(connection, "no_such_slot") is None
    finally:
        database.execute(f"SELECT pg_drop_replication_slot('{slot}')")
