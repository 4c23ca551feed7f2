"""The slot's output plugin: others make the events that pgoutput makes, as far as they send them, and which one is used."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.plugin_rig import events
from tests.support.plugin_session import OPTIONS, PREPARE, ROWS, SHAPES, record

OTHERS = ("decoderbufs", "wal2json")
TABLES = ("Odd__S.T.able", "public.big", "public.pairs", "public.values_", "public.whole")


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> Connector:
    return fresh(pg.database("plugins"), shared_worker, request)


def fresh(database: Database, worker: Worker, request: pytest.FixtureRequest) -> Connector:
    return Connector(worker, database, f"{request.node.originalname.removeprefix('test_')[:40]}_{uuid.uuid4().hex[:8]}")


def installed(database: Database, plugin: str) -> bool:
    """Whether the server has the plugin and lets it be used."""
    name = f"probe_{uuid.uuid4().hex[:8]}"
    try:
        database.execute(f"SELECT pg_create_logical_replication_slot('{name}', '{plugin}')", f"SELECT pg_drop_replication_slot('{name}')")
    except (psycopg.errors.UndefinedFile, psycopg.errors.InsufficientPrivilege):
        # Recent minor versions allow only the plugins listed in output_plugin_libraries.
        return False
    return True


def without_sequence(record: tuple[Any, Any], prefix: str) -> Any:
    """A record without the fields that differ between connectors, or that depend on transactions without changes."""
    key, value = record
    if value is not None:
        assert value["source"].pop("name") == prefix
        value["source"].pop("sequence")
        for clock in ("ts_ms", "ts_us", "ts_ns"):
            value.pop(clock)
    return key, value


@pytest.mark.pg_has(*OTHERS)
def test_the_servers_own_messages_make_the_same_events(pg: PgServer) -> None:
    recorded = record(pg.database("session").dsn)
    expected = events(recorded, "pgoutput")
    for name in OPTIONS:
        assert events(recorded, name) == expected, name


@pytest.mark.pg_has(*OTHERS)
async def test_connectors_with_different_plugins_send_the_same(pg: PgServer, shared_worker: Worker, request: pytest.FixtureRequest) -> None:
    database = pg.database("twins")
    database.execute(*PREPARE)
    names = {plugin: fresh(database, shared_worker, request) for plugin in ("pgoutput", "decoderbufs", "wal2json")}
    for plugin, one in names.items():
        one.create({"plugin.name": plugin, "publication.name": "everything"})
    database.execute(*ROWS)
    end = names["pgoutput"].lsn()
    for one in names.values():
        one.await_confirmed(end)
    for table in TABLES:
        expected = [without_sequence(record, names["pgoutput"].name) for record in await names["pgoutput"].events(table)]
        assert expected, table
        for plugin in ("decoderbufs", "wal2json"):
            got = [without_sequence(record, names[plugin].name) for record in await names[plugin].events(table)]
            assert got == expected, (plugin, table)
    for one in names.values():
        one.delete()


@pytest.mark.pg_has(*OTHERS)
@pytest.mark.parametrize("plugin", OTHERS)
async def test_nothing_is_lost_or_repeated_over_a_restart(connector: Connector, plugin: str) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY, body text)", "INSERT INTO t VALUES (1, 'snapshot')")
    connector.create({"plugin.name": plugin})
    assert connector.slot()["plugin"] == plugin
    connector.database.execute("INSERT INTO t VALUES (2, 'streamed')")
    connector.await_confirmed(connector.lsn())
    connector.stop()
    connector.database.execute("INSERT INTO t SELECT i, 'while stopped' FROM generate_series(3, 4000) i", "DELETE FROM t WHERE id = 1")
    connector.put("resume")
    connector.await_phase("streaming")
    connector.await_confirmed(connector.lsn())
    seen = await connector.seen("public.t")
    assert sorted(seen, key=lambda event: event[1]) == [("r", 1), ("d", 1), *(("c", number) for number in range(2, 4001))]
    connector.delete()


@pytest.mark.pg_has(*OTHERS)
@pytest.mark.parametrize("plugin", OTHERS)
async def test_a_table_that_changes_while_it_streams(connector: Connector, plugin: str) -> None:
    """Each statement waits for the one before: the catalog is not ahead of the stream then."""
    connector.database.execute(*PREPARE)
    connector.create({"plugin.name": plugin, "poll.interval.ms": "10"})
    for statement in (*ROWS, *SHAPES):
        connector.database.execute(statement)
        connector.await_confirmed(connector.lsn())
    rows = [value["after"] for _, value in await connector.events("public.pairs") if value is not None and value["op"] in "cu"]
    assert rows[-3:] == [
        {"a": 3, "b": "two", "c": "z", "d": "GQ=="},
        {"a": 3, "b": "two", "d": "A+g="},
        {"a": 5, "b": "five", "d": "E4g="},
    ]
    rows = [value["after"] for _, value in await connector.events("public.big") if value is not None and value["op"] in "cu"]
    assert [list(row) for row in rows[-2:]] == [["id", "small", "raw"]] * 2
    connector.delete()


@pytest.mark.pg_has("decoderbufs")
async def test_rows_without_identity_are_reported(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE bare (id int)", "CREATE TABLE t (id int PRIMARY KEY)")
    connector.create({"plugin.name": "decoderbufs"})
    connector.database.execute("INSERT INTO bare VALUES (1)", "UPDATE bare SET id = 2", "DELETE FROM bare", "INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.bare") == [("c", 1)]
    [line] = [line for line in connector.worker.log.splitlines() if "decoderbufs gives no row for a table without replica identity" in line]
    assert line.endswith("table=public.bare")
    connector.delete()


async def test_without_a_wish_the_servers_plugin_is_used(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    config = connector.config()
    del config["plugin.name"]
    assert connector.worker.rest("POST", "/connectors", {"name": connector.name, "config": config}).is_success
    connector.await_phase("streaming")
    has = installed(connector.database, "decoderbufs")
    assert connector.slot()["plugin"] == ("decoderbufs" if has else "pgoutput")
    publications = connector.database.execute(f"SELECT count(*) FROM pg_publication WHERE pubname = '{connector.name}'")
    assert publications == [(0 if has else 1,)]
    message = f"plugin=decoderbufs used=pgoutput slot={connector.name}"
    assert (message in connector.worker.log) is not has
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1)]
    connector.delete()


@pytest.mark.pg_has(*OTHERS)
@pytest.mark.parametrize("plugin", ["pgoutput", *OTHERS])
async def test_without_a_wish_an_existing_slots_plugin_is_used(connector: Connector, plugin: str) -> None:
    connector.database.execute(
        "CREATE TABLE t (id int PRIMARY KEY)", f"SELECT pg_create_logical_replication_slot('{connector.name}', '{plugin}')"
    )
    config = connector.config()
    del config["plugin.name"]
    assert connector.worker.rest("POST", "/connectors", {"name": connector.name, "config": config}).is_success
    connector.await_phase("streaming")
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1)]
    connector.delete()


@pytest.mark.pg_has("wal2json")
def test_a_slot_of_another_plugin_is_reported(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.create({"plugin.name": "pgoutput"})
    connector.stop()
    connector.drop_slot()
    connector.database.execute(f"SELECT pg_create_logical_replication_slot('{connector.name}', 'wal2json')")
    connector.put("resume")
    assert "was made for plugin wal2json, not pgoutput" in connector.trace()
    connector.delete()


def test_a_plugin_that_the_server_lacks_is_reported(connector: Connector) -> None:
    if installed(connector.database, "decoderbufs"):
        pytest.skip("this server has every plugin that can be asked for")
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.post({"plugin.name": "decoderbufs"})
    message = connector.trace()
    assert "no output plugin decoderbufs" in message
    assert "set plugin.name=pgoutput" in message
    assert connector.slot() == {}
    connector.delete()


@pytest.mark.pg_has("wal2json")
async def test_the_first_format_in_chunks_is_read(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    params = "format-version=1;write-in-chunks=1"
    connector.create({"plugin.name": "wal2json_rds_streaming", "slot.stream.params": params})
    connector.database.execute("INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE id = 1")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", 1), ("c", 2), ("d", 1)]
    assert "wal2json_rds_streaming of plugin.name is a former name of wal2json" in connector.worker.log
    connector.delete()


@pytest.mark.pg_has("decoderbufs")
def test_an_unknown_stream_parameter_is_the_plugins_to_refuse(connector: Connector) -> None:
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.post({"plugin.name": "decoderbufs", "slot.stream.params": "no_such_option=1"})
    assert "no_such_option" in connector.trace()
    connector.delete()
