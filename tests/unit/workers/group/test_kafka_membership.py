"""The membership's handling of failures, with a scripted consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, InconsistentGroupProtocolError

from workers.group.assignment import Assignment, Claim
from workers.group.kafka_membership import KafkaMembership


class Member:
    """It keeps the reasons for which it is kept out."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def claim(self) -> Claim:
        raise NotImplementedError

    def assign(self, claims: Iterable[Claim]) -> Assignment:
        raise NotImplementedError

    def joining(self) -> None:
        raise NotImplementedError

    def assigned(self, assignment: Assignment, generation: int) -> None:
        raise NotImplementedError

    def alone(self) -> None:
        raise NotImplementedError

    def kept_out(self, problem: str) -> None:
        self.problems.append(problem)


class Consumer:
    """Its group refuses it with ``problem`` until it joins again."""

    def __init__(self, problem: Exception | None, *, ended: bool = False) -> None:
        self.problem = problem
        self.stopped = False
        self.polled = asyncio.Event()
        self._coordinator = SimpleNamespace(request_rejoin=self.rejoin, _coordination_task=SimpleNamespace(done=lambda: ended))

    def rejoin(self) -> None:
        self.problem = None

    async def getmany(self, **_: int) -> dict[Any, Any]:
        if self.problem is not None:
            raise self.problem
        self.polled.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def stop(self) -> None:
        self.stopped = True
        raise OSError


@pytest.fixture
def membership(monkeypatch: pytest.MonkeyPatch) -> KafkaMembership:
    monkeypatch.setattr("workers.group.kafka_membership._RETRY_SECONDS", 0)
    times = {"session_timeout_ms": 1, "heartbeat_interval_ms": 1, "rebalance_timeout_ms": 1}
    return KafkaMembership({}, group_id="g", worker_id="w:1", topic="t", **times)


async def take_part(membership: KafkaMembership, monkeypatch: pytest.MonkeyPatch, *outcomes: Consumer | Exception) -> list[str]:
    """Take part until the last consumer is polled without an error. Return why the member was kept out."""
    left = list(outcomes)

    async def join(_: object) -> Consumer:
        made = left.pop(0)
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(membership, "_join", join)
    member = Member()
    await membership.start(member)
    last = outcomes[-1]
    assert isinstance(last, Consumer)
    await asyncio.wait_for(last.polled.wait(), 5)
    assert left == []
    for task in membership._tasks:
        task.cancel()
    return member.problems


@pytest.mark.parametrize("problem", [GroupAuthorizationFailedError("g"), InconsistentGroupProtocolError()])
async def test_a_worker_that_its_group_refuses_joins_again(
    membership: KafkaMembership, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    consumer = Consumer(problem)
    assert len(await take_part(membership, monkeypatch, consumer)) == 1
    assert not consumer.stopped


async def test_a_consumer_that_left_its_group_for_good_is_replaced(membership: KafkaMembership, monkeypatch: pytest.MonkeyPatch) -> None:
    former = Consumer(GroupAuthorizationFailedError("g"), ended=True)
    problems = await take_part(membership, monkeypatch, former, Consumer(None))
    assert problems == ["Kafka refuses it: GroupAuthorizationFailedError."]
    assert former.stopped


async def test_any_failure_of_a_join_is_followed_by_another(membership: KafkaMembership, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await take_part(membership, monkeypatch, ValueError("x"), Consumer(None)) == ["Its membership failed: ValueError."]
