"""Many stopped connectors, and connectors that are created, deleted, paused and restarted in fast succession: by REST, without servers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import httpx
import orjson
import pytest

from tests.support.memory_worker import memory_worker
from workers.quickstart.embedded.wait import wait_until
from workers.stores.topic_log import Entry

SECONDS = 30.0
STOPPED = 300
STEPS = 30
CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "127.0.0.1",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "topic.prefix": "p",
}


def entry(key: str, value: object) -> Entry:
    return Entry(key.encode(), orjson.dumps(value))


def test_three_hundred_stopped_connectors() -> None:
    config: list[Entry] = []
    for name in (f"c{number:03}" for number in range(STOPPED)):
        config.append(entry(f"target-state-{name}", {"state": "PAUSED", "state.v2": "STOPPED"}))
        config.append(entry(f"connector-{name}", {"properties": {**CONFIG, "name": name}}))
        config.append(entry(f"commit-{name}", {"tasks": 0}))
    tasks: dict[str, list[str]] = {}
    with memory_worker(config, tasks) as (url, _), httpx.Client(base_url=url, timeout=SECONDS) as client:

        def stopped() -> dict[str, Any] | None:
            reported = client.get("/connectors", params={"expand": ["status", "info"]}).json()
            states = [each["status"]["connector"]["state"] for each in reported.values() if "status" in each]
            return reported if states == ["STOPPED"] * STOPPED else None

        reported = wait_until(stopped, "all connectors to be STOPPED", SECONDS)
        assert sorted(reported) == sorted(client.get("/connectors").json()) == [f"c{number:03}" for number in range(STOPPED)]
        assert all(each["status"]["tasks"] == each["info"]["tasks"] == [] for each in reported.values())
        # They are no obstacle to one that runs.
        assert client.put("/connectors/c007/resume").status_code == httpx.codes.ACCEPTED
        wait_until(lambda: state(client, "c007") == ("RUNNING", ["RUNNING"]), "c007 to run", SECONDS)
    assert [name for name in tasks["running"] if name.startswith("task ")] == ["task c007-0"]
    assert_nothing_left(tasks)


def state(client: httpx.Client, name: str) -> tuple[str, list[str]] | None:
    answer = client.get(f"/connectors/{name}/status")
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    return answer.json()["connector"]["state"], [task["state"] for task in answer.json()["tasks"]]


def assert_nothing_left(tasks: Mapping[str, list[str]]) -> None:
    kinds = ("task ", "run ", "stop ", "reconcile ", "restart ", "write ", "generation ", "follow ")
    assert [name for name in tasks["left"] if name.startswith(kinds)] == []
    assert [name for name in tasks["running"] if name.startswith(kinds[3:7])] == []


async def flap(client: httpx.AsyncClient, name: str, chance: random.Random) -> str | None:
    """Do one thing after the other to the connector, without waiting for what it brings about; what it is to be in the end."""
    wanted: str | None = None
    for _ in range(STEPS):
        verb = chance.choice(["put", "put", "pause", "resume", "stop", "restart", "restart_all", "restart_task", "delete"])
        match verb:
            case "put":
                config = {**CONFIG, "name": name, "poll.interval.ms": str(chance.randint(1, 5))}
                answer = await client.put(f"/connectors/{name}/config", json=config)
                assert answer.status_code == (httpx.codes.CREATED if wanted is None else httpx.codes.OK)
                wanted = wanted or "RUNNING"
            case "delete":
                answer = await client.delete(f"/connectors/{name}")
                assert answer.status_code == (httpx.codes.NOT_FOUND if wanted is None else httpx.codes.NO_CONTENT)
                wanted = None
            case "pause" | "resume" | "stop":
                answer = await client.put(f"/connectors/{name}/{verb}")
                if wanted is None:
                    assert answer.status_code == httpx.codes.NOT_FOUND
                else:
                    assert answer.is_success
                    wanted = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}[verb]
            case "restart_task":
                # Whether there is a task yet depends on how far the worker has come.
                answer = await client.post(f"/connectors/{name}/tasks/0/restart")
                assert answer.status_code in (httpx.codes.NO_CONTENT, httpx.codes.NOT_FOUND)
            case _:
                both = str(verb == "restart_all").lower()
                answer = await client.post(f"/connectors/{name}/restart", params={"includeTasks": both})
                assert answer.is_success or answer.status_code == httpx.codes.NOT_FOUND
    return wanted


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_flapping_connectors_end_as_they_were_last_asked_to_be(seed: int) -> None:
    names = [f"f{number}" for number in range(6)]
    tasks: dict[str, list[str]] = {}

    async def drive(url: str) -> dict[str, str | None]:
        async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as client:
            ends = await asyncio.gather(*(flap(client, name, random.Random(f"{seed} {name}")) for name in names))
        return dict(zip(names, ends, strict=True))

    with memory_worker(tasks=tasks) as (url, _):
        wanted = asyncio.run(drive(url))
        with httpx.Client(base_url=url, timeout=SECONDS) as client:

            def settled() -> bool:
                return all(reached(state(client, name), end) for name, end in wanted.items())

            wait_until(settled, lambda: f"{wanted}: {[state(client, name) for name in names]}", SECONDS)
            assert sorted(client.get("/connectors").json()) == [name for name in names if wanted[name] is not None]
    running = [f"task {name}-0" for name in names if wanted[name] == "RUNNING"]
    assert [name for name in tasks["running"] if name.startswith("task ")] == running
    assert_nothing_left(tasks)


def reached(now: tuple[str, list[str]] | None, end: str | None) -> bool:
    if end is None or now is None:
        return now is None and end is None
    # A connector that was paused before it ever ran has no task.
    return now in ([(end, [end]), (end, [])] if end == "PAUSED" else [(end, [] if end == "STOPPED" else [end])])
