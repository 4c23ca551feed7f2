"""Reading the last records of a topic with many partitions, without Kafka."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, ClassVar

import aiokafka
import pytest
from aiokafka import TopicPartition

from connector.io.kafka import aiokafka_internals
from workers.records.latest import latest_records

PARTITIONS = 24
COUNT = 20


class Value:
    """A value that can be watched."""


class Consumer:
    """A hundred records in each partition, one of each in an answer."""

    alive: ClassVar[weakref.WeakSet[Value]] = weakref.WeakSet()
    most: ClassVar[int] = 0

    def __init__(self, **_arguments: object) -> None:
        self.positions: dict[TopicPartition, int] = {}

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def assign(self, places: Iterable[TopicPartition]) -> None: ...

    async def beginning_offsets(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 0)

    async def end_offsets(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 100)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.positions[place] = offset

    async def position(self, place: TopicPartition) -> int:
        return self.positions[place]

    async def getmany(self, *places: TopicPartition, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        assert timeout_ms
        gc.collect()
        type(self).most = max(self.most, len(self.alive))
        found: dict[TopicPartition, list[Any]] = {}
        for place in places:
            offset, value = self.positions[place], Value()
            self.positions[place] += 1
            self.alive.add(value)
            found[place] = [SimpleNamespace(partition=place.partition, offset=offset, timestamp=offset, key=b"", value=value)]
        return found


async def test_only_the_newest_records_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def numbers(_consumer: object, _topic: str) -> list[int]:
        return list(range(PARTITIONS))

    monkeypatch.setattr(aiokafka, "AIOKafkaConsumer", Consumer)
    monkeypatch.setattr(aiokafka_internals, "partitions_of", numbers)
    found = await latest_records({"bootstrap.servers": "127.0.0.1:9092"}, "orders", COUNT)
    assert [(record.offset, record.partition) for record in found] == [(99, number) for number in reversed(range(4, PARTITIONS))]
    # Those of the last answer may still be referred to.
    assert Consumer.most <= COUNT + PARTITIONS
