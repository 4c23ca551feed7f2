"""Measures the time until a new event after a lost connection to PostgreSQL: backend killed, network cut, server restarted.

The connector runs with default retries. Before each fault it is paused and resumed, so that every fault is the first one after a
successful start. The time counts from the commit of a row that is written as soon as the fault is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from workers.lab.bench import orders
from workers.lab.bench.cuttable_proxy import CuttableProxy
from workers.lab.bench.percentiles import spread
from workers.lab.bench.race import PAUSE, SILENCE, Plan, connector_config
from workers.lab.bench.servers import Servers
from workers.lab.bench.topic import TopicConsumer
from workers.quickstart.embedded.wait import wait_until

RUNS: Final = 7
"""The runs of each fault."""


class Recovery:
    """The run. ``restart`` restarts PostgreSQL, None if it was not started here. ``settings`` are added to the connector's."""

    def __init__(
        self, servers: Servers, name: str, settings: Mapping[str, str], say: Callable[[str], None], restart: Callable[[], None] | None
    ) -> None:
        self._servers = servers
        self._plan = Plan(name, 1, 1, 1, 1, settings={"snapshot.mode": "no_data", **settings})
        self._say = say
        self._restart = restart
        self._dsn = ""
        self._rows = 0

    async def run(self) -> dict[str, object]:
        """Fault → milliseconds. Everything that the run created on the servers is removed afterwards, also after a failure.

        Raises BenchError when the connector fails or a row does not come, psycopg.Error and KafkaError when a server refuses.
        """
        plan, servers = self._plan, self._servers
        async with AsyncExitStack() as undo:
            topic = await undo.enter_async_context(TopicConsumer(servers.bootstrap, f"{plan.name}.{orders.TABLE}"))
            undo.push_async_callback(topic.delete)
            self._dsn = await asyncio.to_thread(orders.create_database, servers.dsn, plan.name)
            undo.push_async_callback(asyncio.to_thread, orders.drop_database, servers.dsn, plan.name)
            place = conninfo_to_dict(self._dsn)
            proxy = await undo.enter_async_context(CuttableProxy(str(place.get("host") or "localhost"), int(place.get("port") or 5432)))
            config = connector_config(plan, self._dsn) | {"database.hostname": "127.0.0.1", "database.port": str(proxy.port)}
            await asyncio.to_thread(servers.rest.create, plan.name, config)
            undo.push_async_callback(asyncio.to_thread, servers.rest.delete, plan.name)
            await asyncio.to_thread(wait_until, self._streams, "the connector to stream", SILENCE, PAUSE)
            await self._insert()
            await asyncio.to_thread(wait_until, self._delivered, "the slot to be confirmed", SILENCE, PAUSE)
            await topic.end()
            await topic.to_end()
            faults: dict[str, Callable[[], Awaitable[object]]] = {"backend killed": self._kill, "connections cut": _wait_for(proxy.cut)}
            if self._restart is not None:
                restart = self._restart
                faults["server restarted"] = lambda: asyncio.to_thread(restart)
            return {"recovery_ms": {fault: await self._measure(topic, fault, begin) for fault, begin in faults.items()}}

    async def _measure(self, topic: TopicConsumer, fault: str, begin: Callable[[], Awaitable[object]]) -> dict[str, float]:
        self._say(fault)
        delays = []
        for _ in range(RUNS):
            await self._begin_again()
            await topic.arrivals({await self._insert()}, SILENCE)
            await begin()
            row = await self._insert()
            committed = time.monotonic_ns()
            came = await topic.arrivals({row}, SILENCE)
            delays.append(max(came[row] - committed, 0) / 1e6)
        return {"n": RUNS, **spread(delays)}

    async def _begin_again(self) -> None:
        rest, name = self._servers.rest, self._plan.name
        for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING")):
            await asyncio.to_thread(rest.turn, name, verb)
            await asyncio.to_thread(
                wait_until, lambda state=state: rest.task_states(name) == [state], f"the task to be {state}", SILENCE, PAUSE
            )
        await asyncio.to_thread(wait_until, self._streams, "the connector to stream", SILENCE, PAUSE)

    async def _insert(self) -> int:
        self._rows += 1
        await asyncio.to_thread(orders.insert, self._dsn, self._rows, 1, 1)
        return self._rows

    async def _kill(self) -> None:
        await asyncio.to_thread(self._ask, "SELECT pg_terminate_backend(active_pid)")

    def _streams(self) -> bool:
        return self._ask("SELECT active") == [(True,)]

    def _delivered(self) -> bool:
        return self._ask("SELECT confirmed_flush_lsn >= pg_current_wal_flush_lsn()") == [(True,)]

    def _ask(self, what: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            return connection.execute(f"{what} FROM pg_replication_slots WHERE slot_name = %s".encode(), (self._plan.name,)).fetchall()


def _wait_for(cut: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def begin() -> None:
        cut()

    return begin


def table(figures: Mapping[str, object]) -> str:
    """The times as a table: a line for each fault, with p50 and the longest in seconds."""
    times = figures["recovery_ms"]
    lines = ["", f"{'seconds until a fresh event comes':40}{'runs':>8}{'p50':>8}{'max':>8}"]
    if isinstance(times, Mapping):
        lines += [f"{fault:40}{found['n']:>8}{found['p50'] / 1000:>8.2f}{found['max'] / 1000:>8.2f}" for fault, found in times.items()]
    return "\n".join(lines)
