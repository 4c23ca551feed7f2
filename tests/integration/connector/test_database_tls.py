"""A connector on a PostgreSQL that lets its role in over TLS with a certificate only, configured as docs/security.md says."""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.fix_pg import Database, servers
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.project import DOCS, TLS
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

PEM = TLS
PAGE = DOCS / "security.md"
ACCESS = """
host all postgres 127.0.0.1/32 trust
hostssl all client 127.0.0.1/32 cert
hostssl all client ::1/128 cert
hostssl all word 127.0.0.1/32 scram-sha-256
"""
SECONDS = 120.0
ENCRYPTED = {
    "database.sslcert": "{folder}/client_encrypted.pem",
    "database.sslkey": "{folder}/client_encrypted.pem",
    "database.sslpassword": "changeit",
}
TIMESCALE = (
    "CREATE SCHEMA _timescaledb_catalog",
    "CREATE SCHEMA _timescaledb_internal",
    "CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name, table_name name)",
    "CREATE TABLE _timescaledb_catalog.chunk (hypertable_id int, schema_name name, table_name name)",
    "CREATE TABLE _timescaledb_catalog.continuous_agg (mat_hypertable_id int, user_view_schema name, user_view_name name)",
    "CREATE TABLE _timescaledb_internal.piece (id int PRIMARY KEY)",
    "INSERT INTO _timescaledb_catalog.hypertable VALUES (1, 'public', 'conditions')",
    "INSERT INTO _timescaledb_catalog.chunk VALUES (1, '_timescaledb_internal', 'piece')",
    "INSERT INTO _timescaledb_internal.piece VALUES (1)",
    "GRANT USAGE ON SCHEMA _timescaledb_catalog, _timescaledb_internal TO client",
    "GRANT SELECT ON ALL TABLES IN SCHEMA _timescaledb_catalog, _timescaledb_internal TO client",
    "ALTER TABLE _timescaledb_internal.piece OWNER TO client",
)
"""What the transform reads of TimescaleDB's catalog."""


