"""The look at a real database before a configuration is accepted: what is wrong there is found, with the property it belongs to."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import Iterator
from contextlib import closing

import httpx
import psycopg
import pytest

from connector.io.postgres.preflight import findings
from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.fake_pooler import Manner, fake_pooler
from tests.support.project import TLS
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

ERROR, WARNING = False, True
PEM = TLS
LEAD = "Error while validating connector config: "


@pytest.fixture
def database(pg: PgServer) -> Iterator[Database]:
    """With one table; the slot and the role of its name are dropped in the end: they are the whole server's."""
    made = pg.database("preflight")
    made.execute("CREATE TABLE orders (id int PRIMARY KEY, v text)")
    yield made
    made.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{made.name}'")
    if made.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{made.name}'"):
        made.execute(f"DROP OWNED BY {made.name} CASCADE", f"DROP ROLE {made.name}")


def settings(database: Database, **changes: str) -> dict[str, str]:
    return {
        "name": database.name,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.dbname": database.name,
        "topic.prefix": database.name,
        "plugin.name": "pgoutput",
        "slot.name": database.name,
        "publication.name": database.name,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }


async def found(database: Database, **changes: str) -> list[tuple[str, bool, str]]:
    return [(finding.key, finding.warning, finding.text) for finding in await findings(settings(database, **changes))]


async def only(database: Database, **changes: str) -> tuple[str, bool, str]:
    [finding] = await found(database, **changes)
    return finding


def as_role(database: Database, attributes: str) -> dict[str, str]:
    database.execute(f"CREATE ROLE {database.name} LOGIN {attributes}")
    return {"database__user": database.name}


async def test_a_valid_configuration_leaves_no_objects(database: Database) -> None:
    named = {"heartbeat__action__query": "INSERT INTO orders VALUES (1)", "heartbeat__interval__ms": "1000"}
    assert await found(database, table__include__list="public.orders", **named) == []
    assert database.execute(f"SELECT 1 FROM pg_replication_slots WHERE database = '{database.name}'") == []
    assert database.execute("SELECT 1 FROM pg_publication") == []
    # The statement was planned, not run.
    assert database.execute("SELECT 1 FROM orders") == []


async def test_a_negative_query_timeout_is_refused_in_the_words_of_the_driver(database: Database) -> None:
    text = f"{LEAD}Query timeout must be a value greater than or equals to 0."
    assert await only(database, database__query__timeout__ms="-1") == ("database.hostname", ERROR, text)


async def test_initial_statements_are_not_run(database: Database) -> None:
    assert await found(database, database__initial__statements="INSERT INTO orders VALUES (1)") == []
    assert database.execute("SELECT 1 FROM orders") == []


async def test_a_role_without_replication(database: Database) -> None:
    reported = await found(database, **as_role(database, "NOREPLICATION"))
    assert [(key, warning) for key, warning, _ in reported] == [
        ("database.user", ERROR),
        ("publication.autocreate.mode", WARNING),
        ("database.user", WARNING),
    ]
    assert reported[0][2].startswith(f"{LEAD}Postgres roles LOGIN and REPLICATION are not assigned to user: {database.name}. ")
    assert "CREATE on database" in reported[1][2]
    assert f'GRANT SELECT ON "public"."orders" TO "{database.name}";' in reported[2][2]
    # Done what it says, nothing is left.
    database.execute(
        f'ALTER ROLE "{database.name}" REPLICATION',
        f'CREATE PUBLICATION "{database.name}" FOR ALL TABLES',
        f'GRANT SELECT ON "public"."orders" TO "{database.name}"',
    )
    assert await found(database, database__user=database.name) == []


async def test_a_role_that_may_not_log_in(database: Database) -> None:
    database.execute(f"CREATE ROLE {database.name} NOLOGIN")
    key, warning, text = await only(database, database__user=database.name)
    assert (key, warning) == ("database.hostname", ERROR)
    assert text == f'{LEAD}FATAL: role "{database.name}" is not permitted to log in'


