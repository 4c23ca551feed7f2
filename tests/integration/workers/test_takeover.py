"""Understudy takes over a cluster of Kafka Connect with Debezium, and Connect takes it back: one properties file, the same topics."""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.fix_connect import Cluster, Seat
from tests.fix_pg import PgServer
from tests.support.connector import SECONDS
from tests.support.takeover import BEYOND, CHUNKED_ROWS, ROLES, STATES, STREAMING, Sight, Step, Takeover, Writer, replays
from workers.quickstart.embedded.wait import wait_until

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

SESSION_MS: Final = "20000"
"""How long the group keeps a killed worker: longer than a worker of the other kind takes to start on a busy machine."""
GRACE_MS: Final = "60000"
"""How long a task may take to end in order. A task that is cancelled after the default of 5 s sends its last events again, rightly."""
REFUSED: Final = "InconsistentGroupProtocolException"
WAITS: Final = "workers of kafka connect, or other consumers, still use this group.id"
STREAMS: Final = tuple(role for role in ROLES if role != "unborn")


async def test_connectors_go_over_and_back(pg: PgServer, seats: Callable[..., Cluster]) -> None:
    settings = {"session_timeout_ms": SESSION_MS, "plugin_discovery": "service_load", "task_shutdown_graceful_timeout_ms": GRACE_MS}
    cluster = seats(2, **settings)
    [stranger] = seats(1, group=cluster.group, **settings).seats
    play = Takeover(cluster, pg.database("takeover"), f"over_{uuid.uuid4().hex[:6]}")
    writer = Writer(play.database)
    writer.prepare()
    cluster.start(real=True)
    with writer:
        play.create()
        play.await_stream()
        keeps_out_ours(stranger)
        begun = play.sight()

        cluster.end(killed=False)
        # What Connect stores of a connector that was paused a moment ago may come with its end.
        sight = take(play, begun, real=False, at_rest={"stopped", "unborn"})
        await keeps_out_connect(stranger)
        cluster.end(killed=False)
        handed = await play.events(["chunked"])
        # Connect gives up at the first refusal, so nothing of ours may be left in the group.
        assert await members(cluster) == 0
        sight = take(play, sight, real=True)
        orderly = await play.events(STREAMS)
        # They show which worker did not store its offsets at its end, and why.
        ends = "\n".join(log[-30_000:] for seat in cluster.seats for log in (seat.real_log, seat.log))

        cluster.end(killed=True)
        sight = take(play, sight, real=False)
        assert any(WAITS in seat.log for seat in cluster.seats)
        cluster.end(killed=True)
        while await members(cluster):
            pass
        take(play, sight, real=True)
        play.restore()
        play.await_stream("paused", "stopped", "unborn")
    wait_until(lambda: not play.reading(), lambda: f"the incremental snapshot to end\n{cluster.logs}", SECONDS)
    events = await play.await_events({role: steps for role, steps in writer.steps.items() if role != "failed"})

    assert max(rows_read(handed["chunked"]).values()) == 1
    check_orderly(writer.steps, orderly, ends)
    check(writer.steps, {**events, "failed": orderly["failed"]}, kills=2)
    assert set(last_versions(events["unborn"]).items()) == set(play.database.execute("SELECT id, version FROM unborn"))
    assert not play.complaints()


def keeps_out_ours(stranger: Seat) -> None:
    """A worker of ours in the group of Connect's runs nothing, and says why."""
    stranger.launch()
    wait_until(lambda: WAITS in stranger.log, lambda: f"the worker to say that it waits\n{stranger.log}", SECONDS)
    assert stranger.health() == httpx.codes.SERVICE_UNAVAILABLE
    assert "Workers of Kafka Connect, or other consumers, still use this group.id." in stranger.rest("GET", "/health").json()["message"]
    assert "group assigned" not in stranger.log
    assert "task starting" not in stranger.log
    stranger.stop()


async def keeps_out_connect(stranger: Seat) -> None:
    """A worker of Connect's in our group gives up."""
    stranger.launch_real()
    wait_until(lambda: REFUSED in stranger.real_log, lambda: f"Connect to be refused\n{stranger.real_log}", SECONDS)
    stranger.kill()


def take(play: Takeover, before: Sight, *, real: bool, at_rest: Collection[str] = ("paused", "stopped", "unborn", "failed")) -> Sight:
    """Start the other workers. All states are the same as before, and the streams continue."""
    play.cluster.start(real=real)
    play.await_states(STATES)
    play.await_failure(real=real)
    play.await_stream()
    # The first offset that is stored after a start need not tell of the incremental snapshot yet.
    wait_until(play.reading, lambda: f"the incremental snapshot to go on\n{play.cluster.logs}", SECONDS, pause=0.02)
    now = play.sight()
    topics = {name: known & now.topics[name] for name, known in before.topics.items()}
    assert replace(now, topics=topics, at_rest={}) == replace(before, at_rest={})
    assert {role: now.at_rest[role] for role in at_rest} == {role: before.at_rest[role] for role in at_rest}
    return now


async def members(cluster: Cluster) -> int:
    """How many the group has."""
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    await admin.start()
    try:
        [response] = await admin.describe_consumer_groups([cluster.group])
        return sum(len(group[5]) for group in response.groups)
    finally:
        await admin.close()


def check_orderly(steps: Mapping[str, Sequence[Step]], events: Mapping[str, Sequence[Step]], logs: str) -> None:
    """Until the first kill nothing came twice. Otherwise the ``logs`` are shown."""
    for role in STREAMS:
        assert replays(steps[role], streamed(events[role]), whole=False) == [], f"{role} came twice\n{logs}"


def check(steps: Mapping[str, Sequence[Step]], events: Mapping[str, Sequence[Step]], *, kills: int) -> None:
    """Every step is there, in order, with at most a replay a kill; rows were read by the incremental snapshot only."""
    for role in STREAMS:
        again = replays(steps[role], streamed(events[role]), whole=role != "failed")
        sys.stdout.write(f"{role}: {len(steps[role])} steps, replays {again}\n")
        assert len(again) <= (kills if role in STREAMING else 0), role
        assert role == "chunked" or all(op != "r" for op, _, _ in events[role]), role
    # The number of reads is not compared: Debezium begins the table again if its task ends before the first chunk since its start.
    reads = rows_read(events["chunked"])
    assert reads.keys() == set(range(1, CHUNKED_ROWS + 1))
    sys.stdout.write(f"incremental snapshot: {sum(reads.values()) - CHUNKED_ROWS} rows read again\n")


def rows_read(events: Sequence[Step]) -> Counter[int]:
    """How often the incremental snapshot sent each of its rows."""
    return Counter(key for op, key, _ in events if op == "r" and key < BEYOND)


def streamed(events: Sequence[Step]) -> list[Step]:
    return [event for event in events if event[0] != "r"]


def last_versions(events: Sequence[Step]) -> dict[int, int]:
    last = {key: version for _, key, version in events}
    return {key: version for key, version in last.items() if version is not None}
