"""A schema registry that does not answer is asked again until the time is over."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from connector.converters.converter import SchemaRequest
from connector.errors import CdcError, ErrorKind
from connector.runner.sinks.retried_requests import RetriedRequests

REQUEST = SchemaRequest("t-value", None)


class Clock:
    """Moves as far as it is slept."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def now_ns(self) -> int:
        return round(self.now * 1e9)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))
        self.now += seconds

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


class Registry:
    """Fails as often as it was asked to."""

    def __init__(self, failures: int, kind: ErrorKind = ErrorKind.SINK_UNREACHABLE) -> None:
        self.failures = failures
        self.kind = kind
        self.asked = 0

    async def resolve(self, _registry: object, _request: SchemaRequest) -> None:
        self.asked += 1
        if self.asked <= self.failures:
            raise CdcError(self.kind, f"It did not answer ({self.asked})")


async def pauses(registry: Registry, timeout_ms: int, longest_ms: int = 60_000) -> list[float]:
    clock = Clock()
    await RetriedRequests(registry.resolve, timeout_ms, longest_ms, clock)(registry, REQUEST)
    return clock.pauses


async def test_pauses_double_up_to_the_longest() -> None:
    assert await pauses(Registry(5), 60_000, 1_000) == [0.3, 0.6, 1.0, 1.0, 1.0]


async def test_without_a_limit_it_asks_for_ever() -> None:
    assert len(await pauses(Registry(500), -1)) == 500


async def test_an_answer_needs_no_pause() -> None:
    assert await pauses(Registry(0), 0) == []


async def test_the_last_failure_is_raised_when_the_time_is_over() -> None:
    registry, clock = Registry(1_000), Clock()
    with pytest.raises(CdcError, match=r"\(4\)"):
        await RetriedRequests(registry.resolve, 1_000, 60_000, clock)(registry, REQUEST)
    assert clock.pauses == [0.3, 0.6, 0.1]


@pytest.mark.parametrize(("timeout_ms", "kind"), [(0, ErrorKind.SINK_UNREACHABLE), (-1, ErrorKind.SCHEMA), (-1, ErrorKind.SINK_PERMISSION)])
async def test_nothing_is_repeated_by_default_or_for_a_failure_that_stays(timeout_ms: int, kind: ErrorKind) -> None:
    registry, clock = Registry(1, kind), Clock()
    with pytest.raises(CdcError):
        await RetriedRequests(registry.resolve, timeout_ms, 60_000, clock)(registry, REQUEST)
    assert (registry.asked, clock.pauses) == (1, [])
