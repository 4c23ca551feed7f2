"""One run: a connector on one table, phase by phase.

A phase's backlog is written while the connector is paused, and its rate counts from the first new record after it was
resumed: neither the writing nor the start of a task is part of it. Every row makes one record, so that the end of the topic
tells what has been delivered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from workers.lab.bench import orders
from workers.lab.bench.cost import Cost
from workers.lab.bench.failure import BenchError
from workers.lab.bench.percentiles import spread
from workers.lab.bench.rest.scraper import scraping
from workers.lab.bench.servers import Servers
from workers.lab.bench.topic import TopicConsumer
from workers.lab.bench.workload import WORKLOADS, Workload
from workers.lab.bench.writer import Order, Writer
from workers.quickstart.embedded.wait import wait_until

CONNECTOR: Final = "io.debezium.connector.postgresql.PostgresConnector"
PHASES: Final = ("snapshot", "stream", "big", "latency")
QUICK: Final = 0.01
"""Seconds between two checks of the topic's end until the first record exists."""
PAUSE: Final = 0.05
"""Seconds between two later checks. Each takes time on the measured machine."""
STATUS: Final = 2.0
"""Seconds between two checks of the task's state."""
SILENCE: Final = 120.0
"""Seconds without a new record after which a run fails. A big transaction has no records until PostgreSQL has decoded it."""

