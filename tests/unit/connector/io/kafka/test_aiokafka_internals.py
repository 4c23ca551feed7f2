"""The undocumented parts of aiokafka are where the connector expects them; each failure names the part that a release has moved."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, create_conn, get_ip_port_afi
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.errors import BrokerResponseError, for_code
from aiokafka.producer import message_accumulator, sender
from aiokafka.producer.message_accumulator import BatchBuilder, MessageBatch
from aiokafka.protocol.metadata import MetadataRequest_v4, MetadataResponse_v1, MetadataResponse_v5
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.structs import TopicPartition

import connector
from connector.io.kafka import aiokafka_internals as internals
from connector.io.kafka.aiokafka_internals import PreparedBatch
from connector.record.batch import NO_HEADERS, RecordBatch, encode_records

ROOT = Path(connector.__file__).parents[1]
DOCUMENTED = {"aiokafka", "aiokafka.abc", "aiokafka.admin", "aiokafka.admin.config_resource", "aiokafka.errors", "aiokafka.structs"}
OURS = {"append"}
"""What :class:`MessageBatch` asks only of builders that aiokafka made: ours are closed."""


def prepared(*, transactional: bool = False) -> PreparedBatch:
    batch = RecordBatch()
    batch.append(b"k", b"", b"v", NO_HEADERS, 7)
    return PreparedBatch(batch.records, encode_records(batch.records), 0, transactional=transactional)


def test_the_sender_asks_a_batch_for_nothing_more() -> None:
    asked = set(
        re.findall(r"\b_?builder\.(\w+)", inspect.getsource(MessageBatch) + inspect.getsource(message_accumulator.MessageAccumulator))
    )
    assert asked - OURS == {"_build", "_set_producer_state", "close", "closed", "record_count"}, (
        "aiokafka asks PreparedBatch for something else"
    )


def test_a_batch_has_the_attributes_of_aiokafka_s() -> None:
    own = {name for name in vars(BatchBuilder(1000, 0)) if name not in ("_builder", "_key_serializer", "_value_serializer")}
    assert own <= set(vars(prepared())), "BatchBuilder keeps its state in other attributes than PreparedBatch sets"


@pytest.mark.parametrize("name", ["_build", "_set_producer_state", "size"])
def test_what_a_batch_overrides_is_there(name: str) -> None:
    assert hasattr(BatchBuilder, name), f"BatchBuilder.{name} has moved"
    overridden = inspect.signature(getattr(BatchBuilder, name)).parameters
    assert list(inspect.signature(getattr(PreparedBatch, name)).parameters) == list(overridden), (
        f"BatchBuilder.{name} takes other arguments"
    )


async def test_a_message_batch_drives_a_prepared_one() -> None:
    batch = MessageBatch(TopicPartition("t", 0), prepared(transactional=True), 10, 0)
    batch.set_producer_state(5, 3, 9)
    assert not batch.is_empty()
    assert batch.record_count == 1
    read = DefaultRecordBatch(bytearray(batch.get_data_buffer()))
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (5, 3, 9)
    assert read.is_transactional
    assert read.validate_crc()
    assert [(record.key, record.value) for record in read] == [(b"k", b"v")]


async def test_the_partitions_that_a_producer_knows() -> None:
    producer = AIOKafkaProducer(bootstrap_servers="localhost:1")
    assert internals.known_partitions(producer, "t") == 0
    producer.client.cluster._partitions["t"] = {0: None, 1: None}
    assert internals.known_partitions(producer, "t") == 2
    # It was not started, and needs no stop.
    producer._closed = True


def test_the_pause_between_transactions_is_the_sender_s() -> None:
    assert "return BACKOFF_OVERRIDE" in inspect.getsource(sender), "aiokafka's sender does not wait for BACKOFF_OVERRIDE any more"
    known = sender.BACKOFF_OVERRIDE
    try:
        internals.set_pause_between_transactions(0.5)
        assert sender.BACKOFF_OVERRIDE == 0.5
    finally:
        internals.set_pause_between_transactions(known)


def test_a_consumer_has_a_coordinator() -> None:
    assert "self._coordinator = GroupCoordinator(" in inspect.getsource(AIOKafkaConsumer), "AIOKafkaConsumer._coordinator has moved"
    begun = inspect.getsource(GroupCoordinator.__init__)
    for name in ("member_id", "generation", "_coordination_task"):
        assert f"self.{name} = " in begun, f"GroupCoordinator.{name} has moved"
    assert not inspect.signature(GroupCoordinator.request_rejoin).parameters.keys() - {"self"}
    assert list(inspect.signature(GroupCoordinator._send_req).parameters) == ["self", "request"]


def test_an_admin_client_sends_requests() -> None:
    assert list(inspect.signature(AIOKafkaAdminClient._send_request).parameters) == ["self", "request", "node_id"]
    for version in (MetadataResponse_v1, MetadataResponse_v5):
        topics = dict(zip(version.SCHEMA.names, version.SCHEMA.fields, strict=True))["topics"]
        assert topics.array_of.names[0] == "error_code"
        assert topics.array_of.names[-1] == "partitions"
        assert topics.array_of.fields[-1].array_of.names[1].startswith("partition")


@pytest.mark.parametrize(("code", "found"), [(0, [0, 1]), (3, None)])
async def test_partitions_are_asked_for_without_creating_a_topic(code: int, found: list[int] | None) -> None:
    asked: list[object] = []

    class Client:
        def get_random_node(self) -> int:
            return 7

        async def send(self, node: int, request: Any) -> Any:
            asked.append((node, request.build(MetadataRequest_v4).allow_auto_topic_creation))
            return SimpleNamespace(topics=[(code, "orders", False, [(0, 1, 7, [7], [7]), (0, 0, 7, [7], [7])])])

    assert await internals.partitions_of(SimpleNamespace(_client=Client()), "orders") == found
    assert asked == [(7, False)]
    assert list(inspect.signature(AIOKafkaClient.send).parameters)[:3] == ["self", "node_id", "request"]
    assert hasattr(AIOKafkaClient, "get_random_node")


class Coordinator:
    """Records what is asked of a coordinator."""

    member_id = "m-1"
    generation = 4

    def __init__(self) -> None:
        self.asked: list[object] = []

    def request_rejoin(self) -> None:
        self.asked.append("rejoin")

    async def _send_req(self, request: object) -> None:
        self.asked.append(request)


class Consumer:
    def __init__(self) -> None:
        self._coordinator = Coordinator()


async def test_what_is_asked_of_a_coordinator() -> None:
    consumer = Consumer()
    internals.request_rejoin(consumer)
    await internals.leave_group(consumer, "g")
    rejoin, leave = consumer._coordinator.asked
    assert rejoin == "rejoin"
    assert (leave._group, leave._member_id) == ("g", "m-1")  # type: ignore[attr-defined]
    assert (internals.member_id(consumer), internals.generation(consumer)) == ("m-1", 4)


async def test_the_traffic_of_a_client() -> None:
    ended = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(1_000))
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    connection: Any = AIOKafkaConnection("127.0.0.1", 0)
    assert {"_writer", "_requests", "_correlation_id"} <= vars(connection).keys(), "AIOKafkaConnection keeps its state elsewhere"
    connection._reader, connection._writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        connection._writer.write(bytes(1_000))
        await connection._reader.readexactly(1_000)
        connection._correlation_id = 7
        connection._requests.append((7, None, None))
        client = AIOKafkaClient()
        client._conns["node", 0] = connection
        counted = internals.traffic(None, SimpleNamespace(client=client))
        assert list(counted) == [connection]
        found = counted[connection]
        assert (found.requests, found.waiting) == (7, 1)
        # Linux counts the bytes, and for what was sent the first packet too. Other systems do not count.
        assert (found.sent, found.received) in {(1_001, 1_000), (0, 0)}
        assert internals.traffic(SimpleNamespace(_client=client)) == internals.traffic(SimpleNamespace(client=client))
    finally:
        writer, connection._writer, connection._reader = connection._writer, None, None
        writer.close()
        await writer.wait_closed()
        await ended.wait()
        server.close()
    assert internals.traffic(SimpleNamespace(client=client)) == {}


def test_clients_keep_their_connections_where_they_are_looked_for() -> None:
    for owner, name in ((AIOKafkaConsumer, "_client"), (AIOKafkaAdminClient, "_client"), (AIOKafkaProducer, "client")):
        assert f"self.{name} = AIOKafkaClient(" in inspect.getsource(owner.__init__), f"{owner.__name__}.{name} has moved"


def test_what_a_producer_is_disconnected_by_is_there() -> None:
    begun = inspect.getsource(AIOKafkaProducer.__init__)
    for name in ("_closed = False", "_sender = Sender("):
        assert f"self.{name}" in begun, f"AIOKafkaProducer.{name.split()[0]} has moved"
    assert isinstance(sender.Sender.sender_task, property)
    routine = inspect.getsource(sender.Sender._sender_routine)
    assert "        tasks = set()" in routine, "the sender keeps its requests elsewhere"
    assert "tasks.add(task)" in routine
    assert "tasks.add(txn_task)" in routine
    assert inspect.iscoroutinefunction(AIOKafkaClient.close)


async def test_a_disconnected_producer_sends_nothing_of_what_it_has_buffered() -> None:
    size = 50_000_000
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    begin = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await begin.wait()
        count = 0
        with contextlib.suppress(ConnectionError):
            while some := await reader.read(1_000_000):
                count += len(some)
        received.set_result(count)
        writer.close()

    server = await asyncio.start_server(slow, "127.0.0.1", 0)
    producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1")
    connection: Any = AIOKafkaConnection("127.0.0.1", 0)
    ended = asyncio.get_running_loop().create_future()
    reader = asyncio.StreamReader()
    protocol = AIOKafkaProtocol(ended, reader, loop=asyncio.get_running_loop())
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: protocol, *server.sockets[0].getsockname())
    connection._closed_fut, connection._reader = ended, reader
    connection._writer = asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())
    connection._read_task = connection._create_reader_task()
    producer.client._conns["node", 0] = connection
    waiting = asyncio.get_running_loop().create_future()
    connection._writer.write(bytes(size))
    connection._requests.append((1, None, waiting))
    try:
        async with asyncio.timeout(5):
            await internals.disconnect(producer)
            await internals.disconnect(producer)
        assert waiting.exception() is not None
        begin.set()
        assert await received < size
    finally:
        server.close()


def test_what_members_and_leaders_send_can_be_read() -> None:
    metadata = ConsumerProtocolMemberMetadata.decode(internals.member_metadata(["t"], b"claim").encode())
    assert (metadata.subscription, metadata.user_data) == (["t"], b"claim")
    assigned = ConsumerProtocolMemberAssignment.decode(internals.member_assignment(b"all").encode())
    assert (assigned.partitions(), assigned.user_data) == ([], b"all")


def test_a_connection_takes_what_clients_say() -> None:
    taken = inspect.signature(create_conn).parameters
    for name in ("client_id", "request_timeout_ms", "ssl_context", "security_protocol", "sasl_mechanism", "sasl_oauth_token_provider"):
        assert name in taken, f"create_conn does not take {name} any more"
    assert get_ip_port_afi("broker:9093")[:2] == ("broker", 9093)


def test_no_other_module_uses_them() -> None:
    found = []
    for package in ("connector", "workers", "connect_api"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name == "aiokafka_internals.py":
                continue
            text = path.read_text()
            if not any(word in text for word in ("aiokafka", "_coordinator", "_send_req")):
                continue
            for node in ast.walk(ast.parse(text)):
                named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found += [f"{path}: {name}" for name in named if name.split(".")[0] == "aiokafka" and name not in DOCUMENTED]
                # An object's own attributes may have these names too.
                own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
                if isinstance(node, ast.Attribute) and node.attr in ("_coordinator", "_send_req") and not own:
                    found.append(f"{path}: {node.attr}")
    assert found == []


def test_the_error_of_a_refused_record_is_known() -> None:
    assert for_code(87) is internals.InvalidRecordError
    assert [each.__module__ for each in BrokerResponseError.__subclasses__() if each.errno == 87] == [internals.__name__], (
        "aiokafka knows the error: use its class"
    )
