"""Many connectors on one worker: the time of its answers, and the time until it runs all of them after its start.

Some connectors run and read the same table, each with its own slot. Half of the others are paused, half are stopped. They are created
in these states (``initial_state``), so they need no slot. Each call is measured with one client and with several concurrent ones.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from workers.lab.bench import orders
from workers.lab.bench.failure import BenchError
from workers.lab.bench.percentiles import spread
from workers.lab.bench.race import CONNECTOR, Plan, connector_config
from workers.lab.bench.rest.caller import Call, Caller, call
from workers.lab.bench.servers import Servers
from workers.quickstart.embedded.wait import wait_until

CLIENTS: Final = (1, 8)
SETTLE_SECONDS: Final = 120.0
LOOK: Final = 0.01

Times = dict[str, dict[str, dict[str, float]]]
"""By call and number of clients."""


@dataclass(frozen=True, slots=True)
class Member:
    """A connector of the fleet, and the state in which it is created."""

    name: str
    state: str


Kinds = Callable[[Sequence[Member], Callable[[str], bytes]], Iterable[tuple[str, Sequence[Call]]]]
"""The calls to measure, by title, for these connectors; the second argument returns a connector's configuration as JSON."""


class Fleet:
    """The run. ``kinds`` are measured, ``say`` is called with a line before each part."""

    def __init__(self, servers: Servers, name: str, connectors: int, running: int, kinds: Kinds, say: Callable[[str], None]) -> None:
        self._servers = servers
        self._name = name
        self._running = min(running, connectors)
        states = islice(cycle(("PAUSED", "STOPPED")), connectors - self._running)
        self._members = [Member(f"{name}_{number}", state) for number, state in enumerate([*["RUNNING"] * self._running, *states])]
        self._kinds = kinds
        self._say = say
        self._dsn = ""

    async def run(self) -> dict[str, object]:
        """All figures. Everything that the run created on the servers is removed afterwards, also after a failure.

        Raises BenchError when a call is not answered as expected, psycopg.Error when PostgreSQL refuses.
        """
        servers = self._servers
        async with AsyncExitStack() as undo:
            self._dsn = await asyncio.to_thread(orders.create_database, servers.dsn, self._name)
            undo.push_async_callback(asyncio.to_thread, orders.drop_database, servers.dsn, self._name)
            times: Times = {}
            undo.push_async_callback(self._delete, times)
            self._say(f"registering {len(self._members)} connectors")
            times["POST /connectors"] = {"1": await self._timed([self._create(member) for member in self._members], 1)}
            await asyncio.to_thread(self._await_settled)
            for title, calls in self._kinds(self._members, self._config):
                self._say(title)
                times[title] = {str(clients): await self._timed(calls, clients) for clients in CLIENTS}
            result: dict[str, object] = {"connectors": len(self._members), "running": self._running, "ms": times}
            if servers.restart is not None:
                self._say("starting the worker again")
                began = await asyncio.to_thread(servers.restart)
                begun = time.monotonic() - began["ready_s"]
                await asyncio.to_thread(self._await_settled)
                result["restart"] = {**began, "settled_s": round(time.monotonic() - begun, 3)}
        return result

    async def _timed(self, calls: Sequence[Call], clients: int) -> dict[str, float]:
        """The distribution of the times of all calls, with this number of concurrent clients."""
        waiting = iter(calls)
        times: list[float] = []

        async def client() -> None:
            async with Caller(self._servers.rest.url) as caller:
                times.extend([await caller.timed(request) for request in waiting])

        await asyncio.gather(*(client() for _ in range(clients)))
        return spread(times)

    async def _delete(self, times: Times) -> None:
        known = await asyncio.to_thread(self._servers.rest.call, "GET", "/connectors")
        calls = [call("DELETE", f"/connectors/{member.name}", expected=204) for member in self._members if member.name in known]
        if calls:
            times["DELETE /connectors/{c}"] = {"1": await self._timed(calls, 1)}

    def _create(self, member: Member) -> Call:
        body = {"name": member.name, "config": json.loads(self._config(member.name)), "initial_state": member.state}
        return call("POST", "/connectors", json.dumps(body).encode(), 201)

    def _config(self, name: str) -> bytes:
        own = {"slot.name": name, "publication.name": self._name, "snapshot.mode": "no_data"}
        plan = Plan(name, 1, 1, 1, 1, settings=own)
        return json.dumps({**connector_config(plan, self._dsn), "connector.class": CONNECTOR}).encode()

    def _await_settled(self) -> None:
        """Wait until every connector, and the task of each running one, is in its expected state."""
        wait_until(self._settled, "all connectors to be shown as they are wanted", SETTLE_SECONDS, LOOK)

    def _settled(self) -> bool:
        listed: Mapping[str, Mapping[str, Mapping[str, object]]] = self._servers.rest.call("GET", "/connectors?expand=status")
        return all(_is(listed.get(member.name, {}).get("status", {}), member) for member in self._members)


def _is(status: Mapping[str, object], member: Member) -> bool:
    connector, tasks = status.get("connector"), status.get("tasks")
    state = connector["state"] if isinstance(connector, Mapping) else None
    if state == "FAILED":
        raise BenchError(f"The connector {member.name} failed. Look at the worker's log.")
    if not isinstance(tasks, list) or (member.state == "RUNNING" and not tasks):
        return False
    return state == member.state and all(task["state"] == state for task in tasks)


def table(figures: Mapping[str, object]) -> str:
    """The times as a table: a line for each call, with p50, p95 and p99 in milliseconds by number of clients; then the start."""
    times = figures["ms"]
    lines = ["", f"{figures['connectors']} connectors, {figures['running']} of them running; ms, p50 / p95 / p99"]
    lines.append(f"{'':48}" + "".join(f"{clients:>14} at once" for clients in CLIENTS))
    if isinstance(times, Mapping):
        for title, by_clients in times.items():
            cells = (_cell(by_clients.get(str(clients))) for clients in CLIENTS)
            lines.append(f"{title:48}" + "".join(f"{cell:>22}" for cell in cells))
    restart = figures.get("restart")
    if isinstance(restart, Mapping):
        lines.append(
            f"process start to first REST answer {restart['first_answer_s']:.2f} s, to connectors listed {restart['ready_s']:.2f} s, "
            f"to all states shown {restart['settled_s']:.2f} s"
        )
    return "\n".join(lines)


def _cell(times: Mapping[str, float] | None) -> str:
    return "-" if times is None else " / ".join(f"{times[name]:.1f}" for name in ("p50", "p95", "p99"))