OWN: Final = frozenset({"name", "database.dbname", "topic.prefix", "slot.name", "publication.name", "table.include.list"})
"""The properties that every run sets itself. It finds its records by them, and removes what it created."""

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run. ``rows`` are the snapshot's; each backlog has half as many. ``rate`` is in rows a second."""

    name: str
    """The name of the connector, its slot, its topics and the run's database; a plain identifier."""
    rows: int
    update_rows: int
    rate: int
    seconds: int
    phases: Collection[str] = PHASES
    settings: Mapping[str, str] = field(default_factory=dict)
    """Added to the connector's configuration."""
    workload: Workload = WORKLOADS["orders"]
    scrape: float | None = None
    """Seconds between two scrapes of the worker's metrics; None for no scrapes."""
    metrics: str = ""
    """The address to scrape; empty for the one of the worker's REST interface."""

    @property
    def table_rows(self) -> int:
        """The rows before the connector is created: the snapshot's or those that the big transaction updates, at least one."""
        return max(1, self.rows if "snapshot" in self.phases else 0, self.update_rows if "big" in self.phases else 0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The arrival of a number of records. Seconds count from the action that caused them."""

    first: float
    """Seconds until the first new record was seen."""
    total: float
    """Seconds until the last record."""
    rest: int
    """Records after those that were seen first."""

    def pace(self, count: int) -> int:
        """Records a second from the first one on; over the whole time if all arrived at once."""
        return round(self.rest / (self.total - self.first) if self.rest else count / self.total)


def connector_config(plan: Plan, dsn: str) -> dict[str, str]:
    """The connector's configuration: the required properties, overridden by the plan's settings."""
    place = conninfo_to_dict(dsn)
    return {
        "connector.class": CONNECTOR,
        "plugin.name": "pgoutput",
        "database.hostname": str(place.get("host") or "localhost"),
        "database.port": str(place.get("port") or 5432),
        "database.user": str(place.get("user") or "postgres"),
        "database.password": str(place.get("password") or "unused"),
        "database.dbname": str(place["dbname"]),
        "topic.prefix": plan.name,
        "slot.name": plan.name,
        "publication.name": plan.name,
        "publication.autocreate.mode": "filtered",
        "table.include.list": plan.workload.table,
        "snapshot.mode": "initial",
        **plan.workload.settings_of(plan.name),
        **plan.settings,
    }


class Race:
    """The run. ``say`` is called with a line before each part."""

    def __init__(self, servers: Servers, plan: Plan, say: Callable[[str], None]) -> None:
        self._servers = servers
        self._plan = plan
        self._say = say
        self._cost = Cost(servers.tree)
        self._dsn = ""
        self._delivered = 0
        """The number of records in the topic, or more when some were delivered twice."""
        self._next_id = 1

    async def run(self) -> dict[str, object]:
        """All figures. Everything that the run created on the servers is removed afterwards, also after a failure.

        Raises BenchError when the connector fails, stalls or is refused, psycopg.Error and KafkaError when a server refuses.
        """
        plan, servers = self._plan, self._servers
        async with AsyncExitStack() as undo:
            # Removed in this order: the connector, the database with its slot, and the topic when no task writes to it.
            topic = await undo.enter_async_context(TopicConsumer(servers.bootstrap, f"{plan.name}.{plan.workload.table}"))
            undo.push_async_callback(topic.delete)
            self._say(f"writing {plan.table_rows:,} rows")
            self._dsn = await asyncio.to_thread(orders.create_database, servers.dsn, plan.name, plan.workload.create)
            undo.push_async_callback(asyncio.to_thread, orders.drop_database, servers.dsn, plan.name)
            await self._insert(plan.table_rows, orders.FILL)
            with scraping(plan.metrics or f"{servers.rest.url}/metrics", plan.scrape) as scrapes, self._cost.watching():
                figures = await self._phases(topic, undo)
            return figures | ({"scrapes": scrapes} if scrapes else {})

    async def _phases(self, topic: TopicConsumer, undo: AsyncExitStack) -> dict[str, object]:
        plan, rest = self._plan, self._servers.rest
        result: dict[str, object] = {}

        def create() -> None:
            rest.create(plan.name, connector_config(plan, self._dsn))
            undo.push_async_callback(asyncio.to_thread, rest.delete, plan.name)

        self._say("snapshot")
        self._cost.begin()
        result |= self._cost.idle()
        came = await self._deliver(topic, plan.table_rows, create)
        result["first_event_s"] = round(came.first, 2)
        if "snapshot" in plan.phases:
            # The time counts from POST, because the work before the first row is part of a snapshot.
            pace: Figures = {"rows": plan.table_rows, "s": round(came.total, 2), "rows_s": round(plan.table_rows / came.total)}
            result["snapshot"] = pace | self._cost.figures(plan.table_rows)
        result["event_bytes"] = await topic.value_size()
        if "stream" in plan.phases:
            count = max(plan.rows // 2, orders.SMALL)
            self._say(f"{count:,} rows in transactions of {orders.SMALL}")
            result["stream"] = await self._backlog(topic, count, lambda: self._insert(count, orders.SMALL))
        if "big" in plan.phases:
            self._say(f"one transaction of {plan.update_rows:,} updates")
            update = partial(asyncio.to_thread, orders.update_first, self._dsn, plan.update_rows)
            result["big_tx"] = await self._backlog(topic, plan.update_rows, update)
        if "latency" in plan.phases:
            self._say(f"{plan.rate:,} rows a second for {plan.seconds} s")
            result["latency_ms"] = await self._delays(topic)
        # Kafka Connect guarantees at-least-once delivery. A run without a failure should still deliver no record twice.
        result["extra_events"] = await topic.end() - self._delivered
        return result | self._cost.peak()

    async def _backlog(self, topic: TopicConsumer, count: int, write: Callable[[], Awaitable[None]]) -> Figures:
        name, rest = self._plan.name, self._servers.rest
        await asyncio.to_thread(rest.turn, name, "pause")
        await asyncio.to_thread(wait_until, lambda: rest.task_states(name) == ["PAUSED"], "the task to be paused", SILENCE, PAUSE)
        await write()
        self._cost.begin()
        came = await self._deliver(topic, count, lambda: rest.turn(name, "resume"))
        figures = {"events": count, "resume_s": round(came.first, 2), "s": round(came.total - came.first, 2), "events_s": came.pace(count)}
        return figures | self._cost.figures(count)

    async def _delays(self, topic: TopicConsumer) -> Figures:
        plan = self._plan
        first, count = self._next_id, plan.rate * plan.seconds
        wanted = range(first + 1, first + 1 + count)
        self._next_id = wanted.stop
        await topic.to_end()
        async with Writer(self._dsn) as writer:
            # A first row warms up the path before the measured ones.
            await asyncio.gather(writer.write(Order(first, 1, 1)), topic.arrivals({first}, SILENCE))
            self._cost.begin()
            order = Order(wanted.start, count, plan.rate)
            committed, came = await asyncio.gather(writer.write(order), topic.arrivals(wanted, SILENCE))
            cost = self._cost.figures(count)
        self._delivered += 1 + count
        # A record may arrive before the answer to the commit.
        delays = [max(came[row] - at, 0) / 1e6 for row, at in zip(wanted, committed, strict=True)]
        kept = (count - 1) / max((committed[-1] - committed[0]) / 1e9, 1e-9)
        return {"n": count, "rate": round(kept), **spread(delays)} | cost

    async def _deliver(self, topic: TopicConsumer, count: int, begin: Callable[[], None]) -> Delivery:
        """Cause ``count`` further records with ``begin``, and wait until the topic has all of them.

        Raises BenchError when the task fails or nothing comes for long.
        """
        before, target = await topic.end(), self._delivered + count
        begun = looked = moved = time.monotonic()
        going = asyncio.create_task(asyncio.to_thread(begin))
        first, reached, seen = 0.0, before, before
        try:
            while True:
                if going.done():
                    going.result()
                end, now = await topic.end(), time.monotonic()
                if end > before and not first:
                    first, seen = now - begun, end
                if end >= target:
                    self._delivered = target
                    return Delivery(first or now - begun, now - begun, target - seen)
                if end > reached:
                    reached, moved = end, now
                elif now - moved > SILENCE:
                    raise BenchError(
                        f"{topic.name} has {end:,} records of {target:,}, and no new one for {SILENCE:g} s. Look at the worker's log."
                    )
                if going.done() and now - looked > STATUS:
                    looked = now
                    await asyncio.to_thread(self._servers.rest.task_states, self._plan.name)
                await asyncio.sleep(PAUSE if first else QUICK)
        finally:
            await asyncio.wait([going])

    async def _insert(self, count: int, at_once: int) -> None:
        """Insert further rows. The ids begin at 1."""
        first = self._next_id
        await asyncio.to_thread(orders.insert, self._dsn, first, count, at_once, self._plan.workload.insert)
        self._next_id = first + count
