"""The only module that uses undocumented parts of aiokafka: names that begin with ``_``, and inner modules.

aiokafka's version is pinned. If a release changes one of these names, ``tests/unit/connector/io/kafka/test_aiokafka_internals.py`` fails
and reports the name.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiokafka.conn import create_conn, get_ip_port_afi
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.errors import BrokerResponseError, UnknownTopicOrPartitionError, for_code, kafka_errors
from aiokafka.producer import sender
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.record.util import calc_crc32c
from aiokafka.structs import TopicPartition

from connector.meters.connection_meter import Traffic
from connector.record.batch import ProducerState, Record, frame_batch

__all__ = [
    "SEQUENCES",
    "InvalidRecordError",
    "PreparedBatch",
    "coordinates",
    "disconnect",
    "generation",
    "known_partitions",
    "leave_group",
    "member_assignment",
    "member_id",
    "member_metadata",
    "partitions_of",
    "request_rejoin",
    "set_pause_between_transactions",
    "take_back",
    "topic_code",
    "traffic",
    "try_connection",
]

SEQUENCES: Final = 2**31
"""Sequence numbers of a partition's batches begin at 0 again after the highest one (``DefaultRecordBatch.incrementSequence``)."""
_CLOSE_S: Final = 1.0
"""How long connections may take to close in an orderly way; TLS waits for the broker's answer."""
_BYTES_AT: Final = 120
"""Where Linux' tcp_info has the acknowledged and the received bytes, two unsigned numbers of 64 bits."""


class InvalidRecordError(BrokerResponseError):  # type: ignore[misc]
    """A broker's error 87 (``INVALID_RECORD``), which aiokafka does not know: the topic does not take a record of the batch."""

    errno = 87
    message = "INVALID_RECORD"
    description = "The broker does not accept a record of the batch."


kafka_errors[InvalidRecordError.errno] = InvalidRecordError


class PreparedBatch(BatchBuilder):  # type: ignore[misc]
    """A batch builder for aiokafka's sender whose records are already encoded.

    ``body`` contains the encoded records, compressed by the codec with Kafka's number ``codec``; before, they had ``written`` bytes.
    """

    def __init__(self, records: list[Record], body: bytes, codec: int, *, transactional: bool, written: int = 0) -> None:
        # The base class's constructor is not called, because it would allocate the builder that this class replaces.
        self.written = written
        self._records = records
        self._body = body
        self._codec = codec
        self._transactional = transactional
        self._state = ProducerState()
        self._buffer: bytearray | None = None
        self._closed = True
        self._relative_offset = len(records)

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        # After the highest number aiokafka continues with negative ones, which brokers refuse.
        self._state = ProducerState(producer_id, producer_epoch, base_sequence % SEQUENCES, self._transactional)

    def _build(self) -> bytearray:
        if self._buffer is None:
            self._buffer = frame_batch(self._records, self._body, self._codec, self._state, calc_crc32c)
        return self._buffer

    @property
    def records(self) -> list[Record]:
        """The records."""
        return self._records

    def size(self) -> int:
        """Return the size in bytes, which aiokafka uses to limit requests."""
        return len(self._body)


def known_partitions(producer: Any, topic: str) -> int:
    """Return how many partitions the producer's metadata says that ``topic`` has; 0 if it does not know. Nothing is requested."""
    return len(producer.client.cluster.partitions_for_topic(topic) or ())


def take_back(producer: Any, topic: str, partition: int, records: int) -> None:
    """Let the next batch of the partition have the sequence number of a batch of ``records`` that the broker refused.

    An idempotent producer has counted them. The broker has not, and would refuse the next batch as out of order. No later batch of the
    partition may have been sent.
    """
    manager = producer._txn_manager  # noqa: SLF001
    if manager is not None:
        place = TopicPartition(topic, partition)
        manager._sequence_numbers[place] = (manager.sequence_number(place) - records) % SEQUENCES  # noqa: SLF001


async def disconnect(producer: Any) -> None:
    """Disconnect at once, where ``AIOKafkaProducer.stop`` would wait until Kafka has all batches, without an end while Kafka is away.

    Nothing that was not acknowledged is sent after this returns, but for what the system's socket already holds. It takes about a second
    at most. Calls of ``producer`` that are under way may never return: cancel them first.
    """
    if producer._closed:  # noqa: SLF001
        return
    # aiokafka warns of producers that were not stopped.
    producer._closed = True  # noqa: SLF001
    ends = _requests(producer._sender.sender_task)  # noqa: SLF001
    for task in ends:
        task.cancel()
    client = producer.client
    transports = []
    for connection in list(client._conns.values()):  # noqa: SLF001
        if connection.connected():
            transports.append(connection._writer.transport)  # noqa: SLF001
            # A transport that is only closed still sends what it has buffered. Without acknowledgements no request waits for an answer.
            if connection._requests:  # noqa: SLF001
                transports[-1].abort()
    ends.append(asyncio.ensure_future(client.close()))
    _, late = await asyncio.wait(ends, timeout=_CLOSE_S)
    if late:
        for transport in transports:
            transport.abort()
        await asyncio.wait(late, timeout=_CLOSE_S)


