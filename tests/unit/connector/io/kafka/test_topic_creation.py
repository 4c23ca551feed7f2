"""Topics are made also over a connection that the broker has cut meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from connector.io.kafka.topic_creation import TopicCreator


class Admin:
    """Fails ``failures`` times as a cut connection does."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.made: list[str] = []

    async def create_topics(self, topics: list[Any]) -> Any:
        if self.failures:
            self.failures -= 1
            raise KafkaConnectionError("Connection at kafka:9092 closed")
        self.made += [topic.name for topic in topics]
        return SimpleNamespace(topic_errors=[(topics[0].name, 0, None)])


def creator(admin: Admin) -> TopicCreator:
    made = TopicCreator({}, {"default": {"partitions": "1", "replication.factor": "1"}}, print)
    made._admin = admin
    return made


async def test_a_login_that_has_run_out_costs_one_more_attempt() -> None:
    admin = Admin(1)
    await creator(admin).ensure("shop.public.products")
    assert admin.made == ["shop.public.products"]


async def test_an_unreachable_broker_is_reported() -> None:
    with pytest.raises(KafkaConnectionError):
        await creator(Admin(2)).ensure("shop.public.products")
