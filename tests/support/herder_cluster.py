"""Several herders that share their topics and a group, without Kafka."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from tests.support.herder_bench import CONFIG, Bench, Group, GroupMembership, Topics, worker
from workers.stores.memory import MemoryLog, MemoryTopic


class Cluster:
    """Workers on 127.0.0.1 with ports 1, 2, …; the first leads."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.topics = Topics()
        self.group = Group()
        self.workers: list[Bench] = []
        self.memberships: list[GroupMembership] = []
        self._stack = stack

    async def add(self, log: Callable[[MemoryTopic], MemoryLog] = MemoryLog) -> Bench:
        return await self.enter(GroupMembership(self.group), log)

    async def enter(self, membership: GroupMembership, log: Callable[[MemoryTopic], MemoryLog] = MemoryLog) -> Bench:
        properties = {"listeners": f"http://127.0.0.1:{len(self.workers) + 1}"}
        bench = await self._stack.enter_async_context(worker(self.topics, properties, membership, log))
        self.workers.append(bench)
        self.memberships.append(membership)
        await self.settled()
        return bench

    async def settled(self) -> None:
        # Giving up here is another generation there.
        for _ in range(4):
            for bench in self.workers:
                await bench.settled()

    async def create(self, *names: str) -> None:
        for name in names:
            await self.workers[0].herder.put_connector(name, {**CONFIG, "name": name}, allow_replace=False)
        await self.settled()

    def running(self) -> list[list[str]]:
        return [sorted(bench.running) for bench in self.workers]
