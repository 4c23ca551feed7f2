"""Exactly-once delivery on a real broker: what a transaction holds, who may write, who sees what."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import OffsetTarget, TransactionalSink
from connector.ports import JsonObject
from connector.record.batch import NO_HEADERS
from tests.fix_pg import PgServer
from tests.fix_worker import Worker, read_topics
from tests.support.connector import Connector
from tests.support.topics import Raw, read_to_end, topic_reader
from workers.stores.topic_tail import last_record

pytestmark = pytest.mark.pg_once


class Rig:
    """A sink with its own topics. ``name`` is also the transactional id."""

    def __init__(self, bootstrap: str, name: str, groups: dict[str, dict[str, str]] | None = None) -> None:
        self.bootstrap = bootstrap
        self.data, self.offsets = f"{name}.data", f"{name}.offsets"
        kafka = {"bootstrap.servers": bootstrap}
        self.settings = KafkaSettings(kafka, kafka)
        self.creator = TopicCreator(kafka, groups or {"default": {"partitions": "1", "replication.factor": "1"}}, lambda _topic: None)
        self.sink = TransactionalSink(self.settings, self.creator, name, OffsetTarget(self.records))

    def records(self, offset: JsonObject) -> Sequence[tuple[str, bytes, bytes]]:
        return [(self.offsets, b"key", json.dumps(offset).encode())]

    def append(self, *values: str, topic: str = "", apart: bool = False) -> None:
        for value in values:
            self.sink.out(topic or self.data, apart=apart).append(b"k", b"", value.encode(), NO_HEADERS, 1)
        self.sink.pump()

    async def seen(self, topic: str = "", *, committed: bool = True) -> list[str]:
        return [(raw.value or b"").decode() for raw in await self.raw(topic, committed=committed)]

    async def raw(self, topic: str = "", *, committed: bool = True) -> list[Raw]:
        return await read_to_end(self.bootstrap, topic or self.data, committed=committed)

    async def listed(self, partitions: int) -> None:
        """Wait until the broker names the topic of the records to everybody: the reader passes over one that is not listed."""
        async with asyncio.timeout(180), topic_reader(self.bootstrap) as reader:
            while len((await reader.topics()).get(self.data, ())) < partitions:
                pass

    async def lsns(self) -> list[int]:
        """Of the committed offsets."""
        return [json.loads(value)["lsn"] for value in await self.seen(self.offsets)]


@asynccontextmanager
async def started(rig: Rig) -> AsyncIterator[Rig]:
    await rig.sink.start()
    try:
        yield rig
    finally:
        await rig.sink.stop()


def position(lsn: int) -> Position:
    return Position(lsn, lsn)


@pytest.fixture
def name() -> str:
    return f"once-{uuid.uuid4().hex[:10]}"


async def test_records_and_their_offset_are_committed_together(kafka_bootstrap: str, name: str) -> None:
    async with started(Rig(kafka_bootstrap, name)) as rig:
        rig.sink.bind(to_marks=True)
        rig.append("a", "b")
        rig.sink.send(position(10))
        rig.append("c")
        await rig.sink.drained()
        assert rig.sink.reached is not None
        assert rig.sink.reached.position == position(10)
        assert (await rig.seen(), await rig.lsns()) == (["a", "b"], [10])
        assert not rig.sink.idle
        rig.sink.send(position(20))
        await rig.sink.drained()
        assert (await rig.seen(), await rig.lsns()) == (["a", "b", "c"], [10, 20])
        assert rig.sink.idle
        assert rig.sink.stored == position(20).to_offset()


async def test_what_belongs_to_no_place_waits_for_none(kafka_bootstrap: str, name: str) -> None:
    async with started(Rig(kafka_bootstrap, name)) as rig:
        rig.sink.bind(to_marks=True)
        rig.append("unmarked")
        rig.append("beat", topic=f"{name}.beats", apart=True)
        await rig.sink.drained()
        assert await rig.seen(f"{name}.beats") == ["beat"]
        assert await rig.seen() == []


async def test_an_offset_alone_is_committed_too(kafka_bootstrap: str, name: str) -> None:
    async with started(Rig(kafka_bootstrap, name)) as rig:
        await rig.sink.store({"lsn": 1})
        rig.sink.send(position(2))
        rig.sink.send(position(2))
        # The task marks the last commit again after a keepalive has led on from it.
        rig.sink.send(position(1))
        await rig.sink.drained()
        assert await rig.lsns() == [1, 2]


async def test_many_records_for_many_partitions_come_once_and_in_order(kafka_bootstrap: str, name: str) -> None:
    groups = {"default": {"partitions": "3", "replication.factor": "1"}}
    async with started(Rig(kafka_bootstrap, name, groups)) as rig:
        rig.sink.bind(to_marks=True)
        out = rig.sink.out(rig.data)
        for number in range(30_000):
            out.append(b"%d" % (number % 7), b"", b"%d" % number, NO_HEADERS, 1)
            if number % 500 == 499:
                rig.sink.pump()
                rig.sink.send(position(number + 1))
                # The committer's turn: records come while a transaction is on its way.
                await asyncio.sleep(0)
        await rig.sink.drained()
        await rig.listed(3)
        records = await rig.raw()
        for key in range(7):
            mine = [int(raw.value or b"") for raw in records if raw.key == b"%d" % key]
            assert mine == list(range(key, 30_000, 7))
        assert (await rig.lsns())[-1] == 30_000


async def test_a_producer_that_starts_later_fences_the_one_before(kafka_bootstrap: str, name: str) -> None:
    async with started(Rig(kafka_bootstrap, name)) as former:
        former.append("a")
        await former.sink.store({"lsn": 1})
        async with started(Rig(kafka_bootstrap, name)) as present:
            former.append("zombie")
            with pytest.raises(CdcError) as caught:
                await former.sink.store({"lsn": 2})
            assert caught.value.kind is ErrorKind.SINK_FENCED
            assert f"{name} took over" in caught.value.message
            present.append("b")
            await present.sink.store({"lsn": 3})
            assert (await present.seen(), await present.lsns()) == (["a", "b"], [1, 3])


async def test_a_transaction_that_breaks_off_leaves_nothing_for_readers(
    kafka_bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(kafka_bootstrap, name)
    reached = asyncio.Event()

    async def never(_producer: object) -> None:
        reached.set()
        await asyncio.get_running_loop().create_future()

    async with started(rig):
        await rig.sink.store({"lsn": 1})
        monkeypatch.setattr(AIOKafkaProducer, "commit_transaction", never)
        rig.append("lost")
        waiting = asyncio.create_task(rig.sink.store({"lsn": 2}))
        await reached.wait()
        assert await rig.seen(committed=False) == ["lost"]
        waiting.cancel()
    monkeypatch.undo()
    async with started(Rig(kafka_bootstrap, name)) as restarted:
        await restarted.sink.store({"lsn": 3})
        assert (await restarted.seen(), await restarted.lsns()) == ([], [1, 3])


async def test_the_last_offset_is_found_among_other_transactions(kafka_bootstrap: str, name: str) -> None:
    rig = Rig(kafka_bootstrap, name)
    other = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=f"{name}-other")
    clients = {"bootstrap.servers": kafka_bootstrap}
    async with started(rig), other:
        await rig.sink.store({"lsn": 1})
        await other.begin_transaction()
        await other.send_and_wait(rig.offsets, b"open", b"other")
        await rig.sink.store({"lsn": 2})
        # What was committed after the other's record is hidden as long as its transaction is open.
        reading = asyncio.create_task(last_record(clients, rig.offsets, b"key"))
        done, _ = await asyncio.wait({reading}, timeout=0.3)
        assert not done
        await other.abort_transaction()
        found = await reading
        assert found is not None
        assert json.loads(found.value or b"")["lsn"] == 2
        assert await last_record(clients, rig.offsets, b"nobody's") is None


async def test_a_plain_sink_takes_the_same_calls(kafka_bootstrap: str, name: str) -> None:
    rig = Rig(kafka_bootstrap, name)
    sink = KafkaSink(rig.settings, rig.creator)
    await sink.start()
    try:
        sink.bind(to_marks=True)
        sink.out(rig.data, apart=True).append(b"k", b"", b"a", NO_HEADERS, 1)
        await sink.drained()
        assert await rig.seen() == ["a"]
    finally:
        await sink.stop()


def event_ids(records: Sequence[Raw]) -> list[Any]:
    return [json.loads(raw.value or b"")["after"]["id"] for raw in records]


async def test_a_worker_with_an_offset_topic_for_one_connector(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connect = worker(exactly_once_source_support="enabled")
    connector = Connector(connect, pg.database("own"), f"own_{uuid.uuid4().hex[:8]}")
    own = f"{connector.name}-offsets"
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.database.execute("INSERT INTO t VALUES (1)")
    connector.create({"offsets.storage.topic": own, "exactly.once.support": "required", "provide.transaction.metadata": "true"})
    connector.database.execute("INSERT INTO t VALUES (2)")
    connector.await_confirmed(connector.lsn())
    connect.restart()
    connector.await_phase("streaming")
    connector.database.execute("INSERT INTO t VALUES (3)")
    connector.await_confirmed(connector.lsn())
    read = await read_to_end(connect.bootstrap, f"{connector.name}.public.t", committed=True)
    assert event_ids(read) == [1, 2, 3]
    key = json.dumps([connector.name, {"server": connector.name}], separators=(",", ":")).encode()
    for topic in (own, f"{connect.group}-offset"):
        stored = [raw for raw in await read_to_end(connect.bootstrap, topic, committed=True) if raw.key == key]
        assert json.loads(stored[-1].value or b"")["messageType"] == "COMMIT"
    connector.stop()
    assert connect.rest("DELETE", f"/connectors/{connector.name}/offsets").is_success
    for topic in (own, f"{connect.group}-offset"):
        stored = [raw for raw in await read_to_end(connect.bootstrap, topic, committed=True) if raw.key == key]
        assert stored[-1].value is None
    connector.put("resume")
    connector.await_phase("streaming")
    read = await read_to_end(connect.bootstrap, f"{connector.name}.public.t", committed=True)
    assert sorted(event_ids(read)) == [1, 1, 2, 2, 3, 3]


async def test_what_goes_with_it_and_what_does_not(worker: Callable[..., Worker], pg: PgServer) -> None:
    connect = worker(exactly_once_source_support="preparing")
    connector = Connector(connect, pg.database("preparing"), "preparing")
    config = connector.config({"exactly.once.support": "required"})
    answer = connect.rest("POST", "/connectors", {"name": "preparing", "config": config})
    assert answer.status_code == httpx.codes.BAD_REQUEST
    assert "\nThis worker does not have exactly-once source support enabled.\n" in answer.json()["message"]


async def test_a_snapshot_by_several_processes(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connect = worker(exactly_once_source_support="enabled")
    connector = Connector(connect, pg.database("parallel"), f"par_{uuid.uuid4().hex[:8]}")
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.database.execute("INSERT INTO t SELECT generate_series(1, 20000)")
    connector.database.execute("ANALYZE t")
    connector.create({"snapshot.max.threads": "2", "transaction.boundary": "interval", "transaction.boundary.interval.ms": "200"})
    read = await read_to_end(connect.bootstrap, f"{connector.name}.public.t", committed=True)
    assert sorted(event_ids(read)) == list(range(1, 20_001))


async def test_snapshots_on_demand_heartbeats_and_notifications_are_committed_too(pg: PgServer, worker: Callable[..., Worker]) -> None:
    connect = worker(exactly_once_source_support="enabled")
    connector = Connector(connect, pg.database("demand"), f"dem_{uuid.uuid4().hex[:8]}")
    database = connector.database
    database.execute("CREATE TABLE t (id int PRIMARY KEY, body text)")
    database.execute("INSERT INTO t SELECT i, repeat('x', 3000) FROM generate_series(1, 5000) i")
    database.execute("CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data varchar(2048))")
    connector.create(
        {
            "snapshot.mode": "no_data",
            "signal.data.collection": "public.signals",
            "incremental.snapshot.chunk.size": "1000",
            "heartbeat.interval.ms": "100",
            "notification.enabled.channels": "sink",
            "notification.sink.topic.name": f"{connector.name}.notes",
        }
    )

    async def rows(op: str) -> list[int]:
        read = await read_to_end(connect.bootstrap, f"{connector.name}.public.t", committed=True)
        return [event["after"]["id"] for event in (json.loads(raw.value or b"") for raw in read) if event["op"] == op]

    async def until_reported(what: str) -> None:
        async with asyncio.timeout(180):
            while True:
                notes = await read_to_end(connect.bootstrap, f"{connector.name}.notes", committed=True)
                if any(what in (raw.value or b"").decode() for raw in notes):
                    return

    execute = 'INSERT INTO signals VALUES (\'{0}\', \'execute-snapshot\', \'{{"data-collections": ["public.t"], "type": "{0}"}}\')'
    for kind, reported in (("incremental", "Incremental Snapshot"), ("blocking", "Initial Snapshot")):
        before = len(await rows("r"))
        database.execute(execute.format(kind))
        database.execute("INSERT INTO t SELECT max(id) + 1, 'new' FROM t")
        connector.await_confirmed(connector.lsn())
        await until_reported(reported)
        count = 5_000 if kind == "incremental" else 5_002
        async with asyncio.timeout(180):
            while len(await rows("r")) - before < count - 1:
                await connect.read(f"__debezium-heartbeat.{connector.name}", 1)
        assert set(await rows("r")) >= set(range(1, 5_001))
    connector.await_confirmed(connector.lsn())
    assert await rows("c") == [5_001, 5_002]


async def test_a_deleted_topic_restarts_the_task(kafka_bootstrap: str) -> None:
    topic = f"deleted-{uuid.uuid4().hex[:12]}"
    settings = KafkaSettings(
        {"bootstrap.servers": kafka_bootstrap, "transaction.timeout.ms": "3000"}, {"bootstrap.servers": kafka_bootstrap}
    )
    room = {"default": {"partitions": "1", "replication.factor": "1"}}

    def sink() -> TransactionalSink:
        one = TransactionalSink(settings, TopicCreator(settings.admin, room, lambda _topic: None), topic, None)
        one.frontier.begin(0)
        return one

    async def put(one: TransactionalSink, value: bytes) -> None:
        one.out(topic).append(None, b"", value, NO_HEADERS, 0)
        one.send(Position(1, 1))
        await one.drained()

    first = sink()
    await first.start()
    try:
        await put(first, b"1")
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
        await admin.start()
        await admin.delete_topics([topic])
        await admin.close()
        with pytest.raises(CdcError, match=f"Kafka did not take the records of {topic} within 3000 ms") as reported:
            await put(first, b"2")
        assert reported.value.kind is ErrorKind.SINK_UNREACHABLE
    finally:
        await first.stop()
    second = sink()
    await second.start()
    try:
        await put(second, b"3")
    finally:
        await second.stop()
    assert [record.json for record in await read_topics(kafka_bootstrap, [topic], 1)] == [3]