def _requests(sender_task: asyncio.Task[None] | None) -> list[asyncio.Future[Any]]:
    """Return the sender's task and those of its requests, for which it would wait when it is cancelled."""
    if sender_task is None:
        return []
    return [sender_task, *inspect.getcoroutinelocals(sender_task.get_coro()).get("tasks", ())]  # type: ignore[arg-type]


def set_pause_between_transactions(seconds: float) -> None:
    """Set, for all producers, how long aiokafka waits before it retries to begin the next transaction."""
    sender.BACKOFF_OVERRIDE = seconds


async def try_connection(server: str, arguments: Mapping[str, Any]) -> None:
    """Connect to ``server`` (``host:port``), log in and disconnect.

    ``arguments`` are a client's arguments that also apply to a single connection. Raises KafkaError, OSError or TimeoutError.
    """
    host, port, _ = get_ip_port_afi(server)
    (await create_conn(host, port, **arguments)).close()


def request_rejoin(consumer: Any) -> None:
    """Make ``consumer`` request a new generation of its group."""
    consumer._coordinator.request_rejoin()  # noqa: SLF001


def coordinates(consumer: Any) -> bool:
    """Return whether ``consumer`` still takes part in its group. After an unexpected error it does not, and never will again."""
    return not consumer._coordinator._coordination_task.done()  # noqa: SLF001


def member_id(consumer: Any) -> str:
    """Return the member id that the group assigned to ``consumer``; empty if it is not a member."""
    found: str = consumer._coordinator.member_id  # noqa: SLF001
    return found


def generation(consumer: Any) -> int:
    """Return the group generation of which ``consumer`` is a member."""
    found: int = consumer._coordinator.generation  # noqa: SLF001
    return found


async def leave_group(consumer: Any, group_id: str) -> None:
    """Make ``consumer`` leave ``group_id``, which aiokafka does not do for static members. Raises KafkaError."""
    coordinator = consumer._coordinator  # noqa: SLF001
    await coordinator._send_req(LeaveGroupRequest(group_id, coordinator.member_id))  # noqa: SLF001


async def topic_code(admin: Any, topic: str) -> int:
    """Return Kafka's error code for the metadata of ``topic``, 0 if it exists. Raises KafkaError.

    The public ``describe_topics`` makes the broker create a topic that does not exist.
    """
    response = await admin._send_request(MetadataRequest([topic], allow_auto_topic_creation=False))  # noqa: SLF001
    code: int = response.topics[0][0]
    return code


async def partitions_of(consumer: Any, topic: str) -> list[int] | None:
    """Return the numbers of the partitions of ``topic``, None if it does not exist. Raises KafkaError.

    A subscription to a topic that does not exist makes the broker create it.
    """
    client = consumer._client  # noqa: SLF001
    response = await client.send(client.get_random_node(), MetadataRequest([topic], allow_auto_topic_creation=False))
    code, *_, partitions = response.topics[0]
    if code == UnknownTopicOrPartitionError.errno:
        return None
    if code:
        raise for_code(code)(topic)
    return sorted(number for _, number, *_ in partitions)


def member_metadata(topics: Iterable[str], user_data: bytes) -> Any:
    """Return the metadata that a member sends when it joins a group."""
    return ConsumerProtocolMemberMetadata(0, list(topics), user_data)


def member_assignment(user_data: bytes) -> Any:
    """Return the assignment that the group's leader gives to a member: ``user_data`` and no partitions."""
    return ConsumerProtocolMemberAssignment(0, [], user_data)


def traffic(*owners: Any) -> dict[object, Traffic]:
    """Return the open connections of producers, consumers and admin clients, and what each has carried.

    ``owners`` may have None, for a client that is not connected.
    """
    found: dict[object, Traffic] = {}
    for owner in owners:
        # Only a producer's client has a public name.
        client = getattr(owner, "client", None) or getattr(owner, "_client", None)
        for connection in () if client is None else client._conns.values():  # noqa: SLF001
            if connection.connected():
                sent, received = _carried(connection._writer.get_extra_info("socket"))  # noqa: SLF001
                found[connection] = Traffic(sent, received, connection._correlation_id, len(connection._requests))  # noqa: SLF001
    return found


def _carried(pseudo: Any) -> tuple[int, int]:
    """Return the bytes that a socket has sent and received, with those of TLS; zeros where the system does not count them."""
    if not hasattr(socket, "TCP_INFO") or pseudo is None or pseudo.fileno() < 0:
        return 0, 0
    # uvloop's object for the socket has no getsockopt.
    with socket.socket(fileno=os.dup(pseudo.fileno())) as same:
        facts = same.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_AT + 16)
    if len(facts) < _BYTES_AT + 16:
        return 0, 0
    sent, received = struct.unpack_from("=QQ", facts, _BYTES_AT)
    return int(sent), int(received)