async def test_a_schema_without_usage_and_a_table_with_row_security(database: Database) -> None:
    role = as_role(database, "REPLICATION")
    database.execute(
        f"CREATE PUBLICATION {database.name} FOR ALL TABLES",
        "CREATE SCHEMA closed",
        "CREATE TABLE closed.t (id int PRIMARY KEY)",
        "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
        f"GRANT SELECT ON closed.t, orders TO {database.name}",
    )
    reach, policed = await found(database, **role)
    assert reach[:2] == policed[:2] == ("database.user", WARNING)
    assert f'GRANT USAGE ON SCHEMA "closed" TO "{database.name}";' in reach[2]
    assert f'ALTER ROLE "{database.name}" BYPASSRLS;' in policed[2]


async def test_unusable_slots(database: Database, pg: PgServer) -> None:
    slot, drop = database.name, f"SELECT pg_drop_replication_slot('{database.name}')"
    database.execute(f"SELECT pg_create_logical_replication_slot('{slot}', 'test_decoding')")
    key, warning, text = await only(database)
    assert (key, warning) == ("slot.name", ERROR)
    assert "was made for plugin test_decoding, not pgoutput" in text
    assert f"{drop};" in text
    database.execute(drop, f"SELECT pg_create_physical_replication_slot('{slot}')")
    assert "is a physical slot" in (await only(database))[2]
    database.execute(drop)
    pg.database("preflight_other").execute(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    assert "belongs to database preflight_other" in (await only(database))[2]


async def test_a_slot_in_use_is_waited_for(database: Database) -> None:
    database.execute(f"SELECT pg_create_logical_replication_slot('{database.name}', 'pgoutput')", f"CREATE PUBLICATION {database.name}")
    options = f"(proto_version '1', publication_names '{database.name}')"
    with closing(psycopg.connect(f"{database.dsn} replication=database application_name=someone", autocommit=True)) as other:
        command = f"START_REPLICATION SLOT {database.name} LOGICAL 0/0 {options}"
        other.pgconn.send_query(command.encode())
        other.pgconn.get_result()
        reported = await found(database, publication__autocreate__mode="no_tables", table__include__list="public.none")
        assert ("slot.name", WARNING) in [finding[:2] for finding in reported]
        assert any(f"Replication slot {database.name} is in use by pid" in text and "someone" in text for _, _, text in reported)
    in_use = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{database.name}' AND active"
    wait_until(lambda: not database.execute(in_use), "the slot to be free", SECONDS)


async def test_publications(database: Database) -> None:
    name = database.name
    key, warning, text = await only(database, publication__autocreate__mode="disabled")
    assert (key, warning) == ("publication.name", ERROR)
    assert text.startswith(f"{LEAD}Publication autocreation is disabled, please create one and restart the connector. ")
    assert f'Run CREATE PUBLICATION "{name}" FOR TABLE "public"."orders";' in text
    database.execute(f"CREATE PUBLICATION {name} FOR ALL TABLES")
    assert await found(database, publication__autocreate__mode="disabled") == []
    key, warning, text = await only(database, publication__autocreate__mode="filtered")
    assert (key, warning) == ("publication.autocreate.mode", ERROR)
    assert f'DROP PUBLICATION "{name}";' in text
    database.execute(
        f"DROP PUBLICATION {name}",
        "CREATE TABLE other (id int PRIMARY KEY)",
        f"CREATE PUBLICATION {name} FOR TABLE other WITH (publish = 'insert')",
    )
    operations, tables = await found(database, publication__autocreate__mode="disabled")
    assert operations[:2] == tables[:2] == ("publication.name", WARNING)
    remedies = [text.split("Run ")[1] for text in (operations[2], tables[2])]
    assert remedies == [
        f"ALTER PUBLICATION \"{name}\" SET (publish = 'insert, update, delete');",
        f'ALTER PUBLICATION "{name}" ADD TABLE "public"."orders";',
    ]
    database.execute(*remedies)
    assert await found(database, publication__autocreate__mode="disabled") == []


@pytest.mark.pg(">= 15")
async def test_a_publication_of_whole_schemas(database: Database) -> None:
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLES IN SCHEMA public")
    assert await found(database, publication__autocreate__mode="disabled") == []


async def test_a_partition_is_published_with_its_root(database: Database) -> None:
    database.execute(
        "CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (9)",
        f"CREATE PUBLICATION {database.name} FOR TABLE orders, parted",
    )
    assert await found(database, publication__autocreate__mode="disabled") == []


async def test_tables(database: Database) -> None:
    database.execute("CREATE TABLE bare (id int)", "CREATE UNLOGGED TABLE gone (id int PRIMARY KEY)")
    key, warning, text = await only(database, table__include__list="public.none", publication__autocreate__mode="filtered")
    assert (key, warning) == ("table.include.list", WARNING)
    assert f"No table of database {database.name} matches table.include.list" in text
    identity, unlogged = await found(database)
    assert identity[:2] == ("replica.identity.autoset.values", WARNING)
    assert 'ALTER TABLE "public"."bare" REPLICA IDENTITY FULL;' in identity[2]
    assert unlogged[:2] == ("table.include.list", WARNING)
    assert "public.gone" in unlogged[2]
    database.execute("ALTER TABLE bare REPLICA IDENTITY FULL", "ALTER TABLE gone SET LOGGED")
    assert await found(database) == []


async def test_signals_and_heartbeat(database: Database) -> None:
    changes = {
        "signal__data__collection": "public.signals",
        "heartbeat__interval__ms": "1000",
        "heartbeat__action__query": "INSERT INTO beats VALUES (now())",
    }
    signals, heartbeat = await found(database, **changes)
    assert signals[:2] == ("signal.data.collection", WARNING)
    assert heartbeat[:2] == ("heartbeat.action.query", WARNING)
    assert 'relation "beats" does not exist' in heartbeat[2]
    database.execute(signals[2].split("Run ")[1], "CREATE TABLE beats (at timestamptz PRIMARY KEY)")
    assert await found(database, **changes) == []
    role = as_role(database, "REPLICATION")
    database.execute(
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {database.name}", f"CREATE PUBLICATION {database.name} FOR ALL TABLES"
    )
    signals, heartbeat = await found(database, **changes, **role)
    assert f'GRANT INSERT ON "public"."signals" TO "{database.name}";' in signals[2]
    assert "permission denied for table beats" in heartbeat[2]


@pytest.mark.parametrize(
    "statement", ["INSERT INTO orders VALUES (1); DELETE FROM orders", "INSERT INTO orders VALUES (1); SELEC", "NOTIFY beat", "/* c */ x"]
)
async def test_a_heartbeat_that_cannot_be_planned_is_accepted(database: Database, statement: str) -> None:
    assert await found(database, heartbeat__action__query=statement, heartbeat__interval__ms="1000") == []
    assert database.execute("SELECT 1 FROM orders") == []


async def test_a_table_that_is_locked_holds_nothing_up(database: Database) -> None:
    changes = {"heartbeat__action__query": "INSERT INTO orders VALUES (1)", "heartbeat__interval__ms": "1000"}
    with psycopg.connect(database.dsn) as other:
        other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        assert await found(database, **changes) == []


@pytest.mark.parametrize("plugin", ["wal2json", "decoderbufs"])
async def test_an_output_plugin_that_the_server_lacks(database: Database, plugin: str) -> None:
    try:
        probe = f"{database.name}_probe"
        database.execute(f"SELECT pg_create_logical_replication_slot('{probe}', '{plugin}')", f"SELECT pg_drop_replication_slot('{probe}')")
    except (psycopg.errors.UndefinedFile, psycopg.errors.InsufficientPrivilege):
        key, warning, text = await only(database, plugin__name=plugin)
        assert (key, warning) == ("plugin.name", ERROR)
        assert f"output plugin {plugin}. " in text
        assert "set plugin.name=pgoutput" in text
    else:
        assert await found(database, plugin__name=plugin) == []
    assert database.execute(f"SELECT 1 FROM pg_replication_slots WHERE database = '{database.name}'") == []


@pytest.mark.parametrize(
    ("manner", "weight", "said"),
    [
        ("refuses", ERROR, "There is no replication protocol at 127.0.0.1:"),
        ("swallows", ERROR, "There is no replication protocol at 127.0.0.1:"),
        ("passes", WARNING, "A connection pooler answers at 127.0.0.1:"),
    ],
)
async def test_a_pooler_in_between(database: Database, manner: Manner, weight: bool, said: str) -> None:
    async with fake_pooler(database.host, database.port, manner) as port:
        key, warning, text = await only(database, database__port=str(port))
        assert (key, warning) == ("database.hostname", weight)
        assert said in text


async def test_a_server_that_does_not_answer_is_reported_in_time(database: Database) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = str(server.sockets[0].getsockname()[1])
        reported = await only(database, database__port=port, connection__validation__timeout__ms="200")
    assert reported == ("database.hostname", ERROR, "Connection validation timed out after 200 ms")


async def test_files_of_tls_that_are_not_there(database: Database) -> None:
    reported = await found(database, database__sslcert="/no/such.crt", database__sslkey="/no/such.key")
    assert [finding[:2] for finding in reported] == [("database.sslcert", WARNING), ("database.sslkey", WARNING)]
    key, warning, text = await only(database, database__sslmode="require")
    assert (key, warning) == ("database.sslmode", ERROR)
    assert text.startswith(f"{LEAD}The server does not support SSL. ")


async def test_a_server_with_tls_that_is_not_trusted(database: Database) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM / "server.pem")
    async with fake_pooler(database.host, database.port, "passes", context) as port:

        async def reported(**changes: str) -> list[tuple[str, bool, str]]:
            return await found(database, database__port=str(port), **{f"database__{name}": value for name, value in changes.items()})

        [(key, weight, text)] = await reported(sslmode="verify-ca", sslrootcert="/no/such.crt")
        assert (key, weight) == ("database.sslrootcert", ERROR)
        missing = text
        [(key, weight, text)] = await reported(sslmode="verify-ca", sslrootcert=__file__)
        assert (key, weight) == ("database.sslrootcert", ERROR)
        # Who sends configurations is not to learn which files there are.
        assert text == missing
        assert text.startswith(f"{LEAD}The file of database.sslrootcert cannot be used: ")
        # A client's certificate is not an authority.
        [(key, weight, text)] = await reported(sslmode="verify-ca", sslrootcert=str(PEM / "client.pem"))
        assert (key, weight) == ("database.sslrootcert", ERROR)
        trusted = await reported(sslmode="verify-ca", sslrootcert=str(PEM / "authority.pem"))
        # It is a pooler all the same.
        assert [finding[:2] for finding in trusted] == [("database.hostname", WARNING)]


