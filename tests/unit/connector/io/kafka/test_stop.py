"""A stop of the sinks with aiokafka's own producer while Kafka does not answer: it ends soon, and nothing is sent after it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import Position
from connector.io.kafka import transactional_sink
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.each_case import each_case

KAFKA = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})


class Client:
    """Takes the place of aiokafka's client. While the broker is ``away``, requests fail or, if it is ``silent``, have no answer."""

    _client_id = "c"

    def __init__(self) -> None:
        self.away = False
        self.silent = False
        self.closed = False
        self.asked: list[str] = []
        self.came = asyncio.Event()
        self.cluster = SimpleNamespace(leader_for_partition=lambda _place: 1, partitions_for_topic=lambda _topic: {0})
        self._conns: dict[object, object] = {}

    async def bootstrap(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True

    async def ready(self, _node: int, **_: object) -> bool:
        return True

    def get_random_node(self) -> int:
        return 1

    async def coordinator_lookup(self, *_: object) -> int:
        return 1

    async def _wait_on_metadata(self, _topic: str) -> set[int]:
        return {0}

    async def _maybe_wait_metadata(self) -> None:
        pass

    def force_metadata_update(self) -> asyncio.Future[None]:
        return asyncio.ensure_future(asyncio.sleep(0))

    async def send(self, _node: int, request: Any, **_: object) -> Any:
        self.asked.append(type(request).__name__)
        if not self.away:
            return SimpleNamespace(error_code=0, producer_id=1, producer_epoch=0)
        self.came.set()
        if self.silent:
            await asyncio.get_running_loop().create_future()
        raise KafkaConnectionError


class Rig:
    def __init__(self, make: Callable[[Callable[..., Any]], KafkaSink]) -> None:
        self.client = Client()
        self.sink = make(self._connect)
        self.sink.frontier.begin(0)

    def _connect(self, **arguments: Any) -> Any:
        producer: Any = AIOKafkaProducer(**arguments)
        producer.client = producer._sender.client = self.client
        producer._metadata = producer._message_accumulator._cluster = self.client.cluster
        return producer

    async def send(self) -> None:
        """Send a record, and wait until the broker that is away is asked."""
        self.sink.out("t").append(b"k", b"", b"v", NO_HEADERS, 0)
        self.sink.send(Position(1, 1))
        await self.client.came.wait()


def plain(connect: Callable[..., Any]) -> KafkaSink:
    return KafkaSink(KAFKA, TopicCreator({}, {}, lambda _: None), connect=connect)


def transactional(connect: Callable[..., Any]) -> KafkaSink:
    return TransactionalSink(KAFKA, TopicCreator({}, {}, lambda _: None), "id", None, connect=connect)


@contextlib.asynccontextmanager
async def away(make: Callable[[Callable[..., Any]], KafkaSink], *, silent: bool) -> AsyncIterator[Rig]:
    """A started sink whose broker has gone away. At the end nothing of the sink is left, and it sends nothing more."""
    before = asyncio.all_tasks()
    rig = Rig(make)
    await rig.sink.start()
    rig.client.away, rig.client.silent = True, silent
    async with asyncio.timeout(10):
        await rig.send()
        yield rig
    assert rig.client.closed
    # A task that was cancelled last ends in the next turn.
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert rig.sink.reached is None


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("make", [plain, transactional])
async def test_a_stop_ends_while_kafka_does_not_answer(
    make: Callable[[Callable[..., Any]], KafkaSink], monkeypatch: pytest.MonkeyPatch, *, silent: bool
) -> None:
    monkeypatch.setattr(transactional_sink, "_ABORT_S", 0.05)
    async with away(make, silent=silent) as rig:
        await rig.sink.stop()


@each_case("turns", range(6))
@each_case("make", [plain, transactional])
async def test_a_stop_that_is_cancelled_disconnects_too(make: Callable[[Callable[..., Any]], KafkaSink], turns: int) -> None:
    async with away(make, silent=True) as rig:
        stopping = asyncio.create_task(rig.sink.stop())
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.wait([stopping])
        assert rig.client.closed
