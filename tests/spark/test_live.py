"""Streams and commands that go on while their topic and their source do, with a real broker and a real PostgreSQL.

The test writes the events, and sets the position of the connector's replication slot.
"""

from __future__ import annotations

import json
import re
import signal
import threading
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.errors import StreamingQueryException

from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.own_session import own_session
from tests.support.spark.spark_command import SECONDS, command, started
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog, cents, price
from workers.quickstart.embedded.wait import wait_until
from workers.spark.changes import changes
from workers.spark.commands import main
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig
from workers.spark.jobs.stream import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from tests.fix_pg import Database, PgServer

__all__ = ["broker"]
pytestmark = pytest.mark.pg(">= 18")

ITEMS = (ID, NAME, price(2))


async def test_changes_of_a_stream_are_typed_and_a_new_layout_stops_it(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    log = TopicLog((ID, price(2)), topic="sparkchanges.public.items")
    await broker.create(log)
    log.change("r", {"id": 1, "price": cents(100)})
    await broker.write(log)
    arrived: list[Row] = []

    def keep(rows: DataFrame, _batch: int) -> None:
        arrived.extend(rows.collect())

    def start() -> StreamingQuery:
        frame = changes(spark, broker.bootstrap, log.topic, streaming=True)
        return frame.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(keep).start()

    def await_arrived(number: int) -> None:
        wait_until(lambda: len(arrived) >= number or not query.isActive, f"{number} changes", SECONDS)
        assert query.exception() is None
        assert len(arrived) == number

    query = start()
    try:
        await_arrived(1)
        log.change("u", {"id": 1, "price": cents(250)})
        await broker.write(log)
        await_arrived(2)
        assert (arrived[1]["op"], arrived[1]["key"]["id"], arrived[1]["after"].asDict()) == ("u", 1, {"id": 1, "price": Decimal("2.50")})

        stock: Json = {"type": "int32", "optional": True, "field": "stock"}
        log.fields = (ID, price(2), stock)
        log.change("c", {"id": 2, "price": None, "stock": 7})
        await broker.write(log)
        said = rf"The events of {re.escape(log.topic)} have a new schema\. Start the query again to follow it\."
        with pytest.raises(StreamingQueryException, match=said):
            query.awaitTermination(int(SECONDS))
        assert len(arrived) == 2

        query = start()
        await_arrived(3)
        assert arrived[2]["after"].asDict() == {"id": 2, "price": None, "stock": 7}
        log.change("d", {"id": 1, "price": None, "stock": None})
        await broker.write(log)
        await_arrived(5)
        assert [row["op"] for row in arrived] == ["r", "u", "c", "d", "tombstone"]
    finally:
        query.stop()


class Turn:
    """A lock that reports when a thread must wait for it."""

    def __init__(self) -> None:
        self.awaited = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.awaited.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@pytest.mark.long
async def test_batch_that_is_under_way_at_the_end_is_not_repeated(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    log = TopicLog(topic="sparkend.public.items")
    await broker.create(log)
    config = MirrorConfig("sparkend", broker.bootstrap, str(tmp_path), SinkConfig(), prefix="sparkend")
    begun: list[tuple[int, int]] = []

    def run_one_batch() -> None:
        def apply(records: DataFrame, batch: int) -> BatchTotals:
            begun.append((batch, records.count()))
            run.stop()
            assert turn.awaited.wait(SECONDS)
            return BatchTotals(batch, 1, 1, 0, 0, 0.1, None)

        turn = Turn()
        run = Run(config, spark, apply, Checkpoint(spark, config.checkpoint), lambda _: None, None)
        run._turn = turn  # type: ignore[assignment]
        run.run()

    # Several times: whether Spark still gets to note the batch as done is a race.
    for number in range(4):
        log.change("c", {"id": number, "name": None})
        await broker.write(log)
        run_one_batch()
    assert begun == [(0, 1), (1, 1), (2, 1), (3, 1)]


class News(threading.Event):
    """Fails if what has happened is only noticed by the next look."""

    def wait(self, timeout: float | None = None) -> bool:
        assert super().wait(SECONDS)
        return True


@pytest.mark.long
async def test_the_end_of_the_last_batch_is_noticed_at_once(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    log = TopicLog(topic="sparknotice.public.items")
    await broker.create(log)
    log.change("c", {"id": 1, "name": None})
    await broker.write(log)
    config = MirrorConfig("sparknotice", broker.bootstrap, str(tmp_path), SinkConfig(), prefix="sparknotice")
    checkpoint = Checkpoint(spark, config.checkpoint)
    read: list[int] = []

    def apply(records: DataFrame, batch: int) -> BatchTotals:
        read.append(records.count())
        return BatchTotals(batch)

    run = Run(config, spark, apply, checkpoint, lambda _: None, {(log.topic, 0): len(log.records)})
    run._news = News()
    run.run()
    assert read == [len(log.records)]
    # Spark has recorded it: the next start does not repeat it.
    assert checkpoint.finished() == 0


class Slot:
    """A replication slot that is moved on as a connector moves its own when Kafka has what it sent."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        database.execute(f"select pg_create_logical_replication_slot('{name}', 'pgoutput')")

    def confirm(self, position: str | None = None) -> None:
        """All that is committed, or what is up to ``position``."""
        # The commit flushes all that is before it; beyond that no slot goes.
        self._database.execute("select pg_logical_emit_message(true, 'sparklive', '')")
        end = "pg_current_wal_flush_lsn()" if position is None else f"'{position}'"
        self._database.execute(f"select pg_replication_slot_advance('{self._name}', {end})")

    def drop(self) -> None:
        self._database.execute(f"select pg_drop_replication_slot('{self._name}')")


def views(database: Database) -> set[object]:
    """The names of the snapshots that are exported now."""
    return {name for (name,) in database.execute("select pg_ls_dir('pg_snapshots')") if not str(name).endswith(".tmp")}


def configured(folder: Path, broker: Broker, database: Database, prefix: str, more: str = "", sink: str = "delta") -> str:
    """The path of a new configuration; the tables come to lie beside it."""
    folder.mkdir(exist_ok=True)
    config = folder / "mirror.toml"
    config.write_text(
        f"""
        name = "{prefix}"
        bootstrap = "{broker.bootstrap}"
        prefix = "{prefix}"
        checkpoint = "{folder}/checkpoint"
        dsn = "{database.dsn}"
        master = "local[2]"
        {more}
        [sink]
        format = "{sink}"
        path = "{folder}/tables"
        [spark]
        # Compiling well is for those who run long.
        "spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
        """,
        encoding="utf-8",
    )
    return str(config)


@pytest.mark.long
async def test_mirror_is_awaited_stopped_and_continued(spark: SparkSession, broker: Broker, pg: PgServer, tmp_path: Path) -> None:
    database = pg.database("sparklive")
    database.execute(
        "create table items(id int primary key, name text, price numeric(10,2))", "insert into items values (1, 'one', 1), (2, 'two', 2)"
    )
    items, visits = TopicLog(ITEMS, topic="sparklive.public.items"), TopicLog(key=(), topic="sparklive.public.visits")
    await broker.create(items, visits)
    config = configured(tmp_path, broker, database, "sparklive", 'slot = "sparklive"')
    verify = ("verify", "--config", config, "--table", "public.items", "--json", "--wait")
    slot = Slot(database, "sparklive")
    try:
        async with started("mirror", "--config", config) as mirror:
            items.change("r", {"id": 1, "name": "one", "price": cents(100)})
            items.change("r", {"id": 2, "name": "two", "price": cents(200)})
            await broker.write(items)
            assert (await mirror.line("batch")).startswith("batch 0: 2 records of 1 tables")

            # Kafka does not have this record yet. The first check finds none, because the slot is wrongly beyond it.
            database.execute("insert into items values (3, 'three', 3)")
            async with started(*verify, str(SECONDS)) as verifying:
                first = wait_until(lambda: views(database) or None, "the first view", SECONDS)
                [(position,)] = database.execute("select pg_current_wal_insert_lsn()")
                database.execute("update items set price = 9 where id = 1")
                slot.confirm(str(position))
                wait_until(lambda: views(database) - first or None, "the second view", SECONDS)
                items.change("c", {"id": 3, "name": "three", "price": cents(300)})
                items.change("u", {"id": 1, "name": "one", "price": cents(900)})
                await broker.write(items)
                assert (await mirror.line("batch")).startswith("batch 1: 2 records of 1 tables")
                slot.confirm()
                code, said = await verifying.end()
            assert code == 0, said
            [verdict] = json.loads(said[said.index("{") :])["tables"]
            # As the first look found them.
            assert (verdict["rows"]["source"], verdict["rows"]["mirror"]) == (3, 2)

            visits.change("c", {"id": 1, "name": "a"})
            visits.change("c", {"id": 1, "name": "a"})
            await broker.write(visits)
            # It is made in the midst of the batch.
            wait_until((tmp_path / "tables" / "public" / "visits").exists, "the new table", SECONDS)
            mirror.send(signal.SIGTERM)
            code, said = await mirror.end()
        assert code == 0, said
        assert said.splitlines()[-1].startswith("batch 2: 2 records of 1 tables"), said

        visits.change("c", {"id": 2, "name": "b"})
        await broker.write(visits)
        # This is beyond the slot's confirmed position, which does not advance.
        database.execute("delete from items where id = 2")
        async with started("mirror", "--config", config) as mirror:
            code, said = await command(*verify, "1")
            assert code == 4, said
            sentence = r"error: The mirror did not reach the source's position \w+/\w+ in 1 s: see whether it is running, or wait longer\."
            assert re.fullmatch(sentence, said.splitlines()[-1]), said
            assert (await mirror.line("batch")).startswith("batch 3: 1 records of 1 tables"), mirror.said
            mirror.send(signal.SIGINT)
            code, said = await mirror.end()
        assert code == 0, said
    finally:
        slot.drop()
    rows = spark.read.format("delta").load(str(tmp_path / "tables" / "public" / "visits")).collect()
    assert sorted((row["id"], row["name"]) for row in rows) == [(1, "a"), (1, "a"), (2, "b")]


@pytest.mark.long
async def test_parquet_iceberg_and_a_history_by_command(
    spark: SparkSession, broker: Broker, pg: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = pg.database("sparktables")
    database.execute(
        "create table items(id int primary key, name text, price numeric(10,2))", "insert into items values (1, 'one', 9), (3, null, 3)"
    )
    log = TopicLog(ITEMS, topic="sparktables.public.items")
    await broker.create(log)
    log.change("r", {"id": 1, "name": "one", "price": cents(100)}, lsn=10)
    log.change("r", {"id": 2, "name": "two", "price": cents(200)}, lsn=10)
    log.change("c", {"id": 3, "name": None, "price": cents(300)}, lsn=20)
    log.change("u", {"id": 1, "name": "one", "price": cents(900)}, lsn=30)
    log.change("d", {"id": 2, "name": None, "price": None}, lsn=40)
    await broker.write(log)
    in_two = 'trigger = "available-now"\nbatch_records = 3'
    parquet, iceberg, delta = (
        configured(tmp_path / sink, broker, database, "sparktables", in_two, sink) for sink in ("parquet", "iceberg", "delta")
    )
    # A session that is there already: each start of one takes as long as all the rest.
    session = own_session(spark)
    monkeypatch.setattr(session, "stop", lambda: None)
    monkeypatch.setattr("workers.spark.jobs.stream.session_of", lambda *_, **__: session)
    monkeypatch.setattr("workers.spark.commands.session_of", lambda *_, **__: session)
    for words in (("mirror", "--config", parquet), ("mirror", "--config", iceberg), ("history", "--config", delta)):
        assert main(words) == 0
        said = capsys.readouterr().out
        batches = [line.partition(" in ")[0] for line in said.splitlines() if line.startswith("batch")]
        assert batches == ["batch 0: 3 records of 1 tables", "batch 1: 3 records of 1 tables"], said
    for config in (parquet, iceberg):
        assert main(["verify", "--config", config]) == 0
        assert "public.items: equal\n" in capsys.readouterr().out
    history = spark.read.format("delta").load(str(tmp_path / "delta" / "tables" / "public" / "items_history"))
    found = history.orderBy("id", "version").select("id", "price", "op", "version", "ended").collect()
    assert [tuple(row) for row in found] == [
        (1, Decimal("1.00"), "r", 10, 30),
        (1, Decimal("9.00"), "u", 30, None),
        (2, Decimal("2.00"), "r", 10, 40),
        (3, Decimal("3.00"), "c", 20, None),
    ]