@pytest.mark.server
async def test_a_server_that_is_full_or_decodes_nothing() -> None:
    with EmbeddedPostgres(settings={"max_wal_senders": "1", "max_replication_slots": "1"}) as server:
        database = Database("postgres", server.host, server.port, server.user, server.dsn)
        database.execute("SELECT pg_create_physical_replication_slot('taken')")
        with psycopg.connect(f"{server.dsn} replication=database", autocommit=True):
            senders, slots = await found(database)
        assert senders[:2] == ("database.hostname", WARNING)
        assert "no free WAL sender" in senders[2]
        assert slots[:2] == ("slot.name", WARNING)
        assert "All 1 replication slots of the server are taken" in slots[2]
        database.execute("SELECT pg_drop_replication_slot('taken')", "ALTER SYSTEM SET wal_level = replica")
        server.halt()
        server.resume()
        key, warning, text = await only(database)
        assert (key, warning) == ("database.hostname", ERROR)
        assert text.startswith(f"{LEAD}Postgres server wal_level property must be 'logical' but is: 'replica'. ")
        assert await found(database, snapshot__mode="initial_only") == []


async def test_without_further_checks_only_the_reference_s_findings_are_reported(database: Database) -> None:
    config = settings(database, publication__autocreate__mode="disabled", database__sslcert="/no/such.crt")
    assert await findings(config, further=False) == []
    [refused] = await findings({**config, "database.dbname": "no_such_database"}, further=False)
    assert refused.reference


