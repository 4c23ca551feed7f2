"""Topics are made if they do not exist, also over a connection that the broker has cut meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest, MetadataRequest_v5

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.topic_creation import TopicCreator

UNKNOWN_TOPIC = 3
NO_LEADER = 5
NO_TOPIC_PERMISSION = 29
NO_CLUSTER_PERMISSION = 31


class Admin:
    """Fails ``failures`` times as a cut connection does. ``found`` and ``answer`` are codes of the topic's metadata and of its creation."""

    def __init__(self, failures: int = 0, *, found: int = UNKNOWN_TOPIC, answer: int = 0, cut_at_once: bool = False) -> None:
        self.failures = failures
        self.found = found
        self.answer = answer
        self.cut_at_once = cut_at_once
        self.made: list[str] = []

    def _cut(self) -> None:
        if self.failures:
            self.failures -= 1
            raise KafkaConnectionError("Connection at kafka:9092 closed")

    async def _send_request(self, request: MetadataRequest) -> Any:
        if self.cut_at_once:
            self._cut()
        built = request.build(MetadataRequest_v5)
        assert not built.allow_auto_topic_creation
        return SimpleNamespace(topics=[(self.found, built.topics[0], False, [])])

    async def create_topics(self, topics: list[Any]) -> Any:
        self._cut()
        self.made += [topic.name for topic in topics]
        return SimpleNamespace(topic_errors=[(topics[0].name, self.answer, None)])


def creator(admin: Admin) -> TopicCreator:
    made = TopicCreator({}, {"default": {"partitions": "1", "replication.factor": "1"}}, print)
    made._admin = admin
    return made


@pytest.mark.parametrize("cut_at_once", [False, True])
async def test_a_login_that_has_run_out_costs_one_more_attempt(cut_at_once: bool) -> None:
    admin = Admin(1, cut_at_once=cut_at_once)
    await creator(admin).ensure("shop.public.products")
    assert admin.made == ["shop.public.products"]


async def test_an_unreachable_broker_is_reported() -> None:
    with pytest.raises(KafkaConnectionError):
        await creator(Admin(2)).ensure("shop.public.products")


@pytest.mark.parametrize("found", [0, NO_LEADER])
async def test_a_topic_that_exists_requires_no_permission_to_create_it(found: int) -> None:
    admin = Admin(found=found, answer=NO_TOPIC_PERMISSION)
    await creator(admin).ensure("shop.public.products")
    assert admin.made == []


async def test_a_topic_that_must_not_be_described_may_be_created() -> None:
    admin = Admin(found=NO_TOPIC_PERMISSION)
    await creator(admin).ensure("shop.public.products")
    assert admin.made == ["shop.public.products"]


@pytest.mark.parametrize("answer", [NO_TOPIC_PERMISSION, NO_CLUSTER_PERMISSION])
async def test_a_missing_permission_is_reported_as_such(answer: int) -> None:
    with pytest.raises(CdcError) as caught:
        await creator(Admin(answer=answer)).ensure("shop.public.products")
    assert caught.value.kind is ErrorKind.SINK_PERMISSION
