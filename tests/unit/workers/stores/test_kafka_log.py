"""The second connection of a store's topic, over which what exists now is read."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from connector.errors import CdcError
from workers.settings.worker_settings import StoreTopic
from workers.stores.topic_log import Cluster, KafkaLog


class Follower:
    """It has read all."""

    def assignment(self) -> set[Any]:
        return {0}

    async def position(self, _partition: Any) -> int:
        return 7


class Consumer:
    def __init__(self, problem: BaseException | None) -> None:
        self.problem = problem
        self.stopped = False

    async def start(self) -> None:
        if self.problem is not None:
            raise self.problem

    async def end_offsets(self, _partitions: Any) -> dict[Any, int]:
        assert self.problem is None, "a consumer without a connection is used"
        return {0: 7}

    async def stop(self) -> None:
        self.stopped = True


class Brokers(Cluster):
    """The first connection fails."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__({})
        self.consumers = [Consumer(problem), Consumer(None)]
        self.made = 0

    def consumer(self) -> Consumer:
        self.made += 1
        return self.consumers[self.made - 1]


@pytest.mark.parametrize(("problem", "raised"), [(KafkaConnectionError(), CdcError), (KeyboardInterrupt(), KeyboardInterrupt)])
async def test_a_connection_that_failed_is_not_used_again(problem: BaseException, raised: type[BaseException]) -> None:
    brokers = Brokers(problem)
    log = KafkaLog(brokers, StoreTopic("the-topic", 1, 1))
    log._consumer = Follower()
    with pytest.raises(raised):
        await log.catch_up()
    assert brokers.consumers[0].stopped
    await log.catch_up()
    await log.catch_up()
    assert brokers.made == 2
    assert not brokers.consumers[1].stopped