@pytest.mark.parametrize("missing", ["publication", "slot", "role"])
def test_a_connector_may_come_before_what_it_needs_and_a_restart_is_enough(database: Database, shared_worker: Worker, missing: str) -> None:
    connector = Connector(shared_worker, database, f"preflight_{uuid.uuid4().hex[:8]}")
    before, changes, after = {
        "publication": ([], {"publication.autocreate.mode": "disabled"}, [f"CREATE PUBLICATION {connector.name} FOR ALL TABLES"]),
        "slot": (
            [f"SELECT pg_create_logical_replication_slot('{connector.name}', 'test_decoding')"],
            {},
            [f"SELECT pg_drop_replication_slot('{connector.name}')"],
        ),
        "role": (
            [
                f"CREATE ROLE {database.name} LOGIN",
                "ALTER TABLE orders OWNER TO " + database.name,
                f"GRANT CREATE ON DATABASE {database.name} TO {database.name}",
            ],
            {"database.user": database.name, "publication.autocreate.mode": "filtered"},
            [f"ALTER ROLE {database.name} REPLICATION"],
        ),
    }[missing]
    database.execute(*before)
    config = {**connector.config(changes), "name": connector.name}
    shown = shared_worker.rest("PUT", "/connector-plugins/PostgresConnector/config/validate?warnings=true", config).json()
    assert shown["error_count"] == 0
    [warning] = [text for entry in shown["configs"] for text in entry["value"]["warnings"]]
    created = shared_worker.rest("POST", "/connectors", {"name": connector.name, "config": config})
    assert created.status_code == httpx.codes.CREATED
    assert connector.trace().startswith(warning.rstrip("."))
    database.execute(*after)
    shared_worker.rest("POST", f"/connectors/{connector.name}/restart?includeTasks=true&onlyFailed=true")
    connector.await_phase("streaming")
    connector.delete()


