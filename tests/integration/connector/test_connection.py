"""The settings of the connector's connections, and a connection that the server ends."""

from __future__ import annotations

import os

import psycopg
import pytest

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, Directive, ErrorKind
from connector.io.postgres.connection import connect
from connector.io.postgres.environment import ignore_environment
from connector.runner.heartbeat import act
from tests.fix_pg import Database, PgServer
from tests.support.stream_rig import configured
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


def config_of(database: Database, **properties: str) -> ConnectorConfig:
    return configured(
        database_hostname=database.host,
        database_port=str(database.port),
        database_user=database.user,
        database_dbname=database.name,
        **properties,
    )


SHOWN = ("DateStyle", "TimeZone", "client_encoding", "default_transaction_read_only")
HOSTILE = {
    "PGTZ": "Asia/Tokyo",
    "PGDATESTYLE": "German",
    "PGCLIENTENCODING": "LATIN1",
    "PGHOSTADDR": "192.0.2.1",
    "PGOPTIONS": "-c default_transaction_read_only=on",
    "PGSERVICE": "missing",
    "PGREQUIREAUTH": "gss",
    "PGTARGETSESSIONATTRS": "standby",
    "PGSSLROOTCERT": "/missing.pem",
}


@pytest.mark.parametrize("replication", [False, True])
async def test_the_environment_changes_neither_the_server_nor_the_text_of_values(
    pg: PgServer, monkeypatch: pytest.MonkeyPatch, replication: bool
) -> None:
    config = config_of(pg.database("environment"))
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    async with await connect(config, "test", replication=replication) as connection:
        # Replication takes one SHOW at a time.
        found = [await (await connection.execute(f"SHOW {name}".encode())).fetchone() for name in SHOWN]
    assert found == [("ISO, MDY",), ("UTC",), ("UTF8",), ("off",)]
    assert set(ignore_environment()) == set(HOSTILE)
    assert os.environ["PGTZ"] == "Asia/Tokyo", "configurations may refer to a variable"


async def test_initial_statements_do_not_change_the_text_of_values(pg: PgServer) -> None:
    statements = (
        "SET TIME ZONE 'Asia/Tokyo'; SET bytea_output = 'escape'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'iso_8601';"
        "SET extra_float_digits = 0; SET client_encoding = 'LATIN1'; SET application_name = 'kept'"
    )
    connection = await connect(config_of(pg.database("initial"), database_initial_statements=statements), "test")
    async with connection:
        cursor = await connection.execute(
            "SELECT '2024-02-01 00:00:00+00'::timestamptz::text, '\\x00'::bytea::text, '1 day'::interval::text, 0.1::float4::float8::text,"
            " current_setting('client_encoding'), current_setting('application_name')"
        )
        found = await cursor.fetchone()
    assert found == ("2024-02-01 00:00:00+00", "\\x00", "1 day", "0.10000000149011612", "UTF8", "kept")


@pytest.mark.pg(">= 14")
async def test_an_idle_connection_is_kept(pg: PgServer) -> None:
    database = pg.database("idle")
    database.execute(f"ALTER DATABASE {database.name} SET idle_session_timeout = '1s'")
    connection = await connect(config_of(database), "test")
    async with connection:
        cursor = await connection.execute("SHOW idle_session_timeout")
        assert await cursor.fetchone() == ("0",)


async def test_a_heartbeat_during_a_restart_of_the_server_is_tried_again(pg: PgServer) -> None:
    database = pg.database("heartbeat")
    connection = await connect(config_of(database), "test")
    async with connection:
        with psycopg.connect(database.dsn, autocommit=True) as other:
            pid = (connection.info.backend_pid,)
            other.execute("SELECT pg_terminate_backend(%s)", pid)
            wait_until(
                lambda: other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", pid).fetchone() is None, "the end of the connection"
            )
        with pytest.raises(CdcError) as caught:
            await act(connection, "SELECT 1")
    assert caught.value.directive is Directive.RETRY


async def test_a_heartbeat_without_its_table_ends_the_task_and_other_errors_do_not(pg: PgServer) -> None:
    connection = await connect(config_of(pg.database("heartbeat")), "test")
    async with connection:
        await act(connection, "SELECT 1/0")
        with pytest.raises(CdcError) as caught:
            await act(connection, "INSERT INTO missing VALUES (1)")
    assert caught.value.kind is ErrorKind.SOURCE_QUERY
