"""A herder over memory with a scripted task, for the tests of the herder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from connector.config.keys import BY_NAME, DEFAULT_VERSION
from connector.config.validation import FieldValidation, Validation
from connector.runner.context import TaskContext
from connector.runner.task_stop import TaskStop
from workers.group.assignment import Assignment
from workers.group.membership import GroupMember
from workers.herder.herder import WorkerHerder
from workers.herder.submitted_config import Validate
from workers.herder.supervisor import Pause, pause_until
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.topic_log import Apply, Entry
from workers.telemetry.loggers import Loggers

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
CONFIG = {"connector.class": CLASS, "topic.prefix": "shop", "name": "shop"}
UNKNOWN_CLASS = (
    "Failed to find any class that implements Connector and which name matches no.such.Class, available connectors are: "
    f"PluginDesc{{klass=class {CLASS}, name='{CLASS}', version='3.6.3.Final', encodedVersion=3.6.3.Final, type=source, "
    "typeName='source', location='python'}"
)
PROPERTIES = {
    "listeners": "http://127.0.0.1:8083",
    "bootstrap.servers": "kafka:9092",
    "group.id": "connect-cluster",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
}


class Topics:
    """What outlives a worker."""

    def __init__(self) -> None:
        self.config, self.offset, self.status = MemoryTopic(), MemoryTopic(), MemoryTopic()


class LateLog(MemoryLog):
    """Hears of what others write only when it asks for it."""

    def __init__(self, topic: MemoryTopic) -> None:
        super().__init__(topic)
        self.late: list[Entry] = []
        self._tell: Apply = lambda _: None

    async def start(self, apply: Apply) -> None:
        self._tell = apply
        await super().start(self.late.extend)
        await self.catch_up()

    async def write(self, entries: Sequence[Entry]) -> None:
        await super().write(entries)
        await self.catch_up()

    async def catch_up(self) -> None:
        entries, self.late[:] = list(self.late), []
        if entries:
            self._tell(entries)


class Group:
    """What Kafka does for a group: members come and go, and each change makes a generation that the first of them decides."""

    def __init__(self) -> None:
        self.members: list[GroupMembership] = []
        self.generation = 0

    def share(self) -> None:
        members = [(each, each.member) for each in self.members if each.member is not None]
        for _, member in members:
            member.joining()
        claims = [member.claim() for _, member in members]
        self.generation += 1
        decision = members[0][1].assign(claims).encode()
        for _, member in members:
            member.assigned(Assignment.decode(decision), self.generation)

    def lose(self, membership: GroupMembership) -> None:
        """Its session ends, and it does not know."""
        self.members.remove(membership)
        self.share()

    def find_again(self, membership: GroupMembership) -> None:
        """It comes back with what it runs."""
        self.members.append(membership)
        self.share()


class GroupMembership:
    def __init__(self, group: Group) -> None:
        self.group = group
        self.member: GroupMember | None = None

    async def start(self, member: GroupMember) -> None:
        self.member = member
        self.group.members.append(self)
        self.group.share()

    def rejoin(self) -> None:
        if self in self.group.members:
            self.group.share()

    async def stop(self) -> None:
        if self in self.group.members:
            self.group.members.remove(self)
            if self.group.members:
                self.group.share()


class Bench:
    """A herder with stores in memory, and a task that runs until the test stops it or makes it fail."""

    def __init__(
        self,
        topics: Topics | None = None,
        properties: Mapping[str, str] | None = None,
        membership: GroupMembership | None = None,
        log: Callable[[MemoryTopic], MemoryLog] = MemoryLog,
        check: Validate | None = None,
    ) -> None:
        self.topics = topics or Topics()
        self.config_log = log(self.topics.config)
        self.offset_log = log(self.topics.offset)
        self.contexts: list[TaskContext] = []
        self.running: dict[str, TaskContext] = {}
        self.paused: dict[str, bool] = {}
        """Of each connector, whether its last task ended by a pause."""
        self.failures: dict[str, asyncio.Future[BaseException]] = {}
        self.began, self.ended = asyncio.Event(), asyncio.Event()
        self.validated: list[dict[str, str | None]] = []
        self.lines: list[str] = []
        self.pause: Pause = pause_until
        self.herder = WorkerHerder(
            WorkerSettings.from_properties({**PROPERTIES, **(properties or {})}),
            config_log=self.config_log,
            offset_log=self.offset_log,
            status_log=MemoryLog(self.topics.status),
            run_task=self.run_task,
            validate=check or self.validate,
            cluster_id=lambda: "cluster-1",
            membership=membership,
            pause=self._pause,
            now_ms=lambda: 1700000000000,
            loggers=Loggers(lambda: 1700000000000, logging.Manager(logging.RootLogger(logging.INFO))),
        )

    async def run_task(self, context: TaskContext, stop: TaskStop) -> None:
        self.contexts.append(context)
        self.running[context.connector] = context
        self.began.set()
        self.failures[context.connector] = asyncio.get_running_loop().create_future()
        stopped = asyncio.ensure_future(stop.wait())
        either: list[asyncio.Future[Any]] = [stopped, self.failures[context.connector]]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self.failures[context.connector].done():
                raise self.failures[context.connector].result()
        finally:
            stopped.cancel()
            self.paused[context.connector] = stop.paused
            del self.running[context.connector]
            self.ended.set()

    async def _pause(self, seconds: float, stop: asyncio.Event) -> None:
        await self.pause(seconds, stop)

    async def validate(self, name: str, config: Mapping[str, str | None]) -> Validation:
        self.validated.append(dict(config))
        fields = [FieldValidation("slot.name", BY_NAME["slot.name"], None, tuple(self.lines), (), True)] if self.lines else []
        return Validation(tuple(fields), ("Common",), DEFAULT_VERSION)

    async def settled(self) -> None:
        await self.herder.settled()
        # A started task needs one turn of the loop to be in run_task.
        for _ in range(3):
            await asyncio.sleep(0)
        await self.herder.settled()

    async def fail(self, problem: BaseException, name: str = "shop") -> None:
        self.ended.clear()
        self.failures[name].set_result(problem)
        await self.ended.wait()
        await self.settled()

    async def create(self, config: Mapping[str, str | None] | None = None, **options: Any) -> None:
        await self.herder.put_connector("shop", CONFIG if config is None else config, allow_replace=False, **options)
        await self.settled()

    async def target(self, state: Any) -> None:
        await self.herder.set_target_state("shop", state)
        await self.settled()

    def states(self, name: str = "shop") -> tuple[str, list[str]]:
        status = self.herder.connector_status(name)
        return status.connector.state, [task.state for task in status.tasks.values()]

    def reported(self) -> list[tuple[str, str]]:
        """(key, state or value) of all records of the status topic."""
        entries = self.topics.status.entries
        return [(e.key.decode(), "" if e.value is None else orjson.loads(e.value).get("state", "topic")) for e in entries]


@asynccontextmanager
async def worker(
    topics: Topics | None = None,
    properties: Mapping[str, str] | None = None,
    membership: GroupMembership | None = None,
    log: Callable[[MemoryTopic], MemoryLog] = MemoryLog,
    check: Validate | None = None,
) -> AsyncIterator[Bench]:
    bench = Bench(topics, properties, membership, log, check)
    await bench.herder.start()
    await bench.settled()
    try:
        yield bench
    finally:
        await bench.herder.stop()


def config_keys(bench: Bench) -> list[tuple[str, bytes | None]]:
    return [(e.key.decode(), e.value if not e.key.startswith((b"connector-", b"task-")) else None) for e in bench.topics.config.entries]