def test_by_rest_warnings_are_shown_when_asked_for(database: Database, shared_worker: Worker) -> None:
    connector = Connector(shared_worker, database, f"preflight_{uuid.uuid4().hex[:8]}")
    validate = "/connector-plugins/PostgresConnector/config/validate"
    config = {**connector.config({"publication.autocreate.mode": "disabled"}), "name": connector.name}
    database.execute(f"CREATE PUBLICATION {connector.name}")
    plain = shared_worker.rest("PUT", validate, config).json()
    assert plain["error_count"] == 0
    assert {name for entry in plain["configs"] for name in entry["value"]} == {"name", "value", "recommended_values", "errors", "visible"}
    asked = shared_worker.rest("PUT", f"{validate}?warnings=true", config).json()
    shown = {entry["value"]["name"]: entry["value"]["warnings"] for entry in asked["configs"]}
    [text] = shown["publication.name"]
    assert "lacks 1 captured table (public.orders)" in text
    assert [name for name, texts in shown.items() if texts] == ["publication.name"]
    connector.create({"publication.autocreate.mode": "disabled"})
    lines = [line for line in shared_worker.log.splitlines() if f"connector={connector.name} " in line and "configuration warning" in line]
    assert len(lines) == 1
    assert "property=publication.name" in lines[0]
    assert "lacks 1 captured table (public.orders)" in lines[0]
    connector.delete()
