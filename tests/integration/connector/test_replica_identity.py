"""Replica identities set by a role that owns one of the tables only, and xmin, on a real server."""

from __future__ import annotations

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


async def test_an_index_that_cannot_be_used_is_an_error(pg: PgServer) -> None:
    database = pg.database("identity")
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    async with connected(database) as connection:
        with pytest.raises(CdcError, match=r"setting the replica identity of table public\.a"):
            await set_replica_identities(connection, [rule("public.a", "INDEX", "nothing")], every_table)


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