@dataclass(frozen=True)
class Secured:
    """The server, and the files that the page names."""

    database: Database
    folder: Path

    def snippet(self) -> dict[str, str]:
        [text] = re.findall(r"<!-- run: database -->\n```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        found: dict[str, str] = json.loads(text.replace("/etc/understudy", str(self.folder)))
        return found

    def placed(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with the folder for ``{folder}``."""
        return {key: value.replace("{folder}", str(self.folder)) for key, value in properties.items()}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("authority.pem", "client.pem", "client_encrypted.pem"):
        shutil.copy(PEM / name, folder / name)
        (folder / name).chmod(0o600)
    # The wheel's server is built without TLS.
    programs = next((server.programs for server in servers() if server.name.startswith("debian")), None)
    if programs is None:
        pytest.skip("no PostgreSQL here speaks TLS")
    with EmbeddedPostgres(programs) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        owner = (server.folder / "data").stat()
        for name in ("server.pem", "authority.pem"):
            shutil.copy(PEM / name, server.folder / name)
            (server.folder / name).chmod(0o600)
            os.chown(server.folder / name, owner.st_uid, owner.st_gid)
        for setting, name in (("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.pem"), ("ssl_ca_file", "authority.pem")):
            connection.execute(f"ALTER SYSTEM SET {setting} = '{server.folder / name}'".encode())
        connection.execute("ALTER SYSTEM SET ssl = on")
        (server.folder / "data" / "pg_hba.conf").write_text(ACCESS)
        connection.execute("CREATE ROLE client LOGIN REPLICATION")
        connection.execute("CREATE ROLE word LOGIN REPLICATION PASSWORD 'sesame'")
        connection.execute("GRANT CREATE ON DATABASE postgres TO client, word")
        connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
        connection.execute("ALTER TABLE t OWNER TO client")
        connection.execute("INSERT INTO t VALUES (1)")
        for statement in TIMESCALE:
            connection.execute(statement.encode())
        connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda: connection.execute("SHOW ssl").fetchone() == ("on",), "the server to speak TLS", SECONDS)
        yield Secured(Database("postgres", server.host, server.port, server.user, server.dsn), folder)


def connector_on(secured: Secured, worker: Worker) -> Connector:
    return Connector(worker, secured.database, f"tls_{uuid.uuid4().hex[:12]}")


async def test_a_connector_as_the_page_has_it(secured: Secured, shared_worker: Worker) -> None:
    connector = connector_on(secured, shared_worker)
    try:
        connector.create({**secured.snippet(), "table.include.list": "public.t", "publication.autocreate.mode": "filtered"})
        secured.database.execute("INSERT INTO t VALUES (2)")
        lsn = connector.lsn()
        connector.await_confirmed(lsn)
        assert await connector.seen("public.t") == [("r", 1), ("c", 2)]
        shown = secured.database.execute(
            "SELECT DISTINCT ssl, client_dn, backend_type FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'client'"
        )
        # Queries and the stream alike.
        assert {(True, "/CN=client", "walsender"), (True, "/CN=client", "client backend")} >= set(shown)
        assert (True, "/CN=client", "walsender") in shown
    finally:
        connector.delete()


@pytest.mark.parametrize("own", [False, True])
async def test_the_transform_for_timescaledb_reads_its_catalog_with_an_encrypted_key(
    secured: Secured, shared_worker: Worker, own: bool
) -> None:
    connector = connector_on(secured, shared_worker)
    key = secured.placed(ENCRYPTED)
    config = {
        **secured.snippet(),
        **key,
        "table.include.list": "_timescaledb_internal.piece",
        "publication.autocreate.mode": "filtered",
        "transforms": "ts",
        "transforms.ts.type": "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb",
        "transforms.ts.target.topic.prefix": connector.name,
    }
    if own:
        # The transform's options with the encrypted key; the connector has the other one.
        given = {**secured.snippet(), **key, "database.port": str(secured.database.port), "database.dbname": secured.database.name}
        config |= {**secured.snippet(), **{f"transforms.ts.{name}": value for name, value in given.items()}}
        config["database.sslpassword"] = ""
    try:
        connector.create(config)
        secured.database.execute("INSERT INTO _timescaledb_internal.piece SELECT max(id) + 1 FROM _timescaledb_internal.piece")
        connector.await_confirmed(connector.lsn())
        events = [value for _, value in await connector.events("public.conditions")]
        assert [value["op"] for value in events] == ["r"] * (len(events) - 1) + ["c"]
        assert {(value["source"]["schema"], value["source"]["table"]) for value in events} == {("public", "conditions")}
    finally:
        connector.delete()


@pytest.mark.parametrize(
    ("option", "value", "reported"),
    [
        ("sslpassword", "wrong", "database.sslpassword"),
        ("sslrootcert", "{folder}/client.pem", "certificate verify failed"),
        ("sslcert", "", "connection requires a valid client certificate"),
    ],
)
def test_what_keeps_the_transform_for_timescaledb_from_its_catalog_is_named(
    secured: Secured, shared_worker: Worker, option: str, value: str, reported: str
) -> None:
    connector = connector_on(secured, shared_worker)
    wrong = secured.placed({f"database.{option}": value})
    if option == "sslcert":
        wrong["database.sslkey"] = ""
    given = {**secured.placed(ENCRYPTED), **wrong}
    config = {
        **secured.snippet(),
        "table.include.list": "_timescaledb_internal.piece",
        "publication.autocreate.mode": "filtered",
        "errors.max.retries": "0",
        "transforms": "ts",
        "transforms.ts.type": "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb",
        **{f"transforms.ts.{name}": text for name, text in given.items()},
    }
    try:
        connector.post(config)
        trace = connector.trace()
        assert "The transform TimescaleDb cannot" in trace
        assert reported in trace
    finally:
        connector.delete()


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"database.sslmode": "disable"}, "no pg_hba.conf entry"),
        ({"database.sslcert": "", "database.sslkey": "", "database.sslmode": "require"}, "certificate"),
        ({"database.sslrootcert": "{folder}/client.pem"}, "no authority of database.sslrootcert signed"),
        ({"database.user": "word", "database.password": "wrong"}, "password authentication failed"),
    ],
)
def test_refusals_of_the_server_or_the_check_are_reported(
    changed: dict[str, str], reported: str, secured: Secured, shared_worker: Worker
) -> None:
    connector = connector_on(secured, shared_worker)
    config = connector.config({**secured.snippet(), **secured.placed(changed)})
    path = f"/connector-plugins/{config['connector.class']}/config/validate"
    answer = shared_worker.rest("PUT", path, {**config, "name": connector.name})
    errors = [line for entry in answer.json()["configs"] for line in entry["value"]["errors"]]
    assert any(reported in line for line in errors), errors
